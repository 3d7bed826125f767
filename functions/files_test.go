package functions_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"
)

// createBucket makes a bucket in the emulator.
func createBucket(t *testing.T, endpoint, name string) {
	t.Helper()
	send(t, http.MethodPut, endpoint+"/"+name, nil)
}

// send does a request as a client of S3, by a URL alone.
func send(t *testing.T, method, url string, body []byte) []byte {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	got, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("%s %s: %s %v %s", method, url, res.Status, err, got)
	}
	return got
}

// fetch asks the http function for what a URL of ours names, or with HEAD about it.
func (w *world) fetch(method, url string) events.APIGatewayV2HTTPResponse {
	w.t.Helper()
	target, ours := strings.CutPrefix(url, publicURL)
	if !ours {
		w.t.Fatalf("%q is not where clients reach Chips", url)
	}
	e := events.APIGatewayV2HTTPRequest{Version: "2.0", Headers: map[string]string{"x-chips-edge": edgeSecret}}
	e.RawPath, e.RawQueryString, _ = strings.Cut(target, "?")
	e.RequestContext.HTTP.Method, e.RequestContext.RequestID = method, "req="
	event, _ := json.Marshal(e)
	a := w.http.invoke(event)
	var res events.APIGatewayV2HTTPResponse
	if err := json.Unmarshal(a.body, &res); a.failed || err != nil {
		w.t.Fatalf("fetch: %s", a.body)
	}
	return res
}

// keepsFiles uploads a small file whole and a large one past the function, posts both, and fetches them as the harness they were pushed to.
func (w *world) keepsFiles(tp template) {
	socket := w.start(w.t, tp, "socket")
	socket.invoke(payload(w.t, "socket-connect.json", w.ids...))
	w.frame(socket, nil)
	w.frame(socket, map[string]any{"frame": "subscribe", "workspace_id": w.ids[1]})
	w.take()

	e := events.APIGatewayV2HTTPRequest{
		Version: "2.0", RawPath: "/v1/uploads", RawQueryString: "filename=note.txt", Headers: map[string]string{"authorization": "Bearer " + w.key, "x-chips-edge": edgeSecret},
		Body: base64.StdEncoding.EncodeToString([]byte("a note")), IsBase64Encoded: true,
	}
	e.RequestContext.HTTP.Method, e.RequestContext.RequestID = http.MethodPost, "req="
	event, _ := json.Marshal(e)
	var small, large struct {
		ID     string `json:"attachment_id"`
		Size   int    `json:"byte_size"`
		PutURL string `json:"put_url"`
	}
	if status := w.answered(w.http.invoke(event), &small); status != http.StatusOK || small.Size != len("a note") {
		w.t.Fatalf("a small upload: %d %+v", status, small)
	}
	bytes := []byte(strings.Repeat("0123456789abcdef", 5<<20/16))
	w.request("POST", "/v1/uploads", w.key, map[string]any{"filename": "large.bin", "byte_size": len(bytes)}, &large)
	if large.PutURL == "" {
		w.t.Fatalf("a large upload: %+v", large)
	}
	send(w.t, http.MethodPut, large.PutURL, bytes)
	if status := w.request("POST", "/v1/uploads/"+large.ID+"/done", w.key, nil, &large); status != http.StatusOK || large.Size != len(bytes) {
		w.t.Fatalf("a large upload is done: %d %+v", status, large)
	}
	var ack struct{ Seq int64 }
	post := map[string]any{
		"type": "message.post", "space_id": w.ids[7], "text": "two files", "upload_ids": []string{small.ID, large.ID}, "idempotency_key": "files-1",
	}
	if status := w.request("POST", "/v1/events", w.key, post, &ack); status != http.StatusOK {
		w.t.Fatalf("posting them: %d", status)
	}
	if a := w.start(w.t, tp, "fanout").invoke(streamOf(w.t, w.url, w.ids[1])); a.failed {
		w.t.Fatalf("fanout: %s", a.body)
	}
	pushes := w.take()
	var pushed struct {
		Event struct {
			Type        string
			Attachments []struct{ URL string }
		}
	}
	if len(pushes) != 1 || json.Unmarshal([]byte(pushes[0][strings.Index(pushes[0], "{"):]), &pushed) != nil || len(pushed.Event.Attachments) != 2 {
		w.t.Fatalf("pushed %q", pushes)
	}
	// covers: DLV-4, DLV-5
	if res := w.fetch(http.MethodGet, pushed.Event.Attachments[0].URL); res.StatusCode != http.StatusOK || res.Body != "a note" {
		w.t.Errorf("the small file: %+v", res)
	}
	res := w.fetch(http.MethodGet, pushed.Event.Attachments[1].URL)
	if res.StatusCode != http.StatusFound || string(send(w.t, http.MethodGet, res.Headers["location"], nil)) != string(bytes) {
		w.t.Errorf("the large file: %d, to %q", res.StatusCode, res.Headers["location"])
	}
	for i, want := range []string{"6", strconv.Itoa(len(bytes))} {
		if res := w.fetch(http.MethodHead, pushed.Event.Attachments[i].URL); res.StatusCode != http.StatusOK || res.Headers["content-length"] != want || res.Body != "" {
			w.t.Errorf("about a file of %s bytes: %d %v", want, res.StatusCode, res.Headers)
		}
	}
	w.leaves(socket)
}
