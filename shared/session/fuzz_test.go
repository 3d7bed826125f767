package session_test

import (
	"context"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// Whatever a client sends is answered with nothing or one JSON object, and closes at most its own socket.
func FuzzFrame(f *testing.F) {
	w := newWorld(f)
	fresh, said := w.connect(w.scout), w.connect(w.priya).hello("")
	for _, seed := range []string{
		``, `null`, `[]`, `{"frame":"hello"}`, `{"frame":"hello","protocol":{"min":1,"max":1},"accepts":["events"],"context":{"lines":-1}}`,
		`{"frame":"subscribe","workspace_id":"` + w.ws + `","since":99999999999999999999}`, `{"frame":"ping"}`, `{"frame":"pong"}`,
		`{"frame":"event","event":{"type":"message.post","space_id":"` + w.room + `","text":"x","to":"all","idempotency_key":"k"}}`,
		`{"frame":"event","event":{"type":"run.started","run_id":7,"idempotency_key":"k"}}`, `{"frame":"event","event":{"type":"hello","idempotency_key":"k"}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		for _, c := range []*conn{fresh, said} {
			reply, err := w.sessions.Frame(context.Background(), c.id, c.c, raw)
			if err != nil {
				t.Fatalf("%q: %v", raw, err)
			}
			if reply.Frame != nil && (!jsontext.Value(reply.Frame).IsValid() || jsontext.Value(reply.Frame).Kind() != '{') {
				t.Errorf("%q is answered %q", raw, reply.Frame)
			}
		}
	})
}
