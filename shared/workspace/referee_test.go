package workspace

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/chipschat/chips-aws/shared/protocol"
)

// Dialogues of agents, a letter a speaker, and after which message they are first a circle (0 for never).
// covers: REF-12, REF-13, REF-14, REF-15
func TestCircle(t *testing.T) {
	for _, c := range []struct {
		name  string
		talk  []string
		first int
	}{
		{"two polite ones", []string{"A thank you!", "B thank you!", "A Thank you", "B thank  you"}, 4},
		{"said another way", []string{"A done?", "B no", "A and now?", "B not yet", "A and now?", "B not yet"}, 6},
		{"only one of them again", []string{"A done?", "B no", "A done?", "B not yet", "A done?", "B nearly", "A done?", "B yes"}, 0},
		{"taking turns alone", []string{"A one", "B two", "A three", "B four", "A five", "B six", "A seven", "B eight"}, 0},
		{"what the other said is not one's own", []string{"A ping", "B pong", "A pong", "B ping"}, 0},
		{"with handles and marks aside", []string{"A @B over to you.", "B @A, over to you?", "A over to you", "B Over, to you!"}, 4},
		{"three in a slow round", []string{"A a", "B b", "C c", "A a", "B b", "C c"}, 6},
		{"three, one of them with news", []string{"A a", "B b", "C c", "A a", "B b", "C d"}, 0},
		{"two, and a third who breaks in", []string{"A x", "B y", "C z", "A x", "C q", "B y"}, 0},
		{"one who talks to itself", []string{"A x", "A x", "A x", "A x", "A x", "A x"}, 0},
		{"not strictly", []string{"A x", "B y", "B y", "A x"}, 0},
		{"a file that was here, whatever the words", []string{"A +here", "B +have a look", "A +again", "B +once more"}, 4},
		{"back to it after news", []string{"A x", "B y", "A news", "B more", "A x", "B y"}, 6},
		{"words of no letters are the same words", []string{"A !!", "B ??", "A …", "B !"}, 4},
	} {
		t.Run(c.name, func(t *testing.T) {
			room, talk, first := &Room{}, Talk{}, 0
			for i, line := range c.talk {
				who, words, _ := strings.Cut(line, " ")
				post := &protocol.MessagePost{Text: strings.TrimPrefix(words, "+")}
				if words != post.Text {
					post.Attachments = []protocol.Attachment{{Filename: "f"}}
				}
				if talk = talk.ahead(room, who, post); first == 0 && circle(talk.Sayings) {
					first = i + 1
				}
			}
			if first != c.first {
				t.Errorf("a circle after %d messages, want %d", first, c.first)
			}
		})
	}
}

// toLedger is Scout's agent addressing Ledger's in R, and toScout the reverse.
func (f *fixture) toLedger(text string) *protocol.MessagePost {
	f.t.Helper()
	return f.must(f.scout, event(f.r, &protocol.MessagePost{Text: text, To: protocol.To{IDs: []string{f.l1}}}))[0].Data.(*protocol.MessagePost)
}

func (f *fixture) toScout(text string) *protocol.MessagePost {
	f.t.Helper()
	return f.must(f.ledger, event(f.r, &protocol.MessagePost{Text: text, To: protocol.To{IDs: []string{f.s1}}}))[0].Data.(*protocol.MessagePost)
}

// settings sets the referee's; nil is never.
func (f *fixture) settings(stop, hold *int, circles bool) {
	f.must(f.arjun, op(&ExchangeDraft{Stop: &Limit{stop}, Hold: &Limit{hold}, Circles: &circles}))
}

// The hold: what is past it is posted for nobody, and counted; a person's next act hands each agent the newest for it.
// covers: REF-1, REF-2, REF-19, REF-22, REF-23, REF-25, REF-26
func TestHold(t *testing.T) {
	f := newFixture(t)
	f.settings(ptr(4), ptr(5), true)
	f.toLedger("before the person")
	f.must(f.arjun, post(f.r, "go"))
	for i := range 5 {
		if got := f.toLedger(fmt.Sprint("words ", i)); got.Held || got.Exchange.Count != i+1 || *got.Exchange.Allowance != 5 || *got.Exchange.Acked().Left != 4-i {
			t.Fatalf("message %d is %+v, %+v", i, got, got.Exchange)
		}
	}
	f.toLedger("held first")
	newest := f.must(f.scout, event(f.r, &protocol.MessagePost{Text: "held last", To: protocol.To{IDs: []string{f.l1}}}))[0]
	d := newest.Data.(*protocol.MessagePost)
	if !d.Held || len(d.AddressedTo) != 0 || d.AddressedTo == nil || !slices.Equal(d.HeldFor, []string{f.l1}) || d.Exchange.Count != 7 || *d.Exchange.Acked().Left != 0 {
		t.Fatalf("past the hold a message is %+v, %+v", d, d.Exchange)
	}
	if got := f.must(f.scout, post(f.r, "for the people"))[0].Data.(*protocol.MessagePost); got.Held || got.Exchange != nil {
		t.Errorf("what is for nobody is %+v", got)
	}
	back := f.toScout("held too")
	if !back.Held {
		t.Errorf("the other's is %+v", back)
	}
	got := f.must(f.arjun, event(f.r, &protocol.SpaceRenamed{Title: "An act"}))
	if diff := cmp.Diff([]string{"space.renamed", "message.handed", "message.handed"}, types(got)); diff != "" {
		t.Fatal(diff)
	}
	want := &protocol.MessageHanded{MessageID: protocol.MessageID(newest.ID), AgentIDs: []string{f.l1}}
	if diff := cmp.Diff(protocol.Data(want), got[1].Data); diff != "" {
		t.Error(diff)
	}
	if got := f.toLedger("anew"); got.Held || got.Exchange.Count != 1 {
		t.Errorf("after it the count is %+v", got.Exchange)
	}
	if got := f.must(f.arjun, post(f.r, "again")); len(got) != 1 {
		t.Errorf("handed once more: %v", types(got))
	}
	f.settings(nil, nil, true)
	for i := range 60 {
		if got := f.toLedger(fmt.Sprint("for ever ", i)); got.Held || got.Exchange.Allowance != nil || got.Exchange.Acked().Left != nil {
			t.Fatalf("with no hold message %d is %+v", i, got)
		}
	}
}

