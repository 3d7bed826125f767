package porttest

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/chipschat/chips-aws/shared/engine"
)

// rowKinds are a kind of row that all tables keep for good, and the two that a table may keep elsewhere.
var rowKinds = []string{"T#", "X#", "F#"}

// putRow writes a row and answers it as it ought to be read.
func putRow(t *testing.T, table engine.Table, row engine.Row, cond engine.Cond) engine.Row {
	t.Helper()
	rev, err := table.Put(t.Context(), row, cond)
	if err != nil {
		t.Fatalf("put %s %s: %v", row.PK, row.SK, err)
	}
	row.Rev = rev
	return row
}

// readsAs says what a row reads as, or that there is none.
func readsAs(t *testing.T, table engine.Table, pk, sk string, want *engine.Row) {
	t.Helper()
	got, some, err := table.Get(t.Context(), pk, sk)
	if err != nil {
		t.Fatalf("get %s %s: %v", pk, sk, err)
	}
	if some != (want != nil) {
		t.Fatalf("get %s %s: there is one: %t, want %t", pk, sk, some, want != nil)
	}
	if want != nil {
		same(t, "row "+pk+" "+sk, got, *want)
	}
}

func rowWhole(t *testing.T, table engine.Table) {
	for _, pk := range rowKinds {
		pk += "1"
		bare := engine.Row{PK: pk, SK: "bare"}
		full := engine.Row{
			PK: pk, SK: "é#/| 1", Body: []byte(`{"name":"Åsa","n":[1,2]}`),
			Expires: start.Add(time.Hour + time.Microsecond), Due: start.Add(time.Minute + 999*time.Microsecond),
		}
		large := engine.Row{PK: pk, SK: "large", Body: noise(350 << 10)}
		for _, row := range []engine.Row{bare, full, large} {
			readsAs(t, table, row.PK, row.SK, nil)
			want := putRow(t, table, row, engine.Absent)
			if want.Rev != 1 {
				t.Errorf("the first revision is %d", want.Rev)
			}
			if row.SK == full.SK {
				want.Expires, want.Due = start.Add(time.Hour+time.Second).Truncate(time.Second), start.Add(time.Minute)
			}
			readsAs(t, table, row.PK, row.SK, &want)
		}
		// What a row no longer has is gone.
		less := putRow(t, table, engine.Row{PK: pk, SK: full.SK}, engine.Always)
		readsAs(t, table, pk, full.SK, &less)
		if less.Rev != 2 {
			t.Errorf("the second revision is %d", less.Rev)
		}
	}
}

func rowConditions(t *testing.T, table engine.Table) {
	for _, pk := range rowKinds {
		pk += "1"
		row := func(body string) engine.Row { return engine.Row{PK: pk, SK: "1", Body: []byte(body)} }
		refused := func(what string, cond engine.Cond) {
			t.Helper()
			if _, err := table.Put(t.Context(), row(what), cond); !errors.Is(err, engine.ErrCondition) {
				t.Errorf("%s %s: %v, want ErrCondition", pk, what, err)
			}
		}
		refused("a revision of no row", engine.IfRev(1))
		readsAs(t, table, pk, "1", nil)
		one := putRow(t, table, row("one"), engine.Absent)
		refused("absent, but there is one", engine.Absent)
		refused("a later revision", engine.IfRev(2))
		readsAs(t, table, pk, "1", &one)
		two := putRow(t, table, row("two"), engine.IfRev(1))
		refused("an earlier revision", engine.IfRev(1))
		readsAs(t, table, pk, "1", &two)
		three := putRow(t, table, row("three"), engine.Always)
		readsAs(t, table, pk, "1", &three)
		if one.Rev != 1 || two.Rev != 2 || three.Rev != 3 {
			t.Errorf("revisions %d, %d, %d; want 1, 2, 3", one.Rev, two.Rev, three.Rev)
		}
		other := putRow(t, table, engine.Row{PK: pk, SK: "2"}, engine.Always)
		if other.Rev != 1 {
			t.Errorf("another row's first revision is %d", other.Rev)
		}
		readsAs(t, table, pk, "1", &three)
	}
}

