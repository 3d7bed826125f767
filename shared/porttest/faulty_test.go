package porttest_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chipschat/chips-aws/shared/embedded"
	"github.com/chipschat/chips-aws/shared/engine"
	"github.com/chipschat/chips-aws/shared/porttest"
)

func openEmbedded(t *testing.T) engine.Table {
	table, err := embedded.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = table.Close() })
	return table
}

// Without faults Faulty is a table like any other.
func TestFaultyIsATable(t *testing.T) {
	porttest.Table(t, func(t *testing.T) engine.Table {
		return porttest.NewFaulty(openEmbedded(t), 1, porttest.Faults{})
	})
}

func anAppend(first int64, nonce byte) engine.Append {
	return engine.Append{
		Commit:   engine.Commit{Workspace: "ws_1", First: first, TS: time.UnixMilli(1), Events: [][]byte{[]byte("{}")}, Nonce: [10]byte{nonce}},
		Claim:    &engine.Claim{Workspace: "ws_1", Sender: "usr_1", Key: fmt.Sprint(nonce), After: first - 1},
		Replaces: -1,
	}
}

func TestFaults(t *testing.T) {
	for _, tt := range []struct {
		name     string
		faults   porttest.Faults
		err      error
		now      bool // the commit is in the log at once
		released bool // and after Release
		claim    bool // the claim stands at once
	}{
		{"LostReply", porttest.Faults{LostReply: 1}, porttest.ErrFault, true, true, true},
		{"Late", porttest.Faults{Late: 1}, porttest.ErrFault, false, true, false},
		{"Lost", porttest.Faults{Lost: 1}, porttest.ErrFault, false, false, false},
		{"Throttled", porttest.Faults{Throttled: 1}, engine.ErrThrottled, false, false, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inner := openEmbedded(t)
			faulty := porttest.NewFaulty(inner, 1, tt.faults)
			results, err := faulty.Append(t.Context(), []engine.Append{anAppend(1, 1)})
			if !errors.Is(err, tt.err) || len(results) != 0 {
				t.Errorf("append: %v, %v; want %v", results, err, tt.err)
			}
			rows := porttest.NewFaulty(inner, 2, tt.faults)
			if _, err := rows.Put(t.Context(), engine.Row{PK: "T#1", SK: "-"}, engine.Absent); !errors.Is(err, tt.err) {
				t.Errorf("put: %v, want %v", err, tt.err)
			}
			reads := porttest.NewFaulty(inner, 3, tt.faults)
			if _, _, err := reads.Get(t.Context(), "T#1", "-"); !errors.Is(err, tt.err) {
				t.Errorf("get: %v, want %v", err, tt.err)
			}
			check := func(when string, commit, claim bool) {
				t.Helper()
				if _, some, _ := inner.Head(t.Context(), "ws_1"); some != commit {
					t.Errorf("%s: the commit is in the log: %t, want %t", when, some, commit)
				}
				if _, some, _ := inner.Get(t.Context(), "T#1", "-"); some != commit {
					t.Errorf("%s: the row is there: %t, want %t", when, some, commit)
				}
				if _, some, _ := inner.ReadClaim(t.Context(), "ws_1", "usr_1", "1"); some != claim {
					t.Errorf("%s: the claim stands: %t, want %t", when, some, claim)
				}
			}
			check("at once", tt.now, tt.claim)
			faulty.Release(t.Context())
			rows.Release(t.Context())
			check("after Release", tt.released, tt.released)
			if faulty.Seen()[tt.name] != 1 {
				t.Errorf("seen %v, want %s once", faulty.Seen(), tt.name)
			}
		})
	}
}

