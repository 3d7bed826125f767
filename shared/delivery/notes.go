package delivery

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/chipschat/chips-aws/shared/protocol"
	"github.com/chipschat/chips-aws/shared/workspace"
)

// briefing is what the takers of a turn are told of the room: its parts, and how many bytes they take as JSON at most and nearly.
//
// A note is, in this order (contract A-4): what is news to the taker, who is in the room, the people's times (at the hand-over: Finish),
// who leads, who is at work, what of the context was left out, what the job has spent, and the rules.
type briefing struct {
	members []protocol.RoomMember
	leftOut int
	notes   []note
	working []protocol.WorkingAgent
	idle    []protocol.IdleAgent
	// spend is what the job has spent, and spent what notes say of that.
	spend *protocol.Spend
	spent string
	bytes int
}

// note is what one taker is told: before and after what of the context was left out is said.
type note struct {
	taker, head, lead, work, rules string
	// bare says that the rules are not beside the note too.
	bare bool
}

// noteFixed is how many bytes a note takes beside its parts: its ids, and what is said of the context.
const noteFixed = 300

// tell is what the takers of a post are told in bytes at most. Where that is too little, notes name 30 members, then 10, then none; then
// members are left out that take no turn, then the rules beside the notes, and then whole notes (contract U-123).
func tell(s *workspace.State, e protocol.Event, post *protocol.MessagePost, r Recipient, takers []string, lead bool, bytes int) briefing {
	room := s.Rooms[e.SpaceID]
	if room == nil {
		return briefing{}
	}
	if !r.SpeaksAgents { // before agents a harness is one taker
		takers = takers[:1]
	}
	all := members(s, room)
	t := briefing{members: all}
	t.spend, t.spent = room.Spend(), spent(room)
	t.working, t.idle = atWork(s, room, e.TS.Time, r, takers)
	mentioned := s.Mentioned(room, post.Text)
	for _, names := range []int{len(all), 30, 10, 0} {
		t.notes = t.notes[:0]
		t.bytes = 0
		for _, m := range all {
			t.bytes += memberBytes(m)
		}
		t.bytes += t.workBytes() + spendBytes
		for _, id := range takers {
			n := note{
				taker: id, lead: leads(s, room, id), work: t.work(e.TS.Time), rules: protocol.RulesFor(all, id),
				head: news(s, room, all, e, post, id, slices.Contains(mentioned, id), lead) + protocol.RoomLine(all, id, names, 0),
			}
			t.notes = append(t.notes, n)
			t.bytes += n.size() + textBytes(t.spent) + clocksBytes(all)
		}
		if t.bytes <= bytes {
			return t
		}
	}
	t.shrink(takers, bytes)
	return t
}

// shrink leaves out what does not fit at all.
func (t *briefing) shrink(takers []string, bytes int) {
	all := t.members
	t.members = nil
	for _, m := range slices.Backward(all) {
		if n := memberBytes(m); t.bytes > bytes && !slices.Contains(takers, m.ParticipantID) {
			t.bytes -= n + clockBytes(m)*len(t.notes)
			t.leftOut++
			continue
		}
		t.members = append(t.members, m)
	}
	slices.Reverse(t.members)
	for i := len(t.notes) - 1; i >= 0 && t.bytes > bytes; i-- {
		t.notes[i].bare = true
		t.bytes -= textBytes(t.notes[i].rules)
	}
	for len(t.notes) > 0 && t.bytes > bytes {
		last := t.notes[len(t.notes)-1]
		t.bytes -= last.size() + textBytes(t.spent) + clocksBytes(t.members)
		t.notes = t.notes[:len(t.notes)-1]
	}
}

func (n note) size() int {
	size := noteFixed + textBytes(n.head) + textBytes(n.lead) + textBytes(n.work) + textBytes(n.rules)
	if !n.bare {
		size += textBytes(n.rules)
	}
	return size
}

// room is what is told, with a context.
func (t briefing) room(c *protocol.Context) *protocol.Room {
	room := protocol.Room{
		Members: t.members, MembersLeftOut: t.leftOut,
		Notes: map[string]string{}, Rules: map[string]string{}, ClocksAt: map[string]int{}, Working: t.working, Idle: t.idle,
	}
	if room.Members == nil {
		room.Members = []protocol.RoomMember{}
	}
	for _, n := range t.notes {
		room.Notes[n.taker] = strings.Join(slices.DeleteFunc([]string{n.head, n.lead, n.work, leftOut(c), t.spent, n.rules}, func(s string) bool { return s == "" }), " ")
		room.ClocksAt[n.taker] = len(n.head)
		if !n.bare {
			room.Rules[n.taker] = n.rules
		}
	}
	return &room
}

