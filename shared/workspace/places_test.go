package workspace

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/chipschat/chips-aws/shared/protocol"
)

// attach puts an agent in a room in another's place.
func attach(space, agent, replaced string) command {
	return opIn(space, &protocol.MembershipReplaced{AgentID: agent, Replaced: replaced})
}

// An agent takes another's place: its work ends, it leaves, and what it said and was owed there is the new one's.
// covers: ATT-1, ATT-3, ATT-4, ATT-5
func TestAttachInAnothersPlace(t *testing.T) {
	f := newFixture(t)
	s3 := f.register(f.scout, "third", "Third")
	run := f.start(f.scout, 1, f.r, "")
	_, message := f.say(f.scout, onRun(run, &protocol.MessagePost{Text: "mine"}))
	f.say(f.arjun, post(f.r, "@Scout go on"))
	from := f.s.ContextFrom(f.s.Rooms[f.r], f.s1)
	got := f.must(f.scout, attach(f.r, s3, f.s1))
	if diff := cmp.Diff([]string{"run.cancel", "membership.replaced", "agent.released", "agent.attached"}, types(got)); diff != "" {
		t.Fatal(diff)
	}
	if d := got[0].Data.(*protocol.RunCancel); got[0].RunID != run || d.Reason != "replaced" {
		t.Errorf("the run's end is %+v", d)
	}
	if d := got[2].Data.(*protocol.AgentReleased); d.AgentID != f.s1 || d.Reason != ReasonRemoved {
		t.Errorf("it leaves by %+v", d)
	}
	room := f.s.Rooms[f.r]
	if room.Has(f.s1) || !room.Has(s3) || f.s.Agents[f.s1].Room != "" || f.s.Agents[s3].Room != f.r {
		t.Errorf("members %v", room.Members)
	}
	if got := f.s.ContextFrom(room, s3); got != from {
		t.Errorf("its context starts at %d, not at %d", got, from)
	}
	if to, _ := f.say(f.arjun, post(f.r, "and then?")); !slices.Equal(to, []string{s3}) {
		t.Errorf("what goes on to the one replaced is for %v", to)
	}
	if to, _ := f.say(f.arjun, event(f.r, &protocol.MessagePost{Text: "this?", ReplyTo: message})); !slices.Equal(to, []string{s3}) {
		t.Errorf("an answer to words of the one replaced is for %v", to)
	}
	f.must(f.scout, event("", &protocol.MessageEdited{MessageID: message, Text: "mine now"}).as(s3))

	for _, c := range []struct {
		name string
		by   Caller
		cmd  command
		code protocol.Code
	}{
		{"it is there already", f.scout, attach(f.r, s3, s3), protocol.InvalidRequest},
		{"nobody of yours is replaced", f.scout, attach(f.r, f.s1, f.arjun.ID), protocol.NotFound},
		{"whom is not there", f.scout, attach(f.r, f.s1, f.s2), protocol.NotFound},
		{"not an agent of yours", f.ledger, attach(f.r, f.s1, s3), protocol.NotFound},
		{"a person asks", f.arjun, attach(f.r, f.s1, s3), protocol.Forbidden},
		{"a room it is not in", f.ledger, attach(f.lone, f.s1, s3), protocol.Forbidden},
		{"by an event", f.scout, event(f.r, &protocol.MembershipReplaced{AgentID: f.s1, Replaced: s3}), protocol.Forbidden},
	} {
		t.Run(c.name, func(t *testing.T) { f.refused(c.code, c.by, c.cmd) })
	}
	other := f.room(f.arjun, "Other")
	f.add(f.arjun, other, f.s1)
	if err := f.refused(protocol.AgentElsewhere, f.scout, attach(f.r, f.s1, s3)); err.SpaceID != other {
		t.Errorf("it is elsewhere in %q", err.SpaceID)
	}
	lead := true
	f.must(f.scout, op(&AgentDraft{HarnessID: f.scout.ID, Key: "main", Name: ptr("Main"), Lead: &lead}))
	main := f.s.AgentsOf(f.scout.ID)[len(f.s.AgentsOf(f.scout.ID))-1]
	for _, a := range f.s.AgentsOf(f.scout.ID) {
		if a.Key == "main" {
			main = a
		}
	}
	mains := f.room(f.arjun, "Mains", main.ID)
	free := f.register(f.scout, "fourth", "Fourth")
	f.refused(protocol.LeadRoom, f.scout, attach(mains, free, main.ID))
	f.refused(protocol.LeadRoom, f.scout, attach(f.r, main.ID, s3))
}

