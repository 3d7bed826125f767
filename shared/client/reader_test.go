package client

import (
	"bytes"
	"testing"
	"time"
)

// FuzzTake hands the reader any frame: it must not panic, and only an answer that names the key ends the promise for it.
func FuzzTake(f *testing.F) {
	for _, raw := range []string{
		`{"frame":"event","event":` + eventJSON(1) + `}`, `{"frame":"events","events":[` + eventJSON(1) + `,` + eventJSON(2) + `]}`,
		`{"frame":"ack","idempotency_key":"other","seq":1,"duplicate":false}`, `{"frame":"error","code":"internal","message":"x"}`,
		`{"message":"Internal server error"}`, `{"frame":"receipt","idempotency_key":"k"}`, `{"frame":"event","event":null}`, `[]`, `null`, ``,
	} {
		f.Add([]byte(raw))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		c := New(Config{})
		w, err := c.writes.add("\x00no frame names this", nil)
		if err != nil {
			t.Fatal(err)
		}
		s := &socket{c: c, hello: make(chan string, 1), end: func(error) {}}
		s.idle = time.NewTimer(time.Hour)
		if bytes.Contains(raw, []byte("ping")) {
			return // there is no socket to answer it on
		}
		_ = s.take(t.Context(), raw)
		select {
		case <-w.done:
			t.Fatalf("%q is taken for an answer", raw)
		default:
		}
	})
}
