package delivery

import (
	"math"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/chipschat/chips-aws/shared/protocol"
	"github.com/chipschat/chips-aws/shared/workspace"
)

// How much context is handed over: what a hello that does not say is given, and the most there is.
const (
	defaultLines, maxLines = 40, 200
	defaultChars, maxChars = 16_000, 32_000
)

// budget is how many lines and characters the recipient is handed at most.
func (r Recipient) budget() (lines, chars int) {
	lines, chars = defaultLines, defaultChars
	if r.Budget.Lines != nil {
		lines = min(max(*r.Budget.Lines, 0), maxLines)
	}
	if r.Budget.Chars != nil {
		chars = min(max(*r.Budget.Chars, 0), maxChars)
	}
	return lines, chars
}

// Want is which of a room's lines go with something. Who has it (Wants, Past) reads them and hands them to what builds the context.
type Want struct {
	// Room is the room's id.
	Room string
	// Line is the room's newest line that is wanted, and Since the seq that all of them are above.
	Line, Since int64
	// Need is how many of those that Counts are enough: the newest. More do no harm.
	Need int

	// Handed is the seq of a message that is wanted beside them, as it reads by then (Edit); it is none of the lines. 0 for none.
	Handed int64

	lines, chars int
	// before is the seq that all of it is below.
	before int64
	// replaced are whose words read as others'.
	replaced workspace.Replacements
	// taker is whose words are left out, "" for nobody's: an agent, or a harness for all that is its.
	taker string
	// joiner is whose own joining, just before, is left out.
	joiner string
	// marks are what became of the room's messages up to then.
	marks workspace.Marks
}

// Wants says which lines Render has to be given for an event and a recipient whom it covers; false when none.
func Wants(s *workspace.State, e protocol.Event, r Recipient) (Want, bool) {
	w, ok := wants(s, e, r)
	return w, ok && (w.Line > w.Since || w.Handed > 0)
}

// wants is what goes with a turn, and with an agent that is put in a room; false for what has no context.
func wants(s *workspace.State, e protocol.Event, r Recipient) (Want, bool) {
	room := s.Rooms[e.SpaceID]
	if r.Kind != protocol.KindHarness || room == nil || room.Deleted {
		return Want{}, false
	}
	w := Want{Room: room.ID, Line: room.LastLine, before: e.Seq, marks: room.Marks, replaced: room.Replaced}
	if w.Line == e.Seq {
		w.Line = room.PrevLine
	}
	switch d := e.Data.(type) {
	case *protocol.MessagePost, *protocol.RunSteer:
		takers, _ := takers(s, e, protocol.Said(d), r)
		if len(takers) == 0 {
			return Want{}, false
		}
		w.heard(s, room, r, takers)
	case *protocol.MessageHanded:
		takers := handedTo(s, d, r)
		if len(takers) == 0 {
			return Want{}, false
		}
		w.heard(s, room, r, takers)
		w.Handed, _ = protocol.SeqOf(d.MessageID)
	case *protocol.AgentAttached:
		if !r.SpeaksAgents || s.HarnessOf(d.AgentID) != r.ID {
			return Want{}, false
		}
		w.Since, w.joiner = room.OpenedSeq, d.AgentID
	default:
		return Want{}, false
	}
	w.lines, w.chars = r.budget()
	w.Need = w.lines + 1 // the one more says whether older ones were left out
	return w, true
}

// heard sets what of a room its takers have not heard. Several share the context of the one that has heard least, and each is owed what
// the others said.
func (w *Want) heard(s *workspace.State, room *workspace.Room, r Recipient, takers []string) {
	w.Since = int64(math.MaxInt64)
	for _, id := range takers {
		w.Since = min(w.Since, s.ContextFrom(room, id))
	}
	switch {
	case !r.SpeaksAgents: // before agents a harness is one taker
		w.taker = r.ID
	case len(takers) == 1:
		w.taker = takers[0]
	}
}

// Past is the newest limit lines of a room, opened at a seq, below another, by what became of its messages by now. line is the newest
// in the room's chain below that.
func Past(room string, opened, before, line int64, limit int, marks workspace.Marks) Want {
	return Want{Room: room, Line: line, Since: opened, Need: limit + 1, lines: limit, chars: math.MaxInt, before: before, marks: marks}
}

