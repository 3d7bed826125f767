package session_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/chipschat/chips-aws/shared/embedded"
	"github.com/chipschat/chips-aws/shared/engine"
	"github.com/chipschat/chips-aws/shared/protocol"
	"github.com/chipschat/chips-aws/shared/session"
	"github.com/chipschat/chips-aws/shared/workspace"
)

// open is a table that is gone with the test, in memory where the system has such: what is tested here is not the disk.
func open(t testing.TB) *embedded.Table {
	dir, err := os.MkdirTemp("/dev/shm", "chips")
	if err != nil {
		dir = t.TempDir()
	}
	table, err := embedded.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		table.Close()
		os.RemoveAll(dir)
	})
	return table
}

// world is a workspace with an owner, a member and two harnesses in one room, a room that only the owner is in, and the sessions of it.
type world struct {
	t        testing.TB
	table    *embedded.Table
	engine   *engine.Engine
	push     *push
	sessions *session.Sessions
	config   session.Config
	ws       string

	arjun, priya, scout, ledger workspace.Caller
	room, own                   string
	s1, ledgerA                 string

	connections int
}

// push is a transport in memory: what each socket was sent, and how it ended.
type push struct {
	mu      sync.Mutex
	frames  map[string][][]byte
	closed  map[string]int
	onPost  func(id string, frame []byte) error // nil takes everything
	onClose func(id string) error
}

func (p *push) Post(ctx context.Context, id string, frame []byte) error {
	p.mu.Lock()
	hook := p.onPost
	p.mu.Unlock()
	if hook != nil {
		if err := hook(id, frame); err != nil {
			return err
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, gone := p.closed[id]; gone {
		return session.ErrGone
	}
	p.frames[id] = append(p.frames[id], frame)
	return nil
}

func (p *push) Close(_ context.Context, id string, code int, _ string, last []byte) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.onClose != nil {
		if err := p.onClose(id); err != nil {
			return err
		}
	}
	if last != nil {
		p.frames[id] = append(p.frames[id], last)
	}
	p.closed[id] = code
	return nil
}

// sent are the frames a socket was pushed so far.
func (p *push) sent(id string) [][]byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.frames[id])
}

func (p *push) code(id string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.closed[id]
}

// inline runs a replay within the frame that asked for it.
type inline struct{ w *world }

func (r inline) Start(ctx context.Context, job session.Job) error {
	return r.w.sessions.Replay(ctx, job)
}

func newWorld(t testing.TB, change ...func(*session.Config)) *world {
	w := &world{
		t: t, table: open(t), ws: protocol.NewID(protocol.PrefixWorkspace, time.Unix(1_700_000_000, 0), [10]byte{1}),
		push: &push{frames: map[string][][]byte{}, closed: map[string]int{}},
	}
	w.engine = engine.New(w.table, engine.Options{Now: time.Now})
	w.config = session.Config{
		Engine: w.engine, Rows: w.table, Push: w.push, Replays: inline{w}, Now: time.Now, Log: slog.New(slog.DiscardHandler),
		Server: protocol.Server{Name: "chipsd", Version: "test"},
	}
	for _, f := range change {
		f(&w.config)
	}
	w.sessions = session.New(w.config)
	system := workspace.Caller{Workspace: w.ws, Kind: protocol.KindSystem, ID: protocol.SystemID}
	person := func(out engine.Outcome) workspace.Caller {
		id := find[*protocol.PersonAdded](w, out).PersonID
		return workspace.Caller{Workspace: w.ws, Kind: protocol.KindPerson, ID: id, Credential: "key_" + id}
	}
	w.arjun = person(w.do(system, workspace.Draft(&workspace.NameDraft{Name: "Northwind", OwnerName: "Arjun"})))
	name, role := "Priya", protocol.Member
	w.priya = person(w.do(w.arjun, workspace.Draft(&workspace.PersonDraft{Name: &name, Role: &role})))
	harness := func(name string, capabilities ...string) (workspace.Caller, string, string) {
		out := w.do(w.arjun, workspace.Draft(&workspace.HarnessDraft{DisplayName: &name, Capabilities: &capabilities}))
		id := find[*protocol.HarnessAdded](w, out).HarnessID
		agent := find[*protocol.AgentAttached](w, out).AgentID
		return workspace.Caller{Workspace: w.ws, Kind: protocol.KindHarness, ID: id, Credential: "tok_" + id}, agent, out.Events[len(out.Events)-1].SpaceID
	}
	var d1, d2 string
	w.scout, w.s1, d1 = harness("Scout", "agents")
	w.ledger, w.ledgerA, d2 = harness("Ledger")
	w.room = w.do(w.arjun, workspace.Draft(&protocol.SpaceOpened{Title: "R", ParticipantIDs: []string{w.priya.ID}})).Ack().SpaceID
	w.own = w.do(w.arjun, workspace.Draft(&protocol.SpaceOpened{Title: "Own"})).Ack().SpaceID
	w.do(w.arjun, workspace.DraftIn(d1, &protocol.AgentMoved{AgentID: w.s1, ToSpaceID: w.room}))
	w.do(w.arjun, workspace.DraftIn(d2, &protocol.AgentMoved{AgentID: w.ledgerA, ToSpaceID: w.room}))
	return w
}

// do runs a command that has to go well.
func (w *world) do(by workspace.Caller, draft protocol.Event) engine.Outcome {
	w.t.Helper()
	out, err := w.engine.Do(context.Background(), w.ws, workspace.Command{By: by, Draft: draft, Operation: true})
	if err != nil {
		w.t.Fatalf("%s: %v", draft.Type, err)
	}
	return out
}

