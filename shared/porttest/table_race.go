package porttest

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/chipschat/chips-aws/shared/engine"
)

const writers = 16

// slotRace has each writer append some commits at what it takes for the next slot.
func slotRace(t *testing.T, table engine.Table) {
	const each = 6
	var mu sync.Mutex
	written := map[[10]byte]int64{}
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			next := int64(1)
			for done := 0; done < each; {
				c := commit("ws_1", next, 1+w%3)
				results, err := table.Append(t.Context(), []engine.Append{{Commit: c}})
				if err != nil || len(results) != 1 {
					t.Errorf("append: %v, %v", results, err)
					return
				}
				switch r := results[0]; {
				case r.Written:
					mu.Lock()
					written[c.Nonce] = c.First
					mu.Unlock()
					next = c.Last() + 1
					done++
				case r.Winner != nil && r.Winner.First == next:
					next = r.Winner.Last() + 1
				default:
					t.Errorf("append at %d: neither written nor lost to another: %+v", next, r)
					return
				}
			}
		})
	}
	wg.Wait()
	log := wholeLog(t, table, "ws_1", 50)
	if len(log) != writers*each || len(written) != len(log) {
		t.Errorf("%d commits in the log and %d answered as written, want %d", len(log), len(written), writers*each)
	}
	next := int64(1)
	for _, c := range log {
		if c.First != next {
			t.Fatalf("a commit at %d, want one at %d", c.First, next)
		}
		if at, ok := written[c.Nonce]; !ok || at != c.First {
			t.Errorf("the commit at %d was not answered as written there", c.First)
		}
		next = c.Last() + 1
	}
}

// claimRace has all writers claim one key with as many different places.
func claimRace(t *testing.T, table engine.Table) {
	put(t, table, commit("ws_1", 1, 100))
	results := make([]engine.Result, writers)
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			claim := &engine.Claim{Workspace: "ws_1", Sender: "usr_1", Key: "k", After: int64(w)}
			r, err := table.Append(t.Context(), []engine.Append{{Commit: commit("ws_1", 101, 1), Claim: claim, Replaces: -1}})
			if err != nil || len(r) != 1 {
				t.Errorf("append: %v, %v", r, err)
				return
			}
			results[w] = r[0]
		})
	}
	wg.Wait()
	claimed := -1
	for w, r := range results {
		if !r.Claimed {
			continue
		}
		if claimed >= 0 {
			t.Errorf("both %d and %d have claimed the key", claimed, w)
		}
		claimed = w
		if !r.Written {
			t.Errorf("the one that claimed did not write: %+v", r)
		}
	}
	if claimed < 0 {
		t.Fatal("nobody has claimed the key")
	}
	for w, r := range results {
		if w != claimed && (r.Written || r.Taken == nil || r.Taken.After != int64(claimed)) {
			t.Errorf("writer %d: %+v, want it taken by %d", w, r, claimed)
		}
	}
}

// rowRace has all writers make, change and delete a row, of which one succeeds each time.
func rowRace(t *testing.T, table engine.Table) {
	for _, pk := range rowKinds {
		pk := pk + "race"
		var mu sync.Mutex
		race := func(what string, act func(w int) error) {
			won := 0
			var wg sync.WaitGroup
			for w := range writers {
				wg.Go(func() {
					err := act(w)
					mu.Lock()
					defer mu.Unlock()
					if err == nil {
						won++
					} else if !errors.Is(err, engine.ErrCondition) {
						t.Errorf("%s: %v", what, err)
					}
				})
			}
			wg.Wait()
			if won != 1 {
				t.Errorf("%s %s: %d writers succeeded, want 1", pk, what, won)
			}
		}
		row := func(w int) engine.Row { return engine.Row{PK: pk, SK: "1", Body: fmt.Appendf(nil, "%d", w)} }
		race("made", func(w int) error { _, err := table.Put(t.Context(), row(w), engine.Absent); return err })
		race("changed", func(w int) error { _, err := table.Put(t.Context(), row(w), engine.IfRev(1)); return err })
		race("deleted", func(int) error { _, err := table.Delete(t.Context(), pk, "1", engine.IfRev(2)); return err })
		var wg sync.WaitGroup
		for w := range writers {
			wg.Go(func() {
				if _, err := table.Put(t.Context(), row(w), engine.Always); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if got, _, err := table.Get(t.Context(), pk, "1"); err != nil || got.Rev != writers {
			t.Errorf("%s: revision %d after %d writes (%v)", pk, got.Rev, writers, err)
		}
	}
}
