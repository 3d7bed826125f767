package session_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	"github.com/chipschat/chips-aws/shared/engine"
	"github.com/chipschat/chips-aws/shared/protocol"
	"github.com/chipschat/chips-aws/shared/session"
	"github.com/chipschat/chips-aws/shared/workspace"
)

func answer[T any](t *testing.T, frame []byte) (v T) {
	t.Helper()
	if err := json.Unmarshal(frame, &v); err != nil {
		t.Fatalf("%s: %v", frame, err)
	}
	return v
}

// covers: HEL-1, HEL-2, HEL-4, HEL-5, HEL-6, HEL-7, HEL-8, HEV-6, HEV-9, HEV-12, AGT-12
func TestHello(t *testing.T) {
	w := newWorld(t)
	c := w.connect(w.scout)
	reply := c.frame(`{"frame":"hello","protocol":{"min":0,"max":7},"client":{"name":"scout","version":"0.1.0"},
		"harnesses":["` + w.ledger.ID + `"],"since":3,"accepts":["events","flowers"],"context":{"lines":100,"chars":32000}}`)
	e := event(t, reply.Frame)
	d := e.Data.(*protocol.Hello)
	if e.Seq != 0 || !protocol.ValidID(protocol.PrefixEvent, e.ID) || e.WorkspaceID != w.ws || e.Actor != protocol.System {
		t.Errorf("the envelope of hello is %+v", e.Envelope)
	}
	if d.Harness == nil || d.Harness.HarnessID != w.scout.ID || len(d.Harnesses) != 1 || d.Harness.OwnerID != w.arjun.ID {
		t.Errorf("hello names %+v, %+v", d.Harness, d.Harnesses)
	}
	if len(d.Agents) != 1 || d.Agents[0].AgentID != w.s1 || d.Protocol != (protocol.Range{Min: 1, Max: 1}) || d.Server.Version != "test" {
		t.Errorf("hello is %+v", d)
	}
	row := c.state()
	if !row.Hello || row.Sub != nil || !cmp.Equal(row.Accepts, []string{"events"}) || *row.Context.Lines != 100 {
		t.Errorf("the row after hello is %+v", row)
	}
	if len(w.push.sent(c.id)) != 0 {
		t.Error("something was pushed without a subscribe")
	}
	person := event(t, w.connect(w.arjun).frame(`{"frame":"hello","protocol":{"min":1,"max":1}}`).Frame).Data.(*protocol.Hello)
	if person.Harness != nil || len(person.Harnesses) != 0 || person.Agents != nil || person.Autonomy != 2 || len(person.Spaces) != 4 {
		t.Errorf("a person's hello is %+v", person)
	}
}

// covers: HEL-3, HEV-4
func TestNoVersionInCommon(t *testing.T) {
	w := newWorld(t)
	for _, r := range []string{`{"min":2,"max":3}`, `{"min":0,"max":0}`} {
		reply := w.connect(w.scout).frame(`{"frame":"hello","protocol":` + r + `,"client":{"name":"x","version":"1"}}`)
		e := answer[protocol.ErrorFrame](t, reply.Frame)
		if e.Code != protocol.UnsupportedProtocol || !strings.Contains(e.Message, "1 to 1") || reply.Close != 1002 {
			t.Errorf("%s is answered %s and %d", r, reply.Frame, reply.Close)
		}
	}
}

// Before hello every other frame is refused without a key, and the socket stays; a second hello changes nothing.
func TestHelloComesFirst(t *testing.T) {
	w := newWorld(t)
	c := w.connect(w.scout)
	for _, raw := range []string{
		`{"frame":"event","event":{"type":"message.post","space_id":"` + w.room + `","text":"x","idempotency_key":"k"}}`,
		`{"frame":"subscribe","workspace_id":"` + w.ws + `"}`,
		`{"frame":"ping"}`,
	} {
		reply := c.frame(raw)
		e := answer[protocol.ErrorFrame](t, reply.Frame)
		if e.Frame != "error" || e.Code != protocol.InvalidFrame || e.IdempotencyKey != "" || reply.Close != 0 {
			t.Errorf("%s before hello is answered %s, close %d", raw, reply.Frame, reply.Close)
		}
	}
	before := w.head()
	c.hello(`,"context":{"lines":5}`)
	again := answer[protocol.ErrorFrame](t, c.frame(`{"frame":"hello","protocol":{"min":1,"max":1}}`).Frame)
	if again.Code != protocol.InvalidFrame || *c.state().Context.Lines != 5 || w.head() != before {
		t.Errorf("a second hello is answered %+v", again)
	}
	if got := answer[protocol.PingFrame](t, c.frame(`{"frame":"ping"}`).Frame); got.Frame != "pong" {
		t.Errorf("ping is answered %+v", got)
	}
	if reply := c.frame(`{"frame":"pong"}`); reply.Frame != nil || reply.Close != 0 {
		t.Errorf("pong is answered %+v", reply)
	}
}

