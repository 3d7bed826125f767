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

// Late is told of ranges that were sent, by their oldest event, and of none that was for nobody.
func TestLate(t *testing.T) {
	h := newHouse(t)
	var late []time.Duration
	h.fanout = fanout.New(fanout.Config{
		Log: h.engine, Connections: h.sessions, Rows: h.rows, Push: h, Logger: quiet,
		Now:  func() time.Time { return time.Now().Add(3 * time.Second) },
		Late: func(_ string, lag time.Duration) { late = append(late, lag) },
	})
	h.say(h.arjun, "nobody listens")
	h.ring()
	if len(late) != 0 {
		t.Errorf("nobody was sent anything, and it was late by %v", late)
	}
	h.listen(h.arjun)
	h.say(h.arjun, "one")
	h.say(h.arjun, "two")
	h.ring()
	if len(late) != 1 || late[0] < 3*time.Second || late[0] > time.Minute {
		t.Errorf("late by %v, want three seconds, once for a range", late)
	}
}

// What a range holds comes in one events frame to who takes batches, and one by one to who only takes events in a replay.
// covers: SUB-9
func TestBatches(t *testing.T) {
	h := newHouse(t)
	batches, single := h.listenFrom(h.priya, -1, "events", "batches"), h.listenFrom(h.priya, -1, "events")
	for _, text := range []string{"one", "two", strings.Repeat("x", 20_000), strings.Repeat("y", 20_000)} {
		h.say(h.arjun, text)
	}
	h.ring()
	h.say(h.arjun, "alone")
	h.ring()
	want := h.sent(single)
	var got [][]byte
	for i, frame := range h.sent(batches) {
		var f struct {
			Frame  string           `json:"frame"`
			Event  jsontext.Value   `json:"event"`
			Events []jsontext.Value `json:"events"`
		}
		if err := json.Unmarshal(frame, &f); err != nil || len(frame) > 32<<10 {
			t.Fatalf("%.40s of %d bytes: %v", frame, len(frame), err)
		}
		events := f.Events
		if f.Event != nil {
			events = append(events, f.Event)
		}
		if n := []int{3, 1, 1}[i]; len(events) != n || f.Frame != map[bool]string{true: "events", false: "event"}[n > 1] {
			t.Errorf("frame %d is %s of %d events, want %d", i, f.Frame, len(events), n)
		}
		for _, e := range events {
			got = append(got, slices.Concat([]byte(`{"frame":"event","event":`), e, []byte("}")))
		}
	}
	if len(want) != 5 || !slices.EqualFunc(got, want, bytes.Equal) {
		t.Errorf("batches\n%s\nsingle\n%s", bytes.Join(got, []byte("\n")), bytes.Join(want, []byte("\n")))
	}
}