func (w *world) say(by workspace.Caller, room, text string) int64 {
	w.t.Helper()
	return w.do(by, workspace.DraftIn(room, &protocol.MessagePost{Text: text})).Ack().Seq
}

func find[D protocol.Data](w *world, out engine.Outcome) D {
	w.t.Helper()
	for _, e := range out.Events {
		if d, ok := e.Data.(D); ok {
			return d
		}
	}
	w.t.Fatal("the event is not among those caused")
	panic("unreachable")
}

func (w *world) head() int64 {
	w.t.Helper()
	c, _, err := w.engine.Head(context.Background(), w.ws)
	if err != nil {
		w.t.Fatal(err)
	}
	return c.Last()
}

// fill appends n messages by Priya past the rules.
func (w *world) fill(n int, text string) {
	w.t.Helper()
	e := protocol.Event{
		Envelope: protocol.Envelope{Type: "message.post", SpaceID: w.room, Actor: protocol.Actor{Kind: protocol.KindPerson, ID: w.priya.ID}},
		Data:     &protocol.MessagePost{Text: text, AddressedTo: []string{w.s1}},
	}
	w.append(slices.Repeat([]protocol.Event{e}, n)...)
}

// append appends events past the rules, each a commit.
func (w *world) append(events ...protocol.Event) {
	w.t.Helper()
	seq := w.head()
	for chunk := range slices.Chunk(events, 100) {
		var appends []engine.Append
		for _, e := range chunk {
			raw, err := e.AppendStored(nil)
			if err != nil {
				w.t.Fatal(err)
			}
			seq++
			c := engine.Commit{Workspace: w.ws, First: seq, TS: time.Now(), Events: [][]byte{raw}}
			if e.Type == "message.post" {
				c.Prev, c.Space = map[string]int64{w.room: seq - 1}, w.room
			}
			binary.BigEndian.PutUint64(c.Nonce[:], uint64(seq))
			appends = append(appends, engine.Append{Commit: c, Replaces: -1})
		}
		results, err := w.table.Append(context.Background(), appends)
		if err != nil || len(results) != len(appends) || !results[len(results)-1].Written {
			w.t.Fatalf("append: %v %v", results, err)
		}
	}
}

// conn is an open connection.
type conn struct {
	w  *world
	id string
	c  workspace.Caller
}

func (w *world) connect(c workspace.Caller) *conn {
	w.t.Helper()
	w.connections++
	id := fmt.Sprint("conn-", w.connections)
	if err := w.sessions.Connect(context.Background(), id, c); err != nil {
		w.t.Fatal(err)
	}
	return &conn{w, id, c}
}

// frame sends a frame and answers what the transport is to do.
func (c *conn) frame(raw string) session.Reply {
	c.w.t.Helper()
	reply, err := c.w.sessions.Frame(context.Background(), c.id, c.c, []byte(raw))
	if err != nil {
		c.w.t.Fatalf("%s: %v", raw, err)
	}
	return reply
}

// hello says hello with more fields, as `,"accepts":["events"]`.
func (c *conn) hello(more string) *conn {
	c.w.t.Helper()
	reply := c.frame(`{"frame":"hello","protocol":{"min":1,"max":1},"client":{"name":"t","version":"1"}` + more + `}`)
	if e := event(c.w.t, reply.Frame); e.Type != "hello" {
		c.w.t.Fatalf("hello is answered %s", reply.Frame)
	}
	return c
}

// subscribe starts the stream; since below 0 leaves it out.
func (c *conn) subscribe(since int64) *conn {
	c.w.t.Helper()
	frame := fmt.Sprintf(`{"frame":"subscribe","workspace_id":%q,"since":%d}`, c.w.ws, since)
	if since < 0 {
		frame = fmt.Sprintf(`{"frame":"subscribe","workspace_id":%q}`, c.w.ws)
	}
	if reply := c.frame(frame); reply.Frame != nil || reply.Close != 0 {
		c.w.t.Fatalf("subscribe is answered %s %d", reply.Frame, reply.Close)
	}
	return c
}

// events are those a socket was pushed, in frames of whatever kind.
func (c *conn) events() []protocol.Event {
	c.w.t.Helper()
	var list []protocol.Event
	for _, raw := range c.w.push.sent(c.id) {
		list = append(list, eventsIn(c.w.t, raw)...)
	}
	return list
}

func eventsIn(t testing.TB, raw []byte) []protocol.Event {
	t.Helper()
	var f struct {
		Frame  string           `json:"frame"`
		Event  jsontext.Value   `json:"event"`
		Events []jsontext.Value `json:"events"`
	}
	if err := json.Unmarshal(raw, &f); err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	if f.Event != nil {
		f.Events = append(f.Events, f.Event)
	}
	var list []protocol.Event
	for _, v := range f.Events {
		e, err := protocol.Decode(v)
		if err != nil {
			t.Fatalf("%s: %v", v, err)
		}
		list = append(list, e)
	}
	return list
}

func event(t testing.TB, frame []byte) protocol.Event {
	t.Helper()
	list := eventsIn(t, frame)
	if len(list) != 1 {
		t.Fatalf("%d events in %s", len(list), frame)
	}
	return list[0]
}

// state is a connection's subscription as its row says.
func (c *conn) state() session.Connection {
	c.w.t.Helper()
	list, err := c.w.sessions.List(context.Background(), c.w.ws, nil)
	if err != nil {
		c.w.t.Fatal(err)
	}
	for _, x := range list {
		if x.ID == c.id {
			return x
		}
	}
	return session.Connection{}
}

var errUnknown = errors.New("nobody knows")
