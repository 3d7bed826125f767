package gateway

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
)

func TestHTTP(t *testing.T) {
	f := &fixture{}
	f.http = func(_ context.Context, e events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
		switch e.RawPath {
		case "/v1/panic":
			panic("x")
		case "/v1/error":
			return events.APIGatewayV2HTTPResponse{}, errors.New("secret")
		case "/v1/binary":
			return events.APIGatewayV2HTTPResponse{StatusCode: 200, Body: "AQI=", IsBase64Encoded: true}, nil
		}
		return events.APIGatewayV2HTTPResponse{StatusCode: 201, Headers: map[string]string{"x-request-id": e.RequestContext.RequestID}, Body: e.Body}, nil
	}
	serve(t, Config{BodyLimit: 100_000}, f)
	ask := func(method, path, contentType string, body io.Reader) (int, string, http.Header) {
		req, err := http.NewRequest(method, f.url+path, body)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", contentType)
		req.Header.Add("X-Two", "a")
		req.Header.Add("X-Two", "b")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		b, _ := io.ReadAll(resp.Body)
		return resp.StatusCode, string(b), resp.Header
	}
	status, body, header := ask("PUT", "/v1/a%20b?q=1&q=2&r=%20", "application/json", strings.NewReader(`{"x":"ü"}`))
	e := f.requests[0]
	if status != 201 || body != `{"x":"ü"}` || header.Get("X-Request-Id") != e.RequestContext.RequestID || e.RequestContext.RequestID == "" {
		t.Errorf("got %d %s %v", status, body, header)
	}
	if e.Version != "2.0" || e.RawPath != "/v1/a b" || e.RawQueryString != "q=1&q=2&r=%20" || e.QueryStringParameters["q"] != "1,2" ||
		e.Headers["x-two"] != "a,b" || e.Headers["host"] == "" || e.RequestContext.HTTP.Method != "PUT" || e.RequestContext.HTTP.SourceIP != "127.0.0.1" || e.IsBase64Encoded {
		t.Errorf("the event is %+v", e)
	}
	if status, body, _ = ask("POST", "/v1/x", "application/octet-stream", bytes.NewReader([]byte{1, 2})); status != 201 || body != "AQI=" || !f.requests[1].IsBase64Encoded {
		t.Errorf("bytes: %d %q", status, body)
	}
	if status, body, _ = ask("GET", "/v1/binary", "", nil); status != 200 || body != "\x01\x02" {
		t.Errorf("binary answer: %d %q", status, body)
	}
	for _, path := range []string{"/v1/panic", "/v1/error"} {
		if status, body, header = ask("GET", path, "", nil); header.Get("X-Request-Id") == "" || status != 500 || !strings.HasPrefix(body, `{"code":"internal"`) || strings.Contains(body, "secret") {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
	calls := len(f.requests)
	if status, body, _ = ask("POST", "/v1/x", "text/plain", bytes.NewReader(make([]byte, 100_001))); status != 413 || !strings.HasPrefix(body, `{"code":"too_large"`) || len(f.requests) != calls {
		t.Errorf("large: %d %s", status, body)
	}
}

// As many requests are handled at once as may be. Those above wait for one that is through, however long its answer takes to be read.
func TestHTTPAtOnce(t *testing.T) {
	const atOnce = 3
	handled, goOn := make(chan string, 10), make(chan struct{})
	f := &fixture{}
	f.http = func(_ context.Context, e events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
		handled <- e.RawPath
		if e.RawPath == "/v1/panic" {
			panic("x")
		}
		<-goOn
		return events.APIGatewayV2HTTPResponse{StatusCode: 200, Body: strings.Repeat("x", 8<<20)}, nil
	}
	serve(t, Config{AtOnce: atOnce}, f)
	get := func(ctx context.Context, path string) (*http.Response, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, f.url+path, nil)
		if err != nil {
			t.Error(err)
		}
		return http.DefaultClient.Do(req)
	}
	for range atOnce + 1 { // a panic leaves its place
		resp, err := get(t.Context(), "/v1/panic")
		if err != nil || resp.StatusCode != http.StatusInternalServerError {
			t.Fatal(resp, err)
		}
		_ = resp.Body.Close()
		<-handled
	}
	answered, done := make(chan error, atOnce), make(chan struct{})
	defer close(done)
	for range atOnce {
		go func() {
			resp, err := get(t.Context(), "/v1/x")
			if answered <- err; err == nil {
				<-done
				_ = resp.Body.Close()
			}
		}()
		<-handled
	}
	hurried, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	resp, err := get(hurried, "/v1/x")
	if err == nil {
		_ = resp.Body.Close()
	}
	if err == nil || len(handled) > 0 {
		t.Error("one more is handled")
	}
	close(goOn)
	for range atOnce { // none of the answers is read
		if err := <-answered; err != nil {
			t.Error(err)
		}
	}
	last, err := get(t.Context(), "/v1/last")
	if err != nil || last.StatusCode != http.StatusOK {
		t.Fatal(last, err)
	}
	_ = last.Body.Close()
}

// Few long bodies are in memory at once, while short ones are taken; one that is given up leaves its place.
func TestLongBodies(t *testing.T) {
	f := &fixture{}
	f.http = func(_ context.Context, e events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
		return events.APIGatewayV2HTTPResponse{StatusCode: 200, Body: strconv.Itoa(len(e.Body))}, nil
	}
	serve(t, Config{}, f)
	post := func(body io.Reader) string {
		resp, err := http.Post(f.url+"/v1/x", "text/plain", body)
		if err != nil {
			return err.Error()
		}
		defer resp.Body.Close()
		b, _ := io.ReadAll(resp.Body)
		return string(b)
	}
	long := strings.Repeat("x", smallBody+1)
	answers, more := make(chan string), make([]*io.PipeWriter, largeAtOnce+1)
	for i := range more {
		r, w := io.Pipe()
		more[i] = w
		go func() { answers <- post(r) }()
		if _, err := io.WriteString(w, long); err != nil {
			t.Fatal(err)
		}
	}
	for end := time.Now().Add(20 * time.Second); len(f.large) < largeAtOnce; runtime.Gosched() {
		if time.Now().After(end) {
			t.Fatalf("%d places are taken", len(f.large))
		}
	}
	if got := post(strings.NewReader("short")); got != "5" {
		t.Errorf("a short one beside long ones: %s", got)
	}
	for i, w := range more { // the one that waits goes on as soon as another is through
		if i == 0 {
			_ = w.CloseWithError(io.ErrUnexpectedEOF)
			<-answers
			continue
		}
		_ = w.Close()
	}
	for range largeAtOnce {
		if got := <-answers; got != strconv.Itoa(smallBody+1) {
			t.Errorf("a long one: %.100s", got)
		}
	}
	for range largeAtOnce + 1 {
		if got := post(strings.NewReader(long)); got != strconv.Itoa(smallBody+1) {
			t.Errorf("after them: %.100s", got)
		}
	}
}
