package main

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/chipschat/chips-aws/shared/protocol"
)

// register registers an agent of a harness.
func (p *party) register(key string, more J) J {
	p.t.Helper()
	in := J{"key": key, "name": key}
	for name, v := range more {
		in[name] = v
	}
	return p.must(http.MethodPost, "/v1/harnesses/"+p.id+"/agents", in)
}

// speaks is an agent as an actor.
func speaks(agent string) J { return J{"kind": "agent", "id": agent} }

// ofType are the events of a type among those that were sent.
func (s *stream) ofType(typ string, through int64) (found []J) {
	s.t.Helper()
	for _, raw := range s.through(through) {
		if e := read(s.t, raw); str(e, "type") == typ {
			found = append(found, e)
		}
	}
	return found
}

// A harness registers its agents under keys of its own: a key is an agent, whatever it is called, until a person names it.
//
// covers: AGT-2, AGT-3, AGT-4, AGT-5, AGT-7, AGT-8, AGT-9, AGT-10
func TestRegistration(t *testing.T) {
	t.Parallel()
	c := newTown(t)
	first := c.scouts.register("k", J{"name": "Ann"})
	id := str(first, "agent_id")
	want := J{"agent_id": id, "key": "k", "name": "Ann", "handle": "@Ann", "lead": false, "state": "active", "room": nil, "duplicate": false}
	check := func(what string, got J, changes J) {
		t.Helper()
		for name, v := range changes {
			want[name] = v
		}
		delete(got, "duplicate")
		delete(got, "seq")
		delete(want, "duplicate")
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s it is answered %s", what, diff)
		}
	}
	check("first", first, nil)
	head := c.owner.head()
	check("the same again", c.scouts.register("k", J{"name": "Ann"}), nil)
	if now := c.owner.head(); now != head {
		t.Errorf("the same again is in the log at %d", now)
	}
	check("under another name", c.scouts.register("k", J{"name": "Anna"}), J{"name": "Anna", "handle": "@Anna"})
	other := c.ledger.register("k", J{"name": "an na"})
	if str(other, "agent_id") == id || str(other, "name") != "an na 2" || str(other, "handle") != "@anna2" {
		t.Errorf("the name is taken, and another's is %v", other)
	}
	if again := c.ledger.register("k", J{"name": "an na"}); str(again, "name") != "an na 2" {
		t.Errorf("asked again it is %v", again)
	}
	check("archived", c.scouts.register("k", J{"name": "Anna", "state": "archived"}), J{"state": "archived"})
	check("brought back", c.scouts.register("k", J{"name": "Anna", "state": "active"}), J{"state": "active"})
	c.owner.must(http.MethodPatch, "/v1/agents/"+id, J{"name": "Nell"})
	check("named by a person", c.scouts.register("k", J{"name": "Anna"}), J{"name": "Nell", "handle": "@Nell", "name_by": c.owner.id})
	check("after that under another name", c.scouts.register("k", J{"name": "Bea"}), nil)
	if got := c.scouts.register("boss", J{"lead": true}); got["lead"] != true {
		t.Errorf("the Main agent is %v", got)
	}
	c.owner.fails(protocol.Forbidden, http.MethodPost, "/v1/harnesses/"+c.scouts.id+"/agents", J{"key": "p", "name": "P"})
	c.ledger.fails(protocol.Forbidden, http.MethodPost, "/v1/harnesses/"+c.scouts.id+"/agents", J{"key": "p", "name": "P"})
}

