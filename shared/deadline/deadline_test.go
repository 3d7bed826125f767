package deadline_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chipschat/chips-aws/shared/deadline"
	"github.com/chipschat/chips-aws/shared/embedded"
	"github.com/chipschat/chips-aws/shared/engine"
	"github.com/chipschat/chips-aws/shared/protocol"
	"github.com/chipschat/chips-aws/shared/workspace"
)

func TestFiresOnTime(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		timers := embedded.NewTimers(func(ctx context.Context, a deadline.Alarm) error { return w.keeper.Fire(ctx, a) }, time.Now, quiet)
		defer timers.Stop()
		w.keeper = w.newKeeper(w.engine, w.table, timers)
		a, commits := w.fork()
		w.must(w.keeper.Arm(t.Context(), ws, commits))
		w.must(w.keeper.Arm(t.Context(), ws, commits)) // the record came twice
		if rows := w.kept(); len(rows) != 1 || !rows[0].Due.Equal(a.Due) {
			t.Fatalf("kept %+v", rows)
		}
		time.Sleep(time.Minute - time.Millisecond)
		synctest.Wait()
		if len(w.lines()) != 0 {
			t.Error("it fired early")
		}
		time.Sleep(time.Millisecond)
		synctest.Wait()
		if at := w.lines()[a.ID]; len(at) != 1 || !at[0].Equal(a.Due) {
			t.Errorf("due at %v it fired at %v", a.Due, at)
		}
		if rows := w.kept(); len(rows) != 0 {
			t.Errorf("still kept: %+v", rows)
		}
	})
}

// Early, twice, by several at once, late, and for what is no more.
func TestFire(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		a, commits := w.fork()
		w.must(w.keeper.Arm(t.Context(), ws, commits))
		w.alarms.take()
		time.Sleep(30 * time.Second)
		w.must(w.keeper.Fire(t.Context(), a))
		if set := w.alarms.take(); len(set) != 1 || !set[0].Due.Equal(a.Due) || set[0].ID != a.ID || len(w.kept()) != 1 || len(w.lines()) != 0 {
			t.Errorf("fired early it set %+v", set)
		}
		// Not a second early any more, it waits for what is left.
		time.Sleep(29*time.Second + 500*time.Millisecond)
		var fired sync.WaitGroup
		for range 4 {
			other := w.newKeeper(engine.New(w.table, engine.Options{Now: time.Now}), w.table, w.alarms)
			fired.Go(func() {
				if err := other.Fire(t.Context(), a); err != nil {
					t.Error(err)
				}
			})
		}
		fired.Wait()
		if at := w.lines()[a.ID]; len(at) != 1 || !at[0].Equal(a.Due) {
			t.Errorf("due at %v it fired at %v", a.Due, at)
		}
		time.Sleep(time.Hour)
		w.must(w.keeper.Fire(t.Context(), a))
		w.must(w.keeper.Fire(t.Context(), deadline.Alarm{WorkspaceID: ws, Kind: "of no kind", ID: "x", Due: time.Now()}))
		w.must(w.keeper.Arm(t.Context(), ws, commits)) // a record that comes again much later
		if len(w.lines()[a.ID]) != 1 || len(w.alarms.take()) != 0 || len(w.kept()) != 0 {
			t.Errorf("fired again: %v, kept %+v", w.lines(), w.kept())
		}
	})
}

// An alarm that never rings: the row is found by when it is due.
func TestSweep(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		a, commits := w.fork()
		w.alarms.err = errors.New("no queue")
		if err := w.keeper.Arm(t.Context(), ws, commits); err == nil {
			t.Error("armed without an alarm")
		}
		due := func() (rows []engine.Row) {
			for shard := range engine.DueShards {
				some, err := w.table.Due(t.Context(), shard, time.Now(), 10)
				w.must(err)
				rows = append(rows, some...)
			}
			return rows
		}
		time.Sleep(59 * time.Second)
		if rows := due(); len(rows) != 0 {
			t.Errorf("due early: %+v", rows)
		}
		time.Sleep(2 * time.Second)
		rows := due()
		if len(rows) != 1 {
			t.Fatalf("%d rows are due", len(rows))
		}
		for range 2 { // two sweeps at once, and one that was told late
			w.must(w.keeper.Sweep(t.Context(), rows[0]))
		}
		if len(w.lines()[a.ID]) != 1 || len(w.kept()) != 0 {
			t.Errorf("the room says %v, kept %+v", w.lines(), w.kept())
		}
		if err := w.keeper.Sweep(t.Context(), engine.Row{PK: deadline.RowPrefix + ws, SK: "x", Body: []byte("{")}); err == nil {
			t.Error("a row that cannot be read is swept")
		}
	})
}

