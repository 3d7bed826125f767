package main

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/chipschat/chips-aws/shared/protocol"
)

// stream is a socket of a party that keeps what it is sent until it is asked for.
type stream struct {
	*socket
	p       *party
	hello   jsontext.Value
	events  []jsontext.Value          // since they were taken last
	frames  []int                     // how many events each frame held, 0 for an event frame
	answers map[string]jsontext.Value // by key
	pongs   int                       // that are to come
	// receipts are in the order they came, each as its key and what it says; and how many events had come before it.
	receipts []receipt
	taken    int
	// restarts are the frames that ask for one.
	restarts []jsontext.Value
}

type receipt struct {
	key, says string
	after     int
}

// connect opens a socket that says hello with more fields, as `,"accepts":["events"]`.
func (p *party) connect(more string) *stream {
	p.t.Helper()
	s, status := p.w.dial("", bearer(p.token))
	if s == nil {
		p.t.Fatalf("refused with %d", status)
	}
	return p.greet(s, more)
}

// greet says hello on a socket.
func (p *party) greet(s *socket, more string) *stream {
	p.t.Helper()
	s.send(`{"frame":"hello","protocol":{"min":1,"max":1},"client":{"name":"t","version":"1"}` + more + `}`)
	return p.heard(s)
}

// heard is a socket that has said hello, when it is answered.
func (p *party) heard(s *socket) *stream {
	p.t.Helper()
	c := &stream{socket: s, p: p, answers: map[string]jsontext.Value{}}
	c.pump()
	if len(c.events) != 1 {
		p.t.Fatalf("hello is answered with %v", c.answers)
	}
	c.hello, c.events, c.frames = c.events[0], nil, nil
	return c
}

// live is a socket that listens from now on.
func (p *party) live(more string) *stream {
	p.t.Helper()
	return p.from(p.head(), more)
}

// from is a socket that listens from a seq on.
func (p *party) from(since int64, more string) *stream {
	p.t.Helper()
	s := p.connect(more)
	s.subscribe(fmt.Sprintf(`,"since":%d`, since))
	return s
}

func (s *stream) subscribe(more string) {
	s.t.Helper()
	s.send(fmt.Sprintf(`{"frame":"subscribe","workspace_id":%q%s}`, s.p.w.workspace.WorkspaceID, more))
	s.settle()
}

// settle waits until the server has handled what was sent.
func (s *stream) settle() {
	s.t.Helper()
	s.send(`{"frame":"ping"}`)
	for s.pongs++; s.pongs > 0; {
		s.pump()
	}
}

// pump reads one frame.
func (s *stream) pump() {
	s.t.Helper()
	if err := s.tryPump(); err != nil {
		s.t.Fatalf("the socket ended: %v, close %d", err, websocket.CloseStatus(err))
	}
}

func (s *stream) tryPump() error {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	_, raw, err := s.Read(ctx)
	if err != nil {
		return err
	}
	var f struct {
		Frame  string           `json:"frame"`
		Key    string           `json:"idempotency_key"`
		Says   string           `json:"disposition"`
		Event  jsontext.Value   `json:"event"`
		Events []jsontext.Value `json:"events"`
	}
	if err := json.Unmarshal(raw, &f); err != nil {
		s.t.Fatalf("%s: %v", raw, err)
	}
	switch f.Frame {
	case "event":
		s.events, s.frames = append(s.events, f.Event), append(s.frames, 0)
	case "events":
		s.events, s.frames = append(s.events, f.Events...), append(s.frames, len(f.Events))
	case "ack", "error":
		s.answers[f.Key] = raw
	case "receipt":
		if strings.HasPrefix(s.p.id, "usr_") && s.answers[f.Key] == nil {
			s.t.Errorf("a receipt before its ack: %s", raw)
		}
		s.receipts = append(s.receipts, receipt{f.Key, f.Says, s.taken + len(s.events)})
	case "restart":
		s.restarts = append(s.restarts, raw)
	case "pong":
		s.pongs--
	default:
		s.t.Fatalf("an unknown frame: %s", raw)
	}
	return nil
}

// through is all that was sent up to the event of a seq, which has to come.
func (s *stream) through(seq int64) []jsontext.Value {
	s.t.Helper()
	for len(s.events) == 0 || seqOf(s.t, s.events[len(s.events)-1]) < seq {
		s.pump()
	}
	events := s.events
	s.taken += len(events)
	s.events = nil
	return events
}

// write sends an event and waits for what it is answered.
func (s *stream) write(e J) J {
	s.t.Helper()
	raw, err := json.Marshal(J{"frame": "event", "event": e})
	if err != nil {
		s.t.Fatal(err)
	}
	key, _ := e["idempotency_key"].(string)
	delete(s.answers, key)
	s.send(string(raw))
	for s.answers[key] == nil {
		s.pump()
	}
	return read(s.t, s.answers[key])
}

// lands sends an event that has to be acked, and answers its seq.
func (s *stream) lands(typ string, fields J) int64 {
	s.t.Helper()
	a := s.write(s.p.event(typ, fields))
	if str(a, "frame") != "ack" {
		s.t.Fatalf("%s %v is answered %v", typ, fields, a)
	}
	return number(a, "seq")
}

// fails sends an event that has to be refused under its key, and answers the message.
func (s *stream) fails(code protocol.Code, typ string, fields J) string {
	s.t.Helper()
	a := s.write(s.p.event(typ, fields))
	if str(a, "frame") != "error" || str(a, "code") != string(code) || str(a, "message") == "" {
		s.t.Errorf("%s %v is answered %v, want %s", typ, fields, a, code)
	}
	return str(a, "message")
}

// ended reads until the socket closes and answers the code.
func (s *stream) ended() websocket.StatusCode {
	s.t.Helper()
	for {
		if err := s.tryPump(); err != nil {
			return websocket.CloseStatus(err)
		}
	}
}

// seqOf is an event's seq.
func seqOf(t *testing.T, raw jsontext.Value) int64 {
	t.Helper()
	var e struct {
		Seq int64 `json:"seq"`
	}
	if err := json.Unmarshal(raw, &e); err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return e.Seq
}
