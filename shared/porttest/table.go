package porttest

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	mathrand "math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/chipschat/chips-aws/shared/engine"
)

// Table holds an adapter of engine.Table to the port's comment. open answers an empty table that is closed with the test.
func Table(t *testing.T, open func(t *testing.T) engine.Table) {
	for _, test := range []struct {
		name string
		run  func(*testing.T, engine.Table)
	}{
		{"a commit comes back whole", commitWhole},
		{"a commit of 256 KB", commitLarge},
		{"slots are dense", slotsDense},
		{"a chain of appends", chain},
		{"a chain stops in the middle", chainStops},
		{"a claim is put, moved or taken", claims},
		{"the same append again", appendAgain},
		{"commits are read from the middle of one", commitsFrom},
		{"commits are read in pages", commitsPaged},
		{"a page of commits is 1 MB", commitsCapped},
		{"the head", head},
		{"a room's commits", roomCommits},
		{"workspaces are apart", isolation},
		{"writers race for slots", slotRace},
		{"writers race for a claim", claimRace},
		{"a row comes back whole", rowWhole},
		{"a row's conditions", rowConditions},
		{"a row is deleted", rowDeleted},
		{"rows are queried in order", rowsQueried},
		{"large rows are queried", rowsLarge},
		{"rows that are due", rowsDue},
		{"rows are the caller's", rowsCopied},
		{"writers race for a row", rowRace},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, open(t)) })
	}
}

// start is a time like those that Chips writes, but for its zone and its microseconds.
var start = time.Date(2026, 9, 2, 14, 22, 15, 4_000_000, time.UTC)

// same compares what was read with what was written.
func same(t *testing.T, what string, got, want any) {
	t.Helper()
	if d := diff(want, got); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}

// diff says how got differs from want. Nil and empty are all one, and bytes are compared at once, for they are many.
func diff(want, got any) string {
	some := func(a, b []byte) bool { return len(a) > 0 || len(b) > 0 }
	d := cmp.Diff(want, got, cmpopts.EquateEmpty(), cmp.FilterValues(some, cmp.Comparer(bytes.Equal)))
	if len(d) > 4000 {
		d = d[:4000] + " ..."
	}
	return d
}

// commit makes a commit of n events that no other is like.
func commit(workspace string, first int64, n int) engine.Commit {
	c := engine.Commit{Workspace: workspace, First: first, TS: start.Add(time.Duration(first) * time.Second)}
	_, _ = rand.Read(c.Nonce[:])
	for i := range n {
		c.Events = append(c.Events, fmt.Appendf(nil, `{"type":"test.said","text":"event %d"}`, first+int64(i)))
	}
	return c
}

// noise is n bytes that do not compress.
func noise(n int) []byte {
	b := make([]byte, n)
	var seed [32]byte
	_, _ = rand.Read(seed[:])
	_, _ = mathrand.NewChaCha8(seed).Read(b)
	return b
}

// put appends commits, one call each, and fails the test unless they are written.
func put(t *testing.T, table engine.Table, commits ...engine.Commit) {
	t.Helper()
	for _, c := range commits {
		if r := appendOne(t, table, engine.Append{Commit: c}); !r.Written {
			t.Fatalf("append at %d: %+v, want it written", c.First, r)
		}
	}
}

// appendOne makes one append and answers its result.
func appendOne(t *testing.T, table engine.Table, a engine.Append) engine.Result {
	t.Helper()
	results, err := table.Append(t.Context(), []engine.Append{a})
	if err != nil {
		t.Fatalf("append at %d: %v", a.Commit.First, err)
	}
	if len(results) != 1 {
		t.Fatalf("append at %d: %d results, want 1", a.Commit.First, len(results))
	}
	return results[0]
}

// wholeLog reads a log page by page, from the commit that was read last on.
func wholeLog(t *testing.T, table engine.Log, workspace string, limit int) []engine.Commit {
	t.Helper()
	var all []engine.Commit
	from := int64(1)
	for {
		page, err := table.Commits(t.Context(), workspace, from, limit)
		if err != nil {
			t.Fatal(err)
		}
		if len(page) > limit {
			t.Fatalf("%d commits, want at most %d", len(page), limit)
		}
		if len(all) > 0 && len(page) > 0 {
			same(t, "the first of a page is the commit it was asked from", page[0], all[len(all)-1])
			page = page[1:]
		}
		if len(page) == 0 {
			return all
		}
		all = append(all, page...)
		from = all[len(all)-1].First
	}
}

// soon waits until an index that may lag shows what is wanted; a table that does not lag is asked once.
func soon[T any](t *testing.T, what string, want T, read func() (T, error)) {
	t.Helper()
	deadline := time.Now().Add(5 * time.Second)
	for {
		got, err := read()
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		d := diff(want, got)
		if d == "" {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s (-want +got):\n%s", what, d)
		}
		waitBriefly(t.Context())
	}
}

// waitBriefly is the pause between two looks at something over a network.
func waitBriefly(ctx context.Context) {
	timer := time.NewTimer(50 * time.Millisecond)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// longKey is a key with all that a client may put into one.
var longKey = "a#b/c|d-" + strings.Repeat("é", 90) + "-" + strings.Repeat("x", 60)
