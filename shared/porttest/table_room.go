package porttest

import (
	"math"
	"testing"

	"github.com/chipschat/chips-aws/shared/engine"
)

func roomCommits(t *testing.T, table engine.Table) {
	inRoom := func(first int64, n int, space string) engine.Commit {
		c := commit("ws_1", first, n)
		c.Space = space
		if space != "" {
			c.Prev = map[string]int64{space: 0}
		}
		return c
	}
	a1, b, none, a2, a3 := inRoom(1, 2, "spc_a"), inRoom(3, 1, "spc_b"), inRoom(4, 1, ""), inRoom(5, 3, "spc_a"), inRoom(8, 1, "spc_a")
	// A commit of two rooms is found under the one it is indexed by.
	a2.Prev = map[string]int64{"spc_a": 1, "spc_b": 3}
	put(t, table, a1, b, none, a2, a3)
	for _, step := range []struct {
		space  string
		before int64
		limit  int
		want   []engine.Commit
	}{
		{"spc_a", math.MaxInt64, 10, []engine.Commit{a3, a2, a1}},
		{"spc_a", 9, 2, []engine.Commit{a3, a2}},
		{"spc_a", 8, 10, []engine.Commit{a2, a1}},
		{"spc_a", 7, 10, []engine.Commit{a2, a1}},
		{"spc_a", 5, 1, []engine.Commit{a1}},
		{"spc_a", 1, 10, nil},
		{"spc_b", math.MaxInt64, 10, []engine.Commit{b}},
		{"spc", math.MaxInt64, 10, nil},
		{"spc_c", math.MaxInt64, 10, nil},
	} {
		soon(t, "commits of "+step.space, step.want, func() ([]engine.Commit, error) {
			return table.RoomCommits(t.Context(), "ws_1", step.space, step.before, step.limit)
		})
	}
}

func isolation(t *testing.T, table engine.Table) {
	// One id is the start of another, and they share a room's id, which no two workspaces do.
	logs := map[string][]engine.Commit{"ws_1": nil, "ws_11": nil, "ws_2": nil}
	for _, first := range []int64{1, 2, 3} {
		for ws := range logs {
			c := commit(ws, first, 1)
			c.Space, c.Prev = "spc_1", map[string]int64{"spc_1": first - 1}
			put(t, table, c)
			logs[ws] = append(logs[ws], c)
		}
	}
	for ws, want := range logs {
		same(t, "the log of "+ws, wholeLog(t, table, ws, 2), want)
		got, _, err := table.Head(t.Context(), ws)
		if err != nil {
			t.Fatal(err)
		}
		same(t, "the head of "+ws, got, want[2])
		soon(t, "the room in "+ws, []engine.Commit{want[2], want[1], want[0]}, func() ([]engine.Commit, error) {
			return wholeRoom(t, table, ws, "spc_1")
		})
	}
	if got, err := table.Commits(t.Context(), "ws_", 1, 9); err != nil || len(got) != 0 {
		t.Errorf("half an id has a log: %v, %v", got, err)
	}
}

// wholeRoom reads a room to its beginning. A page may be short, but not empty, before that.
func wholeRoom(t *testing.T, table engine.Log, workspace, space string) ([]engine.Commit, error) {
	var all []engine.Commit
	for before := int64(math.MaxInt64); ; before = all[len(all)-1].First {
		page, err := table.RoomCommits(t.Context(), workspace, space, before, 2)
		if err != nil || len(page) == 0 {
			return all, err
		}
		all = append(all, page...)
	}
}
