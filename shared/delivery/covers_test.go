package delivery

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/chipschat/chips-aws/shared/protocol"
	"github.com/chipschat/chips-aws/shared/workspace"
)

const (
	insiders = "Arjun Priya Mel"
	inR      = "Arjun Priya Scout Ledger"
)

// who is covered by the state, in the order of everybody.
func who(s *workspace.State, e protocol.Event, covers func(*workspace.State, protocol.Event, Recipient) bool) string {
	var names []string
	for _, x := range everybody {
		if covers(s, e, x.r) {
			names = append(names, x.name)
		}
	}
	return strings.Join(names, " ")
}

// covers: SUB-11, SUB-12, WHO-2, WHO-3, WHO-4, WHO-5, WHO-6, AGT-17, FORK-1, FORK-3, NEWA-1, NEWA-3
func TestCovers(t *testing.T) {
	w := newWorld()
	run := func(e protocol.Event, id string) protocol.Event { e.RunID = id; return e }
	sys := protocol.System
	w.s.Runs["run_bare"] = &workspace.Run{ID: "run_bare", HarnessID: scout, AgentID: s2, Status: workspace.Running}
	for _, c := range []struct {
		name string
		e    protocol.Event
		want string
	}{
		{"a message in R", w.event(roomR, person(arjun), &protocol.MessagePost{Text: "x"}), inR},
		{"a message in G", w.event(roomG, person(arjun), &protocol.MessagePost{Text: "x"}), "Arjun Gus"},
		{"a room held by the harness itself", w.event(roomQ, person(priya), &protocol.MessagePost{Text: "x"}), "Priya Scout"},
		{"an unknown room", w.event("spc_nowhere", person(arjun), &protocol.MessagePost{Text: "x"}), ""},
		{"a step of a run in R", run(w.event(roomR, w.agent(s1), &protocol.StepLog{}), "run_1"), inR},
		{"a person joins R", w.event(roomR, person(arjun), &protocol.MemberAdded{ParticipantID: gus}), inR},
		{"the workspace is renamed", w.event("", person(arjun), &protocol.WorkspaceRenamed{}), insiders + " Gus Scout Ledger Far"},
		{"the referee's settings", w.event("", person(arjun), &protocol.ExchangeSettingsSet{}), insiders + " Gus Scout Ledger Far"},
		{"the workspace opens", w.event("", sys, &protocol.WorkspaceOpened{}), insiders},
		{"the cap", w.event("", person(arjun), &protocol.PolicyCapSet{}), insiders},
		{"a person nobody shares a room with is added", w.event("", person(arjun), &protocol.PersonAdded{PersonID: "usr_new"}), insiders},
		{"a person in R is updated", w.event("", person(priya), &protocol.PersonUpdated{PersonID: priya}), insiders + " Scout Ledger"},
		{"the guest is updated: also whoever shares a room", w.event("", person(gus), &protocol.PersonUpdated{PersonID: gus}), insiders + " Gus"},
		{"the owner, who is in G too, is updated", w.event("", person(arjun), &protocol.PersonUpdated{PersonID: arjun}), insiders + " Gus Scout Ledger"},
		{"a person of F is removed", w.event("", person(arjun), &protocol.PersonRemoved{PersonID: mel}), insiders + " Far"},
		{"a harness is added", w.event("", person(arjun), &protocol.HarnessAdded{HarnessID: "hrn_new"}), insiders},
		{"a harness in R is updated", w.event("", person(arjun), &protocol.HarnessUpdated{HarnessID: ledger}), insiders + " Scout Ledger"},
		{"its status", w.event("", sys, &protocol.HarnessStatusSet{HarnessID: far}), insiders + " Far"},
		{"a harness in F is removed", w.event("", person(arjun), &protocol.HarnessRemoved{HarnessID: far}), insiders + " Far"},
		{"its policy: who shares a room is not told", w.event("", person(arjun), &protocol.HarnessPolicySet{HarnessID: ledger}), insiders + " Ledger"},
		{"its budget", w.event("", person(arjun), &protocol.HarnessBudgetSet{HarnessID: scout}), insiders + " Scout"},
		{"an agent in R: not the harness without agents", w.event("", sys, &protocol.AgentUpdated{AgentFacts: protocol.AgentFacts{AgentID: s1, HarnessID: scout}}), insiders + " Scout"},
		{"an agent that harness shares a room with and owns", w.event("", sys, &protocol.AgentUpdated{AgentFacts: protocol.AgentFacts{AgentID: ledgerA, HarnessID: ledger}}), insiders + " Scout"},
		{"an agent nobody there meets", w.event("", sys, &protocol.AgentRegistered{AgentFacts: protocol.AgentFacts{AgentID: farA, HarnessID: far}}), insiders + " Far"},
		{"an agent is attached in F: its harness alone beside the room", w.event(roomF, sys, &protocol.AgentAttached{AgentID: s1}), "Mel Scout Far"},
		{"an agent is released in R", w.event(roomR, sys, &protocol.AgentReleased{AgentID: s1}), "Arjun Priya Scout"},
		{"a copy is asked for in G: its harness alone beside the room", w.event(roomG, person(arjun), &protocol.AgentFork{AgentID: s1, HarnessID: scout}), "Arjun Gus Scout"},
		{"a new agent is asked for in F", w.event(roomF, person(mel), &protocol.AgentAsked{HarnessID: scout}), "Mel Scout Far"},
		{"of a harness that has not declared agents", w.event(roomF, person(mel), &protocol.AgentAsked{HarnessID: ledger}), "Mel Far"},
		{"others in the room are told, but for those without agents", w.event(roomR, person(arjun), &protocol.AgentFork{AgentID: farA, HarnessID: far}), "Arjun Priya Scout Far"},
		{"the room says what was missed: who is there alone", w.event(roomG, sys, &protocol.RoomSays{Kind: protocol.LineForkMissed}), "Arjun Gus"},
		{"one without agents is not sent its own release", w.event(roomG, sys, &protocol.AgentReleased{AgentID: ledgerA}), "Arjun Gus"},
		{"a cancel of a run with no room", run(w.event("", sys, &protocol.RunCancel{}), "run_bare"), "Arjun Scout"},
		{"a cancel in a room its harness is not in", run(w.event(roomG, sys, &protocol.RunCancel{}), "run_bare"), "Arjun Gus Scout"},
		{"a run with no room starts", run(w.event("", w.agent(farA), &protocol.RunStarted{}), "run_new"), "Arjun Far"},
		{"an event of no run and no room that nobody knows", w.event("", w.agent(s1), &protocol.StepLog{}), ""},
	} {
		if got := who(w.s, c.e, Covers); got != c.want {
			t.Errorf("%s (%s): got %q, want %q", c.name, c.e.Type, got, c.want)
		}
	}
}

