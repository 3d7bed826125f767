package httpapi

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// names are a list's participants, by id.
func (w *world) participants(by client) map[string]J {
	w.t.Helper()
	all := map[string]J{}
	after := ""
	for {
		j := by.must("GET", "/v1/participants?after="+after, nil)
		for _, p := range j["participants"].([]any) {
			all[str(p.(J), "participant_id")] = p.(J)
		}
		if after = str(j, "next_after"); after == "" {
			return all
		}
	}
}

// covers: WHO-7
func TestParticipants(t *testing.T) {
	w := newWorld(t)
	far := w.addHarness("Far", "agents")
	mel := w.addPerson("Mel", "member")
	w.scout.must("POST", "/v1/harnesses/"+w.scout.id+"/agents", J{"key": "free", "name": "Free"})
	everybody := []string{
		w.arjun.id, w.ada.id, w.priya.id, w.gus.id, mel.id, w.scout.id, w.ledger.id, far.id, w.scout.agent, w.ledger.agent, far.agent,
	}
	inRoom := []string{w.arjun.id, w.priya.id, w.gus.id, w.scout.agent, w.ledger.agent}
	for name, c := range map[string]struct {
		by   client
		want []string
		free int // agents in no room
	}{
		"a member in the room":     {w.priya.client, everybody, 1},
		"a member in no room":      {mel.client, everybody, 1},
		"a guest":                  {w.gus.client, inRoom, 0},
		"a harness in the room":    {w.scout.client, append(inRoom, w.scout.id), 1},
		"a harness with its owner": {far.client, []string{w.arjun.id, far.id, far.agent}, 0},
		"before agents":            {w.ledger.client, []string{w.arjun.id, w.priya.id, w.gus.id, w.scout.agent, w.ledger.id}, 0},
	} {
		got := w.participants(c.by)
		for _, id := range c.want {
			if got[id] == nil {
				t.Errorf("%s is not told of %s", name, id)
			}
		}
		if len(got) != len(c.want)+c.free {
			t.Errorf("%s is told of %d: %v", name, len(got), got)
		}
	}
	seen := w.participants(w.priya.client)
	want := J{"participant_id": w.scout.agent, "kind": "agent", "name": "Scout", "handle": "@Scout", "harness_id": w.scout.id, "harness": "Scout", "state": "active", "space_ids": []any{w.room}}
	if diff := cmp.Diff(want, seen[w.scout.agent]); diff != "" {
		t.Errorf("Scout's agent: %s", diff)
	}
	want = J{"participant_id": w.gus.id, "kind": "person", "name": "Gus", "handle": "@Gus", "role": "guest", "space_ids": []any{w.room}}
	if diff := cmp.Diff(want, seen[w.gus.id]); diff != "" {
		t.Errorf("Gus: %s", diff)
	}
	// Only the caller's rooms are named: Far's agent is in one of Arjun's.
	if ids := seen[far.agent]["space_ids"].([]any); len(ids) != 0 {
		t.Errorf("Priya is told of Far's rooms %v", ids)
	}
}

// covers: AGT-15, AGT-16
func TestBeforeAgents(t *testing.T) {
	w := newWorld(t)
	seen := w.participants(w.ledger.client)
	own, other := seen[w.ledger.id], seen[w.scout.agent]
	if str(own, "kind") != "harness" || str(own, "name") != "Ledger" || !cmp.Equal(own["space_ids"], []any{w.ledger.space, w.room}) {
		t.Errorf("Ledger itself: %v", own)
	}
	if str(other, "kind") != "harness" || str(other, "name") != "Scout" {
		t.Errorf("another's agent: %v", other)
	}
	members := func(by client) any { return by.must("GET", "/v1/spaces/"+w.room, nil)["member_ids"] }
	if diff := cmp.Diff([]any{w.arjun.id, w.priya.id, w.gus.id, w.scout.agent, w.ledger.id}, members(w.ledger.client)); diff != "" {
		t.Errorf("members to Ledger: %s", diff)
	}
	if diff := cmp.Diff([]any{w.arjun.id, w.priya.id, w.gus.id, w.scout.agent, w.ledger.agent}, members(w.scout.client)); diff != "" {
		t.Errorf("members to Scout: %s", diff)
	}
	w.ledger.must("PUT", "/v1/harnesses/"+w.ledger.id+"/capabilities", J{"capabilities": []string{"agents"}})
	if p := w.participants(w.ledger.client)[w.ledger.agent]; str(p, "kind") != "agent" {
		t.Errorf("once it has declared agents: %v", p)
	}
}

// What a harness is allowed is told to whom its events are: itself, its owner and people but guests.
func TestWhatAHarnessIsAllowed(t *testing.T) {
	w := newWorld(t)
	path := "/v1/harnesses/" + w.scout.id
	w.arjun.must("PUT", path+"/policy", J{"autonomy": 1, "rules": []any{J{"match": "email.*", "decision": "ask"}}})
	w.arjun.must("PUT", path+"/budget", J{"limit_usd": 12.5})
	for name, c := range map[string]struct {
		by   client
		told bool
	}{"the owner": {w.arjun.client, true}, "a member": {w.priya.client, true}, "itself": {w.scout.client, true}, "a guest": {w.gus.client, false}, "another harness": {w.ledger.client, false}} {
		j := c.by.must("GET", path, nil)
		if (j["policy"] != nil) != c.told || (j["limit_usd"] != nil) != c.told {
			t.Errorf("%s: told %t, want %t: %v", name, j["policy"] != nil, c.told, j)
		}
	}
}

