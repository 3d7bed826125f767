package workspace

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/chipschat/chips-aws/shared/protocol"
)

// covers: AUTH-9
func TestWhoeverOpensARoomIsItsFirstMember(t *testing.T) {
	f := newFixture(t)
	room := f.s.Rooms[f.room(f.priya, "Hers", f.arjun.ID)]
	if diff := cmp.Diff([]string{f.priya.ID, f.arjun.ID}, room.Members); diff != "" {
		t.Error(diff)
	}
	f.must(f.priya, post(room.ID, "first words"))
	events := f.must(f.scout, event("", &protocol.SpaceOpened{Title: "Scout's own", Key: "room-key-1"}))
	opened := events[1]
	room = f.s.Rooms[opened.SpaceID]
	if opened.Type != "space.opened" || f.s.harnessOf(room.Members[1]) != f.scout.ID && f.s.harnessOf(room.Members[0]) != f.scout.ID {
		t.Errorf("%v: %v", types(events), room.Members)
	}
	if got := opened.Data.(*protocol.SpaceOpened).ParticipantIDs[0]; f.s.harnessOf(got) != f.scout.ID {
		t.Errorf("the first member is %s", got)
	}
	if !room.Has(f.arjun.ID) || room.OpenedBy != f.scout.ID {
		t.Error("the harness's owner is put in, and the harness opened it")
	}
	agent := f.s.AgentsIn(room, f.scout.ID)[0]
	if agent.Key != "room-key-1" || agent.Name == "Scout" {
		t.Errorf("the agent of the key: %+v", agent)
	}
	err := f.refused(protocol.AgentElsewhere, f.scout, event("", &protocol.SpaceOpened{Key: "room-key-1"}))
	if err.SpaceID != room.ID {
		t.Errorf("it is in %s, not %s", room.ID, err.SpaceID)
	}
	f.refused(protocol.WhichAgent, f.scout, event("", &protocol.SpaceOpened{Title: "Whose?"}))
	f.refused(protocol.NotFound, f.scout, event("", &protocol.SpaceOpened{Key: "k", ParticipantIDs: []string{f.person("Mel", protocol.Member).ID}}))
	if got := f.room(f.arjun, ""); f.s.Rooms[got].Title != DefaultTitle {
		t.Errorf("a room without a title is %q", f.s.Rooms[got].Title)
	}
}

// covers: ONE-1, ADD-1, ADD-2, ADD-3, ADD-4, REL-8, REL-9, REL-16
func TestOneAgentOneRoom(t *testing.T) {
	f := newFixture(t)
	err := f.refused(protocol.AgentElsewhere, f.arjun, event(f.lone, &protocol.MemberAdded{ParticipantID: f.s1}))
	if err.SpaceID != f.r {
		t.Errorf("space_id %q, want %q", err.SpaceID, f.r)
	}
	run := f.start(f.scout, 1, f.r, "")
	lane := f.start(f.scout, 2, "", run)
	got := f.must(f.arjun, event("", &protocol.AgentMoved{AgentID: f.s1, ToSpaceID: f.lone}))
	if diff := cmp.Diff([]string{"run.cancel", "agent.moved", "agent.released", "member.added", "agent.attached"}, types(got)); diff != "" {
		t.Fatal(diff)
	}
	if d := got[0].Data.(*protocol.RunCancel); got[0].RunID != run || d.Reason != ReasonMoved || !cmp.Equal(d.Lanes, []string{lane}) {
		t.Errorf("%+v %+v", got[0].Envelope, d)
	}
	if d := got[2].Data.(*protocol.AgentReleased); d.Reason != ReasonMoved || d.MovedTo != f.lone || got[2].SpaceID != f.r {
		t.Errorf("%+v", d)
	}
	if got[1].SpaceID != f.r || got[4].SpaceID != f.lone || f.s.Agents[f.s1].Room != f.lone {
		t.Error("it did not move")
	}
	f.must(f.arjun, event(f.lone, &protocol.SpaceArchived{}))
	f.refused(protocol.RoomClosed, f.arjun, event(f.lone, &protocol.MemberAdded{ParticipantID: f.register(f.scout, "free", "Free")}))
	f.must(f.arjun, event(f.lone, &protocol.MemberAdded{ParticipantID: f.priya.ID})) // an archived room takes people, and no agent
}

