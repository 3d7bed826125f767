package session_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/chipschat/chips-aws/shared/delivery"
	"github.com/chipschat/chips-aws/shared/engine"
	"github.com/chipschat/chips-aws/shared/protocol"
	"github.com/chipschat/chips-aws/shared/session"
	"github.com/chipschat/chips-aws/shared/workspace"
)

// unread is an engine whose log may not be read: all that is needed is in the state.
type unread struct{ session.Engine }

func (unread) Commits(context.Context, string, int64, int) ([]engine.Commit, error) {
	return nil, errUnknown
}

// Who missed nothing is live at once, however long the log has grown in other rooms.
func TestNothingMissedIsLiveAtOnce(t *testing.T) {
	w := newWorld(t)
	w.config.Engine = unread{w.engine}
	w.sessions = session.New(w.config)
	since := w.head()
	w.say(w.arjun, w.own, "not for Priya")
	c := w.connect(w.priya).hello("").subscribe(since)
	if sub := c.state().Sub; sub.State != session.Live || sub.LiveFrom != w.head() || len(c.events()) != 0 {
		t.Errorf("%+v, %d events", sub, len(c.events()))
	}
	w.say(w.arjun, w.room, "for Priya")
	other := w.connect(w.priya).hello("")
	if _, err := w.sessions.Frame(context.Background(), other.id, other.c, fmt.Appendf(nil, `{"frame":"subscribe","workspace_id":%q,"since":%d}`, w.ws, since)); !errors.Is(err, errUnknown) {
		t.Errorf("what she missed is not looked for: %v", err)
	}
}

// Whatever happens in a workspace, who is told that nothing was missed has missed nothing.
func TestQuietMissesNothing(t *testing.T) {
	ctx := context.Background()
	for seed := range uint64(5) {
		w := newWorld(t)
		r := rand.New(rand.NewPCG(seed, 3))
		one := func(of ...string) string { return of[r.IntN(len(of))] }
		callers := []workspace.Caller{w.arjun, w.priya, w.scout, w.ledger}
		rooms := []string{w.room, w.own}
		done, quiet := 0, 0
		for i := range 500 {
			by := callers[r.IntN(len(callers))]
			room := one(rooms...)
			run := workspace.DraftIn(one(room, room, ""), &protocol.RunStarted{})
			run.RunID = protocol.NewID(protocol.PrefixRun, time.Unix(int64(i), 0), [10]byte{})
			name := fmt.Sprint("Name ", i)
			draft := []protocol.Event{
				workspace.DraftIn(room, &protocol.MessagePost{Text: "x"}),
				workspace.DraftIn(room, &protocol.MessagePost{Text: "x"}),
				workspace.DraftIn(room, &protocol.MemberAdded{ParticipantID: one(w.priya.ID, w.s1, w.ledgerA)}),
				workspace.DraftIn(room, &protocol.MemberRemoved{ParticipantID: one(w.priya.ID, w.s1, w.ledgerA)}),
				workspace.DraftIn(room, &protocol.AgentMoved{AgentID: one(w.s1, w.ledgerA), ToSpaceID: one(rooms...)}),
				workspace.DraftIn(room, &protocol.SpaceArchived{}), workspace.DraftIn(room, &protocol.SpaceUnarchived{}),
				workspace.Draft(&protocol.SpaceOpened{Title: name}),
				run, run, workspace.Draft(&workspace.PersonDraft{PersonID: w.priya.ID, Name: &name}),
				workspace.DraftIn(room, &protocol.SpaceDeleted{}),
			}[min(r.IntN(14), 11)]
			out, err := w.engine.Do(ctx, w.ws, workspace.Command{By: by, Draft: draft, Operation: true})
			if err != nil {
				continue
			}
			done++
			if opened := out.Ack().SpaceID; opened != "" {
				rooms = append(rooms, opened)
			}
		}
		var events []protocol.Event
		commits, err := w.engine.Commits(ctx, w.ws, 1, 10_000)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range commits {
			some, err := c.Decode()
			if err != nil {
				t.Fatal(err)
			}
			events = append(events, some...)
		}
		head, err := w.engine.StateAt(ctx, w.ws, w.head())
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range callers {
			to := delivery.Recipient{Kind: c.Kind, ID: c.ID}
			at := workspace.New(w.ws)
			last := int64(0) // the newest event that is for them
			for _, e := range events {
				workspace.Evolve(at, e)
				if delivery.Covers(head, e, to) || delivery.Always(at, e, to) {
					last = e.Seq
				}
			}
			for since := range head.Seq + 1 {
				if delivery.Quiet(head, to, since) {
					if quiet++; since < last {
						t.Fatalf("seed %d: %s is told that nothing came after %d, and %d did", seed, c.ID, since, last)
					}
				}
			}
		}
		if done < 40 || quiet == 0 {
			t.Errorf("seed %d: %d things were done, quiet %d times", seed, done, quiet)
		}
	}
}

