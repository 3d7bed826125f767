package delivery

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	"github.com/chipschat/chips-aws/shared/protocol"
	"github.com/chipschat/chips-aws/shared/workspace"
)

// What is in the context, and where it starts.
// covers: DLV-18, CTX-2, CTX-3, CTX-4, CTX-5, CTX-6, CTX-8, CTX-9, CTX-30
func TestContextLines(t *testing.T) {
	for _, c := range []struct {
		name  string
		run   func(w *talk)
		to    []string // whom the question is for
		who   string
		lines []string
	}{
		{"nothing was said", func(*talk) {}, []string{s1}, "Scout", []string{}},
		{"since it joined", func(w *talk) {
			w.say(person(arjun), "one")
			w.say(w.agent(ledgerA), "two")
		}, []string{s1}, "Scout", []string{"Arjun: one", "Bookkeeper: two"}},
		{"since it last spoke", func(w *talk) {
			w.say(person(arjun), "before")
			w.say(w.agent(s1), "said")
			w.say(person(arjun), "after")
		}, []string{s1}, "Scout", []string{"Arjun: after"}},
		{"from where the turn that spoke began, without its own words", func(w *talk) {
			w.say(person(arjun), "before")
			w.start(s1, "run_1")
			w.say(person(priya), "while it worked")
			w.say(w.agent(s1), "said")
			w.say(person(arjun), "after")
		}, []string{s1}, "Scout", []string{"Priya: while it worked", "Arjun: after"}},
		{"another agent of the harness is not the taker", func(w *talk) {
			w.say(w.agent(s1), "said by 1")
			w.say(w.agent(s2), "said by 2")
		}, []string{s1}, "Scout", []string{"Scout 2: said by 2"}},
		{"two takers share the context of the one that heard least, their words in it", func(w *talk) {
			w.say(person(arjun), "before")
			w.say(w.agent(s2), "said by 2")
			w.say(person(arjun), "between")
			w.say(w.agent(s1), "said by 1")
			w.say(person(arjun), "after")
		}, []string{s1, s2}, "Scout", []string{"Arjun: between", "Scout: said by 1", "Arjun: after"}},
		{"whichever is named first", func(w *talk) {
			w.say(w.agent(s2), "said by 2")
			w.say(person(arjun), "between")
			w.say(w.agent(s1), "said by 1")
		}, []string{s2, s1}, "Scout", []string{"Arjun: between", "Scout: said by 1"}},
		{"asked and did not answer: the same lines again, and the question", func(w *talk) {
			w.say(person(arjun), "one")
			w.say(person(arjun), "@Scout?", s1)
			w.say(person(arjun), "two")
		}, []string{s1}, "Scout", []string{"Arjun: one", "Arjun: @Scout?", "Arjun: two"}},
		{"another room's words are not the room's", func(w *talk) {
			w.put(roomG, person(arjun), &protocol.MessagePost{Text: "in G", AddressedTo: []string{}})
			w.say(person(arjun), "in R")
		}, []string{s1}, "Scout", []string{"Arjun: in R"}},
		{"what was overheard is in the next", func(w *talk) {
			w.say(person(arjun), "for Ledger", ledgerA)
			w.say(w.agent(ledgerA), "Ledger's answer")
		}, []string{s1}, "Scout", []string{"Arjun: for Ledger", "Bookkeeper: Ledger's answer"}},
		{"before agents a harness's words are all its own", func(w *talk) {
			w.start(ledgerA, "run_1")
			w.say(w.agent(ledgerA), "its own")
			w.say(w.agent(s1), "Scout's")
		}, []string{ledgerA}, "Ledger", []string{"Scout: Scout's"}},
	} {
		w := newTalk(t)
		c.run(w)
		ask := w.say(person(arjun), "and?", c.to...)
		got := w.context(recipient(t, c.who))
		if diff := cmp.Diff(c.lines, shown(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
		before := ask.Seq
		if len(got.Lines) > 0 {
			before = got.Lines[0].Seq
		}
		if got.Truncated || got.Before != before || got.SinceSeq >= before {
			t.Errorf("%s: truncated %v, before %d, since %d; the first line or the question is at %d", c.name, got.Truncated, got.Before, got.SinceSeq, before)
		}
	}
}

// What is no answer does not move where the context starts, and what is no message for the harness has none.
// covers: DLV-15
func TestNoContext(t *testing.T) {
	w := newTalk(t)
	w.say(person(arjun), "one")
	w.start(s1, "run_1")
	step := w.event(roomR, w.agent(s1), &protocol.StepLog{StepID: "stp_1", Status: "done", Summary: "Did it"})
	step.RunID = "run_1"
	workspace.Evolve(w.s, step)
	w.log = append(w.log, step)
	w.say(person(arjun), "and?", s1)
	if got := shown(w.context(recipient(t, "Scout"))); !slices.Equal(got, []string{"Arjun: one"}) {
		t.Errorf("runs and steps are lines, or words: %v", got)
	}
	for _, name := range []string{"Ledger", "Priya"} {
		e := w.log[len(w.log)-1]
		if want, ok := Wants(w.s, e, recipient(t, name).At(w.s)); ok {
			t.Errorf("%s wants %+v", name, want)
		}
		if b, _ := w.render(recipient(t, name)).Append(nil); strings.Contains(string(b), `"context"`) {
			t.Errorf("%s is sent context: %s", name, b)
		}
	}
}

// One line of each kind, in both views.
// covers: CTX-1, CTX-11, CTX-12, CTX-19, CTX-20, CTX-21
func TestContextGolden(t *testing.T) {
	w := newTalk(t)
	w.say(person(priya), "Northwind want the PO <now> & \"signed\".", s1, ledgerA)
	w.say(w.agent(ledgerA), "Their slot holds until Friday.")
	w.say(w.agent(s2), "I asked them.")
	w.put(roomR, person(arjun), &protocol.MemberAdded{ParticipantID: mel, By: arjun})
	w.put("", person(mel), &protocol.PersonUpdated{PersonID: mel, Name: "Mel B", Role: protocol.Member, Previous: "Mel"})
	w.put(roomR, person(mel), &protocol.MemberRemoved{ParticipantID: mel, By: mel})
	w.put(roomR, person(arjun), &protocol.AgentMoved{AgentID: s2, ToSpaceID: roomF})
	w.put(roomR, person(priya), &protocol.SpaceRenamed{Title: "Northwind", Previous: "R"})
	w.put(roomR, person(arjun), &protocol.SpaceArchived{})
	w.put(roomR, person(arjun), &protocol.SpaceUnarchived{})
	w.say(person(arjun), "@Scout, @Bookkeeper?", s1, ledgerA)
	var got strings.Builder
	for _, name := range []string{"Scout", "Ledger"} {
		b, err := json.Marshal(w.context(recipient(t, name)), json.Deterministic(true))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&got, "%s: %s\n", name, strings.ReplaceAll(string(b), `{"seq"`, "\n{\"seq\""))
	}
	golden(t, "context", []byte(got.String()))
}

// A rename is a line for who was in the room then, in its place among the others.
func TestRenamedInPlace(t *testing.T) {
	w := newTalk(t)
	call := func(name, previous string) {
		w.put("", person(priya), &protocol.PersonUpdated{PersonID: priya, Name: name, Role: protocol.Member, Previous: previous})
	}
	call("Priya R", "Priya")
	w.say(person(priya), "one")
	call("P", "Priya R")
	w.say(person(priya), "@Scout?", s1)
	if diff := cmp.Diff([]string{"Priya is now Priya R", "P: one", "Priya R is now P"}, shown(w.context(recipient(t, "Scout")))); diff != "" {
		t.Error(diff)
	}
	r := budget(1, 100)
	if got := w.context(r); !cmp.Equal(shown(got), []string{"Priya R is now P"}) || !got.Truncated || got.Before != got.Lines[0].Seq {
		t.Errorf("one line: %v %+v", shown(got), got)
	}
}

// How much is handed over.
// covers: CTX-9, CTX-23, CTX-24, CTX-25, CTX-26, CTX-27, CTX-28, CTX-29, CTX-30
func TestContextBudget(t *testing.T) {
	words := func(n, size int) []string {
		lines := make([]string, n)
		for i := range lines {
			lines[i] = fmt.Sprintf("%03d%s", i, strings.Repeat("é", size-3))
		}
		return lines
	}
	num := func(n int) *int { return &n }
	for _, c := range []struct {
		name         string
		lines, chars *int
		said         []string
		want         int // lines, the newest
		newest       string
		truncated    bool
	}{
		{"40 lines by default", nil, nil, words(41, 10), 40, "", true},
		{"40 are all", nil, nil, words(40, 10), 40, "", false},
		{"100 are asked for", num(100), num(32000), words(101, 10), 100, "", true},
		{"200 at most", num(999), num(999999), words(201, 10), 200, "", true},
		{"no lines", num(0), nil, words(3, 10), 0, "", true},
		{"no lines of none", num(0), nil, nil, 0, "", false},
		// Each line is "Arjun: " and 93 characters, and a line end between them.
		{"16,000 characters by default: 158 lines of 100 and their ends", num(200), nil, words(200, 93), 158, "", true},
		{"32,000 at most", num(200), num(999999), words(200, 393), 79, "", true},
		{"to the character", num(10), num(100 + 1 + 100), words(3, 93), 2, "", true},
		{"one less", num(10), num(100 + 1 + 99), words(3, 93), 1, "", true},
		{"just one line as long as the budget", num(10), num(100), words(1, 93), 1, "", false},
		{"one that is longer is cut, and is all there is", num(10), num(20), words(1, 93), 1, "000ééééééééé…", false},
		{"the newest is cut, older ones are left out", num(10), num(20), words(2, 93), 1, "001ééééééééé…", true},
		{"a budget below the name leaves no words", num(10), num(5), words(2, 93), 1, "", true},
		{"no characters", num(10), num(0), words(1, 93), 1, "", false},
	} {
		w := newTalk(t)
		for _, text := range c.said {
			w.say(person(arjun), text)
		}
		ask := w.say(person(arjun), "and?", s1)
		r := recipient(t, "Scout")
		r.Budget = protocol.ContextBudget{Lines: c.lines, Chars: c.chars}
		got := w.context(r)
		if len(got.Lines) != c.want || got.Truncated != c.truncated {
			t.Errorf("%s: %d lines, truncated %v, want %d, %v", c.name, len(got.Lines), got.Truncated, c.want, c.truncated)
			continue
		}
		if c.want == 0 {
			if got.Before != ask.Seq {
				t.Errorf("%s: before is %d", c.name, got.Before)
			}
			continue
		}
		if got.Before != got.Lines[0].Seq {
			t.Errorf("%s: before is %d, the oldest line at %d", c.name, got.Before, got.Lines[0].Seq)
		}
		newest := *got.Lines[c.want-1].Text
		whole := c.said[len(c.said)-1]
		if _, chars := r.budget(); c.newest != "" || chars < 100 {
			if newest != c.newest || chars >= 7 && utf8.RuneCountInString("Arjun: "+newest) != chars {
				t.Errorf("%s: the newest is cut to %q, want %q", c.name, newest, c.newest)
			}
		} else if newest != whole || *got.Lines[0].Text != c.said[len(c.said)-c.want] {
			t.Errorf("%s: lines from %q to %q", c.name, *got.Lines[0].Text, newest)
		}
	}
}

// A delivery stays below what a socket takes: the oldest lines are left out for it, the message is whole.
// covers: CTX-9
func TestContextFitsAFrame(t *testing.T) {
	for _, text := range []string{"x", "\x01", "\"", "😀", "é"} {
		w := newTalk(t)
		w.s.People[arjun].Name = strings.Repeat("\"", workspace.MaxName)
		for i := range 200 {
			w.say(person(arjun), fmt.Sprint(i, strings.Repeat(text, 150)))
		}
		long := strings.Repeat(text, (90<<10)/textBytes(text))
		w.say(person(arjun), long, s1, s2)
		e := w.render(budget(200, 32000))
		b, err := e.Append(nil)
		if err != nil {
			t.Fatal(err)
		}
		got := e.Data.(*protocol.MessageNew)
		if len(b) > deliveryBytes || len(b) < deliveryBytes*8/10 || got.Text != long || !got.Context.Truncated {
			t.Errorf("%q: %d bytes, %d lines, truncated %v", text, len(b), len(got.Context.Lines), got.Context.Truncated)
		}
		lines := got.Context.Lines
		if n := len(lines); n == 0 || got.Context.Before != lines[0].Seq || !strings.HasPrefix(*lines[n-1].Text, "199") {
			t.Errorf("%q: what is left is not the newest", text)
		}
	}
}

// An agent that is put in a room is told what was said there, its harness alone.
// covers: REL-2
func TestCatchUp(t *testing.T) {
	w := newTalk(t)
	w.put(roomF, person(mel), &protocol.MessagePost{Text: "in F", AddressedTo: []string{}})
	w.put(roomR, person(arjun), &protocol.AgentMoved{AgentID: s1, ToSpaceID: roomF})
	w.put(roomR, protocol.System, &protocol.AgentReleased{AgentID: s1, Reason: "moved", MovedTo: roomF})
	w.put(roomF, person(arjun), &protocol.MemberAdded{ParticipantID: s1, By: arjun})
	w.put(roomF, protocol.System, &protocol.AgentAttached{AgentID: s1})
	got := w.render(recipient(t, "Scout")).Data.(*protocol.AgentAttached).CatchUp
	if got == nil || !cmp.Equal(shown(got), []string{"Mel: in F"}) || got.SinceSeq != w.s.Rooms[roomF].OpenedSeq || got.Truncated {
		t.Errorf("catch_up: %+v", got)
	}
	for _, name := range []string{"Far", "Mel"} {
		if got := w.render(recipient(t, name)).Data.(*protocol.AgentAttached).CatchUp; got != nil {
			t.Errorf("%s is told too: %+v", name, got)
		}
	}
}

// Recipients of one class are sent the same bytes.
func TestClassKnowsTheBudget(t *testing.T) {
	w := newTalk(t)
	w.say(person(arjun), "one")
	e := w.say(person(arjun), "two", s1)
	forty := 40
	same := recipient(t, "Scout")
	same.Budget.Lines = &forty
	if a, b := Class(e, recipient(t, "Scout")), Class(e, same); a != b {
		t.Errorf("the default said is another class: %s, %s", a, b)
	}
	if a, b := Class(e, same), Class(e, budget(1, 10)); a == b {
		t.Error("two budgets are one class")
	}
}
