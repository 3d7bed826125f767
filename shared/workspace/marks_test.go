package workspace

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/chipschat/chips-aws/shared/protocol"
)

func edit(message, text string) command {
	return event("", &protocol.MessageEdited{MessageID: message, Text: text})
}

func remove(message string) command { return event("", &protocol.MessageDeleted{MessageID: message}) }

func react(message, emoji string, on bool) command {
	return event("", &protocol.ReactionSet{MessageID: message, Emoji: emoji, On: on})
}

func pin(message string, on bool) command {
	return event("", &protocol.PinSet{MessageID: message, On: on})
}

func (c command) in(space string) command {
	c.draft.SpaceID = space
	return c
}

func (c command) on(run string) command {
	c.draft.RunID = run
	return c
}

// nothing checks that a command is taken and changes nothing.
func (f *fixture) nothing(what string, by Caller, c command) {
	f.t.Helper()
	if events := f.must(by, c); len(events) != 0 {
		f.t.Errorf("%s: %v", what, types(events))
	}
}

// mark is what became of a message in R.
func (f *fixture) mark(message string) Mark {
	f.t.Helper()
	seq, _ := protocol.SeqOf(message)
	mark, _ := f.s.Rooms[f.r].Marks.Of(seq)
	return mark
}

// Words are changed and taken away by who said them, in their room and by nobody else (contract U-27, U-90, U-136).
func TestOwnWords(t *testing.T) {
	f := newFixture(t)
	gus := f.person("Gus", protocol.Guest)
	f.must(f.arjun, opIn(f.r, &protocol.MemberAdded{ParticipantID: gus.ID}))
	for _, c := range []struct {
		by, other Caller
		actor     protocol.Actor
	}{
		{f.arjun, f.priya, protocol.Actor{Kind: protocol.KindPerson, ID: f.arjun.ID}},
		{gus, f.arjun, protocol.Actor{Kind: protocol.KindPerson, ID: gus.ID}},
		{f.scout, f.ledger, protocol.Actor{Kind: protocol.KindAgent, ID: f.s1, HarnessID: f.scout.ID}},
		{f.ledger, f.arjun, protocol.Actor{Kind: protocol.KindAgent, ID: f.l1, HarnessID: f.ledger.ID}},
	} {
		_, message := f.say(c.by, post(f.r, "one @Scout"))
		f.refused(protocol.Forbidden, c.other, edit(message, "two"))
		f.refused(protocol.Forbidden, c.other, remove(message))
		for _, text := range []string{"two", "three @Ledger"} {
			e := f.must(c.by, edit(message, text))[0]
			want := protocol.Event{Envelope: e.Envelope, Data: &protocol.MessageEdited{MessageID: message, Text: text}}
			if diff := cmp.Diff(want, e); diff != "" || e.Actor != c.actor || e.SpaceID != f.r {
				t.Errorf("edited by %v: %+v %s", c.by.ID, e.Envelope, diff)
			}
			if got := f.mark(message); got.Event != e.Seq || got.Deleted {
				t.Errorf("marked %+v, edited at %d", got, e.Seq)
			}
		}
		f.refused(protocol.InvalidEvent, c.by, edit(message, " \n"))
		gone := f.must(c.by, remove(message))[0]
		if got := f.mark(message); got.Event != gone.Seq || !got.Deleted || gone.Actor != c.actor {
			t.Errorf("marked %+v, deleted at %d by %v", got, gone.Seq, gone.Actor)
		}
		f.nothing("deleted twice", c.by, remove(message))
		f.refused(protocol.NotFound, c.by, edit(message, "back"))
		f.refused(protocol.NotFound, f.arjun, react(message, "👍", true))
		f.refused(protocol.NotFound, f.arjun, pin(message, true))
	}
}

