package main

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/go-json-experiment/json"

	"github.com/chipschat/chips-aws/shared/protocol"
)

// socket is one raw WebSocket.
type socket struct {
	*websocket.Conn
	t *testing.T
}

// dial opens a socket with a query and headers; the status of the refusal otherwise.
func (w *world) dial(query string, header http.Header, opts ...func(*websocket.DialOptions)) (*socket, int) {
	w.t.Helper()
	o := &websocket.DialOptions{HTTPHeader: header}
	for _, f := range opts {
		f(o)
	}
	conn, resp, err := websocket.Dial(w.t.Context(), "ws"+strings.TrimPrefix(w.url, "http")+"/v1/ws"+query, o) //nolint:bodyclose // Dial closes it
	if err != nil {
		if resp == nil {
			w.t.Fatal(err)
		}
		return nil, resp.StatusCode
	}
	conn.SetReadLimit(1 << 20)
	w.t.Cleanup(func() { _ = conn.CloseNow() })
	return &socket{conn, w.t}, resp.StatusCode
}

func bearer(token string) http.Header { return http.Header{"Authorization": {"Bearer " + token}} }

// open is a socket of a credential that has said hello.
func (w *world) open(token string, opts ...func(*websocket.DialOptions)) *socket {
	w.t.Helper()
	s, status := w.dial("", bearer(token), opts...)
	if s == nil {
		w.t.Fatalf("refused with %d", status)
	}
	s.hello()
	return s
}

func (s *socket) send(frame string) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := s.Write(ctx, websocket.MessageText, []byte(frame)); err != nil {
		s.t.Fatal(err)
	}
}

// frame is what the tests look at of a frame.
type frame struct {
	Frame   string         `json:"frame"`
	Key     string         `json:"idempotency_key"`
	Code    protocol.Code  `json:"code"`
	Message string         `json:"message"`
	Seq     int64          `json:"seq"`
	Event   protocol.Event `json:"event"`
}

// next reads one frame.
func (s *socket) next() (frame, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	var f frame
	_, raw, err := s.Read(ctx)
	if err != nil {
		return f, err
	}
	return f, json.Unmarshal(raw, &f)
}

// want reads frames until one has the name and the key, and answers it.
func (s *socket) want(name, key string) frame {
	s.t.Helper()
	for {
		f, err := s.next()
		if err != nil {
			s.t.Fatalf("waiting for %s of %q: %v", name, key, err)
		}
		if f.Frame == name && f.Key == key {
			return f
		}
	}
}

// wantClose reads until the socket closes with the code, and answers the last frame before.
func (s *socket) wantClose(code websocket.StatusCode) (last frame) {
	s.t.Helper()
	for {
		f, err := s.next()
		if err != nil {
			if websocket.CloseStatus(err) != code {
				s.t.Fatalf("ended with %v, want %d", err, code)
			}
			return last
		}
		last = f
	}
}

func (s *socket) hello() {
	s.t.Helper()
	s.send(`{"frame":"hello","protocol":{"min":1,"max":1},"client":{"name":"t","version":"1"}}`)
	if f, err := s.next(); err != nil || f.Event.Type != "hello" {
		s.t.Fatalf("hello: %+v, %v", f, err)
	}
}
