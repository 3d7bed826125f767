package workspace

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/chipschat/chips-aws/shared/protocol"
)

// texts are the words of the posts among events, each with a mark where they were held.
func texts(events []protocol.Event) (said []string) {
	for _, e := range events {
		if d, ok := e.Data.(*protocol.MessagePost); ok {
			text := d.Text
			if d.HeldSince != nil {
				text += "*"
			}
			said = append(said, text)
		}
	}
	return said
}

// What an agent says while it is free waits, and is posted in the next room it joins, oldest first, in the same commit.
// covers: HELD-1, HELD-3, HELD-4, HELD-5, HELD-6, HLD-14
func TestHeldWords(t *testing.T) {
	f := newFixture(t)
	f.must(f.arjun, event(f.r, &protocol.MemberRemoved{ParticipantID: f.s1}))
	for i, space := range []string{"", f.r} {
		text := fmt.Sprint("words ", i)
		got := f.must(f.scout, post(space, text).as(f.s1))
		want := &protocol.MessageHeld{AgentID: f.s1, Text: text}
		if len(got) != 1 || !cmp.Equal(got[0].Data, protocol.Data(want)) || got[0].SpaceID != "" {
			t.Fatalf("%q is %v", text, got)
		}
		if a := got[0].Actor; a.Kind != protocol.KindAgent || a.ID != f.s1 || a.HarnessID != f.scout.ID {
			t.Errorf("its actor is %v", a)
		}
	}
	f.must(f.arjun, event(f.r, &protocol.SpaceArchived{}))
	f.must(f.scout, post(f.r, "though it is archived").as(f.s1))
	f.refused(protocol.Forbidden, f.scout, post(f.lone, "in a room it never was in").as(f.s1))
	got := f.must(f.scout, post("", " NO_REPLY\n").as(f.s1))
	if diff := cmp.Diff([]string{"turn.passed"}, types(got)); diff != "" {
		t.Error(diff)
	}
	if n := f.s.HeldOf(f.s1); n != 3 {
		t.Errorf("%d messages wait, want 3", n)
	}
	got = f.must(f.arjun, event(f.lone, &protocol.MemberAdded{ParticipantID: f.s1}))
	if diff := cmp.Diff([]string{"member.added", "agent.attached", "message.post", "message.post", "message.post"}, types(got)); diff != "" {
		t.Fatal(diff)
	}
	if diff := cmp.Diff([]string{"words 0*", "words 1*", "though it is archived*"}, texts(got)); diff != "" {
		t.Error(diff)
	}
	first := got[2]
	if d := first.Data.(*protocol.MessagePost); first.Actor.ID != f.s1 || d.HeldSince.After(first.TS.Time) || d.HeldSince.Equal(first.TS.Time) || d.AddressedTo == nil {
		t.Errorf("the first is posted as %+v by %v", d, first.Actor)
	}
	if n := f.s.HeldOf(f.s1); n != 0 || len(f.s.Deadlines(DefaultWaits())) != 0 {
		t.Errorf("%d messages wait once they are posted", n)
	}
	// Deleted is gone, and nothing is said there.
	f.must(f.arjun, event(f.lone, &protocol.SpaceDeleted{}))
	f.refused(protocol.NotFound, f.scout, post(f.lone, "to nobody").as(f.s1))
}

// What does not fit into one commit is posted by the deadline that the rest is.
// covers: HELD-5
func TestManyHeldWords(t *testing.T) {
	f := newFixture(t)
	f.must(f.arjun, event(f.r, &protocol.MemberRemoved{ParticipantID: f.s1}))
	var want []string
	for i := range MaxHeld {
		text := fmt.Sprint(i, strings.Repeat("x", 20<<10*(i%2)))
		want = append(want, text+"*")
		f.must(f.scout, post("", text).as(f.s1))
	}
	f.refused(protocol.InvalidEvent, f.scout, post("", "one too many").as(f.s1))
	before := len(f.log)
	f.must(f.arjun, event(f.lone, &protocol.MemberAdded{ParticipantID: f.s1}))
	system := Caller{Workspace: testWorkspace, Kind: protocol.KindSystem, ID: protocol.SystemID}
	for rounds := 0; f.s.HeldOf(f.s1) > 0; rounds++ {
		pending := f.s.Deadlines(DefaultWaits())
		if rounds > MaxHeld || len(pending) != 1 || pending[0].Kind != "held" || pending[0].Set != f.s.Seq {
			t.Fatalf("after %d rounds %d messages wait and the deadlines are %v at %d", rounds, f.s.HeldOf(f.s1), pending, f.s.Seq)
		}
		if last := f.log[len(f.log)-1]; !MaySetDeadline(last) {
			t.Fatalf("%s sets no deadline", last.Type)
		}
		draft := &FireDraft{Kind: "held", ID: f.s1}
		if rounds == 1 { // it leaves in the middle, and goes on elsewhere
			f.must(f.arjun, event("", &protocol.AgentMoved{AgentID: f.s1, ToSpaceID: f.r}))
			continue
		}
		f.fire(system, draft)
	}
	if diff := cmp.Diff(want, texts(f.log[before:])); diff != "" {
		t.Errorf("posted (-want +got):\n%s", diff)
	}
	if n := f.fire(system, &FireDraft{Kind: "held", ID: f.s1}); n != 0 {
		t.Errorf("fired once more it posts %d", n)
	}
}

// fire fires a deadline and answers how many events came of it.
func (w *world) fire(by Caller, d *FireDraft) int {
	w.t.Helper()
	seq := w.s.Seq
	cmd := Command{By: by, Draft: Draft(d), Operation: true, Now: w.now, Waits: DefaultWaits(), Cited: map[string]protocol.Event{}}
	for {
		decision, err := Decide(w.s, cmd)
		if err != nil {
			w.t.Fatal(err)
		}
		for _, id := range decision.Missing {
			cmd.Cited[id] = w.message(id)
		}
		if len(decision.Missing) > 0 {
			continue
		}
		w.fold(decision)
		return int(w.s.Seq - seq)
	}
}

// An agent that has never been in a room opens one with its harness's owner the first time it speaks.
// covers: HELD-9, HELD-10
func TestAnAgentsFirstWords(t *testing.T) {
	f := newFixture(t)
	a := f.register(f.scout, "new", "Nova")
	got := f.must(f.scout, post("", "Good morning").as(a))
	if diff := cmp.Diff([]string{"space.opened", "agent.attached", "message.post"}, types(got)); diff != "" {
		t.Fatal(diff)
	}
	room := f.s.Rooms[got[0].SpaceID]
	if diff := cmp.Diff([]string{f.arjun.ID, a}, room.Members); diff != "" && !cmp.Equal([]string{a, f.arjun.ID}, room.Members) {
		t.Error(diff)
	}
	if got := f.must(f.scout, post("", "and more").as(a)); got[0].Type != "message.post" || got[0].SpaceID != room.ID {
		t.Errorf("in a room, a post with no space_id is %v", got[0])
	}
}