// A person's pause holds from the first message on, and only their carrying on, or any other act of theirs, ends it.
// covers: REF-20, CEIL-6, CEIL-9
func TestPause(t *testing.T) {
	set := func(f *fixture, state string) command { return event(f.r, &protocol.ExchangeSet{State: state}) }
	f := newFixture(t)
	guest := f.person("Gus", protocol.Guest)
	f.must(f.arjun, event(f.r, &protocol.MemberAdded{ParticipantID: guest.ID}))
	f.must(guest, set(f, "paused"))
	if got := f.toLedger("one"); !got.Held {
		t.Errorf("paused, a message is %+v", got)
	}
	if got := f.must(f.arjun, set(f, "paused")); len(got) != 1 {
		t.Errorf("pausing once more hands on: %v", types(got))
	}
	if got := f.must(guest, set(f, "going")); !slices.Equal(types(got), []string{"exchange.set", "message.handed"}) {
		t.Errorf("carrying on is %v", types(got))
	}
	if got := f.toLedger("two"); got.Held {
		t.Errorf("going, a message is %+v", got)
	}
	f.must(f.arjun, set(f, "paused"))
	held := f.must(f.scout, event(f.r, &protocol.MessagePost{Text: "three", To: protocol.To{IDs: []string{f.l1}}}))[0]
	f.must(f.scout, event("", &protocol.MessageDeleted{MessageID: protocol.MessageID(held.ID)}))
	if got := f.must(f.priya, post(f.r, "go on")); len(got) != 1 {
		t.Errorf("a deleted message is handed on: %v", types(got))
	}
	f.must(f.arjun, set(f, "paused"))
	f.toLedger("four")
	got := f.must(f.arjun, event(f.r, &protocol.MemberRemoved{ParticipantID: f.l1}))
	if slices.Contains(types(got), "message.handed") {
		t.Errorf("one who goes is handed words: %v", types(got))
	}
	f.refused(protocol.InvalidEvent, f.arjun, set(f, "resting"))
	f.refused(protocol.Forbidden, f.scout, set(f, "going"))
	f.refused(protocol.Forbidden, f.arjun, event(f.s.Harnesses[f.ledger.ID].Direct+"x", &protocol.ExchangeSet{State: "going"}))
}

// What agents are told of it: from half the stop, from eight where there is none, and on a circle whatever the count.
// covers: REF-3, REF-10, REF-11, REF-12, REF-16
func TestExchanged(t *testing.T) {
	told := func(f *fixture) *protocol.Exchange { return f.s.Exchanged(f.s.Rooms[f.r]) }
	for _, c := range []struct {
		stop *int
		from int
	}{{ptr(16), 8}, {ptr(5), 3}, {ptr(2), 1}, {nil, 8}} {
		f := newFixture(t)
		f.settings(c.stop, nil, false)
		for i := 1; i <= 20; i++ {
			if f.toLedger("the same"); (told(f) != nil) != (i >= c.from) {
				t.Errorf("stop %v: at %d they are told %+v", c.stop, i, told(f))
			}
		}
	}
	f := newFixture(t)
	f.toLedger("thanks")
	f.toScout("thanks")
	f.toLedger("thanks")
	if f.toScout("thanks"); told(f) == nil || !told(f).Circle || told(f).Count != 4 {
		t.Errorf("on a circle they are told %+v", told(f))
	}
	file := func(sha string) {
		f.fold(Decision{Events: []protocol.Event{{
			Envelope: protocol.Envelope{Type: "message.post", SpaceID: f.r, Actor: agentActor(f.s.Agents[f.s1])},
			Data: &protocol.MessagePost{
				Text: "made this", AddressedTo: []string{f.l1}, Attachments: []protocol.Attachment{{Filename: "letters", SHA256: sha}},
			},
		}}})
	}
	file("one")
	if got := f.s.Rooms[f.r].Talk; got.Count != 0 || told(f) != nil {
		t.Errorf("after something new the exchange is %+v", got)
	}
	if file("one"); f.s.Rooms[f.r].Talk.Count != 1 {
		t.Errorf("a file that was here counts %d", f.s.Rooms[f.r].Talk.Count)
	}
	if file("two"); f.s.Rooms[f.r].Talk.Count != 0 {
		t.Errorf("a new version counts %d", f.s.Rooms[f.r].Talk.Count)
	}
}