// A person asks a harness for a room; it speaks there as itself until it claims the room for the agent of a key, which leads it then.
// covers: ATT-2, AGT-21, LEAD-3, SPK-9
func TestARoomThatWasAskedFor(t *testing.T) {
	f := newFixture(t)
	ask := func() string {
		t.Helper()
		got := f.must(f.arjun, op(&AskDraft{HarnessID: f.scout.ID, Text: "Plan the trip"}))
		if diff := cmp.Diff([]string{"space.opened", "message.post"}, types(got)); diff != "" {
			t.Fatal(diff)
		}
		if to := got[1].Data.(*protocol.MessagePost).AddressedTo; !slices.Equal(to, []string{f.scout.ID}) {
			t.Errorf("the first words are for %v", to)
		}
		return got[0].SpaceID
	}
	declare := func(words ...string) {
		f.must(f.scout, op(&HarnessDraft{HarnessID: f.scout.ID, Capabilities: &words}))
	}
	declare("agents")
	f.refused(protocol.InvalidRequest, f.arjun, op(&AskDraft{HarnessID: f.scout.ID, Text: "Plan"}))
	declare("agents", "new_spaces")
	f.refused(protocol.InvalidRequest, f.arjun, op(&AskDraft{HarnessID: f.scout.ID, Text: " "}))
	f.refused(protocol.NotFound, f.arjun, op(&AskDraft{HarnessID: "hrn_01K4ZQPX000000000000000009", Text: "Plan"}))
	f.refused(protocol.Forbidden, f.person("Gus", protocol.Guest), op(&AskDraft{HarnessID: f.scout.ID, Text: "Plan"}))

	room := ask()
	run := f.start(f.scout, 7, room, "")
	if got := f.must(f.scout, post(room, "On it")); got[0].Actor.ID != f.scout.ID {
		t.Errorf("until it claims the room it speaks as %v", got[0].Actor)
	}
	claim := func(space, key string) command { return opIn(space, &ClaimDraft{Key: key}) }
	f.refused(protocol.Forbidden, f.ledger, claim(room, "trip"))
	f.refused(protocol.InvalidRequest, f.scout, claim(f.r, "trip"))
	f.refused(protocol.InvalidRequest, f.scout, claim(room, ""))
	got := f.must(f.scout, claim(room, "trip"))
	if diff := cmp.Diff([]string{"agent.registered", "agent.attached", "space.lead_set"}, types(got)); diff != "" {
		t.Fatal(diff)
	}
	agent := got[1].Data.(*protocol.AgentAttached).AgentID
	if r := f.s.Rooms[room]; r.Lead != agent || r.Has(f.scout.ID) || !r.Has(agent) || f.s.Agents[agent].Key != "trip" {
		t.Errorf("the room is %+v", r)
	}
	if got := f.must(f.scout, onRun(run, &protocol.MessagePost{Text: "done"})); got[0].Actor.ID != agent {
		t.Errorf("its work there goes on as %v", got[0].Actor)
	}
	f.refused(protocol.InvalidRequest, f.scout, claim(room, "trip"))
	second := ask()
	if err := f.refused(protocol.AgentElsewhere, f.scout, claim(second, "trip")); err.SpaceID != room {
		t.Errorf("the key's agent is elsewhere in %q", err.SpaceID)
	}
	free := f.register(f.scout, "free", "Free")
	f.must(f.scout, attach(second, free, f.scout.ID))
	if r := f.s.Rooms[second]; r.Has(f.scout.ID) || !r.Has(free) {
		t.Errorf("members %v", r.Members)
	}
	f.refused(protocol.InvalidRequest, f.scout, claim(second, "late"))
}

