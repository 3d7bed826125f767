package delivery

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/chipschat/chips-aws/shared/protocol"
)

func (w *talk) edit(e protocol.Event, text string) {
	w.put(roomR, e.Actor, &protocol.MessageEdited{MessageID: protocol.MessageID(e.ID), Text: text})
}

func (w *talk) remove(e protocol.Event) {
	w.put(roomR, e.Actor, &protocol.MessageDeleted{MessageID: protocol.MessageID(e.ID)})
}

// Lines have the words of their newest edit, and those of what was deleted are gone; reactions, pins, runs and steps are none.
// covers: CTX-13, CTX-14, CTX-22
func TestEditsAndDeletionsInLines(t *testing.T) {
	w := newTalk(t)
	one := w.say(person(priya), "one")
	two := w.say(w.agent(ledgerA), "two @Scout", s1)
	three := w.say(person(arjun), "three")
	w.say(person(arjun), "four")
	w.edit(one, "one, or")
	w.edit(three, "never read")
	w.edit(one, "one, edited")
	w.remove(three)
	w.edit(two, "two for nobody")
	w.put(roomR, person(arjun), &protocol.ReactionSet{MessageID: protocol.MessageID(one.ID), Emoji: "👍", On: true})
	w.put(roomR, person(arjun), &protocol.PinSet{MessageID: protocol.MessageID(one.ID), On: true})
	w.start(s2, "run_1")
	step := w.event(roomR, w.agent(s2), &protocol.StepStarted{StepID: "stp_1", Title: "Looking"})
	step.RunID = "run_1"
	w.log = append(w.log, step)
	w.say(person(arjun), "and?", s1, s2, ledgerA)
	for name, want := range map[string][]string{
		"Scout":  {"Priya: one, edited", "Bookkeeper: two for nobody", "Arjun: four"},
		"Ledger": {"Arjun: four"},
	} {
		got := w.context(recipient(t, name))
		if diff := cmp.Diff(want, shown(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	line := w.context(recipient(t, "Scout")).Lines[1]
	if line.Seq != two.Seq || line.At != two.TS || line.MessageID != protocol.MessageID(two.ID) || !cmp.Equal(line.AddressedTo, []string{s1}) {
		t.Errorf("an edit changes more than the words: %+v", line)
	}
}

// What comes after a message changes nothing of what goes with it, whatever lines it is given (contract U-85).
// covers: CTX-7
func TestEditsAfterTheMessage(t *testing.T) {
	w := newTalk(t)
	one := w.say(person(priya), "one")
	w.edit(one, "two")
	ask := w.say(person(arjun), "and?", s1)
	r := recipient(t, "Scout").At(w.s)
	want, _ := Wants(w.s, ask, r)
	before := w.context(r)
	w.log = append(w.log, w.event(roomR, one.Actor, &protocol.MessageEdited{MessageID: protocol.MessageID(one.ID), Text: "three"}))
	got := Render(w.s, ask, r, w.lines(want)).Data.(*protocol.MessageNew).Context
	if diff := cmp.Diff(before, got); diff != "" || shown(got)[0] != "Priya: two" {
		t.Errorf("%v %s", shown(got), diff)
	}
}

// Budgets count the words as they read, and what was deleted not at all.
// covers: CTX-9, CTX-25, CTX-28, CTX-29, CTX-30
func TestBudgetsOfEditedLines(t *testing.T) {
	type made func(w *talk, said []protocol.Event)
	for _, c := range []struct {
		name         string
		lines, chars int
		make         made
		want         []string
		truncated    bool
	}{
		// Each line is "Arjun: " and 3 characters, and a line end between them.
		{"as they were", 9, 10 + 1 + 10, func(*talk, []protocol.Event) {}, []string{"Arjun: 002", "Arjun: 003"}, true},
		{"a longer one takes its place", 9, 10 + 1 + 10, func(w *talk, said []protocol.Event) { w.edit(said[3], "003+") }, []string{"Arjun: 003+"}, true},
		{"a shorter one makes room", 9, 9 + 1 + 11, func(w *talk, said []protocol.Event) {
			w.edit(said[3], "03")
			w.edit(said[2], "002é")
		}, []string{"Arjun: 002é", "Arjun: 03"}, true},
		{"a deleted one makes room", 2, 99, func(w *talk, said []protocol.Event) { w.remove(said[3]) }, []string{"Arjun: 001", "Arjun: 002"}, true},
		{"for all of the rest", 3, 99, func(w *talk, said []protocol.Event) { w.remove(said[1]) }, []string{"Arjun: 000", "Arjun: 002", "Arjun: 003"}, false},
		{"the oldest is gone, and no line was left out", 3, 99, func(w *talk, said []protocol.Event) { w.remove(said[0]) },
			[]string{"Arjun: 001", "Arjun: 002", "Arjun: 003"}, false},
		{"the newest is cut by the words it has", 9, 10, func(w *talk, said []protocol.Event) { w.edit(said[3], "a long word") }, []string{"Arjun: a …"}, true},
		{"all are gone", 3, 99, func(w *talk, said []protocol.Event) {
			for _, e := range said {
				w.remove(e)
			}
		}, []string{}, false},
	} {
		w := newTalk(t)
		var said []protocol.Event
		for i := range 4 {
			said = append(said, w.say(person(arjun), fmt.Sprintf("%03d", i)))
		}
		c.make(w, said)
		ask := w.say(person(arjun), "and?", s1)
		got := w.context(budget(c.lines, c.chars))
		if diff := cmp.Diff(c.want, shown(got)); diff != "" || got.Truncated != c.truncated {
			t.Errorf("%s: truncated %v %s", c.name, got.Truncated, diff)
		}
		before := ask.Seq
		if len(got.Lines) > 0 {
			before = got.Lines[0].Seq
		}
		if got.Before != before {
			t.Errorf("%s: before is %d, want %d", c.name, got.Before, before)
		}
	}
}

// A frame's bytes count the words as they read too.
func TestEditedLinesFitAFrame(t *testing.T) {
	w := newTalk(t)
	for i := range 200 {
		w.edit(w.say(person(arjun), "short"), fmt.Sprint(i, strings.Repeat("\x01", 150)))
	}
	w.say(person(arjun), "and?", s1)
	b, err := w.render(budget(200, 32000)).Append(nil)
	if err != nil || len(b) > deliveryBytes || len(b) < deliveryBytes*8/10 {
		t.Errorf("%d bytes, %v", len(b), err)
	}
}

// A message that the referee held says so where it is a line.
// covers: CTX-17
func TestHeldInALine(t *testing.T) {
	w := newTalk(t)
	w.say(w.agent(ledgerA), "said")
	w.put(roomR, w.agent(ledgerA), &protocol.MessagePost{Text: "held", AddressedTo: []string{}, Held: true})
	w.say(person(arjun), "and?", s1)
	var held []bool
	for _, l := range w.context(recipient(t, "Scout")).Lines {
		held = append(held, l.Held)
	}
	if diff := cmp.Diff([]bool{false, true}, held); diff != "" {
		t.Error(diff)
	}
}

// Edits, deletions, reactions and pins are sent as they are to the room, in the view of before agents too, and start no turn (U-136).
func TestMarksAreSentAsTheyAre(t *testing.T) {
	w := newTalk(t)
	one := w.say(w.agent(ledgerA), "one")
	message := protocol.MessageID(one.ID)
	for _, d := range []protocol.Data{
		&protocol.MessageEdited{MessageID: message, Text: "@Scout @Bookkeeper"}, &protocol.ReactionSet{MessageID: message, Emoji: "👍", On: true},
		&protocol.PinSet{MessageID: message, On: true}, &protocol.MessageDeleted{MessageID: message},
	} {
		e := w.put(roomR, w.agent(ledgerA), d)
		for _, x := range everybody {
			covers := x.name != "Mel" && x.name != "Gus" && x.name != "Far"
			if got := Covers(w.s, e, x.r); got != covers {
				t.Errorf("%s to %s: %v", e.Type, x.name, got)
			}
			if !covers {
				continue
			}
			want := e
			if x.name == "Ledger" {
				want.Actor = protocol.Actor{Kind: protocol.KindHarness, ID: ledger}
			}
			if diff := cmp.Diff(want, w.render(x.r)); diff != "" {
				t.Errorf("%s to %s (-want +got):\n%s", e.Type, x.name, diff)
			}
		}
	}
}