// covers: REL-4, REL-5
func TestArchivingReleasesAndUnarchivingBringsBack(t *testing.T) {
	f := newFixture(t)
	run := f.start(f.scout, 1, f.r, "")
	got := f.must(f.priya, event(f.r, &protocol.SpaceArchived{}))
	if diff := cmp.Diff([]string{"run.cancel", "space.archived", "agent.released", "agent.released"}, types(got)); diff != "" {
		t.Fatal(diff)
	}
	f.refused(protocol.InvalidEvent, f.scout, onRun(run, &protocol.RunCompleted{}))
	f.refused(protocol.RoomClosed, f.priya, event(f.r, &protocol.SpaceArchived{}))
	f.must(f.priya, event(f.r, &protocol.SpaceRenamed{Title: "Put away"}))
	other := f.room(f.arjun, "Other")
	f.must(f.arjun, event(other, &protocol.MemberAdded{ParticipantID: f.s1}))
	got = f.must(f.priya, event(f.r, &protocol.SpaceUnarchived{}))
	if diff := cmp.Diff([]string{"space.unarchived", "agent.attached"}, types(got)); diff != "" {
		t.Fatal(diff)
	}
	if got[1].Data.(*protocol.AgentAttached).AgentID != f.l1 {
		t.Error("the one that is still free comes back, and no other")
	}
	f.refused(protocol.InvalidEvent, f.priya, event(f.r, &protocol.SpaceUnarchived{}))
}

// covers: REL-6, REL-7, REL-17, REL-18
func TestADeletedRoomIsGone(t *testing.T) {
	f := newFixture(t)
	f.refused(protocol.Forbidden, f.priya, event(f.r, &protocol.SpaceDeleted{}))
	f.start(f.scout, 1, f.r, "")
	got := f.must(f.arjun, event(f.r, &protocol.SpaceDeleted{DeleteAgents: true}))
	want := []string{"run.cancel", "space.deleted", "agent.released", "agent.updated", "agent.released", "agent.updated"}
	if diff := cmp.Diff(want, types(got)); diff != "" {
		t.Fatal(diff)
	}
	for _, i := range []int{2, 4} {
		if d := got[i].Data.(*protocol.AgentReleased); d.Reason != ReasonDeleted || !d.Delete || d.By != f.arjun.ID {
			t.Errorf("one is released by %+v", d)
		}
	}
	if !f.s.Agents[f.s1].Archived || f.s.Agents[f.s1].Room != "" {
		t.Error("delete_agents archives them")
	}
	f.refused(protocol.NotFound, f.priya, post(f.r, "to nowhere"))
	f.refused(protocol.NotFound, f.scout, post(f.r, "to nowhere").as(f.s1))
	f.refused(protocol.Forbidden, f.person("Mel", protocol.Admin), post(f.r, "never mine"))
	f.must(f.priya, event(f.room(f.priya, "Hers", f.arjun.ID), &protocol.SpaceDeleted{}))
}

// covers: REL-14
func TestTakingOut(t *testing.T) {
	f := newFixture(t)
	gus := f.person("Gus", protocol.Guest)
	f.must(f.arjun, event(f.r, &protocol.MemberAdded{ParticipantID: gus.ID}))
	f.refused(protocol.InvalidEvent, f.arjun, event(f.r, &protocol.MemberAdded{ParticipantID: gus.ID}))
	f.refused(protocol.Forbidden, gus, event(f.r, &protocol.MemberRemoved{ParticipantID: f.priya.ID}))
	f.refused(protocol.NotFound, f.arjun, event(f.r, &protocol.MemberRemoved{ParticipantID: f.s2}))
	f.must(gus, event(f.r, &protocol.MemberRemoved{ParticipantID: gus.ID}))
	f.refused(protocol.Forbidden, gus, post(f.r, "gone"))
	f.start(f.ledger, 1, f.r, "")
	got := f.must(f.priya, event(f.r, &protocol.MemberRemoved{ParticipantID: f.ledger.ID})) // its one agent
	if diff := cmp.Diff([]string{"run.cancel", "member.removed", "agent.released"}, types(got)); diff != "" {
		t.Fatal(diff)
	}
	if d := got[2].Data.(*protocol.AgentReleased); d.Reason != ReasonRemoved || d.By != f.priya.ID || got[0].Data.(*protocol.RunCancel).Reason != ReasonRemoved {
		t.Errorf("it is released by %+v", d)
	}
	if got[1].Data.(*protocol.MemberRemoved).ParticipantID != f.l1 {
		t.Error("the harness's id means its one agent there")
	}
}