// Which message, in which room, on whose run, and as whom.
func TestWhichMessage(t *testing.T) {
	f := newFixture(t)
	_, arjuns := f.say(f.arjun, post(f.r, "one"))
	_, scouts := f.say(f.scout, post(f.r, "two"))
	_, lone := f.say(f.arjun, post(f.lone, "three"))
	for _, c := range []struct {
		what string
		code protocol.Code
		by   Caller
		c    command
	}{
		{"no message", protocol.InvalidEvent, f.arjun, edit("", "x")},
		{"nobody's", protocol.NotFound, f.arjun, edit(protocol.MessageID(protocol.EventID(f.now, 3, [5]byte{9})), "x")},
		{"no message's id", protocol.NotFound, f.arjun, remove(protocol.MessageID(f.log[len(f.log)-1].ID[:9]))},
		{"an event that is no message", protocol.NotFound, f.arjun, react(protocol.MessageID(f.log[1].ID), "👍", true)},
		{"of a room one is not in", protocol.NotFound, f.priya, react(lone, "👍", true)},
		{"the same, with the room", protocol.Forbidden, f.priya, react(lone, "👍", true).in(f.lone)},
		{"with another room", protocol.NotFound, f.arjun, react(lone, "👍", true).in(f.r)},
		{"as another agent", protocol.Forbidden, f.scout, edit(scouts, "x").as(f.s2)},
		{"as somebody else's agent", protocol.Forbidden, f.scout, edit(scouts, "x").as(f.l1)},
		{"a reaction as an agent elsewhere", protocol.Forbidden, f.scout, react(arjuns, "👍", true).as(f.s2)},
		{"on a run nobody started", protocol.NotFound, f.scout, edit(scouts, "x").on(runID(9))},
		{"a pin by a harness", protocol.Forbidden, f.scout, pin(scouts, true)},
	} {
		if why := f.refused(c.code, c.by, c.c); why.Message == "" {
			t.Errorf("%s: no reason", c.what)
		}
	}
	run := f.start(f.scout, 1, f.r, "")
	e := f.must(f.scout, edit(scouts, "on a run").on(run))[0]
	if e.RunID != run || f.s.Runs[run].Heard != e.TS {
		t.Errorf("on run %q; last heard %v", e.RunID, f.s.Runs[run].Heard)
	}
	f.refused(protocol.Forbidden, f.scout, edit(arjuns, "x").on(run))
	elsewhere := f.start(f.scout, 2, f.lone, "")
	f.refused(protocol.NotFound, f.scout, edit(scouts, "x").on(elsewhere))
	if e := f.must(f.arjun, edit(arjuns, "x").on(run).in(f.r))[0]; e.RunID != "" {
		t.Error("a person's edit is on a run")
	}
	f.must(f.arjun, opIn(f.r, &protocol.SpaceArchived{}))
	for _, c := range []command{edit(arjuns, "x"), remove(arjuns), react(arjuns, "👍", true), pin(arjuns, true)} {
		f.refused(protocol.RoomClosed, f.arjun, c)
	}
	f.must(f.arjun, opIn(f.r, &protocol.SpaceUnarchived{}))
	f.add(f.arjun, f.lone, f.s1)
	f.refused(protocol.NotFound, f.scout, edit(scouts, "x"))
	f.add(f.arjun, f.r, f.s2)
	f.refused(protocol.Forbidden, f.scout, edit(scouts, "x"))
	f.must(f.arjun, opIn(f.r, &protocol.SpaceDeleted{}))
	f.refused(protocol.NotFound, f.arjun, edit(arjuns, "x"))
	f.refused(protocol.NotFound, f.arjun, edit(arjuns, "x").in(f.r))
}

// Whoever took the place of an agent in the room speaks for what that one said there.
func TestWordsOfAReplacedAgent(t *testing.T) {
	f := newFixture(t)
	_, message := f.say(f.scout, post(f.r, "one"))
	f.must(f.arjun, opIn(f.lone, &protocol.MemberRemoved{ParticipantID: f.s2}))
	f.must(f.scout, opIn(f.r, &protocol.MembershipReplaced{Replaced: f.s1, AgentID: f.s2}))
	if e := f.must(f.scout, edit(message, "two"))[0]; e.Actor.ID != f.s2 || e.Actor.HarnessID != f.scout.ID {
		t.Errorf("edited by %+v", e.Actor)
	}
	f.refused(protocol.Forbidden, f.scout, edit(message, "three").as(f.s1))
	f.must(f.scout, remove(message))
}

// A reaction is by whoever sets it, a pin by people, and each is written also where it is so already: its key is used (contract U-119, U-136).
func TestReactionsAndPins(t *testing.T) {
	f := newFixture(t)
	gus := f.person("Gus", protocol.Guest)
	f.must(f.arjun, opIn(f.r, &protocol.MemberAdded{ParticipantID: gus.ID}))
	_, message := f.say(f.priya, post(f.r, "one"))
	set := func(who Caller, id string, c command) {
		t.Helper()
		events := f.must(who, c)
		if len(events) != 1 || events[0].Actor.ID != id || events[0].SpaceID != f.r {
			t.Errorf("by %s: %+v", id, events)
		}
	}
	for _, by := range []struct {
		who Caller
		id  string
	}{{f.arjun, f.arjun.ID}, {f.priya, f.priya.ID}, {gus, gus.ID}, {f.scout, f.s1}, {f.ledger, f.l1}} {
		for _, on := range []bool{false, true, true, false} {
			set(by.who, by.id, react(message, "👍", on))
		}
	}
	f.refused(protocol.Forbidden, gus, pin(message, true))
	for _, on := range []bool{false, true, true, false} {
		set(f.priya, f.priya.ID, pin(message, on))
	}
}

// An emoji is up to 64 bytes, of however many code points, and is no word (contract U-143).
func TestEmoji(t *testing.T) {
	f := newFixture(t)
	_, message := f.say(f.priya, post(f.r, "one"))
	england := "🏴\U000E0067\U000E0062\U000E0065\U000E006E\U000E0067\U000E007F"
	for _, emoji := range []string{"👍", "❤️", "👨‍👩‍👧‍👦", england, "👩🏽‍❤️‍💋‍👨🏿", "1️⃣", "ℹ️", "©️", strings.Repeat("👍", 16)} {
		f.must(f.arjun, react(message, emoji, true))
	}
	for _, emoji := range []string{"", "ok", "1", "👍 ", "👍\n", "\u0085", "\u202e", "👍\u202e", "\u200b", "\u3164", strings.Repeat("👍", 16) + "!"} {
		f.refused(protocol.InvalidEvent, f.arjun, react(message, emoji, true))
	}
}

// Marks rise by message in whatever order they come, and a deletion is for good.
func TestMarksInOrder(t *testing.T) {
	var m Marks
	for i, message := range []int64{5, 3, 9, 3, 5, 9, 1} {
		m = m.with(Mark{Message: message, Event: int64(10 + i), Deleted: i == 2})
	}
	want := Marks{{1, 16, false}, {3, 13, false}, {5, 14, false}, {9, 12, true}}
	if !slices.Equal(m, want) {
		t.Errorf("%v, want %v", m, want)
	}
	if _, ok := m.Of(4); ok {
		t.Error("nothing became of 4")
	}
}