// Two agents of one harness in a room, on its one connection: it says which of them speaks, and a message for both comes once.
//
// covers: AGT-1, SPK-1, SPK-2, SPK-3, SPK-4, SPK-5, SPK-6, SPK-7, SPK-11, SPK-12, SPK-14, HELD-2
func TestTwoAgentsOfOneHarness(t *testing.T) {
	t.Parallel()
	c := newTown(t)
	ann, bob := str(c.scouts.register("Ann", nil), "agent_id"), str(c.scouts.register("Bob", nil), "agent_id")
	room := c.open(c.owner, "Desk")
	for _, id := range []string{ann, bob} {
		c.owner.must(http.MethodPost, "/v1/spaces/"+room+"/members", J{"participant_id": id})
	}
	live := c.scouts.live("")
	said := func(seq int64) J { t.Helper(); return read(t, c.owner.log(seq-1, room)[0]) }
	post := func(text string, more J) J {
		fields := J{"space_id": room, "text": text}
		for name, v := range more {
			fields[name] = v
		}
		return fields
	}
	live.fails(protocol.WhichAgent, "message.post", post("whose word?", nil))
	live.fails(protocol.WhichAgent, "run.started", J{"space_id": room, "run_id": c.run()})
	live.fails(protocol.Forbidden, "message.post", post("another's", J{"actor": speaks(c.l1)}))
	live.fails(protocol.Forbidden, "message.post", post("elsewhere", J{"actor": speaks(c.s1)}))
	seq := live.lands("message.post", post("mine", J{"actor": speaks(ann)}))
	if diff := cmp.Diff(J{"kind": "agent", "id": ann, "harness_id": c.scouts.id}, said(seq)["actor"]); diff != "" {
		t.Errorf("its actor: %s", diff)
	}
	seq = live.lands("message.post", J{"space_id": c.room, "text": "as the harness"})
	if got := read(t, c.owner.log(seq-1, c.room)[0]); str(got, "actor", "id") != c.s1 || str(got, "actor", "harness_id") != c.scouts.id {
		t.Errorf("its one agent in the room speaks as %v", got["actor"])
	}
	// A run says whose word it is, and where.
	run := c.run()
	live.lands("run.started", J{"space_id": room, "run_id": run, "actor": speaks(bob)})
	seq = live.lands("message.post", J{"run_id": run, "text": "on it"})
	if got := said(seq); str(got, "actor", "id") != bob || str(got, "space_id") != room || str(got, "run_id") != run {
		t.Errorf("on a run it is said as %v", got)
	}

	// Ann has heard what came before her turn, and Bob has not: a message for both brings what he has not heard.
	ask := func(text string) J {
		t.Helper()
		seq := c.owner.write("message.post", J{"space_id": room, "text": text})
		turns := live.ofType("message.new", seq)
		if len(turns) != 1 {
			t.Fatalf("%q comes %d times", text, len(turns))
		}
		return turns[0]
	}
	run = c.run()
	c.owner.write("message.post", J{"space_id": room, "text": "early words, to nobody @Arjun"})
	live.through(c.fence())
	live.lands("run.started", J{"space_id": room, "run_id": run, "actor": speaks(ann)})
	live.lands("message.post", J{"run_id": run, "text": "done"})
	live.lands("run.completed", J{"run_id": run})
	alone := ask("@Ann again")
	if diff := cmp.Diff([]string{ann}, stringsOf(alone["for"])); diff != "" {
		t.Errorf("for %s", diff)
	}
	both := ask("@Ann and @Bob, both")
	if diff := cmp.Diff([]string{ann, bob}, stringsOf(both["for"])); diff != "" {
		t.Errorf("for %s", diff)
	}
	var words [2]string
	for i, turn := range []J{alone, both} {
		words[i] = strings.Join(lines(turn["context"]), " | ")
	}
	if early := "early words"; strings.Contains(words[0], early) || !strings.Contains(words[1], early) {
		t.Errorf("Ann alone is told %q, both %q", words[0], words[1])
	}
	// What one says to the other comes as the other's turn, never as its own.
	seq = live.lands("message.post", post("@Bob @Ann over to you", J{"actor": speaks(ann)}))
	turns := live.ofType("message.new", seq)
	if len(turns) != 1 || cmp.Diff([]string{bob}, stringsOf(turns[0]["for"])) != "" || str(turns[0], "from", "id") != ann || turns[0]["context"] == nil || turns[0]["room"] == nil {
		t.Errorf("the other is told %v", turns)
	}
}

