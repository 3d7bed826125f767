package workspace

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/chipschat/chips-aws/shared/protocol"
)

// fixture is the room of the stories: Arjun and Priya with Scout's agents S1 and S2 and Ledger's agent.
type fixture struct {
	*world
	priya         Caller
	scout, ledger Caller
	s1, s2, l1    string
	r, lone       string // the room, and one that holds S2 alone
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	w := newWorld(t)
	f := &fixture{world: w, priya: w.person("Priya", protocol.Member)}
	f.scout, f.s1, _ = w.harness(w.arjun, "Scout", "agents")
	f.ledger, _, _ = w.harness(w.arjun, "Ledger")
	f.s2 = w.register(f.scout, "key-s2", "Scout 2")
	f.r = w.room(w.arjun, "Room R", f.priya.ID)
	f.lone = w.room(w.arjun, "Room L")
	w.add(w.arjun, f.r, f.s1)
	w.must(w.arjun, opIn(f.r, &protocol.MemberAdded{ParticipantID: f.ledger.ID}))
	f.l1 = w.s.AgentsIn(w.s.Rooms[f.r], f.ledger.ID)[0].ID
	w.add(w.arjun, f.lone, f.s2)
	return f
}

func post(space, text string) command { return event(space, &protocol.MessagePost{Text: text}) }

func (f *fixture) check(name string, by Caller, c command, want ...string) {
	f.t.Helper()
	got, _ := f.say(by, c)
	if want == nil {
		want = []string{}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		f.t.Errorf("%s: addressed_to (-want +got):\n%s", name, diff)
	}
}

// covers: ADDR-1, ADDR-2, ADDR-3, ADDR-4, ADDR-6, DLV-11
func TestHarnessWordsAreForThePeopleUnlessItNamesAnother(t *testing.T) {
	f := newFixture(t)
	_, s1says := f.say(f.scout, post(f.r, "Morning, all."))
	_, arjunSays := f.say(f.arjun, post(f.r, "Morning. @Priya, did you see?"))
	f.check("plain words", f.ledger, post(f.r, "Their slot holds until Friday."))
	f.check("a mention", f.ledger, post(f.r, "@Scout can you book it?"), f.s1)
	f.check("a mention without case", f.ledger, post(f.r, "over to you, @sCOUT."), f.s1)
	f.check("a reply", f.ledger, event(f.r, &protocol.MessagePost{Text: "Morning.", ReplyTo: s1says}), f.s1)
	f.check("a reply to a person", f.ledger, event(f.r, &protocol.MessagePost{Text: "Morning.", ReplyTo: arjunSays}))
	f.check("to", f.ledger, event(f.r, &protocol.MessagePost{Text: "Book it.", To: protocol.To{IDs: []string{f.s1}}}), f.s1)
	f.check("to by the harness's id", f.ledger, event(f.r, &protocol.MessagePost{Text: "Book it.", To: protocol.To{IDs: []string{f.scout.ID}}}), f.s1)
	f.check("its own handle", f.ledger, post(f.r, "I am @Ledger"))
	f.check("a person's handle", f.ledger, post(f.r, "@Priya look"))
	f.check("all three ways at once, once", f.ledger, event(f.r, &protocol.MessagePost{Text: "@Scout @Scout", ReplyTo: s1says, To: protocol.To{IDs: []string{f.s1}}}), f.s1)
	f.check("an address", f.ledger, post(f.r, "write to bob@scout.example"))
	f.check("a code span", f.ledger, post(f.r, "say `@Scout` to call it"))
	f.check("a longer word", f.ledger, post(f.r, "@Scouting is fun"))
	f.check("the handle of one elsewhere", f.ledger, post(f.r, "@Scout2 is elsewhere"))
	f.check("between two spans", f.ledger, post(f.r, "`a` @Scout `b`"), f.s1)

	f.refused(protocol.InvalidEvent, f.ledger, event(f.r, &protocol.MessagePost{Text: "x", To: protocol.To{IDs: []string{f.s2}}}))
	f.refused(protocol.InvalidEvent, f.ledger, event(f.r, &protocol.MessagePost{Text: "x", ReplyTo: "msg_01K4ZQPX000000000000000009"}))
	_, elsewhere := f.say(f.arjun, post(f.lone, "hi"))
	f.refused(protocol.InvalidEvent, f.ledger, event(f.r, &protocol.MessagePost{Text: "x", ReplyTo: elsewhere}))
}

// covers: ADDR-10, ADDR-11
func TestAPersonReachesAnAgentWithoutAnAt(t *testing.T) {
	f := newFixture(t)
	f.check("nobody yet", f.arjun, post(f.r, "Good morning"))
	_, s1says := f.say(f.scout, post(f.r, "Morning, all."))
	f.check("in answer to its words", f.arjun, event(f.r, &protocol.MessagePost{Text: "Thanks", ReplyTo: s1says}), f.s1)
	f.check("chosen", f.arjun, event(f.r, &protocol.MessagePost{Text: "You", To: protocol.To{IDs: []string{f.l1}}}), f.l1)
	f.check("All", f.arjun, event(f.r, &protocol.MessagePost{Text: "Where are we?", To: protocol.To{All: true}}), f.s1, f.l1)
	f.check("after All there is none to write on to", f.arjun, post(f.r, "And?"))

	f.check("a question", f.arjun, post(f.r, "@Ledger when?"), f.l1)
	f.check("not answered yet: no writing on", f.arjun, post(f.r, "Hello?"))
	f.say(f.ledger, post(f.r, "On Friday."))
	f.check("written on to it", f.arjun, post(f.r, "At what time?"), f.l1)
	f.check("Priya did not write to it", f.priya, post(f.r, "At what time?"))
	f.check("naming a person is a choice", f.arjun, post(f.r, "@Priya what do you think?"))
	f.say(f.scout, post(f.r, "I have it."))
	f.check("the last agent's words are another's", f.arjun, post(f.r, "Good"))
	f.s.Rooms[f.r].Lead = f.s1
	f.check("else the lead's", f.arjun, post(f.r, "Next?"), f.s1)
	gus := f.person("Gus", protocol.Guest)
	f.check("a room of people alone", gus, post(f.room(f.arjun, "G", gus.ID), "x"))
}

