package deadline_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chipschat/chips-aws/shared/deadline"
	"github.com/chipschat/chips-aws/shared/embedded"
	"github.com/chipschat/chips-aws/shared/engine"
	"github.com/chipschat/chips-aws/shared/protocol"
	"github.com/chipschat/chips-aws/shared/session"
	"github.com/chipschat/chips-aws/shared/workspace"
)

const silent = time.Minute

// house is a world whose harnesses have sockets, and whose deadlines ring.
type house struct {
	*world
	sessions *session.Sessions
}

// closer closes every socket.
type closer struct{}

func (closer) Post(context.Context, string, []byte) error { return session.ErrGone }
func (closer) Close(context.Context, string, int, string, []byte) error {
	return nil
}

// process is what a process makes of a table: sessions, and a keeper of deadlines.
func process(rows engine.Rows, log *engine.Engine, alarms deadline.Alarms) (*session.Sessions, *deadline.Keeper) {
	watch := &deadline.Watch{Rows: rows, Silent: silent, Now: time.Now, Alarms: alarms}
	sessions := session.New(session.Config{Engine: log, Rows: rows, Push: closer{}, Left: watch.Left, Now: time.Now, Log: quiet})
	return sessions, deadline.New(deadline.Config{Log: log, Rows: rows, Alarms: alarms, Watch: watch, Sockets: sessions, Now: time.Now, Logger: quiet})
}

func inHouse(t *testing.T, test func(*testing.T, *house)) {
	inWorld(t, func(t *testing.T, w *world) {
		h := &house{world: w}
		timers := embedded.NewTimers(func(ctx context.Context, a deadline.Alarm) error { return h.keeper.Fire(ctx, a) }, time.Now, quiet)
		defer timers.Stop()
		h.sessions, h.keeper = process(w.table, w.engine, timers)
		test(t, h)
	})
}

// hello opens a socket of a harness.
func hello(ctx context.Context, s *session.Sessions, id string, c workspace.Caller) error {
	if err := s.Connect(ctx, id, c); err != nil {
		return err
	}
	reply, err := s.Frame(ctx, id, c, []byte(`{"frame":"hello","protocol":{"min":1,"max":1},"client":{"name":"t","version":"1"}}`))
	if err == nil && !strings.Contains(string(reply.Frame), `"hello"`) {
		err = fmt.Errorf("hello is answered %s", reply.Frame)
	}
	return err
}

func (h *house) comes(id string) { h.t.Helper(); h.must(hello(h.t.Context(), h.sessions, id, h.scout)) }

func (h *house) goes(id string) {
	h.t.Helper()
	h.must(h.sessions.Disconnect(h.t.Context(), id, h.scout))
}

// statuses are what was written of how Scout is, in order.
func (w *world) statuses() string {
	w.t.Helper()
	var all []string
	for _, e := range w.log() {
		if d, ok := e.Data.(*protocol.HarnessStatusSet); ok && d.HarnessID == w.scout.ID {
			all = append(all, d.Status)
		}
	}
	return strings.Join(all, " ")
}

func (h *house) reads(want string) {
	h.t.Helper()
	synctest.Wait()
	if got := h.statuses(); got != want {
		h.t.Errorf("Scout was said to be %q, want %q", got, want)
	}
}

// A harness is away once it has had no socket for a while, and back at its next hello. In between nothing is said of it, whatever comes
// and goes.
func TestAwayOnTime(t *testing.T) {
	inHouse(t, func(t *testing.T, h *house) {
		h.comes("a")
		h.comes("b")
		h.goes("a") // one of two
		time.Sleep(2 * silent)
		h.reads("")
		if rows := h.kept(); len(rows) != 0 {
			t.Errorf("watched though it is there: %+v", rows)
		}
		last := "b"
		for i := range 10 { // ten in a row, each within the time
			h.goes(last)
			time.Sleep(silent - time.Second)
			last = fmt.Sprint("b", i)
			h.comes(last)
		}
		time.Sleep(2 * silent)
		h.reads("")
		h.goes(last)
		time.Sleep(silent - time.Millisecond)
		h.reads("")
		time.Sleep(200 * time.Millisecond)
		h.reads("away")
		time.Sleep(5 * silent)
		h.reads("away")
		if rows := h.kept(); len(rows) != 0 {
			t.Errorf("still watched: %+v", rows)
		}
		h.comes("c")
		h.reads("away ok")
		h.comes("d")
		h.reads("away ok")
		// However its sockets end: here because it was taken back.
		h.must(h.sessions.CloseHolder(t.Context(), ws, h.scout.ID))
		time.Sleep(silent + time.Second)
		h.reads("away ok away")
	})
}