// news is what is new to a taker, each sentence with a space after it: that it joined a room that was talking, or who joined since its last
// turn; and, beside other agents, that a message without its @ is for it all the same.
func news(s *workspace.State, room *workspace.Room, all []protocol.RoomMember, e protocol.Event, post *protocol.MessagePost, taker string, mentioned, lead bool) string {
	var b strings.Builder
	seat := room.Seats[taker]
	if last := seat.TurnBefore(e.Seq); last > 0 {
		var new []string
		for _, m := range all {
			if came := room.Seats[m.ParticipantID]; came.Seq > last && m.ParticipantID != taker {
				new = append(new, protocol.Introduced(m)+addedBy(s, came.By, m.ParticipantID))
			}
		}
		if len(new) > 0 {
			b.WriteString("New since your last turn: " + strings.Join(new, "; ") + ". ")
		}
	} else if seat.Seq > 0 && room.FirstSaid > 0 && room.FirstSaid < seat.Seq {
		b.WriteString("You joined this space " + age(e.TS.Sub(seat.At.Time)) + " ago" + addedBy(s, seat.By, taker) + ". ")
	}
	if lead {
		b.WriteString("Nobody has this turn: " + protocol.QuotedName(s.NameOf(e.Actor.ID)) + " said it with no @. ")
		return b.String()
	}
	beside := slices.ContainsFunc(room.Members, func(m string) bool { return m != taker && protocol.PrefixOf(m) != protocol.PrefixPerson })
	if !beside || post.AddressedTo == nil {
		return b.String()
	}
	sender := protocol.QuotedName(s.NameOf(e.Actor.ID))
	switch {
	case post.To.All:
		b.WriteString(sender + " sent this message to every agent here, so each of you has it: answer it yourself, and don't pass it on with an @. ")
	case !mentioned:
		b.WriteString(sender + " sent this message to you without an @: it is yours to answer. ")
	}
	return b.String()
}

// addedBy names who added somebody, where it was not themselves.
func addedBy(s *workspace.State, by, who string) string {
	if by == "" || by == who {
		return ""
	}
	return ", added by " + protocol.QuotedName(s.NameOf(by))
}

// leads says who hands out the work, where somebody does.
func leads(s *workspace.State, room *workspace.Room, taker string) string {
	switch room.Lead {
	case "":
		return ""
	case taker:
		return "You lead here. A step one agent has handed to another needs no word from you until it comes back to you."
	}
	return protocol.QuotedName(s.NameOf(room.Lead)) + " leads here: it hands out the work, and what is nobody's turn goes to it."
}

// leftOut says that older lines were left out of a context.
func leftOut(c *protocol.Context) string {
	if c == nil || !c.Truncated {
		return ""
	}
	switch n := len(c.Lines); n {
	case 0:
		return "Nothing of what was said here since your last turn comes with this one: the lines were left out."
	case 1:
		return "Only the newest line of what was said here since your last turn comes with this one: older lines were left out."
	default:
		return "Only the newest " + strconv.Itoa(n) + " lines of what was said here since your last turn come with this one: older lines were left out."
	}
}

// age is how long something is ago, in words (contract U-74).
func age(d time.Duration) string {
	count := func(n int, unit string) string {
		if n != 1 {
			unit += "s"
		}
		return strconv.Itoa(n) + " " + unit
	}
	switch {
	case d < time.Minute:
		return "less than a minute"
	case d < time.Hour:
		return count(int(d/time.Minute), "minute")
	case d < 48*time.Hour:
		return count(int(d/time.Hour), "hour")
	}
	return count(int(d/(24*time.Hour)), "day")
}

func memberBytes(m protocol.RoomMember) int {
	return memberFixed + textBytes(m.Name) + textBytes(m.Harness) + textBytes(m.Handle) + len(m.TimeZone)
}

func clocksBytes(members []protocol.RoomMember) (n int) {
	for _, m := range members {
		n += clockBytes(m)
	}
	return n
}
