package fanout_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

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
		world: newWorld(t, e), rows: &counted{Rows: table, calls: map[string]int{}},
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

// listen opens a socket of somebody that is live from now on, with more of a hello.
func (h *house) listen(c workspace.Caller) string { return h.listenFrom(c, -1) }

func (h *house) listenFrom(c workspace.Caller, since int64) string {
	h.t.Helper()
	h.n++
	id := fmt.Sprint("conn-", h.n)
	if err := h.sessions.Connect(context.Background(), id, c); err != nil {
		h.t.Fatal(err)
	}
	subscribe := fmt.Sprintf(`{"frame":"subscribe","workspace_id":%q,"since":%d}`, h.ws, since)
	if since < 0 {
		subscribe = fmt.Sprintf(`{"frame":"subscribe","workspace_id":%q}`, h.ws)
	}
	for _, frame := range []string{`{"frame":"hello","protocol":{"min":1,"max":1}}`, subscribe} {
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

// covers: SUB-9, SUB-11, SUB-12, DLV-2, DLV-8, DLV-9, DLV-13, REL-15, REL-16, AGT-17
func TestLive(t *testing.T) {
	h := newHouse(t)
	who := map[string]string{}
	for name, c := range map[string]workspace.Caller{"Arjun": h.arjun, "Arjun's other": h.arjun, "Priya": h.priya, "Scout": h.scout, "Ledger": h.ledger} {
		who[name] = h.listen(c)
	}
	expect := func(what string, want map[string]string) {
		t.Helper()
		h.ring()
		for name, id := range who {
			if got := h.heard(id); got != want[name] {
				t.Errorf("%s: %s is sent %q, want %q", what, name, got, want[name])
			}
		}
	}
	h.say(h.arjun, "@Scout hi")
	expect("a question", map[string]string{
		"Arjun": "message.post @Scout hi", "Arjun's other": "message.post @Scout hi", "Priya": "message.post @Scout hi",
		"Scout": "message.new @Scout hi", "Ledger": "message.overheard @Scout hi",
	})
	h.say(h.scout, "hello")
	expect("an answer", map[string]string{
		"Arjun": "message.post hello", "Arjun's other": "message.post hello", "Priya": "message.post hello",
		"Scout": "message.post hello", "Ledger": "message.overheard hello",
	})
	out := h.do(h.arjun, workspace.Draft(&protocol.SpaceOpened{Title: "Two"}))
	expect("a room of Arjun's", map[string]string{"Arjun": "space.opened", "Arjun's other": "space.opened"})
	two := out.Ack().SpaceID
	h.do(h.arjun, workspace.DraftIn(two, &protocol.MemberAdded{ParticipantID: h.priya.ID}))
	expect("Priya joins it", map[string]string{"Arjun": "member.added", "Arjun's other": "member.added", "Priya": "member.added"})
	// Up to and with the event that takes her out, and nothing after it, though both come in one range.
	h.do(h.arjun, workspace.DraftIn(h.room, &protocol.MemberRemoved{ParticipantID: h.priya.ID}))
	h.say(h.ledger, "are we alone?")
	expect("Priya is taken out", map[string]string{
		"Arjun": "member.removed, message.post are we alone?", "Arjun's other": "member.removed, message.post are we alone?",
		"Priya": "member.removed", "Scout": "member.removed, message.overheard are we alone?", "Ledger": "member.removed, message.post are we alone?",
	})
	start := &protocol.RunStarted{}
	run := workspace.DraftIn(h.room, start)
	run.RunID = "run_01K4ZQPX000000000000000001"
	h.do(h.ledger, run)
	expect("a run", map[string]string{"Arjun": "run.started", "Arjun's other": "run.started", "Scout": "run.started", "Ledger": "run.started"})
	// A harness without agents is told of its agent's leaving by the person's event; its own release it is not sent.
	h.move(h.ledgerA, h.room, two)
	expect("its agent is moved", map[string]string{
		"Arjun": "run.cancel, agent.moved, agent.released, member.added, agent.attached", "Arjun's other": "run.cancel, agent.moved, agent.released, member.added, agent.attached",
		"Priya": "member.added, agent.attached", "Scout": "run.cancel, agent.moved, agent.released", "Ledger": "run.cancel, agent.moved",
	})
	h.do(h.arjun, workspace.DraftIn(h.room, &protocol.SpaceDeleted{}))
	expect("the room is deleted", map[string]string{"Arjun": "space.deleted", "Arjun's other": "space.deleted", "Scout": "space.deleted, agent.released"})
	h.do(h.arjun, workspace.Draft(&protocol.SpaceOpened{Title: "Three", ParticipantIDs: []string{h.s1}}))
	expect("a room with Scout's agent", map[string]string{
		"Arjun": "space.opened, agent.attached", "Arjun's other": "space.opened, agent.attached", "Scout": "space.opened, agent.attached",
	})
}

// A subscription is live from its own seq on: what was rung late, or twice, does not come to it.
func TestLiveFrom(t *testing.T) {
	h := newHouse(t)
	early := h.listen(h.arjun)
	h.say(h.arjun, "one")
	late := h.listen(h.arjun)
	again := h.listenFrom(h.arjun, h.rung)
	h.ring()
	h.fanout = h.newFanout()
	h.rung -= 1
	h.ring()
	if a, b, c := h.heard(early), h.heard(late), h.heard(again); a != "message.post one" || b != "" || c != "message.post one" {
		t.Errorf("sent %q, %q and %q", a, b, c)
	}
}

// Live and replayed, an event reads the same, byte for byte.
// covers: SUB-13
func TestReplayReadsAsLive(t *testing.T) {
	h := newHouse(t)
	start := h.head()
	callers := []workspace.Caller{h.arjun, h.priya, h.scout, h.ledger}
	var live []string
	for _, c := range callers {
		live = append(live, h.listen(c))
	}
	h.say(h.arjun, "@Scout hi")
	h.say(h.scout, "@Bookkeeper and you?")
	name := "Priyanka"
	h.do(h.priya, workspace.Draft(&workspace.PersonDraft{PersonID: h.priya.ID, Name: &name}))
	h.say(h.priya, "hello from Priyanka")
	h.do(h.arjun, workspace.Draft(&protocol.SpaceOpened{Title: "Two"}))
	name = "Priya again"
	h.do(h.priya, workspace.Draft(&workspace.PersonDraft{PersonID: h.priya.ID, Name: &name}))
	h.ring()
	for i, c := range callers {
		replayed := h.sent(h.listenFrom(c, start))
		if got := h.sent(live[i]); len(got) < 5 || !slices.EqualFunc(got, replayed, bytes.Equal) {
			t.Errorf("%s: live\n%s\nreplayed\n%s", c.ID, bytes.Join(got, []byte("\n")), bytes.Join(replayed, []byte("\n")))
		}
	}
}

// What a ring carries is only a copy: nothing, a part, twice, out of order.
func TestWhatARingCarries(t *testing.T) {
	for name, carried := range map[string]func(c []engine.Commit) []engine.Commit{
		"all":          func(c []engine.Commit) []engine.Commit { return c },
		"nothing":      func([]engine.Commit) []engine.Commit { return nil },
		"the last":     func(c []engine.Commit) []engine.Commit { return c[len(c)-1:] },
		"ends":         func(c []engine.Commit) []engine.Commit { return []engine.Commit{c[0], c[len(c)-1]} },
		"out of order": func(c []engine.Commit) []engine.Commit { slices.Reverse(c); return append(c, c...) },
		"what is old":  func(c []engine.Commit) []engine.Commit { return append(c, c[:2]...) },
	} {
		h := newHouse(t)
		id := h.listen(h.arjun)
		h.say(h.arjun, "0")
		h.ring()
		for i := range 5 {
			h.say(h.arjun, fmt.Sprint(i+1))
		}
		if err := h.fanout.Ring(context.Background(), h.ws, carried(h.since(h.rung))); err != nil {
			t.Fatal(err)
		}
		want := "message.post 0, message.post 1, message.post 2, message.post 3, message.post 4, message.post 5"
		if got := h.heard(id); got != want {
			t.Errorf("%s: sent %q", name, got)
		}
	}
	h := newHouse(t)
	if err := h.fanout.Ring(context.Background(), "ws_nobody", nil); err != nil {
		t.Errorf("a workspace without a log: %v", err)
	}
}

// A ring for n sends up to n: what replays has been left no more than that.
func TestRingSendsUpToItsOwn(t *testing.T) {
	h := newHouse(t)
	id := h.listen(h.arjun)
	for i := range 3 {
		h.say(h.arjun, fmt.Sprint(i))
	}
	all := h.since(h.rung)
	for i, want := range []string{"message.post 0, message.post 1", "message.post 2"} { // the first is read from the log, which goes on
		if err := h.fanout.Ring(context.Background(), h.ws, all[i+1:i+2]); err != nil {
			t.Fatal(err)
		}
		if got := h.heard(id); got != want {
			t.Errorf("rung with %d: sent %q", all[i+1].First, got)
		}
	}
}

// noDone are rows on which done is never confirmed.
type noDone struct{ engine.Rows }

func (r noDone) Put(ctx context.Context, row engine.Row, cond engine.Cond) (int64, error) {
	var c session.Cursor
	if err := json.Unmarshal(row.Body, &c); err == nil && strings.HasPrefix(row.PK, "F#") && c.Done == c.Claimed {
		return 0, errors.New("not now")
	}
	return r.Rows.Put(ctx, row, cond)
}

// Who sent everything itself knows it, though it could not write it down.
func TestDoneThatCouldNotBeWritten(t *testing.T) {
	h := newHouse(t)
	id := h.listen(h.arjun)
	h.rows.Rows = noDone{h.rows.Rows}
	h.say(h.arjun, "one")
	h.ring()
	h.say(h.arjun, "two")
	h.ring()
	if got := h.heard(id); got != "message.post one, message.post two" || h.closed[id] != 0 {
		t.Errorf("sent %q, closed with %d", got, h.closed[id])
	}
}

// A warm range reads the connections once, and writes its claim and that it is done; under load the next claim says that.
// Where nobody is connected, or nobody is in the room, nothing is written.
func TestCost(t *testing.T) {
	h := newHouse(t)
	say := func(n int) {
		for range n {
			h.say(h.arjun, "x")
		}
	}
	cost := func(what string, want map[string]int) {
		t.Helper()
		h.ring()
		if diff := cmp.Diff(want, h.rows.take()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
	h.rows.take()
	say(1)
	cost("nobody is connected, cold", map[string]int{"get F#": 1, "query X#": 1})
	say(1)
	cost("nobody is connected, warm", map[string]int{"query X#": 1})
	h.listen(h.arjun)
	h.listen(h.scout)
	h.rows.take()
	say(1)
	cost("one event", map[string]int{"query X#": 1, "put F#": 2})
	say(10)
	cost("ten events", map[string]int{"query X#": 1, "put F#": 2})
	if err := h.fanout.Ring(context.Background(), h.ws, h.since(h.rung-1)); err != nil {
		t.Fatal(err)
	}
	if calls := h.rows.take(); len(calls) != 0 {
		t.Errorf("a ring for what is done costs %v", calls)
	}
	h.do(h.priya, workspace.Draft(&protocol.SpaceOpened{Title: "Priya's"}))
	cost("nobody who listens is in the room", map[string]int{"query X#": 1})

	// Rings that come while one is being sent are answered as one, and cost one write.
	blocked, unblock := make(chan struct{}), make(chan struct{})
	var once sync.Once
	h.onPost = func(string) error {
		once.Do(func() { close(blocked); <-unblock })
		return nil
	}
	say(1)
	results := make(chan error, 10)
	ring := func() { results <- h.fanout.Ring(context.Background(), h.ws, h.since(h.rung)) }
	go ring()
	<-blocked
	say(5)
	for range 5 {
		go ring()
	}
	for h.fanout.Waiting(h.ws) < 5*6 {
		time.Sleep(time.Millisecond)
	}
	close(unblock)
	for range 6 {
		if err := <-results; err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(map[string]int{"query X#": 2, "put F#": 3}, h.rows.take()); diff != "" {
		t.Errorf("two ranges, one after the other (-want +got):\n%s", diff)
	}
}

// One connection that hangs, fails or is throttled is ended, and holds no other up for longer than a push may take.
// covers: KEEP-3, KEEP-4
func TestBadConnections(t *testing.T) {
	for _, x := range []struct {
		name string
		post func() error
		code int
		last string
		most time.Duration
	}{
		{"gone", func() error { return session.ErrGone }, 0, "", 0},
		{"unknown", func() error { return errors.New("who knows") }, 1013, "", 0},
		{"hanging", func() error { time.Sleep(2 * time.Second); return context.DeadlineExceeded }, 1013, "", 2 * time.Second},
		{"too slow, for certain", func() error { return session.ErrBehind }, 1008, "too_far_behind", 0},
		{"throttled while others are not", func() error { return session.ErrThrottled }, 1008, "too_far_behind", 4 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			h := newHouse(t)
			bad, good := h.listen(h.arjun), h.listen(h.priya)
			h.onPost = func(id string) error {
				if id == bad {
					return x.post()
				}
				time.Sleep(10 * time.Millisecond)
				return nil
			}
			h.say(h.arjun, "one")
			h.say(h.arjun, "two")
			began := time.Now()
			h.ring()
			if took := time.Since(began); took > x.most+100*time.Millisecond {
				t.Errorf("%s: it took %v", x.name, took)
			}
			if got := h.heard(good); got != "message.post one, message.post two" {
				t.Errorf("%s: the other is sent %q", x.name, got)
			}
			frames := h.sent(bad)
			if h.closed[bad] != x.code || (x.last == "") != (len(frames) == 0) || x.last != "" && !bytes.Contains(frames[0], []byte(x.last)) {
				t.Errorf("%s: closed with %d after %s", x.name, h.closed[bad], frames)
			}
			h.onPost = nil
			h.say(h.arjun, "three")
			h.ring()
			if got := h.heard(good); got != "message.post three" || len(h.sent(bad)) != len(frames) {
				t.Errorf("%s: then %q", x.name, got)
			}
		})
	}
}

// A throttle that is everybody's is waited out.
func TestThrottledAccount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t)
		a, b := h.listen(h.arjun), h.listen(h.priya)
		until := time.Now().Add(5 * time.Second)
		h.onPost = func(string) error {
			if time.Now().Before(until) {
				return session.ErrThrottled
			}
			return nil
		}
		h.say(h.arjun, "one")
		h.ring()
		if x, y := h.heard(a), h.heard(b); x != "message.post one" || y != x {
			t.Errorf("sent %q and %q, closed %v", x, y, h.closed)
		}
	})
}

