package workspace

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/chipschat/chips-aws/shared/protocol"
)

// named registers an agent again, as a state.
func named(h Caller, key, name, state string) command {
	return op(&AgentDraft{HarnessID: h.ID, Key: key, Name: &name, State: &state})
}

// A harness archives its agent: its runs end, it leaves, and a room that it was the only agent of goes with it; both come back together.
//
// covers: AGT-5, REL-10, REL-11, REL-12, REL-13
func TestARoomGoesWithItsOnlyAgent(t *testing.T) {
	f := newFixture(t)
	run := f.start(f.scout, 1, f.lone, "")
	lane := f.start(f.scout, 2, "", run)
	got := f.must(f.scout, named(f.scout, "key-s2", "Scout 2", StateArchived))
	if diff := cmp.Diff([]string{"run.cancel", "space.archived", "agent.released", "agent.updated"}, types(got)); diff != "" {
		t.Fatal(diff)
	}
	if d := got[0].Data.(*protocol.RunCancel); d.Reason != ReasonAgentArchived || !cmp.Equal(d.Lanes, []string{lane}) || got[0].RunID != run {
		t.Errorf("its run ends with %+v", d)
	}
	if d := got[2].Data.(*protocol.AgentReleased); d.Reason != ReasonAgentArchived || got[2].SpaceID != f.lone {
		t.Errorf("it leaves by %+v", d)
	}
	f.refused(protocol.InvalidEvent, f.arjun, event(f.room(f.arjun, "Other"), &protocol.MemberAdded{ParticipantID: f.s2}))
	got = f.must(f.scout, named(f.scout, "key-s2", "Scout 2", StateActive))
	if diff := cmp.Diff([]string{"agent.updated", "space.unarchived", "agent.attached"}, types(got)); diff != "" {
		t.Fatal(diff)
	}
	if a := f.s.Agents[f.s2]; a.Room != f.lone || f.s.Rooms[f.lone].Archived {
		t.Errorf("it is in %q", a.Room)
	}
	// With another agent in it the room stays.
	f.add(f.arjun, f.r, f.s2)
	got = f.must(f.scout, named(f.scout, "key-s2", "Scout 2", StateArchived))
	if diff := cmp.Diff([]string{"agent.released", "agent.updated"}, types(got)); diff != "" {
		t.Error(diff)
	}
	if got := f.must(f.scout, named(f.scout, "key-s2", "Scout 2", StateActive)); len(got) != 1 || f.s.Agents[f.s2].Room != "" {
		t.Errorf("it comes back by %v", types(got))
	}
}

// A room that a person archived is not the agent's to bring back, whatever became of the agent meanwhile; the agent waits for it all the same.
//
// covers: REL-5
func TestAPersonsArchiveStands(t *testing.T) {
	f := newFixture(t)
	cycle := func() {
		t.Helper()
		f.must(f.scout, named(f.scout, "key-s2", "Scout 2", StateArchived))
		if got := f.must(f.scout, named(f.scout, "key-s2", "Scout 2", StateActive)); len(got) != 1 {
			t.Errorf("back comes %v", types(got))
		}
	}
	f.must(f.arjun, event(f.lone, &protocol.SpaceArchived{}))
	cycle()
	got := f.must(f.arjun, event(f.lone, &protocol.SpaceUnarchived{}))
	if diff := cmp.Diff([]string{"space.unarchived", "agent.attached"}, types(got)); diff != "" {
		t.Error(diff)
	}
	// Archived by its harness it went with the room; a person brought the room back without it and put it away again.
	f.must(f.scout, named(f.scout, "key-s2", "Scout 2", StateArchived))
	f.must(f.arjun, event(f.lone, &protocol.SpaceUnarchived{}))
	f.must(f.arjun, event(f.lone, &protocol.SpaceArchived{}))
	if got := f.must(f.scout, named(f.scout, "key-s2", "Scout 2", StateActive)); len(got) != 1 || !f.s.Rooms[f.lone].Archived {
		t.Errorf("back comes %v", types(got))
	}
	if got := f.must(f.arjun, event(f.lone, &protocol.SpaceUnarchived{})); len(got) != 1 {
		t.Errorf("it had not left with that room, and comes by %v", types(got))
	}
}

