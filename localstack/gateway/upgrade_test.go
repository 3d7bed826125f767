package gateway

import (
	"net/http"
	"testing"
)

func TestWhoMayUpgrade(t *testing.T) {
	f := serve(t, Config{}, nil)
	ask := func(method, path string, header http.Header) int {
		req, err := http.NewRequest(method, f.url+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header = header
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		return resp.StatusCode
	}
	proper := func(change ...string) http.Header {
		h := http.Header{
			"Connection": {"keep-alive, Upgrade"}, "Upgrade": {"websocket"},
			"Sec-Websocket-Version": {"13"}, "Sec-Websocket-Key": {"dGhlIHNhbXBsZSBub25jZQ=="},
		}
		for i := 0; i < len(change); i += 2 {
			h.Set(change[i], change[i+1])
			if change[i+1] == "" {
				h.Del(change[i])
			}
		}
		return h
	}
	// What is no proper upgrade does not reach the authorizer, which would spend the ticket.
	for _, c := range []struct {
		method string
		header http.Header
		want   int
	}{
		{"GET", http.Header{}, 426},
		{"HEAD", http.Header{}, 405},
		{"HEAD", proper(), 405},
		{"POST", proper(), 405},
		{"GET", proper("Upgrade", "h2c"), 426},
		{"GET", proper("Sec-Websocket-Version", "7"), 400},
		{"GET", proper("Sec-Websocket-Key", ""), 400},
		{"GET", proper("Sec-Websocket-Key", "c2hvcnQ="), 400},
	} {
		if got := ask(c.method, "/v1/ws?ticket=good", c.header); got != c.want {
			t.Errorf("%s %v: got %d, want %d", c.method, c.header, got, c.want)
		}
	}
	if len(f.authorized) > 0 {
		t.Fatalf("the authorizer was asked %d times", len(f.authorized))
	}
	for _, c := range []struct {
		path   string
		header http.Header
		want   int
	}{
		{"/v1/ws?ticket=bad", proper(), 401},
		{"/v1/ws", proper(), 401},
		{"/v1/ws?ticket=good", proper(), 101},
		{"/v1/ws?ticket=good", proper("Origin", "https://app.example"), 101},
		{"/v1/ws?ticket=good", proper("Origin", "null"), 101},
		{"/v1/ws", proper("Authorization", "Bearer good"), 101},
	} {
		if got := ask("GET", c.path, c.header); got != c.want {
			t.Errorf("%s %v: got %d, want %d", c.path, c.header, got, c.want)
		}
	}
}
