package delivery

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	"github.com/chipschat/chips-aws/shared/protocol"
	"github.com/chipschat/chips-aws/shared/workspace"
)

// told is what the newest message tells a recipient of the room.
func (w *talk) told(r Recipient) *protocol.Room {
	w.t.Helper()
	d, ok := w.render(r).Data.(*protocol.MessageNew)
	if !ok || d.Room == nil {
		w.t.Fatal("no room comes with it")
	}
	return d.Room
}

// unspent is what a note says of a job that has spent nothing.
const unspent = "This job has spent $0.00 of the $3.00 this space allows a job; at $3.00 Chips holds the agents until a person acts."

// note is the note of the taker, without the rules and, before them, what the job has spent: nothing.
func (w *talk) note(taker string) string {
	w.t.Helper()
	room := w.told(recipient(w.t, "Scout"))
	note, rules := room.Notes[taker], room.Rules[taker]
	if rules == "" || !strings.HasSuffix(note, " "+rules) {
		w.t.Fatalf("the note %q does not end with its rules %q", note, rules)
	}
	facts, last := strings.CutSuffix(protocol.NoteWithoutRules(note, rules), " "+unspent)
	if !last {
		w.t.Fatalf("the last fact of the note %q is not what the job has spent", note)
	}
	return facts
}

// add has somebody join R.
func (w *talk) add(id, by string) {
	w.put(roomR, person(by), &protocol.MemberAdded{ParticipantID: id, By: by})
	if protocol.PrefixOf(id) == protocol.PrefixAgent {
		w.put(roomR, protocol.System, &protocol.AgentAttached{AgentID: id, By: by})
	}
}

// release has an agent leave R.
func (w *talk) release(id, reason string) {
	w.put(roomR, protocol.System, &protocol.AgentReleased{AgentID: id, Reason: reason})
}

func (w *talk) name(id, name string) {
	w.put("", protocol.System, &protocol.PersonUpdated{PersonID: id, Name: name, Role: protocol.Member})
}

const everyone = "In this space: Arjun (person, @Arjun), Priya (person, @Priya), Bookkeeper (Ledger agent, @Ledger), Scout 2 (Scout agent), and you, Scout (agent)."

