package session_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/chipschat/chips-aws/shared/protocol"
	"github.com/chipschat/chips-aws/shared/session"
	"github.com/chipschat/chips-aws/shared/workspace"
)

// shows is what events are, by type and, for messages, text.
func shows(events []protocol.Event) []string {
	var list []string
	for _, e := range events {
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
	return list
}

// covers: SUB-1, SUB-2, SUB-3, SUB-10, SUB-11, SUB-12, SUB-13, DLV-9, DLV-21
func TestReplay(t *testing.T) {
	w := newWorld(t)
	since := w.head()
	w.say(w.arjun, w.room, "@Scout one")
	w.say(w.arjun, w.own, "two")
	w.say(w.scout, w.room, "three")
	for _, x := range []struct {
		name  string
		c     workspace.Caller
		since int64
		want  []string
	}{
		{"the owner", w.arjun, since, []string{"message.post @Scout one", "message.post two", "message.post three"}},
		{"a member: nothing of a room she is not in", w.priya, since, []string{"message.post @Scout one", "message.post three"}},
		{"the harness it is for", w.scout, since, []string{"message.new @Scout one", "message.post three"}},
		{"another", w.ledger, since, []string{"message.overheard @Scout one", "message.overheard three"}},
		{"from the middle", w.arjun, since + 1, []string{"message.post two", "message.post three"}},
		{"from the head", w.arjun, since + 3, nil},
		{"from past the head", w.arjun, since + 300, nil},
		{"from now", w.arjun, -1, nil},
	} {
		c := w.connect(x.c).hello("").subscribe(x.since)
		if diff := cmp.Diff(x.want, shows(c.events())); diff != "" {
			t.Errorf("%s (-want +got):\n%s", x.name, diff)
		}
		for _, raw := range w.push.sent(c.id) {
			if !strings.HasPrefix(string(raw), `{"frame":"event","event":{`) {
				t.Errorf("%s: a frame is %.40s", x.name, raw)
			}
		}
		if sub := c.state().Sub; sub == nil || sub.State != session.Live || sub.LiveFrom != w.head() {
			t.Errorf("%s: the subscription is %+v", x.name, sub)
		}
	}
}

// What is replayed goes by who is in the room now: a room that was lost does not come back, one that was joined comes whole.
// covers: SUB-11, SUB-12
func TestReplayGoesByMembershipNow(t *testing.T) {
	w := newWorld(t)
	since := w.head()
	w.say(w.arjun, w.room, "in R")
	w.say(w.arjun, w.own, "in Own")
	w.do(w.arjun, workspace.DraftIn(w.own, &protocol.MemberAdded{ParticipantID: w.priya.ID}))
	w.do(w.arjun, workspace.DraftIn(w.room, &protocol.MemberRemoved{ParticipantID: w.priya.ID}))
	got := shows(w.connect(w.priya).hello("").subscribe(since).events())
	if want := []string{"message.post in Own", "member.added"}; !slices.Equal(got, want) {
		t.Errorf("she is replayed %q, want %q", got, want)
	}
	// Her harness's cancels and releases come whatever its rooms.
	run := `{"frame":"event","event":{"type":"run.started","run_id":"run_01K4ZQPX000000000000000001","space_id":"` + w.room + `","idempotency_key":"s"}}`
	w.connect(w.scout).hello("").frame(run)
	since = w.head()
	w.do(w.arjun, workspace.DraftIn(w.room, &protocol.SpaceDeleted{}))
	got = shows(w.connect(w.scout).hello("").subscribe(since).events())
	if want := []string{"run.cancel", "agent.released"}; !slices.Equal(got, want) {
		t.Errorf("of a deleted room its harness is replayed %q, want %q", got, want)
	}
	if got = shows(w.connect(w.ledger).hello("").subscribe(since).events()); len(got) != 0 {
		t.Errorf("of a deleted room another is replayed %q", got)
	}
}

// covers: SUB-6, SUB-7, SUB-8, HEL-10
func TestReplayInEventsFrames(t *testing.T) {
	w := newWorld(t)
	since := w.head()
	w.fill(1234, "a short one")
	w.fill(20, strings.Repeat("long ", 2000)) // 10 KB each
	w.fill(2, strings.Repeat("x", 64<<10))
	c := w.connect(w.arjun).hello(`,"accepts":["events"]`).subscribe(since)
	next := since
	for i, raw := range w.push.sent(c.id) {
		if !strings.HasPrefix(string(raw), `{"frame":"events","events":[{`) {
			t.Fatalf("frame %d is %.40s", i, raw)
		}
		events := eventsIn(t, raw)
		if len(events) > 500 || len(raw) > 32<<10 && len(events) > 1 || len(raw) > 128<<10 {
			t.Errorf("frame %d holds %d events in %d bytes", i, len(events), len(raw))
		}
		for _, e := range events {
			if next++; e.Seq != next {
				t.Fatalf("frame %d: seq %d after %d", i, e.Seq, next-1)
			}
		}
	}
	if next != w.head() {
		t.Errorf("replayed to %d of %d", next, w.head())
	}
	many := newWorld(t, func(c *session.Config) { c.Limits = session.Limits{FrameBytes: 1 << 20} })
	since = many.head()
	many.fill(1000, "")
	c = many.connect(many.arjun).hello(`,"accepts":["events"]`).subscribe(since)
	if frames := many.push.sent(c.id); len(frames) != 2 || len(eventsIn(t, frames[0])) != 500 {
		t.Errorf("%d frames, %d events in the first", len(frames), len(eventsIn(t, frames[0])))
	}
}

// A replay that runs out of time hands on from where it is, and no run does it twice.
func TestReplayHandsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		var jobs []session.Job
		w.config.Replays = startFunc(func(_ context.Context, job session.Job) error { jobs = append(jobs, job); return nil })
		w.config.Limits.HandOver = 10 * time.Second
		w.sessions = session.New(w.config)
		since := w.head()
		w.fill(3500, "x")
		w.push.onPost = func(string, []byte) error { time.Sleep(10 * time.Millisecond); return nil }
		c := w.connect(w.arjun).hello("").subscribe(since)
		runs := 0
		for ; len(jobs) > 0; runs++ {
			job := jobs[0]
			jobs = jobs[1:]
			for range 2 { // Lambda may invoke it twice
				ctx, cancel := context.WithTimeout(context.Background(), 15*time.Second)
				if err := w.sessions.Replay(ctx, job); err != nil {
					t.Fatal(err)
				}
				cancel()
			}
		}
		if runs < 3 {
			t.Errorf("it took %d runs", runs)
		}
		events := c.events()
		for i, e := range events {
			if e.Seq != since+int64(i)+1 {
				t.Fatalf("event %d has seq %d", i, e.Seq-since)
			}
		}
		if len(events) != 3500 || c.state().Sub.State != session.Live {
			t.Errorf("%d events, %+v", len(events), c.state().Sub)
		}
	})
}