// covers: AGT-19, AGT-20, AGT-6, AGT-7, AGT-8
func TestAHarnessIsGivenAgents(t *testing.T) {
	w := newWorld(t)
	h, first, direct := w.harness(w.arjun, "OpenClaw")
	a := w.s.Agents[first]
	if a.Name != "OpenClaw" || a.Room != direct || a.Key != direct || a.Handle != "@OpenClaw" {
		t.Errorf("%+v", a)
	}
	r1, r2 := w.room(w.arjun, "R1"), w.room(w.arjun, "R2")
	got := w.must(w.arjun, event(r1, &protocol.MemberAdded{ParticipantID: h.ID}))
	if diff := cmp.Diff([]string{"agent.registered", "member.added", "agent.attached"}, types(got)); diff != "" {
		t.Fatal(diff)
	}
	second := w.s.AgentsIn(w.s.Rooms[r1], h.ID)[0]
	if second.Name != "OpenClaw 2" || second.Handle != "@OpenClaw2" || second.Key != r1 {
		t.Errorf("%+v", second)
	}
	w.must(w.arjun, event(r1, &protocol.MemberRemoved{ParticipantID: h.ID}))
	w.must(w.arjun, event(r2, &protocol.MemberAdded{ParticipantID: h.ID}))
	if in := w.s.AgentsIn(w.s.Rooms[r2], h.ID); len(in) != 1 || in[0].ID != second.ID {
		t.Error("a free given one comes before a new one")
	}
	third := w.register(h, "k", "open claw")
	if got := w.s.Agents[third]; got.Name != "open claw 3" || got.Asked != "open claw" {
		t.Errorf("%+v", got)
	}
	seq := w.s.Seq
	w.register(h, "k", "open claw") // again: the same, and nothing is written
	if w.s.Seq != seq || w.s.Agents[third].Name != "open claw 3" {
		t.Error("asking again keeps the number")
	}
	w.refused(protocol.WhichAgent, w.arjun, event(r1, &protocol.MemberAdded{ParticipantID: h.ID}))
}

func TestArchivingTheFullestRoomIsOneDecision(t *testing.T) {
	w := newWorld(t)
	f := &fixture{world: w}
	r := w.room(w.arjun, "Full")
	var hs []Caller
	for i := range MaxRoomAgents {
		h, agent, _ := w.harness(w.arjun, fmt.Sprint("H", i))
		w.add(w.arjun, r, agent)
		hs = append(hs, h)
	}
	_, agent, _ := w.harness(w.arjun, "One more")
	w.refused(protocol.InvalidEvent, w.arjun, event("", &protocol.AgentMoved{AgentID: agent, ToSpaceID: r}))
	for i := range maxRoomRuns {
		f.start(hs[i%len(hs)], i, r, "")
	}
	c := event(r, &protocol.RunStarted{})
	c.draft.RunID = runID(5000)
	w.refused(protocol.InvalidEvent, hs[0], c)
	if n := len(w.must(w.arjun, event(r, &protocol.SpaceArchived{}))); n != maxRoomRuns+1+MaxRoomAgents {
		t.Errorf("%d events", n)
	}
	w.must(w.arjun, event(r, &protocol.SpaceUnarchived{}))
	for i := range maxRoomRuns {
		f.start(hs[i%len(hs)], 6000+i, r, "")
	}
	for i := range maxInquiries {
		w.must(hs[i%len(hs)], onRun(runID(6000+i), &protocol.QuestionAsked{QuestionID: inquiryID(protocol.PrefixQuestion, i), Text: "May I?"}))
	}
	more := onRun(runID(6000), &protocol.QuestionAsked{QuestionID: inquiryID(protocol.PrefixQuestion, 5000), Text: "May I?"})
	if why := w.refused(protocol.InvalidEvent, hs[0], more); !strings.Contains(why.Message, "100") {
		t.Errorf("the limit is not named: %s", why.Message)
	}
	if n := len(w.must(w.arjun, event(r, &protocol.SpaceDeleted{DeleteAgents: true}))); n != MaxEvents {
		t.Errorf("%d events", n)
	}
}