func TestTorn(t *testing.T) {
	later := 0
	for seed := range uint64(20) {
		inner := openEmbedded(t)
		if _, err := inner.Append(t.Context(), []engine.Append{anAppend(1, 1)}); err != nil {
			t.Fatal(err)
		}
		faulty := porttest.NewFaulty(inner, seed, porttest.Faults{Torn: 1})
		if _, err := faulty.Append(t.Context(), []engine.Append{anAppend(2, 2)}); !errors.Is(err, porttest.ErrFault) {
			t.Fatalf("append: %v", err)
		}
		if _, some, _ := inner.ReadClaim(t.Context(), "ws_1", "usr_1", "2"); !some {
			t.Error("the claim does not stand")
		}
		if head, _, _ := inner.Head(t.Context(), "ws_1"); head.First != 1 {
			t.Error("the commit is written at once")
		}
		faulty.Release(t.Context())
		if head, _, _ := inner.Head(t.Context(), "ws_1"); head.First == 2 {
			later++
		}
	}
	if later == 0 || later == 20 {
		t.Errorf("the commit came late in %d of 20 runs, want some", later)
	}
}

func TestRepeated(t *testing.T) {
	faulty := porttest.NewFaulty(openEmbedded(t), 1, porttest.Faults{Repeated: 1})
	a := anAppend(1, 7)
	results, err := faulty.Append(t.Context(), []engine.Append{a})
	if err != nil || len(results) != 1 {
		t.Fatalf("append: %v, %v", results, err)
	}
	if r := results[0]; r.Written || !r.Claimed || r.Winner == nil || r.Winner.Nonce != a.Commit.Nonce {
		t.Errorf("%+v, want the commit itself as winner", r)
	}
}

// A fault strikes one of a chain: those before it are answered, those after it are not done.
func TestFaultInAChain(t *testing.T) {
	cut := map[int]bool{}
	for seed := range uint64(20) {
		inner := openEmbedded(t)
		faulty := porttest.NewFaulty(inner, seed, porttest.Faults{Throttled: 1})
		results, err := faulty.Append(t.Context(), []engine.Append{anAppend(1, 1), anAppend(2, 2), anAppend(3, 3)})
		if !errors.Is(err, engine.ErrThrottled) {
			t.Fatalf("append: %v", err)
		}
		log, _ := inner.Commits(t.Context(), "ws_1", 1, 9)
		if len(log) != len(results) {
			t.Errorf("%d commits in the log, %d results", len(log), len(results))
		}
		cut[len(results)] = true
	}
	if len(cut) != 3 {
		t.Errorf("cut after %v, want after none, one and two", cut)
	}
}

func TestSlow(t *testing.T) {
	table := openEmbedded(t)
	synctest.Test(t, func(t *testing.T) {
		faulty := porttest.NewFaulty(table, 1, porttest.Faults{Slow: 1, Delay: time.Hour})
		began := time.Now()
		if _, _, err := faulty.Get(t.Context(), "X#1", "-"); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took == 0 || took > time.Hour {
			t.Errorf("took %v", took)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Nanosecond)
		defer cancel()
		if _, _, err := faulty.Get(ctx, "X#1", "-"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v, want the deadline", err)
		}
	})
}

// How the loop above a table is tried: many calls, each made again until its outcome is known.
func ExampleFaulty() {
	ctx := context.Background()
	dir, _ := os.MkdirTemp("", "faulty")
	defer func() { _ = os.RemoveAll(dir) }()
	table, err := embedded.Open(dir)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = table.Close() }()

	seed := uint64(1) // a test draws one, and prints it when it fails
	faulty := porttest.NewFaulty(table, seed, porttest.Storm)
	for first := int64(1); first <= 100; {
		a := anAppend(first, byte(first))
		results, err := faulty.Append(ctx, []engine.Append{a})
		if err != nil {
			continue // the identical append again, until it is known
		}
		r := results[0]
		if r.Written || r.Winner != nil && r.Winner.Nonce == a.Commit.Nonce {
			first++
		}
	}
	faulty.Set(porttest.Faults{})
	faulty.Release(ctx)
	head, _, _ := faulty.Head(ctx, "ws_1")
	fmt.Println("written once each:", head.Last())
	// Output: written once each: 100
}