func TestSpaces(t *testing.T) {
	w := newWorld(t)
	direct := w.arjun.must("GET", "/v1/spaces/"+w.scout.space, nil)
	if direct["direct"] != true || str(direct, "title") != "Scout" || !cmp.Equal(direct["member_ids"], []any{w.arjun.id, w.scout.id}) {
		t.Errorf("the direct room: %v", direct)
	}
	room := w.gus.must("GET", "/v1/spaces/"+w.room, nil)
	delete(room, "opened_at")
	delete(room, "last_seq")
	want := J{
		"space_id": w.room, "title": "Room R", "state": "open", "opened_by": w.arjun.id, "lead": nil, "locked": false, "ceiling_usd": 3.0,
		"member_ids": []any{w.arjun.id, w.priya.id, w.gus.id, w.scout.agent, w.ledger.agent},
		"exchange":   J{"state": "going", "count": 0.0, "stop": 16.0, "hold": 48.0},
	}
	if diff := cmp.Diff(want, room); diff != "" {
		t.Errorf("the room: %s", diff)
	}
	last := w.say(w.arjun.client, w.room, "words")
	if got := num(w.gus.must("GET", "/v1/spaces/"+w.room, nil), "last_seq"); got != last {
		t.Errorf("last_seq %d after %d", got, last)
	}
	spaces := w.gus.must("GET", "/v1/spaces", nil)["spaces"].([]any)
	if len(spaces) != 1 || str(spaces[0].(J), "space_id") != w.room {
		t.Errorf("Gus's rooms: %v", spaces)
	}
	w.ada.refused(http.StatusForbidden, "forbidden", "GET", "/v1/spaces/"+w.room, nil)
	left := w.gus.must("DELETE", "/v1/spaces/"+w.room+"/members/"+w.gus.id, nil)
	if num(left, "seq") == 0 || left["title"] != nil || left["member_ids"] != nil {
		t.Errorf("one who left is answered %v", left)
	}
}

// Lists are read page by page: each entry once, whatever the limit.
func TestListsByPages(t *testing.T) {
	w := newWorld(t)
	for i := range 23 {
		w.open(w.arjun, fmt.Sprint("Room ", i))
		w.scout.must("POST", "/v1/harnesses/"+w.scout.id+"/agents", J{"key": fmt.Sprint("k", i), "name": fmt.Sprint("Agent ", i)})
	}
	for _, c := range []struct {
		by               client
		target, list, id string
		n                int
	}{
		{w.arjun.client, "/v1/spaces", "spaces", "space_id", 26},
		{w.arjun.client, "/v1/participants", "participants", "participant_id", 4 + 2 + 2 + 23},
		{w.scout.client, "/v1/harnesses/" + w.scout.id + "/agents", "agents", "agent_id", 24},
	} {
		for _, limit := range []int{1, 5, 23, 500} {
			var ids []string
			for after := ""; ; {
				j := c.by.must("GET", fmt.Sprintf("%s?limit=%d&after=%s", c.target, limit, after), nil)
				page := j[c.list].([]any)
				if len(page) > limit {
					t.Errorf("%s: %d with limit %d", c.target, len(page), limit)
				}
				for _, e := range page {
					if id := str(e.(J), c.id); len(ids) == 0 || id > ids[len(ids)-1] {
						ids = append(ids, id)
					}
				}
				if after = str(j, "next_after"); after == "" {
					break
				}
			}
			if len(ids) != c.n {
				t.Errorf("%s by %d: %d entries; want %d", c.target, limit, len(ids), c.n)
			}
		}
	}
	w.ledger.refused(http.StatusNotFound, "not_found", "GET", "/v1/harnesses/"+w.scout.id+"/agents", nil)
}

// A page of a list is cut by bytes as well, and says how far it goes.
func TestListIsCutByBytes(t *testing.T) {
	entries := []string{}
	for i := range 9 {
		entries = append(entries, fmt.Sprint(i, strings.Repeat("x", 1<<20)))
	}
	first := func(s string) string { return s[:1] }
	page, next, err := list(entries, first, false)
	if err != nil || len(page) != 3 || next != "2" {
		t.Errorf("%d entries of 1 MB, next %q, %v; want 3, next 2", len(page), next, err)
	}
	page, next, err = list([]string{strings.Repeat("x", 5<<20), "y"}, first, false)
	if err != nil || len(page) != 1 || next != "x" {
		t.Errorf("one of 5 MB: %d entries, next %q, %v", len(page), next, err)
	}
}

// Who shares no room with a harness, and is no more than a guest, may not see it.
func TestHarnessIsShown(t *testing.T) {
	w := newWorld(t)
	far := w.addHarness("Far")
	for _, by := range []client{w.arjun.client, w.priya.client, far.client} {
		by.must("GET", "/v1/harnesses/"+far.id, nil)
	}
	for _, by := range []client{w.gus.client, w.scout.client} {
		by.refused(http.StatusNotFound, "not_found", "GET", "/v1/harnesses/"+far.id, nil)
		by.must("GET", "/v1/harnesses/"+w.ledger.id, nil)
	}
}