// An agent hands work to free ones in a room of their own.
// covers: ONE-3
func TestAHandOffsRoom(t *testing.T) {
	f := newFixture(t)
	free := f.register(f.scout, "free", "Free")
	hand := func(as string, ids ...string) command {
		c := event("", &protocol.SpaceOpened{Title: "Letters", AgentIDs: ids, Brief: &protocol.Brief{Text: "Do F to J."}})
		if as != "" {
			c = c.as(as)
		}
		return c
	}
	got := f.must(f.scout, hand(f.s1, free))
	if diff := cmp.Diff([]string{"space.opened", "agent.attached", "message.post"}, types(got)); diff != "" {
		t.Fatal(diff)
	}
	brief := got[2].Data.(*protocol.MessagePost)
	if !brief.Brief || got[2].Actor.ID != f.s1 || !slices.Equal(brief.AddressedTo, []string{free}) {
		t.Errorf("the brief is %+v by %v", brief, got[2].Actor)
	}
	if opened := got[0].Data.(*protocol.SpaceOpened); opened.Brief != nil || opened.AgentIDs != nil {
		t.Errorf("the room is opened as %+v", opened)
	}
	if r := f.s.Rooms[got[0].SpaceID]; !r.Has(free) || !r.Has(f.arjun.ID) || r.Has(f.s1) {
		t.Errorf("members %v", r.Members)
	}
	f.refused(protocol.AgentElsewhere, f.scout, hand(f.s1, free))
	f.register(f.scout, "gone", "Gone")
	f.must(f.scout, named(f.scout, "gone", "Gone", StateArchived))
	f.refused(protocol.InvalidEvent, f.scout, hand(f.byKey(f.scout, "gone"), f.register(f.scout, "more", "More")))
	f.refused(protocol.WhichAgent, f.scout, hand("", free))
	f.refused(protocol.NotFound, f.scout, hand(f.s1, f.l1))
	f.refused(protocol.InvalidEvent, f.scout, hand(f.s1))
	another := f.register(f.scout, "another", "Another")
	f.refused(protocol.InvalidEvent, f.scout, hand(f.s1, another, another))
	f.refused(protocol.InvalidEvent, f.arjun, event("", &protocol.SpaceOpened{Title: "T", AgentIDs: []string{another}, Brief: &protocol.Brief{Text: "x"}}))
}

// A person chooses who leads; a lead that leaves leads no more.
// covers: LEAD-1, LEAD-2
func TestLead(t *testing.T) {
	f := newFixture(t)
	set := func(id *string) command { return opIn(f.r, &protocol.SpaceLeadSet{AgentID: id}) }
	f.must(f.arjun, set(&f.s1))
	if f.s.Rooms[f.r].Lead != f.s1 {
		t.Error("nobody leads")
	}
	if got := f.must(f.arjun, set(&f.s1)); len(got) != 0 {
		t.Errorf("the same again writes %v", types(got))
	}
	f.refused(protocol.InvalidRequest, f.arjun, set(&f.arjun.ID))
	f.refused(protocol.InvalidRequest, f.arjun, set(ptr("agt_01K4ZQPX000000000000000009")))
	f.refused(protocol.Forbidden, f.person("Gus", protocol.Guest), set(nil))
	f.refused(protocol.Forbidden, f.scout, set(nil))
	f.refused(protocol.Forbidden, f.arjun, event(f.r, &protocol.SpaceLeadSet{}))
	got := f.must(f.arjun, event(f.r, &protocol.MemberRemoved{ParticipantID: f.s1}))
	if diff := cmp.Diff([]string{"member.removed", "agent.released", "space.lead_set"}, types(got)); diff != "" {
		t.Error(diff)
	}
	if d := got[2].Data.(*protocol.SpaceLeadSet); d.AgentID != nil || f.s.Rooms[f.r].Lead != "" {
		t.Errorf("it goes on as %+v", d)
	}
}

// A post that says nothing is a pass: in a room, by an agent, without files.
// covers: PASS-2, PASS-7
func TestPass(t *testing.T) {
	f := newFixture(t)
	if got := f.must(f.scout, post(f.r, "NO_REPLY")); got[0].Type != "turn.passed" || got[0].Actor.ID != f.s1 || got[0].SpaceID != f.r {
		t.Errorf("a pass is %v", got[0])
	}
	for _, c := range []struct {
		by   Caller
		text string
	}{{f.arjun, "NO_REPLY"}, {f.scout, "no_reply"}, {f.scout, "NO_REPLY."}, {f.scout, "So: NO_REPLY"}} {
		if got := f.must(c.by, post(f.r, c.text)); got[0].Type != "message.post" {
			t.Errorf("%q is a %s", c.text, got[0].Type)
		}
	}
}