// covers: DLV-12
func TestInARoomOfOneHarnessAPersonsWordsAreForIt(t *testing.T) {
	f := newFixture(t)
	f.check("one agent", f.arjun, post(f.lone, "Just us here."), f.s2)
	f.check("naming a person changes nothing", f.arjun, post(f.lone, "@Arjun to myself"), f.s2)
	s3 := f.register(f.scout, "key-s3", "Third")
	f.add(f.arjun, f.lone, s3)
	f.check("the agent spoken to last", f.arjun, post(f.lone, "and now?"), f.s2)
	f.check("whom they name", f.arjun, post(f.lone, "@Third and you?"), s3)
	f.check("who is spoken to last now", f.arjun, post(f.lone, "and now?"), s3)
	f.s.Rooms[f.lone].Lead = f.s2
	f.check("its lead", f.arjun, post(f.lone, "and now?"), f.s2)
	f.check("one of its agents to the people", f.scout, post(f.lone, "done").as(s3))
	f.check("one to another", f.scout, post(f.lone, "@Scout2 over to you").as(s3), f.s2)
}

// covers: ADDR-9
func TestAHarnessNameReachesItsOneAgent(t *testing.T) {
	f := newFixture(t)
	f.must(f.arjun, op(&AgentDraft{AgentID: f.l1, Name: ptr("Sums")}))
	f.check("by the harness's name", f.arjun, post(f.r, "@Ledger when?"), f.l1)
	f.check("and its own", f.arjun, post(f.r, "@Sums when?"), f.l1)
	f.add(f.arjun, f.r, f.s2)
	f.must(f.arjun, op(&AgentDraft{AgentID: f.s1, Name: ptr("Eyes")}))
	f.check("not where it has two", f.ledger, post(f.r, "@Scout when?"))
	// An agent's own name goes before a harness's, once the agent that had the name gives it up.
	f.must(f.arjun, op(&AgentDraft{AgentID: f.s.AgentsOf(f.ledger.ID)[0].ID, Name: ptr("Given")}))
	f.must(f.arjun, op(&AgentDraft{AgentID: f.s2, Name: ptr("Ledger")}))
	f.check("an agent's own name first", f.priya, post(f.r, "@Ledger when?"), f.s2)
}

func TestADirectRoomWithoutAnAgentHoldsTheHarness(t *testing.T) {
	w := newWorld(t)
	h, agent, direct := w.harness(w.arjun, "Scout")
	elsewhere := w.room(w.arjun, "R")
	w.add(w.arjun, elsewhere, agent)
	got, _ := w.say(w.arjun, post(direct, "are you there?"))
	if diff := cmp.Diff([]string{h.ID}, got); diff != "" {
		t.Error(diff)
	}
	events := w.must(h, post(direct, "I am"))
	if events[0].Actor != (protocol.Actor{Kind: protocol.KindHarness, ID: h.ID}) {
		t.Errorf("it spoke as %v", events[0].Actor)
	}
}

// covers: RUN-1, AUTH-7, AUTH-8
func TestWhereAMessageMayBeSaid(t *testing.T) {
	f := newFixture(t)
	x := f.room(f.arjun, "X")
	f.refused(protocol.Forbidden, f.ledger, post(x, "hello X"))
	f.refused(protocol.Forbidden, f.priya, post(x, "hello X"))
	f.refused(protocol.Forbidden, f.priya, post("spc_01K4ZQPX000000000000000009", "nowhere"))
	f.refused(protocol.InvalidEvent, f.priya, post("", "no room"))
	f.refused(protocol.InvalidEvent, f.priya, post(f.r, " \n"))
	f.refused(protocol.Forbidden, f.ledger, post(f.r, "not mine").as(f.s1))
	f.refused(protocol.Forbidden, f.scout, post(f.r, "not there").as(f.s2))
	f.refused(protocol.NotFound, f.scout, onRun("run_01K4ZQPX000000000000000009", &protocol.MessagePost{Text: "no run"}))
	f.refused(protocol.InvalidEvent, f.scout, event(f.r, &protocol.MessagePost{UploadIDs: []string{"att_01K4ZQPX000000000000000009"}}))
	if got := f.must(f.scout, post("", "where it is").as(f.s2)); got[0].SpaceID != f.lone {
		t.Errorf("said in %s", got[0].SpaceID)
	}
	f.must(f.arjun, opIn(f.lone, &protocol.SpaceArchived{}))
	f.refused(protocol.RoomClosed, f.arjun, post(f.lone, "too late"))
}
