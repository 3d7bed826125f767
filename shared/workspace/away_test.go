package workspace

import (
	"slices"
	"testing"
	"time"

	"github.com/chipschat/chips-aws/shared/protocol"
)

// What a harness reads by what Chips says of its sockets and what it says itself, one after another: only changes are written, trouble is
// kept, and what it was away from is said again when it is back.
//
// covers: RST-7, RST-9
func TestAway(t *testing.T) {
	w := newWorld(t)
	h, _, _ := w.harness(w.arjun, "Scout", "agents", "restarts")
	other, _, _ := w.harness(w.arjun, "Ledger")
	away, back := op(&AwayDraft{HarnessIDs: []string{"hrn_of_none", h.ID}}), op(&BackDraft{HarnessID: h.ID})
	says := func(status, words string) command {
		return op(&protocol.HarnessStatusSet{HarnessID: h.ID, Status: status, Message: words})
	}
	for i, step := range []struct {
		by            Caller
		do            command
		status, words string
		writes        bool
	}{
		{w.system(), back, "ok", "", false},
		{h, says("ok", ""), "ok", "", false}, // as it reads already
		{w.system(), away, "away", "", true},
		{w.system(), away, "away", "", false},
		{w.system(), back, "ok", "", true},
		{w.system(), back, "ok", "", false},
		{h, says("ok", "All well."), "ok", "All well.", true},
		{w.system(), away, "away", "", true},
		{w.system(), back, "ok", "All well.", true},
		{w.system(), away, "away", "", true},
		{h, says("trouble", "No disk."), "trouble", "No disk.", true}, // over HTTP
		{w.system(), away, "trouble", "No disk.", false},
		{w.system(), back, "trouble", "No disk.", false},
		{h, says("ok", ""), "ok", "", true},
		{w.system(), away, "away", "", true},
		{h, says("ok", ""), "ok", "", true},
		{w.arjun, op(&RestartDraft{HarnessID: h.ID}), "restarting", "", true},
		{w.system(), away, "restarting", "", false}, // it is waited for
		{w.system(), back, "ok", "", true},
		{w.arjun, op(&RestartDraft{HarnessID: h.ID}), "restarting", "", true},
		{w.late(), away, "away", "", true}, // not any more
		{w.late(), op(&FireDraft{Kind: DueRestart, ID: h.ID}), "away", "", false},
		{w.system(), back, "ok", "", true},
		{h, says("trouble", "No disk."), "trouble", "No disk.", true},
		{w.arjun, op(&RestartDraft{HarnessID: h.ID}), "restarting", "", true},
		{w.late(), away, "restarting", "", false}, // which was trouble before
		{w.late(), op(&FireDraft{Kind: DueRestart, ID: h.ID}), "trouble", "No disk.", true},
	} {
		if step.by.Credential == "late" {
			w.now = w.now.Add(DefaultWaits().Restart)
		}
		events := w.must(step.by, step.do)
		got := w.s.Harnesses[h.ID]
		if got.Reads() != step.status || got.StatusWords != step.words || len(events) > 0 != step.writes {
			t.Fatalf("step %d: it reads %s %q after %v, want %s %q", i, got.Reads(), got.StatusWords, types(events), step.status, step.words)
		}
		if present := slices.Contains(w.s.Present(), h.ID); present != (step.status == "ok") {
			t.Errorf("step %d: it reads %s, and is present: %t", i, step.status, present)
		}
	}
	for _, by := range []Caller{h, w.arjun} {
		w.refused(protocol.Forbidden, by, away)
		w.refused(protocol.Forbidden, by, back)
	}
	w.must(h, says("ok", ""))
	// Many at once are one commit.
	if events := w.must(w.system(), op(&AwayDraft{HarnessIDs: []string{h.ID, other.ID}})); len(events) != 2 {
		t.Errorf("two that are away: %v", types(events))
	}
	w.must(w.arjun, op(&protocol.HarnessRemoved{HarnessID: other.ID}))
	if events := w.must(w.system(), op(&BackDraft{HarnessID: other.ID})); len(events) != 0 {
		t.Errorf("one that was removed comes back: %v", types(events))
	}
}

func (w *world) system() Caller {
	return Caller{Workspace: testWorkspace, Kind: protocol.KindSystem, ID: protocol.SystemID}
}

// late is Chips once nobody waits for a restart any more.
func (w *world) late() Caller {
	c := w.system()
	c.Credential = "late"
	return c
}

// By which events a harness may be away is told by the event alone.
func TestMayBeAway(t *testing.T) {
	set := func(kind protocol.ActorKind, status string) protocol.Event {
		e := Draft(&protocol.HarnessStatusSet{HarnessID: "hrn_1", Status: status})
		e.Actor.Kind = kind
		return e
	}
	for _, x := range []struct {
		e    protocol.Event
		want string
	}{
		{Draft(&protocol.HarnessAdded{HarnessID: "hrn_1"}), "hrn_1"},
		{set(protocol.KindHarness, "ok"), "hrn_1"},
		{set(protocol.KindHarness, "trouble"), ""},
		{set(protocol.KindSystem, "ok"), ""},
		{Draft(&protocol.MessagePost{Text: "hi"}), ""},
	} {
		if got := MayBeAway(x.e); got != x.want {
			t.Errorf("%s: %q, want %q", x.e.Type, got, x.want)
		}
	}
}

// A restart is waited for as long as the waits say.
func TestAwaited(t *testing.T) {
	w := newWorld(t)
	h, _, _ := w.harness(w.arjun, "Scout", "restarts")
	if at := w.s.Awaited(h.ID, DefaultWaits()); !at.IsZero() {
		t.Errorf("awaited until %v", at)
	}
	w.must(w.arjun, op(&RestartDraft{HarnessID: h.ID}))
	if at := w.s.Awaited(h.ID, Waits{Restart: time.Minute}); !at.Equal(w.now.Add(time.Minute)) {
		t.Errorf("awaited until %v, asked at %v", at, w.now)
	}
}