// covers: WRT-1, WRT-2, WRT-3, WRT-4, WRT-5, WRT-6, WRT-7, WRT-8, WRT-9, WRT-12, WRT-13, WRT-14, HEL-12, ENV-11
func TestEvent(t *testing.T) {
	w := newWorld(t)
	c := w.connect(w.scout).hello("")
	write := func(c *conn, event string) session.Reply { return c.frame(`{"frame":"event","event":` + event + `}`) }
	start := `{"type":"run.started","run_id":"run_01K4ZQPX000000000000000001","space_id":"` + w.room + `","idempotency_key":"start"}`
	if a := answer[protocol.Ack](t, write(c, start).Frame); a.Frame != "ack" || a.Duplicate {
		t.Fatalf("run.started is answered %+v", a)
	}
	step := `{"type":"step.log","ts":"2001-01-01T00:00:00Z","seq":7,"run_id":"run_01K4ZQPX000000000000000001","step_id":"stp_2","status":"done","summary":"Read the PO","idempotency_key":"hello-1"}`
	reply := write(c, step)
	first := answer[protocol.Ack](t, reply.Frame)
	if want := fmt.Sprintf(`{"frame":"ack","idempotency_key":"hello-1","seq":%d,"duplicate":false}`, w.head()); string(reply.Frame) != want {
		t.Errorf("acked %s, want %s", reply.Frame, want)
	}
	e, _, err := w.engine.Event(context.Background(), w.ws, w.eventID(first.Seq))
	if err != nil || e.Actor.ID != w.s1 || e.TS.Year() == 2001 || e.WorkspaceID != w.ws || e.V != 1 {
		t.Errorf("logged %+v, %v", e.Envelope, err)
	}
	again := answer[protocol.Ack](t, write(w.connect(w.scout).hello(""), step).Frame)
	if !again.Duplicate || again.Seq != first.Seq || w.head() != first.Seq {
		t.Errorf("on a new socket the same is answered %+v", again)
	}
	post := `{"type":"message.post","space_id":"` + w.room + `","text":"x","idempotency_key":"hello-1"}`
	if other := answer[protocol.Ack](t, write(w.connect(w.ledger).hello(""), post).Frame); other.Duplicate || other.Seq == first.Seq {
		t.Errorf("another's key of the same name is answered %+v", other)
	}
	head := w.head()
	for _, x := range []struct {
		name, frame string
		code        protocol.Code
		key         string
	}{
		{"the key beside the event", `{"frame":"event","idempotency_key":"k","event":{"type":"message.post","space_id":"` + w.room + `","text":"x"}}`, "invalid_frame", ""},
		{"no key", `{"frame":"event","event":{"type":"message.post"}}`, "invalid_frame", ""},
		{"the key in another case", `{"frame":"event","event":{"type":"message.post","space_id":"` + w.room + `","text":"x","Idempotency_Key":"k0"}}`, "invalid_frame", ""},
		{"an unknown type", `{"frame":"event","event":{"type":"no.such","idempotency_key":"k1"}}`, "invalid_event", "k1"},
		{"a field of another kind", `{"frame":"event","event":{"type":"message.post","text":7,"idempotency_key":"k2"}}`, "invalid_event", "k2"},
		{"a hello from a client", `{"frame":"event","event":{"type":"hello","idempotency_key":"k3"}}`, "", "k3"},
		{"an unknown run", `{"frame":"event","event":{"type":"run.paused","run_id":"run_01K4ZQPX000000000000000009","idempotency_key":"k4"}}`, "not_found", "k4"},
		{"a room it is not in", `{"frame":"event","event":{"type":"message.post","space_id":"` + w.own + `","text":"x","idempotency_key":"k5"}}`, "forbidden", "k5"},
		{"no JSON", `hello?`, "invalid_frame", ""},
		{"an empty frame", ``, "invalid_frame", ""},
		{"a list", `[1]`, "invalid_frame", ""},
		{"not UTF-8", "{\"frame\":\"event\",\"event\":{\"type\":\"message.post\",\"text\":\"\xff\",\"idempotency_key\":\"k6\"}}", "invalid_frame", ""},
		{"a name twice", `{"frame":"event","frame":"hello"}`, "invalid_frame", ""},
		{"a frame nobody knows", `{"frame":"nosuch"}`, "invalid_frame", ""},
	} {
		reply := c.frame(x.frame)
		e := answer[protocol.ErrorFrame](t, reply.Frame)
		if e.Frame != "error" || x.code != "" && e.Code != x.code || e.IdempotencyKey != x.key || e.Message == "" || reply.Close != 0 {
			t.Errorf("%s is answered %s", x.name, reply.Frame)
		}
	}
	if w.head() != head {
		t.Error("something of that was logged")
	}
	// Names to the letter: the room that is checked is the room that is written to.
	mixed := `{"type":"message.post","space_id":"` + w.room + `","Space_ID":"` + w.own + `","text":"x","idempotency_key":"k7","IDEMPOTENCY_KEY":"k8"}`
	if a := answer[protocol.Ack](t, write(c, mixed).Frame); a.IdempotencyKey != "k7" {
		t.Errorf("acked %+v", a)
	} else if e, _, _ := w.engine.Event(context.Background(), w.ws, w.eventID(a.Seq)); e.SpaceID != w.room {
		t.Errorf("it was written to %s", e.SpaceID)
	}
}

