package delivery

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/chipschat/chips-aws/shared/protocol"
	"github.com/chipschat/chips-aws/shared/workspace"
)

// on puts an event on a run of an agent in R.
func (w *talk) on(agent, run string, d protocol.Data) {
	e := w.event(roomR, w.agent(agent), d)
	e.RunID = run
	workspace.Evolve(w.s, e)
	w.log = append(w.log, e)
}

// Who is at work beside the taker, since when and on what, and for how long the rest have been without a turn.
// covers: LEAD-7, LEAD-8, LEAD-9, LEAD-10
func TestAtWork(t *testing.T) {
	w := newTalk(t)
	run, old := id("run", 1), id("run", 2)
	minutes := func(n int64) { w.seq += 60 * n } // a second each
	note := func() string {
		t.Helper()
		w.say(person(arjun), "go", s1)
		_, rest, _ := strings.Cut(w.note(s1), everyone)
		return strings.TrimSpace(rest)
	}
	if got := note(); got != "" {
		t.Errorf("before anybody worked the note says %q", got)
	}
	w.start(ledgerA, old)
	w.on(ledgerA, old, &protocol.RunCompleted{})
	minutes(3)
	w.start(s2, run)
	if got := note(); got != "Working now: Scout 2, less than a minute in. Not working: Bookkeeper for 3 minutes." {
		t.Errorf("the note says %q", got)
	}
	w.on(s2, run, &protocol.StepStarted{StepID: "1", Title: "Reading\n the brief"})
	w.on(s2, run, &protocol.StepLog{StepID: "1", Status: "done", Summary: "Editing ascii-alphabet.html"})
	minutes(2)
	if got := note(); got != "Working now: Scout 2, 2 minutes in (last step: Editing ascii-alphabet.html). Not working: Bookkeeper for 5 minutes." {
		t.Errorf("the note says %q", got)
	}
	room := w.told(recipient(t, "Scout"))
	if len(room.Working) != 1 || room.Working[0].AgentID != s2 || room.Working[0].RunID != run || room.Working[0].LastStep != "Editing ascii-alphabet.html" {
		t.Errorf("working: %+v", room.Working)
	}
	if len(room.Idle) != 1 || room.Idle[0].AgentID != ledgerA || room.Idle[0].Since == nil {
		t.Errorf("idle: %+v", room.Idle)
	}
	// A turn that nothing was heard of for ten minutes does not count, since then; one word of it and it does.
	minutes(9)
	w.seq += 58
	if got := note(); !strings.HasPrefix(got, "Not working: Bookkeeper for 15 minutes; Scout 2 for 2 minutes.") {
		t.Errorf("the note says %q", got)
	}
	r := recipient(t, "Scout")
	r.TurnQuiet = 20 * time.Minute
	if got := w.told(r); len(got.Working) != 1 {
		t.Errorf("where turns may be silent for longer, working: %+v", got.Working)
	}
	w.on(s2, run, &protocol.StepLog{StepID: "2", Status: "done"})
	if got := note(); got != "Working now: Scout 2, 12 minutes in (last step: Editing ascii-alphabet.html). Not working: Bookkeeper for 15 minutes." {
		t.Errorf("the note says %q", got)
	}
	w.say(person(arjun), "and you", ledgerA)
	d := w.render(recipient(t, "Ledger")).Data.(*protocol.MessageNew).Room
	if diff := cmp.Diff([]protocol.IdleAgent{{AgentID: s1, Name: "Scout"}}, d.Idle); diff != "" || !strings.Contains(d.Notes[ledger], "Working now: Scout 2, 12 minutes in") {
		t.Errorf("before agents: %q\n%s", d.Notes[ledger], diff)
	}
}

// What is nobody's turn is handed to the lead with a note that says so.
// covers: LEAD-11, LEAD-12
func TestHandedToTheLead(t *testing.T) {
	w := newTalk(t)
	w.s.Rooms[roomR].Lead = s1
	said := w.say(w.agent(ledgerA), "F to J are in")
	w.put(roomR, protocol.System, &protocol.MessageHanded{MessageID: protocol.MessageID(said.ID), AgentIDs: []string{s1}, Lead: true, Text: "…"})
	d, ok := w.render(recipient(t, "Scout")).Data.(*protocol.MessageNew)
	if !ok || !d.Handed || !d.Lead || d.Text != "F to J are in" || d.From.ID != ledgerA || d.MessageID != protocol.MessageID(said.ID) {
		t.Fatalf("it is handed as %+v", d)
	}
	if !strings.HasPrefix(d.Room.Notes[s1], "Nobody has this turn: Bookkeeper said it with no @. In this space: ") {
		t.Errorf("its note is %q", d.Room.Notes[s1])
	}
}
