package main

import (
	"net/http"
	"slices"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Who is sent what belongs to no room (contract U-81): some of it everybody, of people, harnesses and agents those who are told who
// everybody is, themselves, and who shares a room with them; the policy only those it concerns.
//
// covers: SUB-11
func TestWhoIsToldOfWhat(t *testing.T) {
	t.Parallel()
	c := newTown(t)
	lone, loneMade := c.harness("Lone", "agents")
	vera := c.person("Vera", "member")
	wes := c.person("Wes", "guest") // in no room
	parties := map[string]*party{"Arjun": c.owner, "Priya": c.priya, "Gus": c.gus, "Wes": wes, "Scout": c.scouts, "Ledger": c.ledger, "Lone": lone}
	since := c.owner.head()
	streams := map[string]*stream{}
	for name, p := range parties {
		streams[name] = p.from(since, "")
	}
	put, patch := http.MethodPut, http.MethodPatch
	workspace, scout, loner := "/v1/workspaces/"+c.workspace.WorkspaceID, "/v1/harnesses/"+c.scouts.id, "/v1/harnesses/"+lone.id
	everybody := []string{"Arjun", "Gus", "Ledger", "Lone", "Priya", "Scout", "Wes"}
	insiders, room, alone := []string{"Arjun", "Priya"}, []string{"Arjun", "Gus", "Ledger", "Priya", "Scout"}, []string{"Arjun", "Lone", "Priya"}
	cases := []struct {
		typ string
		do  func()
		to  []string
	}{
		{"workspace.renamed", func() { c.owner.must(patch, workspace, J{"name": "New"}) }, everybody},
		{"exchange.settings_set", func() { c.owner.must(put, workspace+"/exchange", J{"stop": nil}) }, everybody},
		{"policy.cap_set", func() { c.owner.must(put, workspace+"/policy", J{"max_autonomy": 1}) }, insiders},
		{"person.added", func() { c.person("Uma", "member") }, insiders},
		{"person.updated", func() { vera.must(patch, "/v1/people/"+vera.id, J{"name": "V"}) }, insiders},
		{"person.updated", func() { c.priya.must(patch, "/v1/people/"+c.priya.id, J{"name": "Priya B"}) }, room},
		{"person.removed", func() { c.owner.must(http.MethodDelete, "/v1/people/"+vera.id, nil) }, insiders},
		{"harness.added", func() { c.harness("More") }, insiders},
		{"harness.updated", func() { c.scouts.must(put, scout+"/capabilities", J{"capabilities": []string{"agents", "forks"}}) }, []string{"Arjun", "Gus", "Ledger", "Priya", "Scout"}},
		{"harness.status_set", func() { lone.must(put, loner+"/status", J{"status": "trouble"}) }, alone},
		{"harness.policy_set", func() { c.owner.must(put, scout+"/policy", J{"autonomy": 1, "rules": []any{}}) }, []string{"Arjun", "Priya", "Scout"}},
		{"harness.budget_set", func() { c.owner.must(put, loner+"/budget", J{"limit_usd": 3}) }, alone},
		{"agent.registered", func() { lone.must(http.MethodPost, loner+"/agents", J{"key": "k", "name": "K"}) }, alone},
		{"agent.updated", func() { c.owner.must(patch, "/v1/agents/"+loneMade.AgentID, J{"name": "Lonely"}) }, alone},
		// Ledger has not declared agents, and hears of none.
		{"agent.updated", func() { c.owner.must(patch, "/v1/agents/"+c.s1, J{"name": "Scouter"}) }, []string{"Arjun", "Gus", "Priya", "Scout"}},
		{"run.started", func() { lone.write("run.started", J{"run_id": c.run()}) }, []string{"Arjun", "Lone"}},
	}
	from := []int64{since}
	for _, x := range cases {
		x.do()
		from = append(from, c.owner.head())
	}
	end := c.fence()
	got := make([][]string, len(cases))
	for name, s := range streams {
		for _, raw := range s.through(end) {
			e := read(t, raw)
			i, _ := slices.BinarySearch(from, number(e, "seq"))
			if i--; i < len(cases) && str(e, "type") == cases[i].typ {
				got[i] = append(got[i], name)
			}
		}
	}
	for i, x := range cases {
		if slices.Sort(got[i]); cmp.Diff(x.to, got[i]) != "" {
			t.Errorf("%d %s is sent to %v, want %v", i, x.typ, got[i], x.to)
		}
	}
}

// Everything that anybody is shown is the same after the server was killed, when it is folded from a snapshot.
func TestAllIsAsItWas(t *testing.T) {
	t.Parallel()
	c := newTown(t, "FORK_WAIT_MS=1", "NEW_AGENT_WAIT_MS=1")
	_, _, _ = everything(c)
	c.scouts.must(http.MethodPut, "/v1/harnesses/"+c.scouts.id+"/status", J{"status": "trouble"})
	c.owner.write("message.post", J{"space_id": c.room, "text": "@Ledger last"})
	c.ledger.write("message.post", J{"space_id": c.room, "text": "yes"})
	run := c.run()
	c.scouts.write("run.started", J{"space_id": c.room, "run_id": run})
	c.scouts.write("run.paused", J{"run_id": run})
	c.gus.fill(c.room, 300, "so that there is a snapshot")
	end := c.fence()
	parties := []*party{c.owner, c.priya, c.gus, c.scouts, c.ledger}
	shown := func() (all []J) {
		for _, p := range parties {
			hello := read(t, p.connect("").hello)
			delete(hello, "id")
			delete(hello, "ts")
			all = append(all, hello)
			for _, path := range []string{"/v1/spaces", "/v1/participants", "/v1/workspaces/" + c.workspace.WorkspaceID + "/exchange"} {
				all = append(all, p.must(http.MethodGet, path, nil))
			}
			var events []any
			for _, since := range []int64{0, end / 2, end - 10} {
				for _, raw := range p.from(since, `,"accepts":["events"]`).through(end) {
					events = append(events, string(raw))
				}
			}
			all = append(all, J{"events": events})
		}
		for _, h := range []*party{c.scouts, c.ledger} {
			all = append(all, h.must(http.MethodGet, "/v1/harnesses/"+h.id, nil), h.must(http.MethodGet, "/v1/harnesses/"+h.id+"/agents", nil))
		}
		return all
	}
	before := shown()
	c.restart(syscall.SIGKILL)
	if diff := cmp.Diff(before, shown()); diff != "" {
		t.Errorf("after a kill: %s", diff)
	}
	// And the rules go on from where they were: the run is paused, and what was wrote to last is written on to.
	c.scouts.connect("").lands("run.resumed", J{"run_id": run})
	seq := c.owner.write("message.post", J{"space_id": c.room, "text": "go on then"})
	if to := stringsOf(read(t, c.owner.log(seq-1, c.room)[0])["addressed_to"]); cmp.Diff([]string{c.l1}, to) != "" {
		t.Errorf("written on, it is for %v", to)
	}
}

// Two sockets of one harness: each that listens is sent everything, in the same bytes, and each turn once (contract U-121).
func TestTwoSocketsOfOneHarness(t *testing.T) {
	t.Parallel()
	c := newTown(t, "FORK_WAIT_MS=1", "NEW_AGENT_WAIT_MS=1")
	since := c.owner.head()
	one, two, silent := c.scouts.from(since, ""), c.scouts.from(since, `,"accepts":["events"]`), c.scouts.connect("")
	seq := one.lands("message.post", J{"space_id": c.room, "text": "mine"})
	c.owner.write("message.post", J{"space_id": c.room, "text": "@Scout take it"})
	two.lands("message.post", J{"space_id": c.room, "text": "mine too"})
	end := c.fence()
	got := one.through(end)
	same(t, "the other socket", two.through(end), got)
	if len(got) != 4 || seqOf(t, got[0]) != seq {
		t.Errorf("%d events", len(got))
	}
	silent.settle()
	if len(silent.events) != 0 {
		t.Errorf("one that did not subscribe was sent %s", silent.events)
	}
}