// counted is a log that counts what it is asked for.
type counted struct {
	*engine.Engine
	reads int
}

func (c *counted) Read(ctx context.Context, ws string, fn func(*workspace.State) error) error {
	c.reads++
	return c.Engine.Read(ctx, ws, fn)
}

// Arm is about the deadlines that commits have set, and costs nothing where they can set none.
func TestArm(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		log := &counted{Engine: w.engine}
		keeper := w.newKeeper(log, w.table, w.alarms)
		first, _ := w.fork()
		second, commits := w.fork()
		post := w.do(w.arjun, w.room, &protocol.MessagePost{Text: "hello"}).Commit
		w.must(keeper.Arm(t.Context(), ws, []engine.Commit{post}))
		if log.reads != 0 || len(w.alarms.take()) != 0 {
			t.Error("a message reads the log")
		}
		w.must(keeper.Arm(t.Context(), ws, append(commits, post)))
		if set := w.alarms.take(); len(set) != 1 || set[0] != second {
			t.Errorf("set %+v, want %+v", set, second)
		}
		w.must(keeper.Arm(t.Context(), ws, nil))
		if set := w.alarms.take(); len(set) != 2 || set[0] != first || set[1] != second {
			t.Errorf("set %+v", set)
		}
		for _, key := range []string{"a", "b"} {
			if joined, err := w.copied(w.engine, key); err != nil || !joined {
				t.Fatal(joined, err)
			}
		}
		w.must(keeper.Arm(t.Context(), ws, commits))
		if set := w.alarms.take(); len(set) != 0 {
			t.Errorf("set for what was made: %+v", set)
		}
		if err := keeper.Arm(t.Context(), ws, []engine.Commit{{Workspace: ws, First: 1, Events: [][]byte{[]byte(`{"type":"unheard.of"}`)}}}); err == nil {
			t.Error("a commit that cannot be read sets nothing")
		}
	})
}

// Under other waits than it was armed with a deadline fires by those it is decided with, and sets its alarm anew until then.
func TestWaitsChange(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		a, commits := w.fork()
		w.must(w.keeper.Arm(t.Context(), ws, commits))
		w.alarms.take()
		waits := workspace.DefaultWaits()
		waits.Fork = 5 * time.Minute
		later := w.newKeeper(engine.New(w.table, engine.Options{Now: time.Now, Waits: waits}), w.table, w.alarms)
		time.Sleep(time.Minute)
		w.must(later.Fire(t.Context(), a))
		set := w.alarms.take()
		if len(set) != 1 || set[0].Due.Sub(a.Due) != 4*time.Minute || len(w.lines()) != 0 {
			t.Fatalf("set %+v, said %v", set, w.lines())
		}
		time.Sleep(4 * time.Minute)
		w.must(later.Fire(t.Context(), set[0]))
		if len(w.lines()[a.ID]) != 1 || len(w.kept()) != 0 {
			t.Errorf("said %v", w.lines())
		}
	})
}

// broken are rows of which a delete fails, or is overtaken by somebody who writes the row anew.
type broken struct {
	engine.Rows
	fails, overtaken bool
}

func (b *broken) Delete(ctx context.Context, pk, sk string, cond engine.Cond) (engine.Row, error) {
	if b.fails {
		return engine.Row{}, errors.New("no")
	}
	if b.overtaken {
		if row, _, err := b.Get(ctx, pk, sk); err != nil {
			return row, err
		} else if _, err := b.Put(ctx, row, engine.Always); err != nil {
			return row, err
		}
	}
	return b.Rows.Delete(ctx, pk, sk, cond)
}

// idle is a log whose commands do nothing.
type idle struct{ *engine.Engine }

func (idle) Do(context.Context, string, workspace.Command) (engine.Outcome, error) {
	return engine.Outcome{}, nil
}

// More held words than one decision posts are posted by as many deadlines as it takes, each set as the one before has fired, though all of
// it happens in one moment: none of them is a fault.
// covers: HELD-5
func TestFireAgainForTheRest(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		name, said := "Talker", 70
		id := w.do(w.scout, "", &workspace.AgentDraft{HarnessID: w.scout.ID, Key: name, Name: &name}).Events[0].Data.(*protocol.AgentRegistered).AgentID
		w.do(w.arjun, w.room, &protocol.MemberAdded{ParticipantID: id})
		w.do(w.arjun, w.room, &protocol.MemberRemoved{ParticipantID: id})
		for n := range said {
			draft := workspace.Draft(&protocol.MessagePost{Text: fmt.Sprint(n)})
			draft.Actor = protocol.Actor{Kind: protocol.KindAgent, ID: id}
			_, err := w.engine.Do(t.Context(), ws, workspace.Command{By: w.scout, Draft: draft})
			w.must(err)
		}
		w.must(w.keeper.Arm(t.Context(), ws, []engine.Commit{w.do(w.arjun, w.room, &protocol.MemberAdded{ParticipantID: id}).Commit}))
		for rings := w.alarms.take(); len(rings) > 0; rings = w.alarms.take() {
			w.must(w.keeper.Fire(t.Context(), rings[0]))
		}
		var posted []string
		for _, e := range w.log() {
			if d, ok := e.Data.(*protocol.MessagePost); ok && d.HeldSince != nil {
				posted = append(posted, d.Text)
			}
		}
		if len(posted) != said || posted[said-1] != fmt.Sprint(said-1) {
			t.Errorf("%d held words, posted %v", said, posted)
		}
	})
}