// A new harness, and one that says over HTTP that it is well, have as long to open a socket; trouble is kept.
func TestAwayWithoutEverASocket(t *testing.T) {
	inHouse(t, func(t *testing.T, h *house) {
		arm := func(out engine.Outcome) { h.must(h.keeper.Arm(t.Context(), ws, []engine.Commit{out.Commit})) }
		name := "Late"
		out := h.do(h.arjun, "", &workspace.HarnessDraft{DisplayName: &name})
		h.scout.ID = out.Events[0].Data.(*protocol.HarnessAdded).HarnessID
		arm(out)
		says := func(status string) {
			arm(h.do(h.scout, "", &protocol.HarnessStatusSet{HarnessID: h.scout.ID, Status: status}))
		}
		time.Sleep(silent + time.Second)
		h.reads("away")
		says("ok")
		time.Sleep(silent / 2)
		h.reads("away ok")
		time.Sleep(silent)
		h.reads("away ok away")
		says("trouble")
		time.Sleep(2 * silent)
		h.reads("away ok away trouble")
		h.comes("a")
		h.goes("a")
		time.Sleep(2 * silent)
		h.reads("away ok away trouble")
		says("ok")
		h.comes("b")
		time.Sleep(2 * silent)
		h.reads("away ok away trouble ok")
	})
}

// While a restart is waited for a harness is not said to be away, and then at once; one whose socket went only just now has its time.
//
// covers: RST-9
func TestAwayAfterARestart(t *testing.T) {
	inHouse(t, func(t *testing.T, h *house) {
		capabilities := []string{"restarts"}
		h.do(h.arjun, "", &workspace.HarnessDraft{HarnessID: h.scout.ID, Capabilities: &capabilities})
		restart := func() {
			out := h.do(h.arjun, "", &workspace.RestartDraft{HarnessID: h.scout.ID})
			h.must(h.keeper.Arm(t.Context(), ws, []engine.Commit{out.Commit}))
		}
		wait := h.engine.Waits().Restart
		time.Sleep(12345 * time.Microsecond) // at no round time
		h.comes("a")
		restart()
		h.goes("a")
		time.Sleep(wait - time.Second)
		h.reads("restarting")
		time.Sleep(time.Second + 200*time.Millisecond)
		h.reads("restarting away")
		h.comes("b")
		restart()
		time.Sleep(wait - silent/2)
		h.goes("b")
		time.Sleep(silent + 100*time.Millisecond)
		h.reads("restarting away ok restarting ok away") // the wait is over, and half a minute later so is its own
		h.comes("c")
		restart()
		h.goes("c")
		time.Sleep(wait / 2)
		h.comes("d")
		time.Sleep(wait)
		h.reads("restarting away ok restarting ok away ok restarting ok")
		restart() // and is still there when the wait is over
		time.Sleep(wait + time.Second)
		h.reads("restarting away ok restarting ok away ok restarting ok restarting ok")
		if rows := h.kept(); len(rows) != 0 {
			t.Errorf("still watched: %+v", rows)
		}
	})
}

// A process that ends with its sockets, and its timers, leaves no harness that reads ok for ever, and none is away before it had its time
// to come back.
func TestAwayAfterTheProcess(t *testing.T) {
	inHouse(t, func(t *testing.T, h *house) {
		h.comes("a")
		if _, err := h.table.Delete(t.Context(), "X#"+ws, "a", engine.Always); err != nil { // as kill -9 has it
			t.Fatal(err)
		}
		h.must(h.keeper.Arm(t.Context(), ws, nil))
		time.Sleep(silent / 2)
		h.must(h.keeper.Arm(t.Context(), ws, nil)) // and once more
		time.Sleep(silent - time.Second)
		h.reads("")
		time.Sleep(2 * time.Second)
		h.reads("away")
		h.must(h.keeper.Arm(t.Context(), ws, nil))
		if rows := h.kept(); len(rows) != 0 {
			t.Errorf("watched though it is away: %+v", rows)
		}
		h.comes("b")
		h.must(h.keeper.Arm(t.Context(), ws, nil))
		if rows := h.kept(); len(rows) != 0 {
			t.Errorf("watched though it is there: %+v", rows)
		}
	})
}

// Where there are no alarms the sweep finds the rows; what could not be written is looked at again. Many that leave at once are said to be
// away in few commits.
func TestManyAway(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		const many = 250
		rows := &counting{Rows: w.table}
		sessions, keeper := process(rows, w.engine, nil)
		for i := range many {
			name := fmt.Sprint("H", i)
			id := w.do(w.arjun, "", &workspace.HarnessDraft{DisplayName: &name}).Events[0].Data.(*protocol.HarnessAdded).HarnessID
			c := workspace.Caller{Workspace: ws, Kind: protocol.KindHarness, ID: id}
			w.must(hello(t.Context(), sessions, id, c))
			defer func() { _ = sessions.Disconnect(context.Background(), id, c) }()
			if i%2 == 0 {
				w.must(sessions.Disconnect(t.Context(), id, c))
			}
		}
		head, _, err := w.engine.Head(t.Context(), ws)
		w.must(err)
		time.Sleep(silent + time.Second)
		due := w.kept()
		w.must(keeper.Sweep(t.Context(), due[0]))
		after, _, err := w.engine.Head(t.Context(), ws)
		w.must(err)
		if n := after.Last() - head.Last(); n != many/2 || len(w.kept()) != 0 {
			t.Errorf("%d of %d are away, %d rows are left", n, many/2, len(w.kept()))
		}
		rows.n = 0
		for _, row := range due[1:] {
			w.must(keeper.Sweep(t.Context(), row))
		}
		if rows.n != 2*(len(due)-1) {
			t.Errorf("%d reads for %d rows that are no more", rows.n, len(due)-1)
		}
	})
}