func TestSubscribeRefused(t *testing.T) {
	w := newWorld(t)
	c := w.connect(w.arjun).hello("")
	other := protocol.NewID(protocol.PrefixWorkspace, time.Unix(1, 0), [10]byte{9})
	for frame, code := range map[string]protocol.Code{
		`{"frame":"subscribe","workspace_id":"` + other + `"}`:            protocol.Forbidden,
		`{"frame":"subscribe","workspace_id":"` + w.ws + `","since":-1}`:  protocol.InvalidFrame,
		`{"frame":"subscribe","workspace_id":"` + w.ws + `","since":1.5}`: protocol.InvalidFrame,
		`{"frame":"subscribe","workspace_id":"` + w.ws + `","since":"1"}`: protocol.InvalidFrame,
		`{"frame":"subscribe"}`: protocol.InvalidFrame,
	} {
		reply := c.frame(frame)
		if e := answer[protocol.ErrorFrame](t, reply.Frame); e.Code != code || reply.Close != 0 {
			t.Errorf("%s is answered %s", frame, reply.Frame)
		}
	}
	if c.state().Sub != nil {
		t.Error("there is a subscription")
	}
	c.frame(fmt.Sprintf(`{"frame":"subscribe","workspace_id":%q,"since":%d,"SINCE":0}`, w.ws, w.head()))
	if c.state().Sub == nil || len(w.push.sent(c.id)) != 0 {
		t.Error("a since in another case was read")
	}
}

// A second subscribe replaces the first; who ran the first stops, and its job run late does nothing.
func TestSecondSubscribe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		var jobs []session.Job
		w.config.Replays = startFunc(func(_ context.Context, job session.Job) error { jobs = append(jobs, job); return nil })
		w.sessions = session.New(w.config)
		since := w.head()
		w.fill(30, "x")
		c := w.connect(w.arjun).hello("").subscribe(since)
		// The first is at its tenth frame when the second comes.
		var once atomic.Bool
		second := make(chan struct{})
		w.push.onPost = func(string, []byte) error {
			if len(w.push.sent(c.id)) == 10 && once.CompareAndSwap(false, true) {
				c.subscribe(since + 20)
				go func() {
					if err := w.sessions.Replay(context.Background(), jobs[1]); err != nil {
						t.Error(err)
					}
					close(second)
				}()
				time.Sleep(time.Second) // the push is still under way
			}
			return nil
		}
		if err := w.sessions.Replay(context.Background(), jobs[0]); err != nil {
			t.Fatal(err)
		}
		<-second
		if err := w.sessions.Replay(context.Background(), jobs[0]); err != nil {
			t.Fatal(err)
		}
		var got []int64
		for _, e := range c.events() {
			got = append(got, e.Seq-since)
		}
		want := []int64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("sent (-want +got):\n%s", diff)
		}
		if sub := c.state().Sub; sub.State != session.Live || sub.LiveFrom != w.head() {
			t.Errorf("the subscription is %+v", sub)
		}
	})
}

// A third waits for what is still under way of the first, though the second has given up.
func TestThirdSubscribe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		since := w.head()
		w.fill(9, "x")
		c := w.connect(w.arjun).hello("")
		var others sync.WaitGroup
		w.push.onPost = func(string, []byte) error {
			if len(w.push.sent(c.id)) == 1 {
				w.push.onPost = nil
				others.Go(func() { c.subscribe(since + 3) })
				time.Sleep(500 * time.Millisecond)
				others.Go(func() { c.subscribe(since + 6) })
				time.Sleep(500 * time.Millisecond)
			}
			return nil
		}
		c.subscribe(since)
		others.Wait()
		var got []int64
		for _, e := range c.events() {
			got = append(got, e.Seq-since)
		}
		if want := []int64{1, 2, 7, 8, 9}; !slices.Equal(got, want) {
			t.Errorf("sent %v, want %v", got, want)
		}
	})
}

// A subscribe that another process takes stops the replay at its next part.
func TestSubscribeElsewhereStopsAReplay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		var elsewhere *session.Sessions
		config := w.config
		config.Replays = startFunc(func(ctx context.Context, job session.Job) error { return elsewhere.Replay(ctx, job) })
		elsewhere = session.New(config)
		since := w.head()
		w.fill(3000, "x")
		c := w.connect(w.arjun).hello("")
		var once sync.Once
		var others sync.WaitGroup
		w.push.onPost = func(string, []byte) error {
			once.Do(func() {
				others.Go(func() {
					frame := fmt.Sprintf(`{"frame":"subscribe","workspace_id":%q,"since":%d}`, w.ws, since+2999)
					if _, err := elsewhere.Frame(context.Background(), c.id, c.c, []byte(frame)); err != nil {
						t.Error(err)
					}
				})
				time.Sleep(time.Second)
			})
			return nil
		}
		c.subscribe(since)
		others.Wait()
		if got := len(c.events()); got != 1001 || c.events()[1000].Seq != since+3000 {
			t.Errorf("sent %d events", got)
		}
	})
}

// One that starts from now, or from past the head, waits for the first to stop like any other.
func TestSecondSubscribeFromNow(t *testing.T) {
	for _, second := range []int64{-1, 1 << 40} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			since := w.head()
			w.fill(5, "x")
			c := w.connect(w.arjun).hello("")
			done := make(chan struct{})
			w.push.onPost = func(string, []byte) error {
				if len(w.push.sent(c.id)) == 2 {
					go func() { c.subscribe(second); close(done) }()
					time.Sleep(time.Second)
					if sub := c.state().Sub; sub.State != session.Replaying {
						t.Errorf("%d: %+v while a push of the first is under way", second, sub)
					}
				}
				return nil
			}
			c.subscribe(since)
			<-done
			if sub := c.state().Sub; len(c.events()) != 3 || sub.State != session.Live || sub.LiveFrom != w.head() {
				t.Errorf("%d: %d events, %+v", second, len(c.events()), sub)
			}
		})
	}
}

type startFunc func(context.Context, session.Job) error

func (f startFunc) Start(ctx context.Context, job session.Job) error { return f(ctx, job) }
