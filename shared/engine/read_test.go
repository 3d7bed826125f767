package engine_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/chipschat/chips-aws/shared/engine"
	"github.com/chipschat/chips-aws/shared/protocol"
	"github.com/chipschat/chips-aws/shared/workspace"
)

// A commit that writes lines in two rooms is indexed under one of them, and found from both; a line in the middle of a commit is
// one to begin at.
func TestRoomCommits(t *testing.T) {
	table := open(t)
	g := start(table, engine.Options{Decide: func(s *workspace.State, c workspace.Command) (workspace.Decision, *protocol.Error) {
		d, err := simple(s, c)
		if c.Draft.IdempotencyKey == "both" {
			e := d.Events[0]
			e.SpaceID = "spc_2"
			d.Events = append(d.Events, e, d.Events[0])
		}
		return d, err
	}})
	do(t, g, openRoom("1", "spc_1"))
	do(t, g, openRoom("2", "spc_2"))
	do(t, g, post("3", "Ship it."))
	do(t, g, post("both", "Ship it.")) // 4 and 6 in spc_1, 5 in spc_2
	do(t, g, post("7", "Ship it."))
	do(t, g, by("8", "spc_2", &protocol.MessagePost{Text: "Done."}))
	for _, c := range []struct {
		space string
		line  int64
		limit int
		want  []int64
	}{
		{"spc_1", 7, 10, []int64{7, 4, 3}},
		{"spc_1", 7, 2, []int64{7, 4}},
		{"spc_1", 6, 10, []int64{4, 3}},
		{"spc_1", 4, 10, []int64{4, 3}},
		{"spc_2", 8, 10, []int64{8, 4}},
		{"spc_2", 5, 1, []int64{4}},
		{"spc_1", 0, 10, nil},
	} {
		commits, err := g.RoomCommits(t.Context(), "ws_1", c.space, c.line, c.limit)
		var got []int64
		for _, c := range commits {
			got = append(got, c.First)
		}
		if diff := cmp.Diff(c.want, got); err != nil || diff != "" {
			t.Errorf("%s from %d, %d of them: %v\n%s", c.space, c.line, c.limit, err, diff)
		}
	}
	for space, line := range map[string]int64{"spc_1": 2, "spc_2": 7, "spc_3": 4, "spc_4": 99} {
		if got, err := g.RoomCommits(t.Context(), "ws_1", space, line, 10); err == nil {
			t.Errorf("%s has no line at %d: %d commits", space, line, len(got))
		}
	}
}

// The newest line below any seq is found: by the commit it lies in, by the line that comes next, or far from all lines by the index.
// covers: CTX-31
func TestLineBelow(t *testing.T) {
	g := start(open(t), engine.Options{Decide: func(s *workspace.State, c workspace.Command) (workspace.Decision, *protocol.Error) {
		d, err := simple(s, c)
		if c.Draft.IdempotencyKey == "both" {
			e := d.Events[0]
			e.SpaceID = "spc_2"
			d.Events = append(d.Events, e, d.Events[0])
		}
		return d, err
	}})
	do(t, g, openRoom("1", "spc_1"))
	do(t, g, openRoom("2", "spc_2"))
	do(t, g, post("3", "Ship it."))
	do(t, g, post("both", "Ship it.")) // 4 and 6 in spc_1, 5 in spc_2
	do(t, g, post("7", "Ship it."))
	for i := range 200 {
		do(t, g, by(fmt.Sprint(8+i), "spc_2", &protocol.MessagePost{Text: "Done."}))
	}
	do(t, g, post("208", "Ship it."))
	for _, c := range []struct {
		space     string
		seq, want int64
	}{
		{"spc_1", 1000, 208}, {"spc_1", 209, 208}, {"spc_1", 208, 7}, {"spc_1", 207, 7}, {"spc_1", 20, 7}, {"spc_1", 8, 7}, {"spc_1", 7, 6}, {"spc_1", 6, 4},
		{"spc_1", 5, 4}, {"spc_1", 4, 3}, {"spc_1", 3, 0}, {"spc_1", 1, 0}, {"spc_1", 0, 0},
		{"spc_2", 208, 207}, {"spc_2", 9, 8}, {"spc_2", 8, 5}, {"spc_2", 6, 5}, {"spc_2", 5, 0},
	} {
		last := map[string]int64{"spc_1": 208, "spc_2": 207}[c.space]
		got, err := g.LineBelow(t.Context(), "ws_1", c.space, c.seq, last)
		if err != nil || got != c.want {
			t.Errorf("%s below %d: %d, %v; want %d", c.space, c.seq, got, err, c.want)
		}
	}
}

