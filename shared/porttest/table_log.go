package porttest

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/chipschat/chips-aws/shared/engine"
)

func commitWhole(t *testing.T, table engine.Table) {
	bare := commit("ws_1", 1, 1)
	full := commit("ws_1", 2, 3)
	full.TS = start.Add(123 * time.Millisecond)
	full.Sender, full.Key = "agt_01J", longKey
	full.Payload = [16]byte{0: 1, 15: 255}
	full.Primary = 2
	full.Connection, full.Credential = "conn=", "tok_01J"
	full.Prev = map[string]int64{"spc_1": 0, "spc_2": 1}
	full.Space = "spc_2"
	late := commit("ws_1", 5, 1)
	late.TS = time.Date(2026, 9, 2, 16, 23, 0, 999_999_999, time.FixedZone("", 7200))
	put(t, table, bare, full, late)
	late.TS = late.TS.Truncate(time.Millisecond).UTC()
	same(t, "the log", wholeLog(t, table, "ws_1", 10), []engine.Commit{bare, full, late})
	if got := wholeLog(t, table, "ws_1", 10)[2].TS; got.Location() != time.UTC {
		t.Errorf("the time is in %v, want UTC", got.Location())
	}
}

func commitLarge(t *testing.T, table engine.Table) {
	c := commit("ws_1", 1, 0)
	for range 100 {
		c.Events = append(c.Events, noise(256<<10/100))
	}
	put(t, table, c)
	same(t, "the log", wholeLog(t, table, "ws_1", 10), []engine.Commit{c})
	if r := appendOne(t, table, engine.Append{Commit: commit("ws_1", 1, 1)}); r.Winner == nil || r.Winner.Nonce != c.Nonce {
		t.Error("the large commit is not the winner of its slot")
	} else {
		same(t, "the winner", *r.Winner, c)
	}
}

func slotsDense(t *testing.T, table engine.Table) {
	first, second := commit("ws_1", 1, 3), commit("ws_1", 4, 1)
	second.Sender, second.Key = "usr_1", "k"
	put(t, table, first, second)
	for _, want := range []engine.Commit{first, second} {
		r := appendOne(t, table, engine.Append{Commit: commit("ws_1", want.First, 1)})
		if r.Written || r.Winner == nil {
			t.Fatalf("append at %d: %+v, want a winner", want.First, r)
		}
		same(t, "the winner", *r.Winner, want)
	}
	put(t, table, commit("ws_1", 5, 100), commit("ws_1", 105, 1))
	if n := len(wholeLog(t, table, "ws_1", 10)); n != 4 {
		t.Errorf("%d commits, want 4", n)
	}
}

func chain(t *testing.T, table engine.Table) {
	var all []engine.Commit
	next := int64(1)
	for _, size := range []int{1, 2, 30} {
		var appends []engine.Append
		for i := range size {
			c := commit("ws_1", next, 1+i%3)
			a := engine.Append{Replaces: -1}
			if i%2 == 0 {
				c.Sender, c.Key = "usr_1", fmt.Sprintf("key-%d", next)
				a.Claim = &engine.Claim{Workspace: "ws_1", Sender: c.Sender, Key: c.Key, After: next - 1}
			}
			a.Commit = c
			appends, all, next = append(appends, a), append(all, c), c.Last()+1
		}
		results, err := table.Append(t.Context(), appends)
		if err != nil {
			t.Fatal(err)
		}
		if len(results) != size {
			t.Fatalf("%d results for a chain of %d", len(results), size)
		}
		for i, r := range results {
			same(t, "a result", r, engine.Result{Written: true, Claimed: appends[i].Claim != nil})
		}
	}
	same(t, "the log", wholeLog(t, table, "ws_1", 100), all)
	if results, err := table.Append(t.Context(), nil); err != nil || len(results) != 0 {
		t.Errorf("no appends: %v, %v; want nothing", results, err)
	}
}

