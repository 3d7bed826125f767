package delivery

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/chipschat/chips-aws/shared/protocol"
)

// What a turn says of how far agents went on by themselves.
// covers: REF-10, REF-16, REF-18, REF-27
func TestExchangeOfATurn(t *testing.T) {
	w := newTalk(t)
	told := func() *protocol.Exchange {
		t.Helper()
		return w.render(recipient(t, "Scout")).Data.(*protocol.MessageNew).Exchange
	}
	const stops = "Stop here: tell Arjun what is done and what is blocked, with no @ to another agent."
	for i, want := range map[int]string{7: "", 8: "8", 15: "15", 16: stops, 20: stops} {
		w := newTalk(t)
		for n := range i {
			w.say(w.agent(ledgerA), strings.Repeat("word ", n), s1)
		}
		x := w.render(recipient(t, "Scout")).Data.(*protocol.MessageNew).Exchange
		switch {
		case want == "" && x != nil:
			t.Errorf("at %d they are told %+v", i, x)
		case want == "":
		case x == nil || x.Count != i || *x.Stop != 16 || *x.Hold != 48 || x.Circle:
			t.Errorf("at %d they are told %+v", i, x)
		case want == stops && x.Note != stops,
			want != stops && x.Note != "You and the other agents here have sent each other "+want+" messages since a person last spoke. Answer only if it moves the work on.":
			t.Errorf("at %d the note is %q", i, x.Note)
		}
	}
	for range 20 {
		w.say(w.agent(ledgerA), "again", s1)
	}
	if told() == nil {
		t.Error("nothing is told")
	}
	w.say(person(priya), "and now?", s1)
	if x := told(); x != nil {
		t.Errorf("a person's message comes with %+v", x)
	}
}

// A message that is handed on is the message, with the id and the seq of its handing and what was said since.
// covers: REF-21, REF-25, REF-26
func TestHanded(t *testing.T) {
	w := newTalk(t)
	held := w.put(roomR, w.agent(ledgerA), &protocol.MessagePost{Text: "F to J, please", AddressedTo: []string{}, Held: true, HeldFor: []string{s1}})
	if d, ok := w.render(recipient(t, "Scout")).Data.(*protocol.MessageOverheard); !ok || !d.Held {
		t.Errorf("held, it is %+v", d)
	}
	w.put(roomR, w.agent(ledgerA), &protocol.MessageEdited{MessageID: protocol.MessageID(held.ID), Text: "F to K, please"})
	w.say(person(arjun), "go on")
	e := w.put(roomR, protocol.System, &protocol.MessageHanded{MessageID: protocol.MessageID(held.ID), AgentIDs: []string{s1}})
	got := w.render(recipient(t, "Scout"))
	d, ok := got.Data.(*protocol.MessageNew)
	if !ok {
		t.Fatalf("it is handed as %s", got.Type)
	}
	if got.ID != e.ID || got.Seq != e.Seq || got.Actor.ID != ledgerA || d.MessageID != protocol.MessageID(held.ID) || !d.Handed || d.Lead {
		t.Errorf("%+v by %v at %d", d, got.Actor, got.Seq)
	}
	if d.Text != "F to K, please" || d.From.Name != "Bookkeeper" || !slices.Equal(d.For, []string{s1}) || !slices.Equal(d.AddressedTo, []string{s1}) || d.Exchange != nil {
		t.Errorf("%+v", d)
	}
	if diff := cmp.Diff([]string{"Arjun: go on"}, shown(d.Context)); diff != "" {
		t.Errorf("its context (-want +got):\n%s", diff)
	}
	if !strings.HasPrefix(d.Room.Notes[s1], "Bookkeeper sent this message to you without an @") {
		t.Errorf("its note is %q", d.Room.Notes[s1])
	}
	for _, name := range []string{"Ledger", "Far"} {
		if Covers(w.s, e, recipient(t, name)) {
			t.Errorf("%s is sent it", name)
		}
	}
	if as := w.render(recipient(t, "Arjun")); as.Type != "message.handed" {
		t.Errorf("people are sent it as %s", as.Type)
	}
}