// Read sees what another engine has committed; what its function fails with is what it fails with.
func TestRead(t *testing.T) {
	table := open(t)
	g, other := start(table, engine.Options{}), start(table, engine.Options{})
	errSeen := errors.New("seen")
	name := func(read func(context.Context, string, func(*workspace.State) error) error) (name string) {
		err := read(t.Context(), "ws_1", func(s *workspace.State) error {
			name = s.Name
			return errSeen
		})
		if !errors.Is(err, errSeen) {
			t.Error(err)
		}
		return name
	}
	if got := name(g.Read); got != "" {
		t.Errorf("before the first event: %q", got)
	}
	for i := range 3 { // one commit behind, two behind, three behind
		want := fmt.Sprint(i)
		for range i {
			do(t, other, post("", "Ship it."))
		}
		do(t, other, rename("", want))
		if got := name(g.ReadWarm); got == want {
			t.Errorf("a warm read has asked the table")
		}
		if got := name(g.Read); got != want {
			t.Errorf("read %q, want %q", got, want)
		}
		if got := name(g.ReadWarm); got != want {
			t.Errorf("then warm %q, want %q", got, want)
		}
	}
}

// Only so many workspaces are kept folded, the last used ones.
func TestWorkspacesKept(t *testing.T) {
	table := watch(t)
	g := start(table, engine.Options{Workspaces: 2})
	loads := func(ws string) bool {
		table.counted()
		if err := g.ReadWarm(t.Context(), ws, func(*workspace.State) error { return nil }); err != nil {
			t.Fatal(err)
		}
		return len(table.counted()) > 0
	}
	for i, c := range []struct {
		ws   string
		cold bool
	}{{"ws_1", true}, {"ws_2", true}, {"ws_1", false}, {"ws_3", true}, {"ws_1", false}, {"ws_2", true}, {"ws_3", true}} {
		if got := loads(c.ws); got != c.cold {
			t.Errorf("use %d, of %s: cold %v, want %v", i, c.ws, got, c.cold)
		}
	}
}

// holed is a table that has lost a commit.
type holed struct{ engine.Table }

func (h holed) Commits(ctx context.Context, ws string, from int64, limit int) ([]engine.Commit, error) {
	commits, err := h.Table.Commits(ctx, ws, from, limit)
	return slices.DeleteFunc(commits, func(c engine.Commit) bool { return c.First == 2 }), err
}

// A log with a hole is not folded across it.
func TestHole(t *testing.T) {
	table := open(t)
	for i := range 4 {
		do(t, start(table, engine.Options{}), rename("", fmt.Sprint(i)))
	}
	g := start(holed{table}, engine.Options{})
	if err := g.Read(t.Context(), "ws_1", func(*workspace.State) error { return nil }); err == nil {
		t.Error("read")
	}
	if _, err := g.StateAt(t.Context(), "ws_1", 3); err == nil {
		t.Error("folded to 3")
	}
	if out, err := g.Do(t.Context(), "ws_1", post("k", "Ship it.")); err == nil || errors.As(err, new(*protocol.Error)) {
		t.Errorf("done: %v, %v", out.Ack(), err)
	}
}

// A recent read asks the table once in three seconds, and again for what it would refuse; what was written here it always knows.
func TestReadRecent(t *testing.T) {
	table := open(t)
	at := now
	clock := engine.Options{Now: func() time.Time { return at }}
	g, other := start(table, clock), start(table, clock)
	refusal := errors.New("refused")
	read := func(refused string) (name string, shown int, err error) {
		err = g.ReadRecent(t.Context(), "ws_1", func(s *workspace.State) error {
			shown++
			if name = s.Name; name == refused {
				return refusal
			}
			return nil
		})
		return name, shown, err
	}
	check := func(refused, want string, shown int, wantErr error) {
		t.Helper()
		if name, n, err := read(refused); name != want || n != shown || !errors.Is(err, wantErr) {
			t.Errorf("reads %q, shown %d times, %v; want %q, %d, %v", name, n, err, want, shown, wantErr)
		}
	}
	do(t, other, rename("", "A"))
	check("", "A", 1, nil)
	do(t, other, rename("", "B"))
	at = at.Add(3*time.Second - 1)
	check("", "A", 1, nil)
	check("A", "B", 2, nil) // which is a look
	do(t, other, rename("", "C"))
	check("C", "B", 1, nil)
	at = at.Add(3 * time.Second)
	check("C", "C", 1, refusal)
	check("C", "C", 2, refusal)
	do(t, g, rename("", "D"))
	check("", "D", 1, nil)
}
