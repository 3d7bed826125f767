package engine_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/chipschat/chips-aws/shared/engine"
	"github.com/chipschat/chips-aws/shared/protocol"
	"github.com/chipschat/chips-aws/shared/workspace"
)

// grow adds commits of one and of three events, a snapshot whenever one is due.
func grow(t testing.TB, g *engine.Engine, from, to int) {
	for i := from; i < to; i++ {
		cmd := post(fmt.Sprint(i), "Ship it.")
		if i%3 == 0 {
			cmd = openRoom(fmt.Sprint(i), fmt.Sprintf("spc_%d", i))
		}
		do(t, g, cmd)
		if _, err := g.SnapshotIfDue(t.Context(), "ws_1"); err != nil {
			t.Fatal(err)
		}
	}
}

// threefold are the simple rules with two messages behind each room.
func threefold(s *workspace.State, c workspace.Command) (workspace.Decision, *protocol.Error) {
	d, err := simple(s, c)
	if err == nil && c.Draft.Type == "space.opened" {
		e := d.Events[0]
		e.Type, e.Data = "message.post", &protocol.MessagePost{Text: "Here we are."}
		d.Events = append(d.Events, e, e)
	}
	return d, err
}

// snapshots are the rows of all snapshots, by key.
func snapshots(t testing.TB, table engine.Table) []engine.Row {
	t.Helper()
	rows, err := table.Query(t.Context(), "S#ws_1", "", 10_000)
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// kept are the seqs of the snapshots, newest first, by the rows that count.
func kept(t testing.TB, table engine.Table) []int64 {
	t.Helper()
	var seqs []int64
	for _, row := range snapshots(t, table) {
		var inverted int64
		if strings.HasSuffix(row.SK, "#000") {
			if _, err := fmt.Sscanf(row.SK, "%d#", &inverted); err != nil {
				t.Fatal(err)
			}
			seqs = append(seqs, 999_999_999_999-inverted)
		}
	}
	return seqs
}

// checkFolds compares what a cold engine folds, up to some seqs and to the head, with a fold from the first event.
func checkFolds(t testing.TB, table engine.Table, log []engine.Commit) {
	t.Helper()
	g := start(table, engine.Options{})
	head := log[len(log)-1].Last()
	want, next := workspace.New("ws_1"), int64(0)
	check := func() {
		if want.Seq < next {
			return
		}
		next = want.Seq + 1 + rand.Int64N(1+head/20)
		got, err := g.StateAt(t.Context(), "ws_1", want.Seq)
		if err != nil || !reflect.DeepEqual(want, got) {
			t.Fatalf("at seq %d: %v\n%s", want.Seq, err, cmp.Diff(want, got))
		}
	}
	check()
	for _, c := range log {
		events, err := c.Decode()
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range events {
			workspace.Evolve(want, e)
			check()
		}
	}
	err := g.Read(t.Context(), "ws_1", func(got *workspace.State) error {
		if !reflect.DeepEqual(want, got) {
			t.Errorf("at the head:\n%s", cmp.Diff(want, got))
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	if _, err := g.StateAt(t.Context(), "ws_1", head+1); err == nil {
		t.Error("a state past the head")
	}
}

func TestSnapshots(t *testing.T) {
	table := watch(t)
	grow(t, start(table, engine.Options{SnapshotEvery: 10, Decide: threefold}), 0, 300)
	log := logOf(t, table, "ws_1")
	seqs := kept(t, table)
	if len(seqs) < 2 || seqs[0] < log[len(log)-100].First {
		t.Fatalf("snapshots at %v", seqs)
	}
	checkFolds(t, table, log)
	// A cold engine takes the newest and one page of the log.
	table.counted()
	if err := start(table, engine.Options{}).ReadWarm(t.Context(), "ws_1", func(*workspace.State) error { return nil }); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff(map[string]int{"Query": 1, "Commits": 1}, table.counted()); diff != "" {
		t.Errorf("cold (-want +got):\n%s", diff)
	}
}

// Whatever is wrong with a snapshot, an older one is taken.
func TestBadSnapshots(t *testing.T) {
	for name, spoil := range map[string]func(table engine.Table, count, part engine.Row){
		"cut short":      func(table engine.Table, count, part engine.Row) { remove(t, table, count) },
		"a part missing": func(table engine.Table, count, part engine.Row) { remove(t, table, part) },
		"a part damaged": func(table engine.Table, count, part engine.Row) {
			part.Body[len(part.Body)/2]++
			replace(t, table, part)
		},
		"a part too much": func(table engine.Table, count, part engine.Row) {
			part.Body = append(part.Body, 0)
			replace(t, table, part)
		},
		"not JSON": func(table engine.Table, count, part engine.Row) { count.Body = []byte("{"); replace(t, table, count) },
		"no parts": func(table engine.Table, count, part engine.Row) {
			count.Body = bytes.Replace(count.Body, []byte(`"chunks":1`), []byte(`"chunks":0`), 1)
			replace(t, table, count)
		},
		"parts without end": func(table engine.Table, count, part engine.Row) {
			count.Body = bytes.Replace(count.Body, []byte(`"chunks":1`), []byte(`"chunks":1000000000`), 1)
			replace(t, table, count)
		},
		"of another version": func(table engine.Table, count, part engine.Row) {
			for _, row := range []engine.Row{count, part} {
				remove(t, table, row)
				row.SK = strings.Replace(row.SK, fmt.Sprintf("#%d#", workspace.FoldVersion), "#999#", 1)
				replace(t, table, row)
			}
		},
		"of another workspace": func(table engine.Table, count, part engine.Row) {
			other := start(table, engine.Options{SnapshotEvery: 1})
			for i := range 51 {
				if _, err := other.Do(t.Context(), "ws_2", post(fmt.Sprint(i), "Ship it.")); err != nil {
					t.Fatal(err)
				}
			}
			if wrote, err := other.SnapshotIfDue(t.Context(), "ws_2"); !wrote || err != nil {
				t.Fatal(wrote, err)
			}
			rows, err := table.Query(t.Context(), "S#ws_2", "", 2)
			if err != nil {
				t.Fatal(err)
			}
			for _, row := range rows {
				row.PK = "S#ws_1"
				replace(t, table, row)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			table := open(t)
			grow(t, start(table, engine.Options{SnapshotEvery: 10, Decide: threefold}), 0, 60)
			rows := snapshots(t, table)
			spoil(table, rows[0], rows[1])
			checkFolds(t, table, logOf(t, table, "ws_1"))
			g := start(table, engine.Options{SnapshotEvery: 10, Decide: threefold})
			grow(t, g, 60, 120)
			if seqs := kept(t, table); seqs[0] < 100 {
				t.Errorf("no snapshot after it: %v", seqs)
			}
			checkFolds(t, table, logOf(t, table, "ws_1"))
		})
	}
}

func remove(t testing.TB, table engine.Table, row engine.Row) {
	if _, err := table.Delete(t.Context(), row.PK, row.SK, engine.Always); err != nil {
		t.Fatal(err)
	}
}

func replace(t testing.TB, table engine.Table, row engine.Row) {
	if _, err := table.Put(t.Context(), row, engine.Always); err != nil {
		t.Fatal(err)
	}
}

// A snapshot of several parts, whose writing is cut short after each of them.
func TestSnapshotCutShort(t *testing.T) {
	table := watch(t)
	g := start(table, engine.Options{SnapshotEvery: 5})
	for i := range 6 {
		do(t, g, by(fmt.Sprint(i), fmt.Sprintf("spc_%d", i), &protocol.SpaceOpened{Title: noise(90<<10 + i)}))
	}
	log := logOf(t, table, "ws_1")
	for cut := 0; ; cut++ {
		puts := 0
		table.put = func(ctx context.Context, row engine.Row, cond engine.Cond) (int64, error) {
			if len(row.Body) > 300<<10 {
				t.Errorf("a part of %d bytes", len(row.Body))
			}
			if puts++; puts > cut {
				return 0, errors.New("down")
			}
			return table.Table.Put(ctx, row, cond)
		}
		wrote, err := g.SnapshotIfDue(t.Context(), "ws_1")
		checkFolds(t, table, log)
		if whole := len(kept(t, table)) > 0; wrote != whole || wrote == (err != nil) {
			t.Fatalf("cut after %d puts: %v, %v, with snapshots at %v", cut, wrote, err, kept(t, table))
		}
		if wrote {
			if puts < 3 {
				t.Errorf("written with %d puts: this was to be a snapshot of several parts", puts)
			}
			return
		}
	}
}

// However large a state is, the log after its snapshot does not grow without end.
func TestSnapshotOfALargeState(t *testing.T) {
	table := open(t)
	g := start(table, engine.Options{SnapshotEvery: 2})
	do(t, g, by("", "spc_1", &protocol.SpaceOpened{Title: noise(200 << 10)}))
	last := int64(0)
	for i := range 200 {
		do(t, g, post("", "Ship it."))
		wrote, err := g.SnapshotIfDue(t.Context(), "ws_1")
		if err != nil {
			t.Fatal(err)
		}
		if wrote {
			last = int64(i)
		}
		if int64(i)-last > 50 {
			t.Fatalf("none for %d commits", int64(i)-last)
		}
	}
}

// noise is text that does not compress.
func noise(n int) string {
	random := rand.New(rand.NewPCG(1, uint64(n)))
	text := make([]byte, n)
	for i := range text {
		text[i] = byte('!' + random.IntN(90))
	}
	return string(text)
}

// Of old snapshots one in every fifty times the cadence is kept, and none is further than that from the next.
func TestThinning(t *testing.T) {
	const every, commits = 2, 2000
	table := open(t)
	g := start(table, engine.Options{SnapshotEvery: every})
	for i := range commits {
		do(t, g, rename("", fmt.Sprint(i))) // a commit is an event here
		if _, err := g.SnapshotIfDue(t.Context(), "ws_1"); err != nil {
			t.Fatal(err)
		}
	}
	seqs := append(kept(t, table), 0)
	for i, seq := range seqs[1:] {
		if seqs[i]-seq > 50*every {
			t.Errorf("snapshots at %d and %d are too far apart", seq, seqs[i])
		}
	}
	if len(seqs) < 20 || len(seqs) > 45 {
		t.Errorf("%d snapshots of %d commits: %v", len(seqs), commits, seqs)
	}
	for _, row := range snapshots(t, table) {
		var inverted int64
		if _, err := fmt.Sscanf(row.SK, "%d#", &inverted); err != nil || !slices.Contains(seqs, 999_999_999_999-inverted) {
			t.Errorf("%s is left over", row.SK)
		}
	}
}

// A log that was long without any gets them in between too.
func TestSnapshotsOfALongTail(t *testing.T) {
	table := open(t)
	writer := start(table, engine.Options{})
	for i := range 1200 {
		do(t, writer, rename("", fmt.Sprint(i)))
	}
	if wrote, err := start(table, engine.Options{SnapshotEvery: 10}).SnapshotIfDue(t.Context(), "ws_1"); !wrote || err != nil {
		t.Fatal(wrote, err)
	}
	checkSpans(t, table, 1200)
	checkFolds(t, table, logOf(t, table, "ws_1"))
}

// checkSpans looks for a snapshot of the head and none further than 500 from the next.
func checkSpans(t *testing.T, table engine.Table, head int64) {
	t.Helper()
	seqs := append(kept(t, table), 0)
	for i, seq := range seqs[1:] {
		if seqs[i]-seq > 500 {
			t.Errorf("snapshots at %v", seqs)
		}
	}
	if seqs[0] != head {
		t.Errorf("snapshots at %v, want one at %d", seqs, head)
	}
}

// docs/runbook.md rebuilds snapshots by deleting their rows: nobody misses them, neither who remembers them nor who starts without, and
// all are written anew when the next is due.
func TestSnapshotsMayBeDeleted(t *testing.T) {
	table := open(t)
	warm := start(table, engine.Options{SnapshotEvery: 10})
	for i := range 1200 {
		do(t, warm, rename("", fmt.Sprint(i)))
		if _, err := warm.SnapshotIfDue(t.Context(), "ws_1"); err != nil {
			t.Fatal(err)
		}
	}
	for _, row := range snapshots(t, table) {
		remove(t, table, row)
	}
	checkFolds(t, table, logOf(t, table, "ws_1"))
	do(t, warm, rename("", "after"))
	for i, wrote := 1201, false; !wrote; i++ {
		if i > 1500 {
			t.Fatal("no snapshot is due any more")
		}
		do(t, warm, rename("", fmt.Sprint(i)))
		var err error
		if wrote, err = warm.SnapshotIfDue(t.Context(), "ws_1"); err != nil {
			t.Fatal(err)
		}
	}
	log := logOf(t, table, "ws_1")
	checkSpans(t, table, log[len(log)-1].Last())
	checkFolds(t, table, log)
}

// What the caller has seen need not be read again; what it has not seen is.
func TestSnapshotFollows(t *testing.T) {
	table := watch(t)
	writer, g := start(table.Table, engine.Options{}), start(table, engine.Options{SnapshotEvery: 1_000_000})
	follow := func(seen ...engine.Commit) map[string]int {
		if _, err := g.SnapshotIfDue(t.Context(), "ws_1", seen...); err != nil {
			t.Fatal(err)
		}
		return table.counted()
	}
	write := func(n int) (commits []engine.Commit) {
		for range n {
			commits = append(commits, do(t, writer, post("", "Ship it.")).Commit)
		}
		return commits
	}
	write(1)
	follow()
	commits := write(4)
	slices.Reverse(commits)
	if calls := follow(append(commits, commits[1])...); len(calls) > 0 {
		t.Errorf("all seen: %v", calls)
	}
	if calls := follow(write(3)[1:]...); calls["Head"] == 0 {
		t.Errorf("with a gap: %v", calls)
	}
	err := g.ReadWarm(t.Context(), "ws_1", func(s *workspace.State) error {
		if s.Seq != 8 {
			t.Errorf("folded to %d", s.Seq)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