// eventID is the id of the event at a seq.
func (w *world) eventID(seq int64) string {
	w.t.Helper()
	commits, err := w.engine.Commits(context.Background(), w.ws, seq, 1)
	if err != nil || len(commits) == 0 {
		w.t.Fatalf("no commit at %d: %v", seq, err)
	}
	events, err := commits[0].Decode()
	if err != nil {
		w.t.Fatal(err)
	}
	return events[seq-commits[0].First].ID
}

// brokenEngine answers writes with an error.
type brokenEngine struct {
	session.Engine
	err error
}

func (e brokenEngine) Do(context.Context, string, workspace.Command) (engine.Outcome, error) {
	return engine.Outcome{}, e.err
}

// What is nobody's fault never names a key, and the socket is closed so that the client resends.
func TestNobodysFaultIsNoAnswer(t *testing.T) {
	for _, err := range []error{engine.ErrBusy, errors.New("a fault"), protocol.Refuse(protocol.Internal, "a fault")} {
		w := newWorld(t)
		c := w.connect(w.scout).hello("")
		w.config.Engine = brokenEngine{w.engine, err}
		w.sessions = session.New(w.config)
		reply, got := w.sessions.Frame(context.Background(), c.id, c.c,
			[]byte(`{"frame":"event","event":{"type":"message.post","space_id":"`+w.room+`","text":"x","idempotency_key":"k"}}`))
		if reply.Frame != nil || reply.Close != 1013 || !errors.Is(got, err) {
			t.Errorf("%v: reply %s, close %d, error %v", err, reply.Frame, reply.Close, got)
		}
	}
}

// Where frames overtake each other, what a frame still under way could cure is decided again before it is refused.
func TestUnordered(t *testing.T) {
	event := `{"frame":"event","event":{"type":"step.log","run_id":"run_01K4ZQPX000000000000000001","step_id":"s","status":"done","summary":"x","idempotency_key":"step"}}`
	start := `{"frame":"event","event":{"type":"run.started","run_id":"run_01K4ZQPX000000000000000001","space_id":"%s","idempotency_key":"start"}}`
	hello := `{"frame":"hello","protocol":{"min":1,"max":1}}`
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(c *session.Config) { c.Unordered = true })
		c := w.connect(w.scout)
		answers := make(chan session.Reply, 1)
		go func() { answers <- c.frame(event) }() // before hello, before its run
		time.Sleep(150 * time.Millisecond)
		c.frame(hello)
		time.Sleep(300 * time.Millisecond)
		c.frame(fmt.Sprintf(start, w.room))
		if a := answer[protocol.Ack](t, (<-answers).Frame); a.Frame != "ack" || a.IdempotencyKey != "step" {
			t.Errorf("the step that came first is answered %+v", a)
		}
		// What nothing cures is refused within a second or so.
		began := time.Now()
		e := answer[protocol.ErrorFrame](t, c.frame(strings.NewReplacer("0001", "0002", `"step"`, `"later"`).Replace(event)).Frame)
		if e.Code != protocol.NotFound || e.IdempotencyKey != "later" || time.Since(began) > 1200*time.Millisecond || time.Since(began) < 500*time.Millisecond {
			t.Errorf("answered %+v after %v", e, time.Since(began))
		}
		e = answer[protocol.ErrorFrame](t, w.connect(w.scout).frame(event).Frame)
		if e.Code != protocol.InvalidFrame || e.IdempotencyKey != "" {
			t.Errorf("without hello: %+v", e)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t) // in order, a refusal is given at once
		c := w.connect(w.scout).hello("")
		began := time.Now()
		if e := answer[protocol.ErrorFrame](t, c.frame(event).Frame); e.Code != protocol.NotFound || time.Since(began) > 0 {
			t.Errorf("answered %+v after %v", e, time.Since(began))
		}
	})
}