// What a note says first, and of whom.
// covers: NEWS-1, NEWS-2, NEWS-3, NEWS-4, NEWS-5, ROOM-8
func TestNews(t *testing.T) {
	const unasked = "Arjun sent this message to you without an @: it is yours to answer. "
	for _, c := range []struct {
		name string
		run  func(w *talk)
		want string
	}{
		{"a room of first members", func(w *talk) { w.say(person(arjun), "go", s1) }, unasked + everyone},
		{"by an agent", func(w *talk) { w.say(w.agent(ledgerA), "go", s1) }, strings.Replace(unasked, "Arjun", "Bookkeeper", 1) + everyone},
		{"to every agent", func(w *talk) {
			w.put(roomR, person(arjun), &protocol.MessagePost{Text: "go", To: protocol.To{All: true}, AddressedTo: []string{s1, s2, ledgerA}})
		}, "Arjun sent this message to every agent here, so each of you has it: answer it yourself, and don't pass it on with an @. " + everyone},
		{"from before Chips said whom a message is for", func(w *talk) {
			w.put(roomR, person(arjun), &protocol.MessagePost{Text: "go"})
		}, everyone},
		{"new since the last turn", func(w *talk) {
			w.say(person(arjun), "one", s1)
			w.add(farA, priya)
			w.add(mel, mel)
			w.say(person(arjun), "two", s1)
		}, "New since your last turn: Mel (person, @Mel); Far (agent, @Far), added by Priya. " + unasked +
			"In this space: Arjun (person, @Arjun), Mel (person, @Mel), Priya (person, @Priya), Bookkeeper (Ledger agent, @Ledger), Far (agent, @Far), Scout 2 (Scout agent), and you, Scout (agent)."},
		{"told once", func(w *talk) {
			w.say(person(arjun), "one", s1)
			w.add(farA, priya)
			w.say(person(arjun), "two", s1)
			w.say(person(arjun), "three", s1)
		}, unasked + strings.Replace(everyone, "Scout 2 (", "Far (agent, @Far), Scout 2 (", 1)},
		{"gone again", func(w *talk) {
			w.say(person(arjun), "one", s1)
			w.add(farA, priya)
			w.release(farA, "removed")
			w.say(person(arjun), "two", s1)
		}, unasked + everyone},
		{"before its first turn", func(w *talk) {
			w.add(farA, priya)
			w.release(farA, "removed")
			w.say(person(arjun), "one", s1)
		}, unasked + everyone},
		{"joined a room that was talking", func(w *talk) {
			w.release(s1, "removed")
			w.say(person(arjun), "are you there?")
			w.add(s1, priya)
			w.seq += 119
			w.say(person(arjun), "ah", s1)
		}, "You joined this space 2 minutes ago, added by Priya. " + unasked + everyone},
		{"and has had a turn there", func(w *talk) {
			w.release(s1, "removed")
			w.say(person(arjun), "are you there?")
			w.add(s1, priya)
			w.say(person(arjun), "ah", s1)
			w.say(person(arjun), "and?", s1)
		}, unasked + everyone},
		{"joined a room where nobody had spoken", func(w *talk) {
			w.release(s1, "removed")
			w.add(s1, priya)
			w.say(person(arjun), "ah", s1)
		}, unasked + everyone},
		{"back with a room that was archived", func(w *talk) {
			w.say(person(arjun), "one", s1)
			w.put(roomR, person(arjun), &protocol.SpaceArchived{})
			w.release(s1, "archived")
			w.put(roomR, person(arjun), &protocol.SpaceUnarchived{})
			w.put(roomR, protocol.System, &protocol.AgentAttached{AgentID: s1})
			w.say(person(arjun), "two", s1)
		}, unasked + everyone},
		{"a lead", func(w *talk) {
			w.s.Rooms[roomR].Lead = s1
			w.say(person(arjun), "go", s1)
		}, unasked + everyone + " You lead here. A step one agent has handed to another needs no word from you until it comes back to you."},
		{"beside a lead", func(w *talk) {
			w.s.Rooms[roomR].Lead = ledgerA
			w.say(person(arjun), "go", s1)
		}, unasked + everyone + " Bookkeeper leads here: it hands out the work, and what is nobody's turn goes to it."},
		{"alone", func(w *talk) {
			w.release(s2, "removed")
			w.release(ledgerA, "removed")
			w.say(person(arjun), "go", s1)
		}, "In this space: Arjun (person, @Arjun), Priya (person, @Priya), and you, Scout (agent, @Scout)."},
		{"names that could be read as more", func(w *talk) {
			w.name(arjun, `Al "The (Bot), agent"`)
			w.name(priya, "عمر 🦊")
			w.add(gus, arjun)
			w.name(gus, "Q")
			w.say(person(gus), "go", s1)
		}, `Q sent this message to you without an @: it is yours to answer. In this space: "Al ""The (Bot), agent""" (person, @AlTheBotagent), Q (person), عمر 🦊 (person, @عمر), Bookkeeper (Ledger agent, @Ledger), Scout 2 (Scout agent), and you, Scout (agent).`},
		{"two of one name", func(w *talk) {
			w.name(priya, "Arjun")
			w.say(person(arjun), "go", s1)
		}, unasked + strings.Replace(everyone, "Priya (person, @Priya)", "Arjun (person, @Arjun)", 1)},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newTalk(t)
			c.run(w)
			if d := cmp.Diff(c.want, w.note(s1)); d != "" {
				t.Errorf("note (-want +got):\n%s", d)
			}
		})
	}
}