// Counts says whether an event becomes a line of what is wanted, and not one that is left out.
func (w Want) Counts(e protocol.Event) bool {
	switch d := e.Data.(type) {
	case *protocol.MessagePost, *protocol.RunSteer:
		if mark, _ := w.marks.Of(e.Seq); mark.Deleted || e.Seq == w.Handed {
			return false
		}
		return w.taker == "" || w.taker != w.replaced.SaidBy(e.Actor.ID, e.Seq) && w.taker != e.Actor.HarnessID
	case *protocol.MessageEdited:
		return false
	case *protocol.MemberAdded:
		return w.joiner == "" || w.joiner != d.ParticipantID || e.Seq != w.before-1
	}
	return true
}

// Edit is the seq of the message.edited that says how the words of a line read, 0 where they read as they were said.
func (w Want) Edit(e protocol.Event) int64 {
	mark, _ := w.marks.Of(e.Seq)
	if mark.Deleted || !w.Counts(e) && e.Seq != w.Handed {
		return 0
	}
	return mark.Event
}

// Context is what is wanted, in the view of the recipient (At the head): names as the state s knows them. lines are the room's, rising,
// without a hole down from w.Line: as many as w.Need says or all above w.Since; with them come the edits that Edit names of each, wherever
// they stand. The lines take bytes as JSON at most.
func (w Want) Context(s *workspace.State, r Recipient, lines []protocol.Event, bytes int) *protocol.Context {
	c := &protocol.Context{Lines: []protocol.Line{}, SinceSeq: w.Since, Before: w.before}
	v := newLineView(s, r)
	v.edits = w.edits(lines)
	if room := s.Rooms[w.Room]; room != nil {
		v.replaced = room.Replaced
	}
	var renames []workspace.Rename
	if room := s.Rooms[w.Room]; room != nil {
		renames = room.Renames
	}
	if n := min(w.lines, len(lines)+len(renames)); n > 0 {
		c.Lines = make([]protocol.Line, 0, n)
	}
	chars := w.chars
	for {
		var l protocol.Line
		switch e, re := len(lines)-1, len(renames)-1; {
		case e < 0 && re < 0:
		case e < 0 || re >= 0 && renames[re].Seq > lines[e].Seq:
			l = v.renamed(renames[re])
			renames = renames[:re]
		default:
			if lines[e].Seq < w.before && w.Counts(lines[e]) {
				l = v.line(lines[e])
			}
			lines = lines[:e]
			if l.Kind == "" {
				continue
			}
		}
		if l.Kind == "" || l.Seq <= w.Since {
			break
		}
		if l.Seq >= w.before {
			continue
		}
		cost := characters(l)
		if len(c.Lines) > 0 {
			cost++ // the line end between them
		}
		if len(c.Lines) == w.lines || cost > chars && len(c.Lines) > 0 {
			c.Truncated = true
			break
		}
		if cost > chars {
			l = cutTo(l, chars)
		}
		if bytes -= lineBytes(l); bytes < 0 {
			c.Truncated = true
			break
		}
		chars -= cost
		c.Lines, c.Before = append(c.Lines, l), l.Seq
	}
	slices.Reverse(c.Lines)
	return c
}

// edits are the words that were put in the place of others, by the seq of the message: those of its newest edit by then.
func (w Want) edits(lines []protocol.Event) map[int64]string {
	if len(w.marks) == 0 {
		return nil
	}
	words := map[int64]string{}
	for _, e := range lines {
		if d, ok := e.Data.(*protocol.MessageEdited); ok {
			message, _ := protocol.SeqOf(d.MessageID)
			if mark, _ := w.marks.Of(message); mark.Event == e.Seq {
				words[message] = d.Text
			}
		}
	}
	return words
}

// lineView is how lines are read by one recipient.
type lineView struct {
	s *workspace.State
	// edits are the words that messages have by now, where they were edited.
	edits map[int64]string
	// before is the view of before agents, nil for one who knows them.
	before *view
	// replaced are whose words read as others'.
	replaced workspace.Replacements
	// known are the participants who were named already.
	known map[string]*protocol.Participant
}

func newLineView(s *workspace.State, r Recipient) lineView {
	v := lineView{s: s, known: map[string]*protocol.Participant{}}
	if r.Kind == protocol.KindHarness && !r.SpeaksAgents {
		v.before = &view{s, r.ID}
	}
	return v
}

