package fanout_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/chipschat/chips-aws/shared/engine"
	"github.com/chipschat/chips-aws/shared/fanout"
	"github.com/chipschat/chips-aws/shared/protocol"
	"github.com/chipschat/chips-aws/shared/session"
	"github.com/chipschat/chips-aws/shared/workspace"
)

// house is a world with its sessions and fan-out, rung by hand.
type house struct {
	*world
	table    engine.Table
	rows     *counted
	sessions *session.Sessions
	fanout   *fanout.Fanout

	mu     sync.Mutex
	frames map[string][][]byte
	closed map[string]int
	onPost func(id string) error // nil takes everything
	rung   int64
	n      int
}

// counted is rows that count what is asked of them, by kind of row.
type counted struct {
	engine.Rows
	mu    sync.Mutex
	calls map[string]int
}

func (c *counted) count(what, pk string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls[what+" "+pk[:2]]++
}

func (c *counted) Get(ctx context.Context, pk, sk string) (engine.Row, bool, error) {
	c.count("get", pk)
	return c.Rows.Get(ctx, pk, sk)
}

func (c *counted) Put(ctx context.Context, row engine.Row, cond engine.Cond) (int64, error) {
	c.count("put", row.PK)
	return c.Rows.Put(ctx, row, cond)
}

func (c *counted) Query(ctx context.Context, pk, after string, limit int) ([]engine.Row, error) {
	c.count("query", pk)
	return c.Rows.Query(ctx, pk, after, limit)
}

// take answers the calls since the last time.
func (c *counted) take() map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	calls := c.calls
	c.calls = map[string]int{}
	return calls
}

func (h *house) Post(_ context.Context, id string, frame []byte) error {
	h.mu.Lock()
	hook := h.onPost
	h.mu.Unlock()
	if hook != nil {
		if err := hook(id); err != nil {
			return err
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, gone := h.closed[id]; gone {
		return session.ErrGone
	}
	h.frames[id] = append(h.frames[id], frame)
	return nil
}

func (h *house) Close(_ context.Context, id string, code int, _ string, last []byte) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if last != nil {
		h.frames[id] = append(h.frames[id], last)
	}
	h.closed[id] = code
	return nil
}

func (h *house) Start(ctx context.Context, job session.Job) error { return h.sessions.Replay(ctx, job) }

func newHouse(t testing.TB) *house {
	table := open(t)
	e := engine.New(table, engine.Options{Now: time.Now})
	h := &house{
		world: newWorld(t, e), table: table, rows: &counted{Rows: table, calls: map[string]int{}},
		frames: map[string][][]byte{}, closed: map[string]int{},
	}
	h.sessions = session.New(session.Config{Engine: e, Rows: h.rows, Push: h, Replays: h, Now: time.Now, Log: quiet})
	h.fanout = h.newFanout()
	h.rung = h.head()
	return h
}

// newFanout is another process's.
func (h *house) newFanout() *fanout.Fanout {
	return fanout.New(fanout.Config{Log: h.engine, Connections: h.sessions, Rows: h.rows, Push: h, Now: time.Now, Logger: quiet})
}

// listen opens a socket of somebody that is live from now on.
func (h *house) listen(c workspace.Caller) string { return h.listenFrom(c, -1) }

// listenFrom is listen with a replay first, and with words that the hello accepts.
func (h *house) listenFrom(c workspace.Caller, since int64, accepts ...string) string {
	h.t.Helper()
	words, _ := json.Marshal(accepts)
	h.n++
	id := fmt.Sprint("conn-", h.n)
	if err := h.sessions.Connect(context.Background(), id, c); err != nil {
		h.t.Fatal(err)
	}
	subscribe := fmt.Sprintf(`{"frame":"subscribe","workspace_id":%q,"since":%d}`, h.ws, since)
	if since < 0 {
		subscribe = fmt.Sprintf(`{"frame":"subscribe","workspace_id":%q}`, h.ws)
	}
	for _, frame := range []string{`{"frame":"hello","protocol":{"min":1,"max":1},"accepts":` + string(words) + `}`, subscribe} {
		if reply, err := h.sessions.Frame(context.Background(), id, c, []byte(frame)); err != nil || reply.Close != 0 {
			h.t.Fatalf("%s: %+v, %v", frame, reply, err)
		}
	}
	return id
}

// ring rings with all that was appended since the last time.
func (h *house) ring() {
	h.t.Helper()
	if err := h.fanout.Ring(context.Background(), h.ws, h.since(h.rung)); err != nil {
		h.t.Fatal(err)
	}
	h.rung = h.head()
}

func (h *house) since(seq int64) []engine.Commit {
	h.t.Helper()
	commits, err := h.engine.Commits(context.Background(), h.ws, seq+1, 1000)
	if err != nil {
		h.t.Fatal(err)
	}
	return slices.DeleteFunc(commits, func(c engine.Commit) bool { return c.Last() <= seq })
}

func (h *house) sent(id string) [][]byte {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.frames[id])
}

// heard are the events a socket was sent since the last time, as type, and text where there is one.
func (h *house) heard(id string) string {
	h.t.Helper()
	var list []string
	for _, frame := range h.sent(id) {
		var f struct {
			Event jsontext.Value `json:"event"`
		}
		if err := json.Unmarshal(frame, &f); err != nil {
			h.t.Fatalf("%s: %v", frame, err)
		}
		e, err := protocol.Decode(f.Event)
		if err != nil {
			h.t.Fatalf("%s: %v", frame, err)
		}
		switch d := e.Data.(type) {
		case *protocol.MessagePost:
			list = append(list, e.Type+" "+d.Text)
		case *protocol.MessageNew:
			list = append(list, e.Type+" "+d.Text)
		case *protocol.MessageOverheard:
			list = append(list, e.Type+" "+d.Text)
		default:
			list = append(list, e.Type)
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.frames[id] = nil
	return strings.Join(list, ", ")
}
