package engine_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/chipschat/chips-aws/shared/engine"
	"github.com/chipschat/chips-aws/shared/protocol"
	"github.com/chipschat/chips-aws/shared/workspace"
)

// answers are what became of commands that ran side by side, by key: the seq, and "again" for a duplicate, or the code of the refusal.
type answers struct {
	mu  sync.Mutex
	all map[string]string
}

func (a *answers) run(ctx context.Context, g *engine.Engine, cmd workspace.Command) {
	out, err := g.Do(ctx, "ws_1", cmd)
	said := fmt.Sprint(out.Ack().Seq)
	var refusal *protocol.Error
	switch {
	case errors.As(err, &refusal):
		said = string(refusal.Code)
	case err != nil:
		said = err.Error()
	case out.Duplicate:
		said += " again"
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.all[cmd.Draft.IdempotencyKey] = said
}

// chained runs commands so that they are decided together and, as far as they are accepted, go down as one chain: they wait while an earlier commit,
// at seq 1, is on its way. chain makes the Append that follows; nil is the table's own.
func chained(t *testing.T, o engine.Options, chain func(*watched, []engine.Append) ([]engine.Result, error), cmds ...workspace.Command) (*watched, *engine.Engine, map[string]string) {
	table := watch(t)
	g := start(table, o)
	gate := make(chan struct{})
	table.append = func(ctx context.Context, appends []engine.Append) ([]engine.Result, error) {
		<-gate
		table.append = nil
		if chain != nil {
			table.append = func(_ context.Context, appends []engine.Append) ([]engine.Result, error) {
				table.append = nil
				return chain(table, appends)
			}
		}
		return table.Table.Append(ctx, appends)
	}
	a := &answers{all: map[string]string{}}
	var wg sync.WaitGroup
	run := func(cmd workspace.Command) {
		wg.Go(func() { a.run(t.Context(), g, cmd) })
		synctest.Wait()
	}
	run(rename("gate", "Acme"))
	for _, cmd := range cmds {
		run(cmd)
	}
	table.counted()
	close(gate)
	wg.Wait()
	return table, g, a.all
}

// foreign writes a commit of somebody else's at a slot.
func foreign(t *testing.T, table engine.Table, first int64, cmds ...workspace.Command) {
	c := engine.Commit{Workspace: "ws_1", First: first, TS: now, Nonce: [10]byte{byte(first)}}
	for _, cmd := range cmds {
		raw, err := cmd.Draft.AppendStored(nil)
		if err != nil {
			t.Error(err)
		}
		c.Events = append(c.Events, raw)
	}
	results, err := table.Append(context.Background(), []engine.Append{{Commit: c}})
	if err != nil || !results[0].Written {
		t.Errorf("foreign commit: %+v, %v", results, err)
	}
}

func checkChain(t *testing.T, want, got map[string]string, table *watched, g *engine.Engine) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("answers (-want +got):\n%s", diff)
	}
	log := logOf(t, table, "ws_1")
	err := g.Read(t.Context(), "ws_1", func(s *workspace.State) error {
		if diff := cmp.Diff(folded(t, log), s); diff != "" {
			t.Errorf("state (-log +engine):\n%s", diff)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func TestChain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table, g, got := chained(t, engine.Options{}, nil,
			openRoom("a", "spc_1"), post("b", "Ship it."), openRoom("c", "spc_1"), post("b", "Ship it."), rename("d", "Acme"), rename("e", "Other"))
		want := map[string]string{"gate": "1", "a": "2", "b": "3 again", "c": "invalid_event", "d": "4", "e": "4"}
		delete(got, "b") // two of them, of which either may be the one that is new
		delete(want, "b")
		// While e is not committed d has nothing to do, and once it is it has.
		want["d"] = "5"
		checkChain(t, want, got, table, g)
		if n := len(logOf(t, table, "ws_1")); n != 5 {
			t.Errorf("%d commits", n)
		}
	})
}

// A chain fails from its first commit that lost its slot on; what was decided on that is decided again on what is committed. What won
// is as long here as what lost, so that a state that still had that in it would not show by its seq.
func TestChainLosesInTheMiddle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table, g, got := chained(t, engine.Options{}, func(table *watched, appends []engine.Append) ([]engine.Result, error) {
			if len(appends) != 4 {
				t.Errorf("a chain of %d", len(appends))
			}
			results, err := table.Table.Append(t.Context(), appends[:1])
			foreign(t, table.Table, 3, openRoom("", "spc_2"), rename("", "closed"))
			rest, _ := table.Table.Append(t.Context(), appends[1:])
			return append(results, rest...), err
		}, openRoom("a", "spc_1"), openRoom("b", "spc_2"), post("c", "Ship it."), openRoom("d", "spc_3"))
		checkChain(t, map[string]string{"gate": "1", "a": "2", "b": "invalid_event", "c": "5", "d": "invalid_event"}, got, table, g)
	})
}

// What was refused because of a commit that was on its way, and then lost, was not refused: not when it was decided first, and not
// when it was decided again behind it.
func TestRefusedByWhatLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		evenSo := by("b", "spc_1", &protocol.SpaceOpened{Title: "even so"})
		table, g, got := chained(t, engine.Options{}, func(table *watched, appends []engine.Append) ([]engine.Result, error) {
			table.append = func(_ context.Context, appends []engine.Append) ([]engine.Result, error) {
				table.append = nil
				foreign(t, table.Table, 3, rename("", "closed"))
				return table.Table.Append(t.Context(), appends)
			}
			foreign(t, table.Table, 2, rename("", "Other"))
			return table.Table.Append(t.Context(), appends)
		}, openRoom("a", "spc_1"), evenSo)
		checkChain(t, map[string]string{"gate": "1", "a": "invalid_event", "b": "4"}, got, table, g)
	})
}