// said is a line of what was said.
func (v *lineView) said(l protocol.Line, e protocol.Event, d *protocol.MessagePost) protocol.Line {
	l.Kind, l.MessageID, l.Text, l.AddressedTo = protocol.LineSaid, protocol.MessageID(e.ID), &d.Text, d.AddressedTo
	l.From, l.Held = v.participant(v.replaced.SaidBy(e.Actor.ID, e.Seq)), d.Held
	posted(&l, d.Attachments)
	if words, edited := v.edits[e.Seq]; edited {
		l.Text = &words
	}
	if v.before != nil {
		l.AddressedTo = v.before.ids(l.AddressedTo)
	}
	return l
}

// line is an event as a line; of no kind where it is none.
func (v *lineView) line(e protocol.Event) protocol.Line {
	l := protocol.Line{Seq: e.Seq, At: e.TS}
	if d := protocol.Said(e.Data); d != nil {
		return v.said(l, e, d)
	}
	switch d := e.Data.(type) {
	case *protocol.MemberAdded:
		l.Kind, l.Who, l.By = protocol.LineJoined, v.participant(d.ParticipantID), v.by(d.By, d.ParticipantID)
	case *protocol.MemberRemoved:
		l.Kind, l.Who, l.By = protocol.LineLeft, v.participant(d.ParticipantID), v.by(d.By, d.ParticipantID)
	case *protocol.AgentMoved:
		l.Kind, l.Who, l.By = protocol.LineLeft, v.participant(d.AgentID), v.by(e.Actor.ID, d.AgentID)
	case *protocol.SpaceRenamed:
		l.Kind, l.Title, l.Previous = protocol.LineRenamed, d.Title, d.Previous
	case *protocol.SpaceArchived, *protocol.SpaceClosed:
		l.Kind, l.By = protocol.LineArchived, v.participant(e.Actor.ID)
	case *protocol.SpaceUnarchived:
		l.Kind, l.By = protocol.LineUnarchived, v.participant(e.Actor.ID)
	}
	return l
}

func (v *lineView) renamed(r workspace.Rename) protocol.Line {
	return protocol.Line{
		Seq: r.Seq, At: r.At, Kind: protocol.LineRenamed, Who: v.participant(r.PersonID), Name: r.Name, Previous: r.Previous,
	}
}

// participant is somebody by id, with the name they have now.
func (v *lineView) participant(id string) *protocol.Participant {
	if p := v.known[id]; p != nil {
		return p
	}
	p := &protocol.Participant{ID: id, Kind: protocol.KindSystem, Name: v.s.NameOf(id)}
	switch protocol.PrefixOf(id) {
	case protocol.PrefixPerson:
		p.Kind = protocol.KindPerson
	case protocol.PrefixHarness:
		p.Kind = protocol.KindHarness
	case protocol.PrefixAgent:
		p.Kind = protocol.KindAgent
		if v.before != nil {
			p.Kind = protocol.KindHarness
			if v.before.own(id) {
				p.ID, p.Name = v.before.self, v.s.NameOf(v.before.self)
			}
		}
	}
	v.known[id] = p
	return p
}

// by is who did something to somebody, nil where they did it themselves.
func (v *lineView) by(id, who string) *protocol.Participant {
	if id == "" || id == who {
		return nil
	}
	return v.participant(id)
}

// characters is how long a line is as `Name: words`. Of a line that is no words, its kind or the name before stands for them.
func characters(l protocol.Line) int {
	n := utf8.RuneCountInString
	switch {
	case l.From != nil:
		return n(l.From.Name) + len(": ") + n(*l.Text)
	case l.Kind == protocol.LineRenamed:
		return n(l.Name) + n(l.Title) + len(": ") + n(l.Previous)
	case l.Who != nil:
		return n(l.Who.Name) + len(": ") + len(l.Kind)
	case l.By != nil:
		return n(l.By.Name) + len(": ") + len(l.Kind)
	}
	return len(l.Kind)
}

// cutTo is a line whose words end so that it is n characters long, the last of them an ellipsis; others than words are left as they are.
func cutTo(l protocol.Line, n int) protocol.Line {
	if l.Text == nil {
		return l
	}
	n -= utf8.RuneCountInString(l.From.Name) + len(": ")
	text := ""
	if n > 0 {
		for i := range *l.Text {
			if n--; n == 0 {
				text = (*l.Text)[:i] + "…"
				break
			}
		}
	}
	l.Text = &text
	return l
}

// budgetClass names a recipient's budget.
func budgetClass(r Recipient) string {
	lines, chars := r.budget()
	return strconv.Itoa(lines) + "," + strconv.Itoa(chars)
}