// Around an event that changes who is in the room: live is either side of it; the head alone decides afterwards.
// covers: SUB-11, SUB-12, REL-15
func TestCoversAroundAChange(t *testing.T) {
	sys := protocol.System
	for _, c := range []struct {
		name          string
		change        func(w *world) protocol.Event
		before, after string
	}{
		{"Priya is taken out", func(w *world) protocol.Event {
			return w.event(roomR, person(arjun), &protocol.MemberRemoved{ParticipantID: priya})
		}, inR, "Arjun Scout Ledger"},
		{"Gus joins", func(w *world) protocol.Event {
			return w.event(roomR, person(arjun), &protocol.MemberAdded{ParticipantID: gus})
		}, inR, "Arjun Priya Gus Scout Ledger"},
		{"the room is deleted", func(w *world) protocol.Event {
			return w.event(roomR, person(arjun), &protocol.SpaceDeleted{})
		}, inR, ""},
		{"Ledger's only agent leaves, which it is not told by this event", func(w *world) protocol.Event {
			return w.event(roomR, sys, &protocol.AgentReleased{AgentID: ledgerA, Reason: "removed"})
		}, "Arjun Priya Scout", "Arjun Priya Scout"},
		{"a person leaves the workspace", func(w *world) protocol.Event {
			return w.event("", person(arjun), &protocol.PersonRemoved{PersonID: priya})
		}, insiders + " Scout Ledger", "Arjun Mel"},
		{"a harness is removed", func(w *world) protocol.Event {
			return w.event("", person(arjun), &protocol.HarnessRemoved{HarnessID: ledger})
		}, insiders + " Scout Ledger", insiders},
	} {
		w := newWorld()
		e := c.change(w)
		if got := who(w.s, e, Covers); got != c.before {
			t.Errorf("%s, before: got %q, want %q", c.name, got, c.before)
		}
		workspace.Evolve(w.s, e)
		if got := who(w.s, e, Covers); got != c.after {
			t.Errorf("%s, after: got %q, want %q", c.name, got, c.after)
		}
	}
}