// Where an agent goes is told to the room and to its harness, and what it missed to the harness alone; one that is elsewhere is moved.
//
// covers: ONE-2, REL-1, REL-2, REL-3, REL-4, REL-5, REL-8, REL-14, REL-15, ADD-1, ADD-2, ADD-3
func TestWhereAnAgentGoes(t *testing.T) {
	t.Parallel()
	c := newTown(t)
	ann := str(c.scouts.register("Ann", nil), "agent_id")
	c.owner.write("message.post", J{"space_id": c.x, "text": "before she came"})
	live, priya, gus := c.scouts.live(""), c.priya.live(""), c.gus.live("")
	members := "/v1/spaces/" + c.x + "/members"
	goes := func(typ string) (harness, room J) {
		t.Helper()
		end := c.fence()
		own, seen := live.ofType(typ, end), priya.ofType(typ, end)
		if len(own) != 1 || len(seen) != 1 || str(own[0], "agent_id") != ann || str(seen[0], "agent_id") != ann {
			t.Fatalf("%s is told as %v and %v", typ, own, seen)
		}
		return own[0], seen[0]
	}
	c.owner.must(http.MethodPost, members, J{"participant_id": ann})
	own, seen := goes("agent.attached")
	if got := lines(own["catch_up"]); !slices.Equal(got, []string{"Arjun: before she came"}) || str(own, "space_id") != c.x || str(own, "by") != c.owner.id {
		t.Errorf("the harness is told %v", own)
	}
	if seen["catch_up"] != nil || str(seen, "space_id") != c.x {
		t.Errorf("the room is told %v", seen)
	}

	// She is elsewhere: the frame says where, and she is moved.
	e := c.owner.event("member.added", J{"space_id": c.room, "participant_id": ann})
	refused := c.owner.connect("").write(e)
	if str(refused, "code") != "agent_elsewhere" || str(refused, "space_id") != c.x {
		t.Errorf("added elsewhere: %v", refused)
	}
	run := c.run()
	c.scouts.write("run.started", J{"space_id": c.x, "run_id": run})
	live.through(c.fence())
	gus.through(c.owner.head())
	c.move(ann, c.room)
	end := c.fence()
	var order []string
	for _, raw := range live.through(end) {
		e := read(t, raw)
		order = append(order, str(e, "type"))
		if str(e, "type") == "agent.released" && (str(e, "reason") != "moved" || str(e, "moved_to") != c.room || str(e, "space_id") != c.x) {
			t.Errorf("released by %v", e)
		}
	}
	if diff := cmp.Diff([]string{"run.cancel", "agent.moved", "agent.released", "member.added", "agent.attached", "workspace.renamed"}, order); diff != "" {
		t.Errorf("a move: %s", diff)
	}
	// Gus is in the room she comes to, and not in the one she left.
	for _, raw := range gus.through(end) {
		if strings.Contains(string(raw), c.x) {
			t.Errorf("Gus is told of a room he is not in: %s", raw)
		}
	}
	priya.through(end)
	c.owner.must(http.MethodDelete, "/v1/spaces/"+c.room+"/members/"+ann, nil)
	if own, seen = goes("agent.released"); str(own, "reason") != "removed" || str(seen, "reason") != "removed" || str(own, "by") != c.owner.id {
		t.Errorf("taken out: %v, %v", own, seen)
	}
	c.owner.must(http.MethodPost, members, J{"participant_id": ann})
	goes("agent.attached")
	c.owner.must(http.MethodPost, "/v1/spaces/"+c.x+"/archive", J{})
	if own, _ = goes("agent.released"); str(own, "reason") != "archived" {
		t.Errorf("put away: %v", own)
	}
	c.owner.must(http.MethodPost, "/v1/spaces/"+c.x+"/unarchive", J{})
	goes("agent.attached")
}

// One agent in another's place is announced to those who know of agents.
//
// covers: ATT-1, ATT-6
func TestAttachIsAnnounced(t *testing.T) {
	t.Parallel()
	c := newTown(t)
	claw, made := c.harness("Claw", "agents")
	c.move(made.AgentID, c.room)
	ann := str(c.scouts.register("Ann", nil), "agent_id")
	streams := map[*party]*stream{}
	for _, p := range []*party{c.scouts, claw, c.ledger} {
		streams[p] = p.live("")
	}
	answer := c.scouts.must(http.MethodPost, "/v1/agents/"+ann+"/attach", J{"space_id": c.room, "replacing": c.s1})
	if members := stringsOf(answer["member_ids"]); !slices.Contains(members, ann) || slices.Contains(members, c.s1) {
		t.Errorf("the room is %v", answer)
	}
	end := c.fence()
	for p, want := range map[*party]int{c.scouts: 1, claw: 1, c.ledger: 0} {
		got := streams[p].ofType("membership.replaced", end)
		if len(got) != want || want == 1 && (str(got[0], "replaced") != c.s1 || str(got[0], "agent_id") != ann) {
			t.Errorf("%s is told %v", p.id, got)
		}
	}
}