// However a harness nests its runs and lets lanes outlive what they stand under, its room can be put away.
func TestLanesCountAsRunsOfTheirRoom(t *testing.T) {
	w := newWorld(t)
	f := &fixture{world: w}
	h, agent, r := w.harness(w.arjun, "Scout")
	top := f.start(h, 0, r, "")
	for i := 1; i < maxRoomRuns; i++ {
		f.start(h, i, "", top)
	}
	c := event("", &protocol.RunStarted{ParentRunID: top})
	c.draft.RunID = runID(5000)
	if why := w.refused(protocol.InvalidEvent, h, c); !strings.Contains(why.Message, "300") {
		t.Errorf("the limit is not named: %s", why.Message)
	}
	w.must(h, onRun(top, &protocol.RunCompleted{}))
	f.start(h, 5000, r, "") // an ended run makes room
	if n := len(w.must(w.arjun, event(r, &protocol.MemberRemoved{ParticipantID: agent}))); n != maxRoomRuns+2 {
		t.Errorf("%d events", n)
	}
	for i := range maxBareRuns {
		f.start(h, 10_000+i, "", "")
	}
	c = event("", &protocol.RunStarted{})
	c.draft.RunID = runID(20_000)
	if why := w.refused(protocol.InvalidEvent, h, c); !strings.Contains(why.Message, "1000") {
		t.Errorf("the limit is not named: %s", why.Message)
	}
	w.must(h, onRun(runID(10_000), &protocol.RunFailed{}))
	w.must(h, c)
}

func TestAKeyOfARoomIsBounded(t *testing.T) {
	w := newWorld(t)
	w.must(w.arjun, opIn("", &protocol.SpaceOpened{Key: strings.Repeat("k", protocol.MaxKey)}))
	why := w.refused(protocol.InvalidRequest, w.arjun, opIn("", &protocol.SpaceOpened{Key: strings.Repeat("k", protocol.MaxKey+1)}))
	if !strings.HasPrefix(why.Message, "key has 256 bytes") {
		t.Errorf("the field and its limit are not named: %s", why.Message)
	}
}

// However many runs a harness has going in however many rooms, it can be taken away in one decision.
func TestRemovingTheBusiestHarnessIsOneDecision(t *testing.T) {
	w := newWorld(t)
	f := &fixture{world: w}
	h, given, direct := w.harness(w.arjun, "Busy")
	n := 0
	for i, runs := range []int{150, 99, 150, 150} {
		room, lead := direct, given
		if i > 0 {
			lead = w.register(h, fmt.Sprint("k", i), fmt.Sprint("B", i))
			room = w.room(w.arjun, fmt.Sprint("R", i), lead)
		}
		w.must(w.arjun, opIn(room, &protocol.SpaceLeadSet{AgentID: &lead}))
		for range runs {
			f.start(h, n, room, "")
			n++
		}
	}
	events := w.must(w.arjun, op(&protocol.HarnessRemoved{HarnessID: h.ID}))
	if last := events[len(events)-1]; len(events) > MaxEvents || last.Type != "harness.removed" {
		t.Errorf("%d events, the last %s", len(events), last.Type)
	}
	for _, run := range w.s.Runs {
		if !run.EndedRun() {
			t.Fatal("a run goes on without its harness")
		}
	}
	for _, room := range w.s.Rooms {
		if room.Lead != "" {
			t.Errorf("%s leads a room without its harness", room.Lead)
		}
	}
}