// A deleted room is served to nobody, but a cancel in it still reaches the harness whose run it was.
func TestCoversDeletedRoom(t *testing.T) {
	w := newWorld()
	w.s.Runs["run_1"] = &workspace.Run{ID: "run_1", HarnessID: ledger, AgentID: ledgerA, Room: roomR, Status: workspace.Running}
	post := w.put(roomR, person(arjun), &protocol.MessagePost{Text: "x"})
	cancel := w.event(roomR, protocol.System, &protocol.RunCancel{Reason: "deleted"})
	cancel.RunID = "run_1"
	w.put(roomR, person(arjun), &protocol.SpaceDeleted{})
	if got := who(w.s, post, Covers); got != "" {
		t.Errorf("a post of a deleted room goes to %q", got)
	}
	if got := who(w.s, cancel, Covers); got != "Ledger" {
		t.Errorf("a cancel in a deleted room goes to %q, want its harness", got)
	}
}

// Quiet says so only where no event is for the recipient, by the state at the head.
func TestQuiet(t *testing.T) {
	sys := protocol.System
	for _, c := range []struct {
		name   string
		happen func(w *world)
		quiet  string
	}{
		{"nothing", func(*world) {}, insiders + " Gus Scout Ledger Far"},
		{"words in G", func(w *world) { w.put(roomG, person(arjun), &protocol.MessagePost{}) }, "Priya Mel Scout Ledger Far"},
		{"words in R", func(w *world) { w.put(roomR, person(arjun), &protocol.MessagePost{}) }, "Mel Gus Far"},
		{"an event of no room", func(w *world) { w.put("", person(arjun), &protocol.WorkspaceRenamed{}) }, ""},
		{"a room opens", func(w *world) {
			w.put("spc_new", person(mel), &protocol.SpaceOpened{ParticipantIDs: []string{mel}})
		}, "Arjun Priya Gus Scout Ledger Far"},
		{"an agent leaves the room its harness was in", func(w *world) {
			w.put(roomF, sys, &protocol.AgentReleased{AgentID: farA, Reason: "removed"})
		}, "Arjun Priya Gus Scout Ledger"},
		{"an agent is asked for where its harness is not", func(w *world) {
			w.put(roomG, person(arjun), &protocol.AgentAsked{HarnessID: far})
		}, "Priya Mel Scout Ledger"},
		{"a run is cancelled where its harness is no longer", func(w *world) {
			w.s.Runs["run_1"] = &workspace.Run{ID: "run_1", HarnessID: far, Status: workspace.Running}
			e := w.event(roomG, sys, &protocol.RunCancel{})
			e.RunID = "run_1"
			workspace.Evolve(w.s, e)
		}, "Priya Mel Scout Ledger"},
		{"the room is deleted", func(w *world) { w.put(roomF, person(mel), &protocol.SpaceDeleted{}) }, insiders + " Gus Scout Ledger Far"},
	} {
		w := newWorld()
		since := w.seq
		c.happen(w)
		var names []string
		for _, x := range everybody {
			if Quiet(w.s, x.r, since) {
				names = append(names, x.name)
			}
		}
		if got := strings.Join(names, " "); got != c.quiet {
			t.Errorf("%s: quiet for %q, want %q", c.name, got, c.quiet)
		}
	}
}

func TestFirstMember(t *testing.T) {
	w := newWorld()
	e := w.event("spc_new", person(mel), &protocol.SpaceOpened{ParticipantIDs: []string{mel, s2, gus}})
	if got := who(w.s, e, FirstMember); got != "Mel Gus Scout" {
		t.Errorf("first members are %q", got)
	}
	if FirstMember(w.s, w.event(roomR, person(mel), &protocol.MemberAdded{ParticipantID: gus}), recipient(t, "Gus")) {
		t.Error("joining is no opening")
	}
}

// Recipients of one class are sent the same bytes of every event.
func TestClass(t *testing.T) {
	w := newWorld()
	for _, e := range sampleEvents(w) {
		sent := map[string]protocol.Event{}
		for _, x := range everybody {
			got := Render(w.s, e, x.r.At(w.s), nil)
			class := Class(e, x.r)
			if first, ok := sent[class]; ok {
				if diff := cmp.Diff(first, got); diff != "" {
					t.Errorf("%s: two of class %s differ:\n%s", e.Type, class, diff)
				}
			}
			sent[class] = got
		}
	}
}