// Throttled until its time is over, a run hands on in the middle of a part.
func TestReplayHandsOverThrottled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		var jobs []session.Job
		w.config.Replays = startFunc(func(_ context.Context, job session.Job) error { jobs = append(jobs, job); return nil })
		w.sessions = session.New(w.config)
		since := w.head()
		w.fill(10, "x")
		c := w.connect(w.arjun).hello("").subscribe(since)
		w.push.onPost = func(string, []byte) error {
			if len(w.push.sent(c.id)) >= 4 {
				return session.ErrThrottled
			}
			return nil
		}
		ctx, cancel := context.WithTimeout(context.Background(), 15*time.Second)
		defer cancel()
		if err := w.sessions.Replay(ctx, jobs[0]); err != nil || len(jobs) != 2 || jobs[1].Lag != 6 {
			t.Fatalf("%v, jobs %+v", err, jobs)
		}
		w.push.onPost = nil
		if err := w.sessions.Replay(context.Background(), jobs[1]); err != nil || len(c.events()) != 10 {
			t.Errorf("%v, %d events", err, len(c.events()))
		}
	})
}

// A cancel is replayed to its harness though the run is long forgotten and the room deleted.
func TestReplayOfAForgottenRun(t *testing.T) {
	w := newWorld(t)
	since := w.head()
	agent := protocol.Actor{Kind: protocol.KindAgent, ID: w.ledgerA, HarnessID: w.ledger.ID}
	run := func(i int, actor protocol.Actor, d protocol.Data) protocol.Event {
		id := protocol.NewID(protocol.PrefixRun, time.Unix(1, 0), [10]byte{8: byte(i >> 8), 9: byte(i)})
		return protocol.Event{Envelope: protocol.Envelope{Type: d.EventType(), SpaceID: w.room, RunID: id, Actor: actor}, Data: d}
	}
	events := []protocol.Event{run(0, agent, &protocol.RunStarted{}), run(0, protocol.System, &protocol.RunCancel{Lanes: []string{}})}
	for i := 1; i <= workspace.RememberedRuns; i++ {
		events = append(events, run(i, agent, &protocol.RunStarted{}), run(i, agent, &protocol.RunCompleted{}))
	}
	w.append(events...)
	w.do(w.arjun, workspace.DraftIn(w.room, &protocol.SpaceDeleted{}))
	if got := shows(w.connect(w.ledger).hello("").subscribe(since).events()); !slices.Equal(got, []string{"run.cancel"}) {
		t.Errorf("it is replayed %q", got)
	}
	if got := shows(w.connect(w.priya).hello("").subscribe(since).events()); len(got) != 0 {
		t.Errorf("a person is replayed %q", got)
	}
}

