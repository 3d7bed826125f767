package engine_test

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/chipschat/chips-aws/shared/engine"
	"github.com/chipschat/chips-aws/shared/protocol"
	"github.com/chipschat/chips-aws/shared/workspace"
)

// spends is a command that reports what a run cost.
func spends(run string, usd float64) workspace.Command {
	return onRun(run, &protocol.UsageReported{CostUSD: &usd})
}

// log reads the workspace's whole log.
func (w *world) log() (events []protocol.Event) {
	w.t.Helper()
	for {
		commits, err := w.g.Commits(w.t.Context(), "ws_1", int64(len(events)), 500)
		if err != nil {
			w.t.Fatal(err)
		}
		before := len(events)
		for _, c := range commits {
			some, err := c.Decode()
			if err != nil {
				w.t.Fatal(err)
			}
			for _, e := range some {
				if e.Seq == int64(len(events))+1 {
					events = append(events, e)
				}
			}
		}
		if len(events) == before {
			return events
		}
	}
}

// inRoom are the types of a room's events from a seq on.
func inRoom(log []protocol.Event, room string, from int64) (types []string) {
	for _, e := range log {
		if e.SpaceID == room && e.Seq >= from {
			types = append(types, e.Type)
		}
	}
	return types
}

// Fifty rooms reach their ceilings in one second, in each of them two runs at once: each room is warned and paused once, in the commit of
// the report that reached it, and another engine folds the same.
// covers: CEIL-2, CEIL-3, CEIL-4, CEIL-5
func TestFiftyRoomsReachTheCeiling(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		rooms := make([]string, 50)
		runs := map[string][]string{}
		for i := range rooms {
			rooms[i] = w.openRoom(fmt.Sprint("Room ", i), w.scout.ID)
			for n := range 2 {
				cmd := onRun(fmt.Sprintf("run_000000000000000000000%03d%02d", i, n), &protocol.RunStarted{})
				cmd.Draft.SpaceID = rooms[i]
				w.must(w.scout, cmd)
				runs[rooms[i]] = append(runs[rooms[i]], cmd.Draft.RunID)
			}
		}
		from := int64(len(w.log())) + 1
		var wg sync.WaitGroup
		for _, room := range rooms {
			for _, run := range runs[room] {
				wg.Go(func() {
					for n := range 8 { // 16 times 0.2 in each room
						cmd := spends(run, 0.2)
						cmd.By, cmd.Draft.IdempotencyKey = w.scout, fmt.Sprint(run, n)
						_, err := w.g.Do(t.Context(), "ws_1", cmd)
						for errors.Is(err, engine.ErrBusy) { // others won too often: the same write again
							_, err = w.g.Do(t.Context(), "ws_1", cmd)
						}
						if err != nil {
							t.Errorf("%s %d: %v", run, n, err)
						}
					}
				})
			}
		}
		wg.Wait()
		log := w.log()
		for _, room := range rooms {
			// The twelfth reaches 2.40, the fifteenth 3.00.
			want := slices.Concat(slices.Repeat([]string{"usage.reported"}, 12), []string{"budget.warning"}, slices.Repeat([]string{"usage.reported"}, 3),
				[]string{"exchange.set", "budget.warning", "usage.reported"})
			if got := inRoom(log, room, from); !slices.Equal(got, want) {
				t.Errorf("a room has %v", got)
			}
		}
		again := start(w.table, engine.Options{Decide: workspace.Decide})
		err := again.Read(t.Context(), "ws_1", func(s *workspace.State) error {
			for _, room := range rooms {
				if r := s.Rooms[room]; r.Talk.Paused != workspace.PausedBySpend || r.Spend().SpentUSD != 3.2 {
					t.Errorf("a room folds to %+v, %q", r.Spend(), r.Talk.Paused)
				}
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	})
}

// A person acts in the instant that a job reaches its ceiling, by two engines on one table. Whichever is first: after their act the room
// goes on with the whole ceiling, or with the report in the new job; after the report it is paused until their act.
// covers: CEIL-9, CEIL-10
func TestAnActAtTheCeiling(t *testing.T) {
	first := map[string]int{}
	for i := 0; i < 400 && (len(first) < 2 || i < 20); i++ {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			run := w.run(1)
			w.must(w.scout, spends(run, 2.9))
			held := in(w.room, &protocol.MessagePost{Text: "on"})
			report := spends(run, 0.5)
			from := int64(len(w.log())) + 1
			other := start(w.table, engine.Options{Decide: workspace.Decide})
			held.By, held.Draft.IdempotencyKey = w.arjun, "act"
			report.By, report.Draft.IdempotencyKey = w.scout, "report"
			var wg sync.WaitGroup
			writers := []func(){
				func() { do(t, w.g, report) }, func() { do(t, other, held) },
			}
			if i%2 == 1 {
				slices.Reverse(writers)
			}
			for _, write := range writers {
				wg.Go(write)
			}
			wg.Wait()
			log := w.log()
			got := inRoom(log, w.room, from)
			spent := 0.5
			switch got[0] {
			case "message.post":
				if !slices.Equal(got, []string{"message.post", "usage.reported"}) {
					t.Errorf("after a person's act comes %v", got)
				}
			default:
				if !slices.Equal(got, []string{"usage.reported", "exchange.set", "budget.warning", "message.post"}) {
					t.Errorf("a person's act comes after %v", got)
				}
				spent = 0
			}
			first[got[0]]++
			acted := slices.IndexFunc(log, func(e protocol.Event) bool { return e.IdempotencyKey == "act" })
			err := w.g.Read(t.Context(), "ws_1", func(s *workspace.State) error {
				room := s.Rooms[w.room]
				want := protocol.Spend{CeilingUSD: 3, SpentUSD: spent, SinceSeq: log[acted].Seq}
				if *room.Spend() != want || room.Talk.Paused != "" {
					t.Errorf("then the job is %+v, paused by %q, want %+v", *room.Spend(), room.Talk.Paused, want)
				}
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	if len(first) < 2 {
		t.Errorf("only one of the two was ever first: %v", first)
	}
}