// An @ in the words is enough, and one in code is none.
// covers: NEWS-4
func TestNewsOfAMention(t *testing.T) {
	w := newTalk(t)
	w.put("", protocol.System, &protocol.AgentUpdated{AgentFacts: protocol.AgentFacts{
		AgentID: s1, HarnessID: scout, Name: "Scout", Handle: "@Scout", State: "active",
	}})
	for text, opens := range map[string]string{
		"@Scout go": "In this space: ", "go, @scout!": "In this space: ",
		"`@Scout` go": "Arjun sent this message to you without an @", "me@Scout.example": "Arjun sent this message to you without an @",
	} {
		w.say(person(arjun), text, s1)
		if note := w.note(s1); !strings.HasPrefix(note, opens) {
			t.Errorf("the note with %q is %q, want it to open %q", text, note, opens)
		}
	}
}

// Several takers have a note each; before agents a harness has one.
// covers: ROOM-1, ROOM-7, ROOM-9
func TestNotesOfSeveral(t *testing.T) {
	w := newTalk(t)
	w.say(person(arjun), "both of you", s1, s2, ledgerA)
	room := w.told(recipient(t, "Scout"))
	if len(room.Notes) != 2 || len(room.Rules) != 2 || !strings.Contains(room.Notes[s2], "and you, Scout 2 (Scout agent).") {
		t.Errorf("notes %v, rules %v", room.Notes, room.Rules)
	}
	room = w.told(recipient(t, "Ledger"))
	if len(room.Notes) != 1 || !strings.Contains(room.Notes[ledger], "Scout 2 (Scout agent), and you, Bookkeeper (Ledger agent, @Ledger).") ||
		room.Rules[ledger] != protocol.RulesBeside {
		t.Errorf("before agents: notes %v, rules %v", room.Notes, room.Rules)
	}
	want := []protocol.RoomMember{
		{ParticipantID: arjun, Kind: protocol.KindPerson, Name: "Arjun", Handle: "@Arjun"},
		{ParticipantID: priya, Kind: protocol.KindPerson, Name: "Priya", Handle: "@Priya"},
		{ParticipantID: ledger, Kind: protocol.KindHarness, Name: "Ledger", Handle: "@Ledger"},
		{ParticipantID: s1, Kind: protocol.KindHarness, Name: "Scout"},
		{ParticipantID: s2, Kind: protocol.KindHarness, Name: "Scout 2", Harness: "Scout"},
	}
	if d := cmp.Diff(want, room.Members); d != "" {
		t.Errorf("members before agents (-want +got):\n%s", d)
	}
}

// What was left out of the context is said in the note, before what the job has spent.
// covers: CTX-10, SPEND-6
func TestNoteOfWhatWasLeftOut(t *testing.T) {
	w := newTalk(t)
	for range 45 {
		w.say(person(arjun), "word")
	}
	w.say(person(arjun), "now you", s1)
	const rest = "of what was said here since your last turn"
	for _, c := range []struct {
		r    Recipient
		want string
	}{
		{recipient(t, "Scout"), " Only the newest 40 lines " + rest + " come with this one: older lines were left out. "},
		{budget(3, 1000), " Only the newest 3 lines " + rest + " come with this one: older lines were left out. "},
		{budget(1, 1000), " Only the newest line " + rest + " comes with this one: older lines were left out. "},
		{budget(0, 1000), " Nothing " + rest + " comes with this one: the lines were left out. "},
	} {
		if note := w.told(c.r).Notes[s1]; !strings.Contains(note, everyone+c.want+unspent+" "+protocol.RulesBeside) {
			t.Errorf("the note is %q, want %q in it", note, c.want)
		}
	}
	if note := w.told(budget(200, 32000)).Notes[s1]; strings.Contains(note, rest) {
		t.Errorf("nothing was left out, and the note is %q", note)
	}
}

