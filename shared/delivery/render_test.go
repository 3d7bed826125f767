package delivery

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/chipschat/chips-aws/shared/protocol"
)

var update = flag.Bool("update", false, "write the goldens")

// sampleEvents are events that read differently for different recipients, none of them folded.
func sampleEvents(w *world) []protocol.Event {
	sys := protocol.System
	post := func(actor protocol.Actor, to ...string) protocol.Event {
		return w.event(roomR, actor, &protocol.MessagePost{
			Text: "@Scout look at <this> & that", ReplyTo: id("msg", 9), AddressedTo: append([]string{}, to...),
			Attachments: []protocol.Attachment{{AttachmentID: id("att", 1), Filename: "a.txt", MimeType: "text/plain", ByteSize: 3, SHA256: "aa"}},
		})
	}
	old := post(person(arjun))
	old.Data.(*protocol.MessagePost).AddressedTo = nil
	to := post(w.agent(ledgerA), s1)
	to.Data.(*protocol.MessagePost).To.IDs = []string{s1, ledgerA}
	to.IdempotencyKey = "ledger-1"
	return []protocol.Event{
		post(person(arjun), s1),
		post(person(arjun), s1, s2, ledgerA),
		post(person(arjun)),
		old,
		to,
		post(w.agent(s1), s2),
		post(w.agent(s1), s1),
		w.event(roomR, w.agent(s1), &protocol.SpaceOpened{Title: "New", ParticipantIDs: []string{arjun, s1, ledgerA, s2}, Key: "mine"}),
		w.event("", sys, &protocol.AgentUpdated{AgentFacts: protocol.AgentFacts{AgentID: s1, HarnessID: scout, Name: "Scout", State: "active", Key: "k", Asked: "S"}}),
		w.event("", sys, &protocol.AgentRegistered{AgentFacts: protocol.AgentFacts{AgentID: s1, HarnessID: scout, Name: "Scout", State: "active", Key: "k", Asked: "S"}}),
		w.event(roomR, person(arjun), &protocol.AgentMoved{AgentID: ledgerA, ToSpaceID: roomF}),
		w.event(roomR, sys, &protocol.AgentReleased{AgentID: s1, Reason: "moved", MovedTo: roomG}),
		w.event(roomR, person(arjun), &protocol.MemberAdded{ParticipantID: ledgerA, By: arjun}),
		w.event(roomR, person(arjun), &protocol.MemberRemoved{ParticipantID: s1, By: arjun}),
		w.event(roomR, w.agent(ledgerA), &protocol.StepLog{StepID: "stp_1", Status: "done", Summary: "Read it"}),
	}
}

// One golden for each event, with everybody it goes to; those who read the same stand together.
// covers: DLV-2, DLV-3, DLV-6, DLV-7, DLV-8, DLV-9, DLV-10, DLV-13, DLV-14, DLV-15, DLV-16, DLV-20, AGT-13, AGT-14, AGT-15, AGT-16, SPK-7, SPK-12
func TestRenderGolden(t *testing.T) {
	w := newWorld()
	w.s.Rooms[roomR].Lead = s1
	for i, e := range sampleEvents(w) {
		var readings []string
		readers := map[string][]string{}
		for _, x := range everybody {
			if !Covers(w.s, e, x.r) {
				continue
			}
			b, err := json.Marshal(Render(w.s, e, x.r.At(w.s), nil), jsontext.WithIndent("  "))
			if err != nil {
				t.Fatal(err)
			}
			if readers[string(b)] == nil {
				readings = append(readings, string(b))
			}
			readers[string(b)] = append(readers[string(b)], x.name)
		}
		var got bytes.Buffer
		for _, reading := range readings {
			fmt.Fprintf(&got, "%s: %s\n", strings.Join(readers[reading], ", "), reading)
		}
		golden(t, fmt.Sprintf("%02d-%s", i, e.Type), got.Bytes())
	}
}

// golden compares with a file under testdata, or writes it.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got; run with -update if it is right):\n%s", path, diff)
	}
}

// What kind of message each harness hears, and for which of its agents.
// covers: DLV-10, DLV-13, DLV-20, SPK-6, SPK-8, SPK-9, SPK-12, SPK-13, SPK-14, AGT-13
func TestWhoTakesATurn(t *testing.T) {
	w := newWorld()
	say := func(room string, actor protocol.Actor, to ...string) protocol.Event {
		return w.event(room, actor, &protocol.MessagePost{Text: "x", AddressedTo: append([]string{}, to...)})
	}
	old := say(roomR, person(arjun))
	old.Data.(*protocol.MessagePost).AddressedTo = nil
	for _, c := range []struct {
		name      string
		e         protocol.Event
		recipient string
		want      string
	}{
		{"for one of its agents", say(roomR, person(arjun), s1), "Scout", "message.new for " + s1},
		{"for both", say(roomR, person(arjun), s1, s2, ledgerA), "Scout", "message.new for " + s1 + "," + s2},
		{"without agents there is no for", say(roomR, person(arjun), ledgerA), "Ledger", "message.new"},
		{"for another", say(roomR, person(arjun), s1), "Ledger", "message.overheard"},
		{"for nobody", say(roomR, person(arjun)), "Scout", "message.overheard"},
		{"its own, for nobody", say(roomR, w.agent(s1)), "Scout", "message.post"},
		{"its own, for another harness", say(roomR, w.agent(s1), ledgerA), "Scout", "message.post"},
		{"one of its agents to another", say(roomR, w.agent(s1), s2, ledgerA), "Scout", "message.new for " + s2},
		{"an agent to itself", say(roomR, w.agent(s1), s1), "Scout", "message.post"},
		{"an agent to itself and another of its own", say(roomR, w.agent(s1), s1, s2), "Scout", "message.new for " + s2},
		{"for the harness itself", say(roomQ, person(priya), scout), "Scout", "message.new for " + scout},
		{"said by the harness itself", say(roomQ, protocol.Actor{Kind: protocol.KindHarness, ID: scout}, scout), "Scout", "message.post"},
		{"logged before addressed_to", old, "Scout", "message.new for " + s1 + "," + s2},
		{"logged before addressed_to, without agents", old, "Ledger", "message.new"},
		{"a person", say(roomR, person(arjun), s1), "Priya", "message.post"},
	} {
		got := Render(w.s, c.e, recipient(t, c.recipient).At(w.s), nil)
		heard := got.Type
		if d, ok := got.Data.(*protocol.MessageNew); ok && d.For != nil {
			heard += " for " + strings.Join(d.For, ",")
		}
		if heard != c.want {
			t.Errorf("%s: %s hears %q, want %q", c.name, c.recipient, heard, c.want)
		}
		if got.ID != c.e.ID || got.Seq != c.e.Seq || got.TS != c.e.TS {
			t.Errorf("%s: id, seq or ts is not the post's", c.name)
		}
		if logged := Logged(w.s, c.e, recipient(t, c.recipient)); logged.Type != "message.post" {
			t.Errorf("%s: logged reads as %s", c.name, logged.Type)
		}
	}
}