func chainStops(t *testing.T, table engine.Table) {
	claim := func(key string, after int64) *engine.Claim {
		return &engine.Claim{Workspace: "ws_1", Sender: "usr_1", Key: key, After: after}
	}
	first := commit("ws_1", 1, 1)
	appendOne(t, table, engine.Append{Commit: first, Claim: claim("old", 0), Replaces: -1})
	a, b, c := commit("ws_1", 2, 1), commit("ws_1", 3, 1), commit("ws_1", 4, 1)
	results, err := table.Append(t.Context(), []engine.Append{
		{Commit: a, Claim: claim("a", 1), Replaces: -1},
		{Commit: b, Claim: claim("old", 2), Replaces: -1},
		{Commit: c, Claim: claim("c", 3), Replaces: -1},
	})
	if err != nil {
		t.Fatal(err)
	}
	same(t, "results of a chain whose second claim is taken", results, []engine.Result{
		{Written: true, Claimed: true},
		{Taken: claim("old", 0)},
	})
	rival := commit("ws_1", 3, 2)
	put(t, table, rival)
	results, err = table.Append(t.Context(), []engine.Append{
		{Commit: b, Claim: claim("b", 2), Replaces: -1},
		{Commit: c, Claim: claim("c", 3), Replaces: -1},
	})
	if err != nil {
		t.Fatal(err)
	}
	same(t, "results of a chain whose first slot is taken", results, []engine.Result{{Claimed: true, Winner: &rival}})
	same(t, "the log", wholeLog(t, table, "ws_1", 10), []engine.Commit{first, a, rival})
	if _, some, err := table.ReadClaim(t.Context(), "ws_1", "usr_1", "c"); some || err != nil {
		t.Errorf("the claim of what came after the stop stands (%v)", err)
	}
}

func claims(t *testing.T, table engine.Table) {
	put(t, table, commit("ws_1", 1, 5))
	next := int64(6)
	for _, step := range []struct {
		what            string
		sender, key     string
		after, replaces int64
		want            engine.Result
	}{
		{"none stands to be moved", "usr_1", "k", 5, 3, engine.Result{}},
		{"put where there is none", "usr_1", "k", 3, -1, engine.Result{Claimed: true, Written: true}},
		{"put where one stands", "usr_1", "k", 5, -1, engine.Result{Taken: &engine.Claim{After: 3}}},
		{"moved from elsewhere", "usr_1", "k", 5, 4, engine.Result{Taken: &engine.Claim{After: 3}}},
		{"moved", "usr_1", "k", 5, 3, engine.Result{Claimed: true, Written: true}},
		{"moved again from where it was", "usr_1", "k", 6, 3, engine.Result{Taken: &engine.Claim{After: 5}}},
		{"moved to where it stands", "usr_1", "k", 5, 3, engine.Result{Claimed: true, Written: true}},
		{"put where it stands", "usr_1", "k", 5, -1, engine.Result{Claimed: true, Written: true}},
		{"another sender's", "usr_2", "k", 0, -1, engine.Result{Claimed: true, Written: true}},
		{"another key", "usr_1", "k2", 0, -1, engine.Result{Claimed: true, Written: true}},
		{"a long key", "usr_1", longKey, 0, -1, engine.Result{Claimed: true, Written: true}},
		{"a key that begins alike", "usr_1", longKey + "1", 0, -1, engine.Result{Claimed: true, Written: true}},
		{"a key of odd letters", "usr_1", "k\x00\u202e\u2028", 0, -1, engine.Result{Claimed: true, Written: true}},
	} {
		claim := &engine.Claim{Workspace: "ws_1", Sender: step.sender, Key: step.key, After: step.after}
		r := appendOne(t, table, engine.Append{Commit: commit("ws_1", next, 1), Claim: claim, Replaces: step.replaces})
		if step.want.Taken != nil {
			step.want.Taken = &engine.Claim{Workspace: "ws_1", Sender: step.sender, Key: step.key, After: step.want.Taken.After}
		}
		same(t, step.what, r, step.want)
		if r.Written {
			next++
		}
		got, some, err := table.ReadClaim(t.Context(), "ws_1", step.sender, step.key)
		switch {
		case err != nil:
			t.Error(err)
		case r.Claimed:
			same(t, step.what+": the claim", got, *claim)
		case r.Taken != nil:
			same(t, step.what+": the claim", got, *r.Taken)
		case some:
			t.Errorf("%s: there is a claim", step.what)
		}
	}
	if _, some, err := table.ReadClaim(t.Context(), "ws_2", "usr_1", "k"); some || err != nil {
		t.Errorf("another workspace has the claim (%v)", err)
	}
}