// A range that somebody claimed and did not finish is cut short: who it was for resumes, who came after goes on.
// covers: KEEP-5
func TestCutShort(t *testing.T) {
	h := newHouse(t)
	a, b := h.listen(h.arjun), h.listen(h.scout)
	h.say(h.arjun, "one")
	died := make(chan struct{})
	go func() { // as a process that is killed: nothing after the claim is done
		defer close(died)
		dying := fanout.New(fanout.Config{Log: h.engine, Connections: dead{h.sessions}, Rows: h.rows, Push: deadPush{}, Now: time.Now, Logger: quiet})
		if err := dying.Ring(context.Background(), h.ws, h.since(h.rung)); err == nil {
			t.Error("it says that all is sent")
		}
	}()
	<-died
	late := h.listenFrom(h.priya, h.rung)
	h.say(h.arjun, "two")
	h.ring()
	if h.closed[a] != 1013 || h.closed[b] != 1013 || h.heard(a) != "" {
		t.Errorf("closed with %d and %d", h.closed[a], h.closed[b])
	}
	if got := h.heard(late); got != "message.post one, message.post two" {
		t.Errorf("who came after is sent %q", got)
	}
	if got := h.heard(h.listenFrom(h.arjun, h.rung-2)); got != "message.post one, message.post two" {
		t.Errorf("who resumes is sent %q", got)
	}
	// By the same process that failed and goes on, too.
	h.onPost = func(string) error { return errors.New("who knows") }
	c := h.listen(h.arjun)
	h.say(h.arjun, "three")
	broken := fanout.New(fanout.Config{Log: h.engine, Connections: dead{h.sessions}, Rows: h.rows, Push: h, Now: time.Now, Logger: quiet})
	if err := broken.Ring(context.Background(), h.ws, nil); err == nil {
		t.Error("it says that all is sent")
	}
	h.onPost = nil
	h.ring()
	if h.closed[c] != 1013 || h.heard(c) != "" {
		t.Errorf("closed with %d", h.closed[c])
	}
}