// A harness written before agents lives as it did: in nothing that it is sent or reads is there an agent of its own.
//
// covers: AGT-15, AGT-16, AGT-17, AGT-18
func TestAHarnessFromBeforeAgents(t *testing.T) {
	t.Parallel()
	c := newTown(t)
	since := c.owner.head()
	live := c.ledger.from(0, `,"accepts":["events"]`)
	// It is asked, works, answers and is asked again; it is moved, put away with its room and brought back, and another comes and goes.
	seq := c.owner.write("message.post", J{"space_id": c.room, "text": "@Ledger count"})
	turn := live.ofType("message.new", seq)
	if len(turn) != 1 || turn[0]["for"] != nil || cmp.Diff([]string{c.ledger.id}, stringsOf(turn[0]["addressed_to"])) != "" {
		t.Fatalf("its turn is %v", turn)
	}
	run := c.run()
	live.lands("run.started", J{"space_id": c.room, "run_id": run})
	live.lands("step.started", J{"run_id": run, "step_id": "s", "title": "Counting"})
	seq = live.lands("message.post", J{"run_id": run, "text": "It is three. @Scout, right?", "reply_to": str(turn[0], "message_id")})
	if own := live.ofType("message.post", seq); len(own) != 1 || cmp.Diff(J{"kind": "harness", "id": c.ledger.id}, own[0]["actor"]) != "" {
		t.Errorf("its own words come back as %v", own)
	}
	live.lands("run.completed", J{"run_id": run})
	c.owner.must(http.MethodPost, "/v1/spaces/"+c.room+"/lead", J{"agent_id": c.l1})
	c.owner.must(http.MethodPost, "/v1/spaces/"+c.room+"/archive", J{})
	c.owner.must(http.MethodPost, "/v1/spaces/"+c.room+"/unarchive", J{})
	c.move(c.l1, c.x)
	c.move(c.l1, c.room)
	c.owner.must(http.MethodDelete, "/v1/spaces/"+c.room+"/members/"+c.ledger.id, nil)
	c.owner.must(http.MethodPost, "/v1/spaces/"+c.room+"/members", J{"participant_id": c.ledger.id})
	c.owner.must(http.MethodPatch, "/v1/agents/"+c.l1, J{"name": "Counter"})
	c.ledger.write("message.post", J{"space_id": c.room, "text": "still here"})
	c.owner.write("message.post", J{"space_id": c.room, "text": "@Counter and you?"})
	run = c.run()
	c.ledger.write("run.started", J{"space_id": c.room, "run_id": run})
	c.owner.write("run.cancel", J{"run_id": run})
	end := c.fence()

	check := func(what string, raw []byte) {
		t.Helper()
		if bytes.Contains(raw, []byte(c.l1)) {
			t.Errorf("%s: %s", what, raw)
		}
	}
	sent := live.through(end)
	sent = append(sent, c.ledger.from(since, "").through(end)...)
	sent = append(sent, c.ledger.log(0, "")...)
	sent = append(sent, c.ledger.log(0, c.room)...)
	sent = append(sent, c.ledger.connect("").hello)
	others := 0
	for _, raw := range sent {
		check("it is sent", raw)
		typ := str(read(t, raw), "type")
		if slices.Contains([]string{"agent.registered", "agent.updated", "membership.replaced", "agent.attached", "agent.released", "agent.fork", "agent.asked", "message.held"}, typ) {
			t.Errorf("it is sent %s", raw)
		}
		others += strings.Count(string(raw), c.s1)
	}
	if len(sent) < 40 || others == 0 {
		t.Errorf("%d events, and Scout's agent is in them %d times", len(sent), others)
	}
	for _, path := range []string{"/v1/spaces", "/v1/spaces/" + c.room, "/v1/participants", "/v1/harnesses/" + c.ledger.id, "/v1/spaces/" + c.room + "/context", "/v1/spaces/" + c.room + "/files"} {
		check(path, []byte(fmt.Sprint(c.ledger.must(http.MethodGet, path, nil))))
	}
}