// Where an attempt finds that an earlier version of its commit has landed, what was decided on the later one is decided again.
func TestLandsAsAnEarlierVersion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table, g, got := chained(t, engine.Options{}, func(table *watched, appends []engine.Append) ([]engine.Result, error) {
			raw, err := rename("", "closed").Draft.AppendStored(nil)
			if err != nil {
				t.Error(err)
			}
			earlier := appends[0]
			earlier.Commit.Events = [][]byte{raw}
			_, _ = table.Table.Append(t.Context(), []engine.Append{earlier})
			return table.Table.Append(t.Context(), appends)
		}, rename("a", "Other"), openRoom("b", "spc_1"))
		checkChain(t, map[string]string{"gate": "1", "a": "2", "b": "invalid_event"}, got, table, g)
	})
}

// A chain that was written and whose answer was lost is each one's own, and nobody's duplicate; so it is without keys.
func TestChainOfUnknownOutcome(t *testing.T) {
	for _, key := range []string{"", "c"} {
		synctest.Test(t, func(t *testing.T) {
			table, g, got := chained(t, engine.Options{}, func(table *watched, appends []engine.Append) ([]engine.Result, error) {
				_, _ = table.Table.Append(t.Context(), appends)
				return nil, errors.New("down")
			}, openRoom("a", "spc_1"), post("b", "Ship it."), post(key, "Ship it."), openRoom("d", "spc_2"))
			checkChain(t, map[string]string{"gate": "1", "a": "2", "b": "3", key: "4", "d": "5"}, got, table, g)
		})
	}
}

// A claim of a chain never says more than what is committed.
func TestChainClaims(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		chained(t, engine.Options{}, func(table *watched, appends []engine.Append) ([]engine.Result, error) {
			for i, a := range appends {
				if a.Claim == nil || a.Claim.After != 1 || a.Replaces != -1 {
					t.Errorf("append %d: claim %+v, replaces %d", i, a.Claim, a.Replaces)
				}
			}
			return table.Table.Append(t.Context(), appends)
		}, openRoom("a", "spc_1"), post("b", "Ship it."), post("c", "Ship it."))
	})
}

// A command whose caller gave up while it waited is not run.
func TestAbandonedInQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := watch(t)
		g := start(table, engine.Options{})
		gate := make(chan struct{})
		table.append = func(ctx context.Context, appends []engine.Append) ([]engine.Result, error) {
			<-gate
			return table.Table.Append(ctx, appends)
		}
		a := &answers{all: map[string]string{}}
		ctx, cancel := context.WithCancel(t.Context())
		go a.run(t.Context(), g, openRoom("a", "spc_1"))
		synctest.Wait()
		go a.run(ctx, g, post("b", "Ship it."))
		synctest.Wait()
		cancel()
		synctest.Wait()
		close(gate)
		synctest.Wait()
		if log := logOf(t, table, "ws_1"); len(log) != 1 || a.all["a"] != "1" {
			t.Errorf("%d commits, %v", len(log), a.all)
		}
		do(t, g, post("b", "Ship it."))
	})
}

// Reads see what is committed, and never what is on its way.
func TestReadDuringChain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g *engine.Engine
		var table *watched
		rooms := func() (n int) {
			for _, read := range []func(context.Context, string, func(*workspace.State) error) error{g.Read, g.ReadWarm} {
				if err := read(t.Context(), "ws_1", func(s *workspace.State) error { n += len(s.Rooms); return nil }); err != nil {
					t.Error(err)
				}
			}
			return n
		}
		seen := -1
		table = watch(t)
		g = start(table, engine.Options{})
		do(t, g, openRoom("a", "spc_1"))
		table.append = func(ctx context.Context, appends []engine.Append) ([]engine.Result, error) {
			seen = rooms()
			return table.Table.Append(ctx, appends)
		}
		do(t, g, openRoom("b", "spc_2"))
		if after := rooms(); seen != 2 || after != 4 {
			t.Errorf("saw %d while on its way and %d after, want 2 and 4: each read twice", seen, after)
		}
	})
}

// Many writers of one workspace share appends, each of which takes its time.
func TestGroupCommit(t *testing.T) {
	const writers, each = 64, 20
	synctest.Test(t, func(t *testing.T) {
		table := watch(t)
		g := start(table, engine.Options{})
		do(t, g, openRoom("open", "spc_1"))
		table.counted()
		table.append = func(ctx context.Context, appends []engine.Append) ([]engine.Result, error) {
			time.Sleep(time.Millisecond)
			return table.Table.Append(ctx, appends)
		}
		var wg sync.WaitGroup
		for w := range writers {
			wg.Go(func() {
				for i := range each {
					do(t, g, post(fmt.Sprintf("%d.%d", w, i), "Ship it."))
				}
			})
		}
		wg.Wait()
		if n := len(logOf(t, table, "ws_1")); n != 1+writers*each {
			t.Errorf("%d commits", n)
		}
		if n := table.counted()["Append"]; n > 3*each {
			t.Errorf("%d Append calls for %d commits", n, writers*each)
		}
	})
}