// Who claimed a range may be slow and not dead. What it is still sending must not mix with what a second subscribe on the socket
// has asked for, so that connection is cut too; also by one who has found nothing to do for itself meanwhile.
func TestCutShortOfTheSlow(t *testing.T) {
	for _, meanwhile := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			h := newHouse(t)
			ctx := context.Background()
			other := h.newFanout()
			if err := other.Ring(ctx, h.ws, nil); err != nil { // it knows the cursor as it is now
				t.Fatal(err)
			}
			c := h.listen(h.arjun)
			slow := make(chan struct{})
			h.onPost = func(id string) error {
				if id == c {
					<-slow
				}
				return nil
			}
			out := h.say(h.arjun, "one")
			go func() { _ = h.fanout.Ring(ctx, h.ws, []engine.Commit{out.Commit}) }()
			synctest.Wait()
			go func() {
				frame := fmt.Sprintf(`{"frame":"subscribe","workspace_id":%q,"since":0}`, h.ws)
				_, _ = h.sessions.Frame(ctx, c, h.arjun, []byte(frame))
			}()
			time.Sleep(100 * time.Millisecond)
			if meanwhile {
				if err := other.Ring(ctx, h.ws, []engine.Commit{out.Commit}); err != nil {
					t.Fatal(err)
				}
			}
			d := h.listen(h.priya)
			if err := other.Ring(ctx, h.ws, []engine.Commit{h.say(h.arjun, "two").Commit}); err != nil {
				t.Fatal(err)
			}
			if h.closed[c] != 1013 || h.closed[d] != 0 {
				t.Errorf("closed with %d and %d", h.closed[c], h.closed[d])
			}
			close(slow)
			time.Sleep(time.Minute)
			if got := h.heard(c); got != "" || h.heard(d) != "message.post two" {
				t.Errorf("then it is sent %q", got)
			}
		})
	}
}

// dead and deadPush are what a process that is killed gets done.
type dead struct{ *session.Sessions }

func (dead) Cut(context.Context, string, string, int, string, []byte) error { return errDead }

type deadPush struct{}

func (deadPush) Post(context.Context, string, []byte) error               { return errDead }
func (deadPush) Close(context.Context, string, int, string, []byte) error { return errDead }
