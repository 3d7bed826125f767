package functions_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/chipschat/chips-aws/shared/engine"
)

// upload stores a small file for whoever a token is of.
func (w *world) upload(token, name, content string) string {
	w.t.Helper()
	e := events.APIGatewayV2HTTPRequest{
		Version: "2.0", RawPath: "/v1/uploads", RawQueryString: "filename=" + name, Headers: map[string]string{"authorization": "Bearer " + token, "x-chips-edge": edgeSecret},
		Body: base64.StdEncoding.EncodeToString([]byte(content)), IsBase64Encoded: true,
	}
	e.RequestContext.HTTP.Method, e.RequestContext.RequestID = http.MethodPost, "req="
	event, _ := json.Marshal(e)
	var file struct {
		ID string `json:"attachment_id"`
	}
	if status := w.answered(w.http.invoke(event), &file); status != http.StatusOK {
		w.t.Fatalf("uploading %s: %d", name, status)
	}
	return file.ID
}

// freesFiles has the sweep post what a free agent said and what did not fit where it joined, with a file, and take away the bytes of that
// file once its room is deleted.
func (w *world) freesFiles(tp template) {
	ok := func(token, method, path string, in, out any) {
		w.t.Helper()
		if status := w.request(method, path, token, in, out); status/100 != 2 {
			w.t.Fatalf("%s %s: %d", method, path, status)
		}
	}
	token := w.ids[9]
	var room struct {
		ID string `json:"space_id"`
	}
	ok(w.key, "POST", "/v1/spaces", map[string]any{"title": "Held"}, &room)
	var agent struct {
		ID string `json:"agent_id"`
	}
	ok(token, "POST", "/v1/harnesses/"+w.ids[3]+"/agents", map[string]any{"key": "held", "name": "Held"}, &agent)
	members := "/v1/spaces/" + room.ID + "/members"
	join := func() { ok(w.key, "POST", members, map[string]any{"participant_id": agent.ID}, &struct{}{}) }
	join()
	ok(w.key, "DELETE", members+"/"+agent.ID, nil, &struct{}{})
	file := w.upload(token, "held.txt", "what was held")
	for i := range 21 {
		post := map[string]any{
			"type": "message.post", "actor": map[string]any{"kind": "agent", "id": agent.ID}, "text": fmt.Sprint("held ", i), "idempotency_key": fmt.Sprint("held-", i),
		}
		if i == 20 {
			post["upload_ids"] = []string{file}
		}
		ok(token, "POST", "/v1/events", post, &struct{}{})
	}
	join()
	if a := w.start(w.t, tp, "fanout").invoke(streamOf(w.t, w.url, w.ids[1])); a.failed {
		w.t.Fatalf("fanout: %s", a.body)
	}
	sweep := w.start(w.t, tp, "sweep")
	run := func() {
		w.t.Helper()
		if a := sweep.invoke(payload(w.t, "sweep.json")); a.failed {
			w.t.Errorf("sweep: %s", a.body)
		}
	}
	row := func(id string) engine.Row {
		w.t.Helper()
		row, _, err := w.table().Get(context.Background(), "U#"+id, "-")
		if err != nil {
			w.t.Fatal(err)
		}
		return row
	}
	run()
	if body := string(row(file).Body); !strings.Contains(body, `"space":"`+room.ID+`"`) {
		w.t.Errorf("where the file was posted is not noted: %s", body)
	}
	ok(w.key, "DELETE", "/v1/spaces/"+room.ID, nil, &struct{}{})
	deleted := row(room.ID)
	deleted.Due = time.Now()
	if _, err := w.table().Put(context.Background(), deleted, engine.IfRev(deleted.Rev)); err != nil {
		w.t.Fatal(err)
	}
	for range 2 {
		run()
	}
	if left := string(row(file).Body) + string(row(room.ID).Body); left != "" {
		w.t.Errorf("left of a deleted room: %s", left)
	}
	w.take()
}