func rowDeleted(t *testing.T, table engine.Table) {
	for _, pk := range rowKinds {
		pk += "1"
		if old, err := table.Delete(t.Context(), pk, "1", engine.Always); err != nil || old.PK != "" {
			t.Errorf("delete what is not there: %+v, %v", old, err)
		}
		if _, err := table.Delete(t.Context(), pk, "1", engine.IfRev(1)); !errors.Is(err, engine.ErrCondition) {
			t.Errorf("delete a revision of no row: %v, want ErrCondition", err)
		}
		putRow(t, table, engine.Row{PK: pk, SK: "1", Body: []byte("one")}, engine.Absent)
		row := putRow(t, table, engine.Row{PK: pk, SK: "1", Body: []byte("two"), Due: start}, engine.IfRev(1))
		if _, err := table.Delete(t.Context(), pk, "1", engine.IfRev(1)); !errors.Is(err, engine.ErrCondition) {
			t.Errorf("delete an earlier revision: %v, want ErrCondition", err)
		}
		readsAs(t, table, pk, "1", &row)
		old, err := table.Delete(t.Context(), pk, "1", engine.IfRev(2))
		if err != nil {
			t.Fatal(err)
		}
		same(t, "what was deleted", old, row)
		readsAs(t, table, pk, "1", nil)
		if again := putRow(t, table, engine.Row{PK: pk, SK: "1"}, engine.Absent); again.Rev != 1 {
			t.Errorf("a row made anew is at revision %d", again.Rev)
		}
		if _, err := table.Delete(t.Context(), pk, "1", engine.Always); err != nil {
			t.Error(err)
		}
		readsAs(t, table, pk, "1", nil)
	}
}

func rowsQueried(t *testing.T, table engine.Table) {
	for _, pk := range rowKinds {
		// Byte order: capitals before small letters, é after z, and what lies beyond the 16-bit planes last.
		sks := []string{"1", "10", "2", "A", "a", "a#", "aa", "z", "é", "ﬀ", "😀"}
		var all []engine.Row
		for _, i := range []int{5, 0, 10, 3, 8, 1, 9, 2, 7, 4, 6} {
			all = append(all, putRow(t, table, engine.Row{PK: pk + "q", SK: sks[i], Body: []byte(sks[i])}, engine.Absent))
		}
		putRow(t, table, engine.Row{PK: pk + "q1", SK: "1"}, engine.Absent)
		putRow(t, table, engine.Row{PK: pk + "p", SK: "1"}, engine.Absent)
		slices.SortFunc(all, func(a, b engine.Row) int { return cmp.Compare(a.SK, b.SK) })
		for _, step := range []struct {
			after string
			limit int
			want  []engine.Row
		}{
			{"", 100, all},
			{"", len(all), all},
			{"", 3, all[:3]},
			{"10", 3, all[2:5]},
			{"11", 3, all[2:5]},
			{"a", 100, all[5:]},
			{"😀", 100, nil},
		} {
			got, err := table.Query(t.Context(), pk+"q", step.after, step.limit)
			if err != nil {
				t.Fatal(err)
			}
			same(t, fmt.Sprintf("query %sq after %q, limit %d", pk, step.after, step.limit), got, step.want)
			soon(t, fmt.Sprintf("glance at %sq after %q, limit %d", pk, step.after, step.limit), step.want, func() ([]engine.Row, error) {
				return table.Glance(t.Context(), pk+"q", step.after, step.limit)
			})
		}
		if got, err := table.Query(t.Context(), pk+"none", "", 10); err != nil || len(got) != 0 {
			t.Errorf("rows of a pk that has none: %v, %v", got, err)
		}
	}
}