func appendAgain(t *testing.T, table engine.Table) {
	put(t, table, commit("ws_1", 1, 1))
	c := commit("ws_1", 2, 2)
	a := engine.Append{Commit: c, Claim: &engine.Claim{Workspace: "ws_1", Sender: "usr_1", Key: "k", After: 1}, Replaces: -1}
	same(t, "at first", appendOne(t, table, a), engine.Result{Written: true, Claimed: true})
	for range 2 {
		same(t, "again", appendOne(t, table, a), engine.Result{Claimed: true, Winner: &c})
	}
	put(t, table, commit("ws_1", 4, 1))
	same(t, "after another", appendOne(t, table, a), engine.Result{Claimed: true, Winner: &c})
}

func commitsFrom(t *testing.T, table engine.Table) {
	a, b, c := commit("ws_1", 1, 3), commit("ws_1", 4, 10), commit("ws_1", 14, 1)
	put(t, table, a, b, c)
	for _, step := range []struct {
		from  int64
		limit int
		want  []engine.Commit
	}{
		{-1, 9, []engine.Commit{a, b, c}},
		{0, 9, []engine.Commit{a, b, c}},
		{1, 9, []engine.Commit{a, b, c}},
		{3, 9, []engine.Commit{a, b, c}},
		{3, 1, []engine.Commit{a}},
		{4, 9, []engine.Commit{b, c}},
		{5, 9, []engine.Commit{b, c}},
		{13, 1, []engine.Commit{b}},
		{13, 2, []engine.Commit{b, c}},
		{14, 9, []engine.Commit{c}},
		{15, 9, []engine.Commit{c}},
		{1000, 9, []engine.Commit{c}},
	} {
		got, err := table.Commits(t.Context(), "ws_1", step.from, step.limit)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(firsts(got), firsts(step.want)) {
			t.Errorf("from %d, limit %d: commits at %v, want %v", step.from, step.limit, firsts(got), firsts(step.want))
		}
	}
	for _, from := range []int64{0, 1, 7} {
		if got, err := table.Commits(t.Context(), "ws_none", from, 9); err != nil || len(got) != 0 {
			t.Errorf("a workspace without a log from %d: %v, %v", from, got, err)
		}
	}
}

func commitsPaged(t *testing.T, table engine.Table) {
	var all []engine.Commit
	var appends []engine.Append
	next := int64(1)
	for i := range 120 {
		c := commit("ws_1", next, 1+i%4)
		next = c.Last() + 1
		all = append(all, c)
		appends = append(appends, engine.Append{Commit: c})
	}
	if _, err := table.Append(t.Context(), appends); err != nil {
		t.Fatal(err)
	}
	for _, limit := range []int{7, 50, 119, 120, 121} {
		same(t, "the log", wholeLog(t, table, "ws_1", limit), all)
	}
}

func commitsCapped(t *testing.T, table engine.Table) {
	var all []engine.Commit
	for i := range int64(8) {
		c := commit("ws_1", i+1, 0)
		c.Events = [][]byte{noise(200 << 10)}
		c.Space, c.Prev = "spc_1", map[string]int64{"spc_1": i}
		all = append(all, c)
	}
	put(t, table, all...)
	page, err := table.Commits(t.Context(), "ws_1", 1, 8)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(page); n < 3 || n > 6 {
		t.Errorf("%d commits of 200 KB in a page, want about 1 MB", n)
	}
	same(t, "the log", wholeLog(t, table, "ws_1", 8), all)
	soon(t, "newest of the room", int64(8), func() (int64, error) {
		room, err := table.RoomCommits(t.Context(), "ws_1", "spc_1", math.MaxInt64, 8)
		if n := len(room); n > 6 {
			t.Errorf("%d commits of 200 KB in a page of a room, want about 1 MB", n)
		}
		if err != nil || len(room) == 0 {
			return 0, err
		}
		return room[0].First, err
	})
}

func head(t *testing.T, table engine.Table) {
	if _, some, err := table.Head(t.Context(), "ws_1"); some || err != nil {
		t.Errorf("a workspace without a log has a head (%v)", err)
	}
	next := int64(1)
	for i := range 12 {
		c := commit("ws_1", next, 1+i%3)
		next = c.Last() + 1
		put(t, table, c)
		got, some, err := table.Head(t.Context(), "ws_1")
		if !some || err != nil {
			t.Fatalf("no head: %v", err)
		}
		same(t, "the head", got, c)
	}
}

// firsts are the first seqs of commits.
func firsts(commits []engine.Commit) []int64 {
	seqs := []int64{}
	for _, c := range commits {
		seqs = append(seqs, c.First)
	}
	return seqs
}