// What dies between its commit and its row leaves the row, and firing once more is harmless. A row that was written anew meanwhile stays. And a
// rule that leaves its deadline pending is a fault, not a reason to ring for ever.
func TestFireFails(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		rows := &broken{Rows: w.table, fails: true}
		keeper := w.newKeeper(w.engine, rows, w.alarms)
		a, commits := w.fork()
		w.must(keeper.Arm(t.Context(), ws, commits))
		w.alarms.take()
		time.Sleep(time.Minute)
		if err := w.newKeeper(idle{w.engine}, w.table, w.alarms).Fire(t.Context(), a); err == nil || len(w.alarms.take()) != 0 || len(w.kept()) != 1 {
			t.Errorf("still pending: %v, kept %+v", err, w.kept())
		}
		if err := keeper.Fire(t.Context(), a); err == nil || len(w.kept()) != 1 {
			t.Errorf("the row could not go: %v, kept %+v", err, w.kept())
		}
		rows.fails, rows.overtaken = false, true
		if w.must(keeper.Fire(t.Context(), a)); len(w.kept()) != 1 {
			t.Error("the row went though it was written anew")
		}
		rows.overtaken = false
		w.must(keeper.Fire(t.Context(), a))
		if len(w.lines()[a.ID]) != 1 || len(w.kept()) != 0 {
			t.Errorf("said %v, kept %+v", w.lines(), w.kept())
		}
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		b, _ := w.fork()
		time.Sleep(time.Minute - time.Millisecond)
		if err := keeper.Fire(ended, b); !errors.Is(err, context.Canceled) {
			t.Errorf("its time was over: %v", err)
		}
	})
}

// A copy is registered in the moment that its ask falls due, through an engine whose clock is a millisecond behind: it joins, or the room
// says that it was not made, and never both or neither. The log alone says which.
func TestFireAgainstTheCure(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		const races = 200
		behind := engine.New(w.table, engine.Options{Now: func() time.Time { return time.Now().Add(-time.Millisecond) }})
		ahead := w.newKeeper(engine.New(w.table, engine.Options{Now: time.Now}), w.table, w.alarms)
		made := 0
		for i := range races {
			a, commits := w.fork()
			w.must(w.keeper.Arm(t.Context(), ws, commits))
			time.Sleep(time.Until(a.Due))
			var both sync.WaitGroup
			var joined bool
			register := func() {
				var err error
				if joined, err = w.copied(behind, fmt.Sprint("key-", i)); err != nil {
					t.Error(err)
				}
			}
			fire := func() {
				if err := ahead.Fire(t.Context(), a); err != nil {
					t.Error(err)
				}
			}
			if i%2 == 0 { // one of them knows the log already, and is likely to be the first
				w.must(behind.Read(t.Context(), ws, func(*workspace.State) error { return nil }))
			} else {
				w.must(ahead.Fire(t.Context(), deadline.Alarm{WorkspaceID: ws, Kind: "fork", ID: "evt_of_none", Due: a.Due}))
			}
			both.Go(register)
			both.Go(fire)
			both.Wait()
			if said := len(w.lines()[a.ID]) == 1; said == joined {
				t.Fatalf("race %d: joined %t, missed %t", i, joined, said)
			}
			if joined {
				made++
				// The room has only so many places.
				w.leave(fmt.Sprint("key-", i))
			}
			if len(w.kept()) != 0 {
				t.Fatalf("race %d: kept %+v", i, w.kept())
			}
		}
		t.Logf("%d of %d joined", made, races)
		if made == 0 || made == races {
			t.Error("there was no race")
		}
	})
}

// leave takes an agent out of its room.
func (w *world) leave(key string) {
	var id string
	w.must(w.engine.Read(w.t.Context(), ws, func(s *workspace.State) error {
		for _, a := range s.Agents {
			if a.Key == key {
				id = a.ID
			}
		}
		return nil
	}))
	w.do(w.arjun, w.room, &protocol.MemberRemoved{ParticipantID: id})
}