// Throttling slows a replay and does not cut it, also across a hand-over; a consumer that takes nothing for long is cut as too slow.
// covers: KEEP-3, KEEP-4, KEEP-6
func TestReplayThrottled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		since := w.head()
		w.fill(50, "x")
		n := 0
		w.push.onPost = func(string, []byte) error {
			if n++; n%3 != 0 {
				return session.ErrThrottled
			}
			return nil
		}
		c := w.connect(w.arjun).hello("").subscribe(since)
		if got := len(c.events()); got != 50 || c.state().Sub.State != session.Live {
			t.Errorf("%d events, %+v", got, c.state().Sub)
		}
		w.push.onPost = func(string, []byte) error { return session.ErrBehind }
		began := time.Now()
		slow := w.connect(w.arjun).hello("").subscribe(since)
		frames := w.push.sent(slow.id)
		if len(frames) != 1 || w.push.code(slow.id) != 1008 || slow.state().ID != "" {
			t.Fatalf("%d frames, closed with %d, row %+v", len(frames), w.push.code(slow.id), slow.state())
		}
		if e := answer[protocol.ErrorFrame](t, frames[0]); e.Code != protocol.TooFarBehind || e.IdempotencyKey != "" {
			t.Errorf("its last frame is %s", frames[0])
		}
		if took := time.Since(began); took < 20*time.Second || took > 2*time.Minute {
			t.Errorf("it was cut after %v", took)
		}
	})
}

// What is appended after a replay has read on to the end of the log, and while it still sends, is read anew.
func TestReplayOfWhatCameMeanwhile(t *testing.T) {
	w := newWorld(t)
	since := w.head()
	w.fill(600, "x") // so many that it reads on
	more := true
	c := w.connect(w.arjun).hello("")
	w.push.onPost = func(string, []byte) error {
		if len(w.push.sent(c.id)) == 500 && more {
			more = false
			w.fill(3, "y")
			row := c.state()
			if err := w.sessions.MarkBehind(context.Background(), &row, w.head()); err != nil {
				t.Error(err)
			}
		}
		return nil
	}
	c.subscribe(since)
	if got := len(c.events()); got != 603 || c.state().Sub.State != session.Live {
		t.Errorf("%d events, %+v", got, c.state().Sub)
	}
}

// A socket that is gone ends its replay, and one whose push has no known outcome is closed: it resumes by since.
func TestReplayEnds(t *testing.T) {
	for _, x := range []struct {
		err  error
		code int
	}{{session.ErrGone, 0}, {errUnknown, 1013}, {context.DeadlineExceeded, 1013}} {
		w := newWorld(t)
		since := w.head()
		w.fill(10, "x")
		c := w.connect(w.arjun).hello("")
		w.push.onPost = func(string, []byte) error {
			if len(w.push.sent(c.id)) == 4 {
				return x.err
			}
			return nil
		}
		_, err := w.sessions.Frame(context.Background(), c.id, c.c, fmt.Appendf(nil, `{"frame":"subscribe","workspace_id":%q,"since":%d}`, w.ws, since))
		if (x.code != 0) != (err != nil) || x.code != 0 && !errors.Is(err, x.err) {
			t.Errorf("%v: answered %v", x.err, err)
		}
		if len(c.events()) != 4 || w.push.code(c.id) != x.code || c.state().ID != "" {
			t.Errorf("%v: %d events, closed with %d, row %+v", x.err, len(c.events()), w.push.code(c.id), c.state())
		}
	}
}

// A frame no transport takes is passed over; all others come.
func TestReplayPassesOverWhatIsTooLarge(t *testing.T) {
	w := newWorld(t)
	since := w.head()
	w.fill(5, "x")
	w.fill(1, strings.Repeat("x", 60<<10))
	w.fill(5, "x")
	w.push.onPost = func(_ string, frame []byte) error {
		if len(frame) > 50<<10 {
			return session.ErrTooLarge
		}
		return nil
	}
	c := w.connect(w.arjun).hello("").subscribe(since)
	if got := len(c.events()); got != 10 || c.state().Sub.State != session.Live {
		t.Errorf("%d events, %+v", got, c.state().Sub)
	}
}