// counting counts queries.
type counting struct {
	engine.Rows
	n int
}

func (c *counting) Query(ctx context.Context, pk, after string, limit int) ([]engine.Row, error) {
	c.n++
	return c.Rows.Query(ctx, pk, after, limit)
}

// A watch that cannot be written leaves the connection where it is, for the next who finds it gone.
func TestLeftFails(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.alarms.err = errors.New("no queue")
		sessions, _ := process(w.table, w.engine, w.alarms)
		w.must(hello(t.Context(), sessions, "a", w.scout))
		if err := sessions.Disconnect(t.Context(), "a", w.scout); err == nil {
			t.Error("it went, and nobody will look")
		}
		if held, _ := sessions.Holders(t.Context(), ws); !held[w.scout.ID] {
			t.Error("the connection went first")
		}
	})
}

// slow are sockets that take a while to be told, in which something happens.
type slow struct {
	*session.Sessions
	meanwhile func()
}

func (s *slow) Holders(ctx context.Context, ws string) (map[string]bool, error) {
	held, err := s.Sessions.Holders(ctx, ws)
	if meanwhile := s.meanwhile; meanwhile != nil {
		s.meanwhile = nil
		meanwhile()
	}
	return held, errors.Join(err, ctx.Err())
}

// A harness that comes back in its time is never said to be away, however long a look takes that others were due for.
func TestALookTakesLong(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		watch := &deadline.Watch{Rows: w.table, Silent: silent, Now: time.Now}
		sockets := &slow{Sessions: session.New(session.Config{Engine: w.engine, Rows: w.table, Push: closer{}, Left: watch.Left, Now: time.Now, Log: quiet})}
		keeper := deadline.New(deadline.Config{Log: w.engine, Rows: w.table, Watch: watch, Sockets: sockets, Now: time.Now, Logger: quiet})
		name := "Other"
		other := w.do(w.arjun, "", &workspace.HarnessDraft{DisplayName: &name}).Events[0].Data.(*protocol.HarnessAdded).HarnessID
		w.must(watch.Left(t.Context(), ws, other))
		time.Sleep(2 * time.Second)
		w.must(watch.Left(t.Context(), ws, w.scout.ID))
		time.Sleep(silent - time.Second)
		sockets.meanwhile = func() {
			w.must(hello(t.Context(), sockets.Sessions, "a", w.scout))
			time.Sleep(2 * time.Second)
		}
		for range 2 {
			w.must(keeper.Fire(t.Context(), deadline.Alarm{WorkspaceID: ws, Kind: "away", Due: time.Now()}))
		}
		if got := w.statuses(); got != "" {
			t.Errorf("Scout came back in time, and was said to be %q", got)
		}
		away := ""
		w.must(w.engine.Read(t.Context(), ws, func(s *workspace.State) error { away = s.Harness(other).Reads(); return nil }))
		if away != "away" || len(w.kept()) != 0 {
			t.Errorf("the other reads %s, kept %+v", away, w.kept())
		}
	})
}

// A look that was cut short after it had written is made again, and takes back what it said of a harness that has come since.
func TestALookIsCutShort(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		sessions, _ := process(w.table, w.engine, w.alarms)
		sockets := &slow{Sessions: sessions}
		watch := &deadline.Watch{Rows: w.table, Silent: silent, Now: time.Now}
		keeper := deadline.New(deadline.Config{Log: w.engine, Rows: w.table, Watch: watch, Sockets: sockets, Now: time.Now, Logger: quiet})
		w.must(watch.Left(t.Context(), ws, w.scout.ID))
		time.Sleep(silent)
		ctx, cut := context.WithCancel(t.Context())
		sockets.meanwhile = func() { // it comes after who has a socket was asked, and before it is said to be away
			w.must(hello(t.Context(), sessions, "a", w.scout))
			sockets.meanwhile = cut
		}
		look := deadline.Alarm{WorkspaceID: ws, Kind: "away", Due: time.Now()}
		if err := keeper.Fire(ctx, look); !errors.Is(err, context.Canceled) || w.statuses() != "away" {
			t.Fatalf("%v, and it was said to be %q", err, w.statuses())
		}
		w.must(keeper.Fire(t.Context(), look))
		if got := w.statuses(); got != "away ok" {
			t.Errorf("Scout has a socket, and was said to be %q", got)
		}
		if rows := w.kept(); len(rows) != 0 {
			t.Errorf("kept %+v", rows)
		}
	})
}