// credentials says of each whether it stands.
type credentials map[string]bool

func (c credentials) Stands(_ context.Context, id string) (workspace.Caller, bool, error) {
	return workspace.Caller{}, c[id], nil
}

// A credential that is taken back between the upgrade's check and the row is found when the row stands.
func TestConnectAsksAgain(t *testing.T) {
	w := newWorld(t)
	w.config.Credentials = credentials{w.scout.Credential: true}
	w.sessions = session.New(w.config)
	w.connect(w.scout).hello("")
	var refused *protocol.Error
	if err := w.sessions.Connect(context.Background(), "late", w.ledger); !errors.As(err, &refused) || refused.Code != protocol.Unauthorized {
		t.Errorf("connect answers %v", err)
	}
	if reply, err := w.sessions.Frame(context.Background(), "late", w.ledger, []byte(`{"frame":"hello","protocol":{"min":1,"max":1}}`)); err != nil || reply.Close != 1008 || reply.Frame != nil {
		t.Errorf("a frame of it is answered %+v, %v", reply, err)
	}
}

func TestHolders(t *testing.T) {
	w := newWorld(t)
	ctx := context.Background()
	c := w.connect(w.scout)
	if got, err := w.sessions.Holders(ctx, w.ws); err != nil || len(got) != 1 || !got[w.scout.ID] {
		t.Errorf("connected are %v, %v", got, err)
	}
	if err := w.sessions.Disconnect(ctx, c.id, w.scout); err != nil {
		t.Fatal(err)
	}
	if err := w.sessions.Disconnect(ctx, c.id, w.scout); err != nil {
		t.Errorf("a second time: %v", err)
	}
	if got, _ := w.sessions.Holders(ctx, w.ws); len(got) > 0 {
		t.Error("still connected")
	}
}

// A row goes with its connection's time, whether or not anybody said that the socket closed.
func TestConnectionsExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		c := w.connect(w.scout).hello("")
		time.Sleep(2*time.Hour + 6*time.Minute)
		if got, _ := w.sessions.Holders(context.Background(), w.ws); len(got) > 0 {
			t.Error("still connected")
		}
		if reply := c.frame(`{"frame":"subscribe","workspace_id":"` + w.ws + `"}`); reply.Close != 1008 {
			t.Errorf("a frame is answered %+v", reply)
		}
	})
}

// Who listens is told by hello's words, and by a glance the same.
func TestAway(t *testing.T) {
	w := newWorld(t)
	ctx := context.Background()
	check := func(what string, word string, away bool) {
		t.Helper()
		is, err := w.sessions.Away(ctx, w.ws, w.scout.ID, word)
		listens, lerr := w.sessions.Listens(ctx, w.ws, w.scout.ID, word)
		if err != nil || lerr != nil || is != away || listens == away {
			t.Errorf("%s: away %t and listens %t to %s, %v, %v", what, is, listens, word, err, lerr)
		}
	}
	check("no socket", "models", true)
	w.connect(w.ledger).hello(`,"accepts":["models"]`)
	c := w.connect(w.scout)
	check("before its hello", "models", true)
	c.hello(`,"accepts":["models"]`)
	check("after it", "models", false)
	check("after it", "jobs", true)
	if err := w.sessions.Disconnect(ctx, c.id, w.scout); err != nil {
		t.Fatal(err)
	}
	check("gone", "models", true)
}