// The people's times are those of the hand-over, and nothing else of a delivery is.
// covers: ROOM-16, ROOM-17, ROOM-18
func TestClocks(t *testing.T) {
	w := newTalk(t)
	zone := func(id, name, zone string) {
		w.put("", protocol.System, &protocol.PersonUpdated{PersonID: id, Name: name, Role: protocol.Member, TimeZone: zone})
	}
	zone(arjun, "Arjun", "America/Los_Angeles")
	w.say(person(arjun), "go", s1)
	e := w.render(recipient(t, "Scout"))
	now := time.Date(2026, 10, 13, 16, 12, 59, 0, time.UTC)
	got := Finish(e, Hand{Now: now}).Data.(*protocol.MessageNew).Room
	const clock = "Arjun's time now: 9:12 am, Tuesday 13 October 2026 (2026-10-13T09:12-07:00, America/Los_Angeles)."
	if want := everyone + " " + clock + " " + unspent + " " + protocol.RulesBeside; !strings.HasSuffix(got.Notes[s1], want) {
		t.Errorf("the note is %q, want %q at its end", got.Notes[s1], want)
	}
	if strings.Contains(e.Data.(*protocol.MessageNew).Room.Notes[s1], "time now") {
		t.Error("finishing a delivery changed it")
	}
	zone(priya, "Priya (PM)", "Asia/Kathmandu")
	w.say(person(arjun), "go", s1)
	note := Finish(w.render(recipient(t, "Scout")), Hand{Now: now}).Data.(*protocol.MessageNew).Room.Notes[s1]
	if want := clock + ` "Priya (PM)"'s time now: 9:57 pm, Tuesday 13 October 2026 (2026-10-13T21:57+05:45, Asia/Kathmandu). This job`; !strings.Contains(note, want) {
		t.Errorf("the note is %q, want %q in it", note, want)
	}
}

// However many are in a room and however long their names and the message are, a delivery fits into a frame; what is cut is cut in order.
// covers: CTX-9
func TestADeliveryAlwaysFits(t *testing.T) {
	for _, c := range []struct {
		name           string
		people, agents int
		long           bool
		text           int
	}{
		{"small", 2, 1, false, 10},
		{"a full room", 200, 50, false, 64 << 10},
		{"a full room of long names", 200, 50, true, 10},
		{"all at once", 200, 50, true, 64 << 10},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newTalk(t)
			named := func(i int) string {
				if c.long {
					return strings.Repeat("🦊", 70) + fmt.Sprint("名", i)
				}
				return fmt.Sprint("Member ", i)
			}
			for i := range c.people {
				p := id("usr", 1000+i)
				w.put("", person(arjun), &protocol.PersonAdded{PersonID: p, Name: named(i), Role: protocol.Member})
				w.put("", person(arjun), &protocol.PersonUpdated{PersonID: p, Name: named(i), Role: protocol.Member, TimeZone: "America/Argentina/ComodRivadavia"})
				w.add(p, arjun)
			}
			var takers []string
			for i := range c.agents {
				a := id("agt", 1000+i)
				w.put("", protocol.System, &protocol.AgentRegistered{AgentFacts: protocol.AgentFacts{
					AgentID: a, HarnessID: scout, Name: named(2000 + i), Handle: workspace.HandleOf(named(2000 + i)), State: "active", Key: a,
				}})
				w.add(a, arjun)
				takers = append(takers, a)
			}
			for range 200 {
				w.say(person(arjun), strings.Repeat("x", 150))
			}
			w.say(person(arjun), strings.Repeat(`"`, c.text/2), takers...)
			r := budget(200, 32000)
			raw, err := json.Marshal(Finish(w.render(r), Hand{Now: time.Now()}).Data)
			if err != nil {
				t.Fatal(err)
			}
			if len(raw) > 124<<10 {
				t.Errorf("a delivery of %d bytes", len(raw))
			}
			room := w.told(r)
			t.Logf("%d bytes, %d lines, %d of %d members, %d notes", len(raw), len(w.context(r).Lines), len(room.Members), c.people+c.agents+5, len(room.Notes))
			if len(room.Members)+room.MembersLeftOut != len(w.s.Rooms[roomR].Members) {
				t.Errorf("%d members and %d left out, of %d", len(room.Members), room.MembersLeftOut, len(w.s.Rooms[roomR].Members))
			}
			if c.name == "a full room" && room.MembersLeftOut == 0 && !strings.Contains(room.Notes[takers[0]], " more, and you, ") {
				t.Errorf("the note is %q", room.Notes[takers[0]])
			}
		})
	}
}