// The harness that knows no agents is never shown the id of one of its own, in any event.
// covers: AGT-15, AGT-16
func TestBeforeAgentsHidesOwnAgents(t *testing.T) {
	w := newWorld()
	for _, e := range sampleEvents(w) {
		if !Covers(w.s, e, recipient(t, "Ledger")) {
			continue
		}
		for _, seen := range []protocol.Event{Render(w.s, e, recipient(t, "Ledger").At(w.s), nil), Logged(w.s, e, recipient(t, "Ledger"))} {
			b, err := seen.Append(nil)
			if err != nil {
				t.Fatal(err)
			}
			if bytes.Contains(b, []byte(ledgerA)) || bytes.Contains(b, []byte(`"kind":"agent"`)) {
				t.Errorf("%s: Ledger is shown %s", e.Type, b)
			}
		}
	}
}

// Rendering for one recipient changes nothing of what the next is sent.
func TestRenderLeavesTheEvent(t *testing.T) {
	w := newWorld()
	for _, e := range sampleEvents(w) {
		before, _ := e.Append(nil)
		for _, x := range everybody {
			Render(w.s, e, x.r.At(w.s), nil)
			Logged(w.s, e, x.r)
		}
		if after, _ := e.Append(nil); !bytes.Equal(before, after) {
			t.Errorf("%s: changed to %s", e.Type, after)
		}
	}
}

// Fields that are for some alone.
func TestPrivateFields(t *testing.T) {
	w := newWorld()
	for _, c := range []struct {
		name, word string
		data       protocol.Data
		actor      protocol.Actor
		see        string
	}{
		{"the key of a room", "secret", &protocol.SpaceOpened{Key: "secret"}, w.agent(s1), "Scout"},
		{"the key of an agent", "secret", &protocol.AgentRegistered{AgentFacts: protocol.AgentFacts{AgentID: farA, HarnessID: far, Key: "secret"}}, protocol.System, "Far"},
		{"the name an agent asked for", "secret", &protocol.AgentUpdated{AgentFacts: protocol.AgentFacts{AgentID: s1, HarnessID: scout, Asked: "secret"}}, protocol.System, "Scout"},
		{"where an agent moves", roomG, &protocol.AgentMoved{AgentID: ledgerA, ToSpaceID: roomG}, person(arjun), "Arjun Gus Ledger"},
		{"where a released one went", roomF, &protocol.AgentReleased{AgentID: s1, MovedTo: roomF}, protocol.System, "Mel Scout Far"},
	} {
		e := w.event(roomR, c.actor, c.data)
		var names []string
		for _, x := range everybody {
			b, _ := Render(w.s, e, x.r.At(w.s), nil).Append(nil)
			logged, _ := Logged(w.s, e, x.r).Append(nil)
			if bytes.Contains(b, []byte(c.word)) != bytes.Contains(logged, []byte(c.word)) {
				t.Errorf("%s: %s sees it on one of socket and HTTP only", c.name, x.name)
			}
			if bytes.Contains(b, []byte(c.word)) {
				names = append(names, x.name)
			}
		}
		if got := strings.Join(names, " "); got != c.see {
			t.Errorf("%s is seen by %q, want %q", c.name, got, c.see)
		}
	}
}

// A replay brings a harness the past of a room it came to later, in the view it has now, from states in which there is no such harness.
func TestThePastOfOneWhoCameLater(t *testing.T) {
	w := newWorld()
	late := id("hrn", 77)
	for _, speaks := range []bool{false, true} {
		r := Recipient{Kind: protocol.KindHarness, ID: late, SpeaksAgents: speaks}
		for _, e := range sampleEvents(w) {
			got := Render(w.s, e, r, nil)
			if _, post := e.Data.(*protocol.MessagePost); post && e.Data.(*protocol.MessagePost).AddressedTo != nil && got.Type != "message.overheard" {
				t.Errorf("%s reads as %s", e.Type, got.Type)
			}
			if e.Actor.Kind == protocol.KindAgent && (got.Actor.Kind == protocol.KindAgent) != speaks {
				t.Errorf("speaks agents %v: the actor of %s is of kind %s", speaks, e.Type, got.Actor.Kind)
			}
		}
	}
}
