package workspace

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/chipschat/chips-aws/shared/protocol"
)

// leadDue is when a room's lead is handed the last words; false for never.
func (f *fixture) leadDue() (time.Time, bool) {
	d, ok := f.s.Deadline(DefaultWaits(), dueLead, f.r)
	return d.Due, ok
}

var system = Caller{Workspace: testWorkspace, Kind: protocol.KindSystem, ID: protocol.SystemID}

// When the lead is handed the last words, and of which.
// covers: LEAD-11, LEAD-13, LEAD-14, LEAD-15, LEAD-16, LEAD-17
func TestWhatTheLeadIsHanded(t *testing.T) {
	const wait = 20 * time.Second
	for _, c := range []struct {
		name string
		run  func(f *fixture)
		want bool
	}{
		{"an agent's words for nobody", func(f *fixture) { f.must(f.ledger, post(f.r, "F to J are in")) }, true},
		{"the lead's own words", func(f *fixture) { f.must(f.scout, post(f.r, "F to J are in")) }, false},
		{"for an agent", func(f *fixture) { f.must(f.ledger, post(f.r, "@Scout, F to J are in")) }, false},
		{"for a person", func(f *fixture) { f.must(f.ledger, post(f.r, "@Priya, F to J are in")) }, false},
		{"an answer by reply_to", func(f *fixture) {
			_, id := f.say(f.priya, post(f.r, "@Scout go"))
			f.must(f.ledger, event(f.r, &protocol.MessagePost{Text: "in", ReplyTo: id}))
		}, false},
		{"a person's words", func(f *fixture) { f.must(f.arjun, post(f.r, "well done, @Priya")) }, false},
		{"a person spoke since", func(f *fixture) {
			f.must(f.ledger, post(f.r, "F to J are in"))
			f.must(f.arjun, post(f.r, "thanks, @Priya"))
		}, false},
		{"an answer to a person who asked that agent alone", func(f *fixture) {
			f.must(f.arjun, post(f.r, "@Ledger, are they in?"))
			f.must(f.ledger, post(f.r, "F to J are in"))
		}, false},
		{"to a person who asked several", func(f *fixture) {
			f.must(f.arjun, post(f.r, "@Ledger and @Scout, are they in?"))
			f.must(f.ledger, post(f.r, "F to J are in"))
		}, true},
		{"to an agent", func(f *fixture) {
			f.must(f.scout, post(f.r, "@Ledger, are they in?"))
			f.must(f.ledger, post(f.r, "F to J are in"))
		}, true},
		{"held", func(f *fixture) {
			f.must(f.arjun, event(f.r, &protocol.ExchangeSet{State: "paused"}))
			f.must(f.ledger, post(f.r, "F to J are in"))
		}, false},
		{"deleted", func(f *fixture) {
			_, id := f.say(f.ledger, post(f.r, "F to J are in"))
			f.must(f.ledger, event("", &protocol.MessageDeleted{MessageID: id}))
		}, false},
		{"nobody leads any more", func(f *fixture) {
			f.must(f.ledger, post(f.r, "F to J are in"))
			f.must(f.arjun, opIn(f.r, &protocol.SpaceLeadSet{}))
		}, false},
		{"a pass", func(f *fixture) { f.must(f.ledger, post(f.r, "NO_REPLY")) }, false},
		{"the same words once more", func(f *fixture) {
			f.must(f.ledger, post(f.r, "F to J are in"))
			f.now = f.now.Add(wait)
			f.fire(system, &FireDraft{Kind: dueLead, ID: f.r})
			f.must(f.ledger, post(f.r, "F to J are in!"))
		}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFixture(t)
			f.must(f.arjun, opIn(f.r, &protocol.SpaceLeadSet{AgentID: &f.s1}))
			c.run(f)
			due, ok := f.leadDue()
			if ok != c.want || ok && !due.Equal(f.now.Add(wait)) {
				t.Fatalf("due at %v (%v), want %v", due, ok, c.want)
			}
			f.now = f.now.Add(wait - time.Second)
			if n := f.fire(system, &FireDraft{Kind: dueLead, ID: f.r}); n != 0 {
				t.Errorf("a second early it hands %d", n)
			}
			f.now = f.now.Add(time.Second)
			last := f.s.Rooms[f.r].Loose
			if n := f.fire(system, &FireDraft{Kind: dueLead, ID: f.r}); (n == 1) != c.want {
				t.Fatalf("%d events", n)
			}
			if !c.want {
				return
			}
			e := f.log[len(f.log)-1]
			want := &protocol.MessageHanded{
				MessageID: last.MessageID, AgentIDs: []string{f.s1}, Lead: true, Text: "Scout took it as the lead: it was nobody's turn",
			}
			if diff := cmp.Diff(protocol.Data(want), e.Data); diff != "" || e.Actor != protocol.System {
				t.Errorf("by %v: %s", e.Actor, diff)
			}
			if n := f.fire(system, &FireDraft{Kind: dueLead, ID: f.r}); n != 0 {
				t.Errorf("fired twice it hands %d", n)
			}
		})
	}
}

// While anybody is at work the lead is handed nothing: the twenty seconds begin with the end of the last turn, or with its ten silent minutes.
// covers: LEAD-10, LEAD-11, CEIL-7
func TestNobodyHasBeenWorking(t *testing.T) {
	f := newFixture(t)
	f.must(f.arjun, opIn(f.r, &protocol.SpaceLeadSet{AgentID: &f.s1}))
	run := f.start(f.ledger, 1, f.r, "")
	f.must(f.ledger, onRun(run, &protocol.MessagePost{Text: "half of it"}))
	heard := f.now
	if due, ok := f.leadDue(); !ok || !due.Equal(heard.Add(10*time.Minute+20*time.Second)) {
		t.Errorf("with a turn going it is due at %v (%v)", due, ok)
	}
	f.now = heard.Add(5 * time.Minute)
	f.must(f.ledger, onRun(run, &protocol.StepLog{StepID: "1", Status: "done", Summary: "on"}))
	if due, _ := f.leadDue(); !due.Equal(f.now.Add(10*time.Minute + 20*time.Second)) {
		t.Errorf("a word of the turn moves it to %v", due)
	}
	ended := f.must(f.ledger, onRun(run, &protocol.RunCompleted{}))
	if due, _ := f.leadDue(); !due.Equal(f.now.Add(20 * time.Second)) {
		t.Errorf("the turn's end moves it to %v", due)
	}
	if d, _ := f.s.Deadline(DefaultWaits(), dueLead, f.r); d.Set != ended[0].Seq || !MaySetDeadline(ended[0]) {
		t.Errorf("set at %d, by the end at %d", d.Set, ended[0].Seq)
	}
	f.must(f.arjun, event(f.r, &protocol.ExchangeSet{State: "paused"}))
	if _, ok := f.leadDue(); ok {
		t.Error("while the agents are paused the lead is handed words")
	}
	going := f.must(f.arjun, event(f.r, &protocol.ExchangeSet{State: "going"}))
	if d, ok := f.s.Deadline(DefaultWaits(), dueLead, f.r); !ok || d.Set != going[0].Seq || !MaySetDeadline(going[0]) {
		t.Errorf("carrying on sets %+v (%v)", d, ok)
	}
	if !slices.Contains(types(f.must(f.arjun, event(f.r, &protocol.MemberRemoved{ParticipantID: f.s1}))), "space.lead_set") {
		t.Error("the lead that left still leads")
	}
	if _, ok := f.leadDue(); ok {
		t.Error("a lead that left is handed words")
	}
}