// rowsLarge reads more than 1 MB of rows: fewer than limit means there are no more.
func rowsLarge(t *testing.T, table engine.Table) {
	var all []engine.Row
	for i := range 5 {
		all = append(all, putRow(t, table, engine.Row{PK: "S#1", SK: fmt.Sprint(i), Body: noise(350 << 10)}, engine.Absent))
	}
	got, err := table.Query(t.Context(), "S#1", "", 10)
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != len(all) {
		t.Fatalf("%d rows, want %d", len(got), len(all))
	}
	for i := range all {
		if !bytes.Equal(got[i].Body, all[i].Body) {
			t.Errorf("row %d has another body", i)
		}
	}
}

func rowsDue(t *testing.T, table engine.Table) {
	var all []engine.Row
	for i := range 40 {
		row := engine.Row{PK: rowKinds[i%3] + fmt.Sprint(i), SK: "-", Body: []byte("due"), Due: start.Add(time.Duration(i*7%40) * time.Second)}
		all = append(all, putRow(t, table, row, engine.Absent))
	}
	putRow(t, table, engine.Row{PK: "T#never", SK: "-"}, engine.Absent)
	due := func(before time.Time, limit int) func() ([]engine.Row, error) {
		return func() ([]engine.Row, error) {
			var found []engine.Row
			for shard := range engine.DueShards {
				rows, err := table.Due(t.Context(), shard, before, limit)
				if err != nil {
					return nil, err
				}
				if len(rows) > limit || !slices.IsSortedFunc(rows, byDue) {
					return nil, fmt.Errorf("shard %d: %d rows, or not the oldest first: %v", shard, len(rows), rows)
				}
				found = append(found, rows...)
			}
			slices.SortFunc(found, byDue)
			return found, nil
		}
	}
	slices.SortFunc(all, byDue)
	soon(t, "all that is due", all, due(start.Add(time.Hour), 40))
	soon(t, "what is due by then", all[:11], due(start.Add(10*time.Second), 40))
	soon(t, "what is due before", nil, due(start.Add(-time.Millisecond), 40))
	// One at most in each shard, and it is the oldest of it.
	oldest := map[int]bool{}
	var want []engine.Row
	for _, row := range all {
		if shard := engine.DueShard(row.PK, row.SK); !oldest[shard] {
			oldest[shard] = true
			want = append(want, row)
		}
	}
	soon(t, "the oldest of each shard", want, due(start.Add(time.Hour), 1))
	// Moved, settled and deleted.
	moved := all[0]
	moved.Due = start.Add(2 * time.Hour)
	moved = putRow(t, table, moved, engine.IfRev(1))
	settled := all[1]
	settled.Due = time.Time{}
	putRow(t, table, settled, engine.IfRev(1))
	if _, err := table.Delete(t.Context(), all[2].PK, "-", engine.Always); err != nil {
		t.Fatal(err)
	}
	soon(t, "what is still due", all[3:], due(start.Add(time.Hour), 40))
	soon(t, "what is due later", append(slices.Clone(all[3:]), moved), due(start.Add(3*time.Hour), 40))
}

func byDue(a, b engine.Row) int { return a.Due.Compare(b.Due) }

func rowsCopied(t *testing.T, table engine.Table) {
	for _, pk := range rowKinds {
		body := []byte("as it was")
		want := putRow(t, table, engine.Row{PK: pk + "1", SK: "1", Body: body}, engine.Absent)
		want.Body = bytes.Clone(body)
		clear(body)
		readsAs(t, table, want.PK, want.SK, &want)
		got, _, err := table.Get(t.Context(), want.PK, want.SK)
		if err != nil {
			t.Fatal(err)
		}
		clear(got.Body)
		rows, err := table.Query(t.Context(), want.PK, "", 1)
		if err != nil || len(rows) != 1 {
			t.Fatalf("query: %v, %v", rows, err)
		}
		clear(rows[0].Body)
		readsAs(t, table, want.PK, want.SK, &want)
	}
}