// The Main agent stays in its Main room, alone of the agents there; until it is in one the mark may go to another.
//
// covers: AGT-11, ADD-5, ADD-6, ADD-7, ADD-8
func TestTheMainAgent(t *testing.T) {
	f := newFixture(t)
	lead := func(key, name string, lead bool) command {
		return op(&AgentDraft{HarnessID: f.scout.ID, Key: key, Name: &name, Lead: &lead})
	}
	other := f.room(f.arjun, "Other")
	f.must(f.scout, lead("main", "Main", true))
	first := f.byKey(f.scout, "main")
	f.refused(protocol.LeadRoom, f.scout, named(f.scout, "main", "Main", StateArchived))
	got := f.must(f.scout, lead("second", "Second", true))
	if diff := cmp.Diff([]string{"agent.updated", "agent.registered"}, types(got)); diff != "" {
		t.Fatal(diff)
	}
	second := f.byKey(f.scout, "second")
	if f.s.Agents[first].Lead || !f.s.Agents[second].Lead {
		t.Error("the mark did not go over")
	}
	f.refused(protocol.LeadRoom, f.arjun, event(f.r, &protocol.MemberAdded{ParticipantID: second})) // there are others
	f.must(f.scout, lead("second", "Second", false))

	// One that was in rooms before it became the Main agent is in none of them now: its Main room is the next.
	f.add(f.arjun, other, second)
	f.must(f.arjun, event(other, &protocol.MemberRemoved{ParticipantID: second}))
	f.must(f.scout, lead("second", "Second", true))
	f.add(f.arjun, other, second)
	f.refused(protocol.LeadRoom, f.scout, lead("main", "Main", true))
	f.refused(protocol.LeadRoom, f.scout, lead("second", "Second", false))
	f.refused(protocol.LeadRoom, f.scout, named(f.scout, "second", "Second", StateArchived))
	f.refused(protocol.LeadRoom, f.arjun, event(other, &protocol.MemberAdded{ParticipantID: first}))
	f.refused(protocol.LeadRoom, f.arjun, event(f.lone, &protocol.MemberAdded{ParticipantID: second}))
	f.refused(protocol.LeadRoom, f.arjun, event("", &protocol.AgentMoved{AgentID: second, ToSpaceID: f.lone}))
	f.refused(protocol.LeadRoom, f.arjun, event(other, &protocol.MemberRemoved{ParticipantID: second}))
	for _, data := range []protocol.Data{&protocol.SpaceArchived{}, &protocol.SpaceDeleted{}} {
		f.refused(protocol.LeadRoom, f.arjun, event(other, data))
	}
	f.must(f.arjun, event(other, &protocol.MemberAdded{ParticipantID: f.priya.ID})) // it takes people

	// In a room with others, or that another harness is to send an agent to, no agent becomes the Main one.
	claw, given, direct := f.harness(f.arjun, "Claw", "agents")
	f.must(f.scout, op(&HarnessDraft{HarnessID: f.scout.ID, Capabilities: &[]string{"agents", "new_spaces"}}))
	asked := f.must(f.arjun, op(&AskDraft{HarnessID: f.scout.ID, Text: "a room"}))[0].SpaceID
	own := f.register(claw, "own", "Own")
	f.add(f.arjun, asked, own)
	yes := true
	f.refused(protocol.LeadRoom, claw, op(&AgentDraft{HarnessID: claw.ID, Key: "own", Name: ptr("Own"), Lead: &yes}))
	f.must(f.arjun, opIn("", &protocol.AgentMoved{AgentID: own, ToSpaceID: f.room(f.arjun, "Alone")}))
	f.must(claw, op(&AgentDraft{HarnessID: claw.ID, Key: "own", Name: ptr("Own"), Lead: &yes}))
	if !f.s.Agents[own].Lead {
		t.Error("alone in its room it does not become the Main agent")
	}
	f.must(f.ledger, op(&AgentDraft{HarnessID: f.ledger.ID, Key: "main", Name: ptr("Ledger's main"), Lead: &yes}))
	f.add(f.arjun, f.r, given)
	f.refused(protocol.LeadRoom, f.arjun, event(direct, &protocol.MemberAdded{ParticipantID: f.byKey(f.ledger, "main")}))
	// One that is archived is not the Main agent.
	f.register(f.ledger, "k", "K")
	f.must(f.ledger, named(f.ledger, "k", "K", StateArchived))
	f.refused(protocol.LeadRoom, f.ledger, op(&AgentDraft{HarnessID: f.ledger.ID, Key: "k", Name: ptr("K"), Lead: &yes}))
}
