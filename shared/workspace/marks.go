package workspace

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/chipschat/chips-aws/shared/protocol"
)

// Mark is what became of a message after it was said: its newest edit, or that it was deleted.
type Mark struct {
	// Message is the seq of the message, and Event that of its newest message.edited, or of its message.deleted.
	Message int64 `json:"m"`
	Event   int64 `json:"e"`
	Deleted bool  `json:"d,omitzero"`
}

// Marks are the marks of a room's messages, rising by message: one for each that was ever edited or deleted.
type Marks []Mark

// Of is the mark of the message at a seq; false where nothing became of it.
func (m Marks) Of(message int64) (Mark, bool) {
	i, ok := m.find(message)
	if !ok {
		return Mark{}, false
	}
	return m[i], true
}

func (m Marks) find(message int64) (int, bool) {
	return slices.BinarySearchFunc(m, message, func(m Mark, message int64) int { return int(m.Message - message) })
}

// with is the marks with one more; a deletion is for good. The slice may be changed in place.
func (m Marks) with(mark Mark) Marks {
	i, ok := m.find(mark.Message)
	if !ok {
		return slices.Insert(m, i, mark)
	}
	if !m[i].Deleted {
		m[i] = mark
	}
	return m
}

func (s *State) evolveMark(room *Room, e protocol.Event, message string, deleted bool) {
	seq, ok := protocol.SeqOf(message)
	if room == nil || !ok {
		return
	}
	room.Marks = room.Marks.with(Mark{Message: seq, Event: e.Seq, Deleted: deleted})
	s.heard(e.RunID, e.TS)
}

// message is the message a draft names, in a room of the sender's, and the run that the draft is on, nil for none. What the sender may
// not see is as what is not there.
func (d *deciding) message(id string) (post protocol.Event, room *Room, run *Run, err *protocol.Error) {
	space := d.c.Draft.SpaceID
	if d.c.By.Kind == protocol.KindHarness && d.c.Draft.RunID != "" {
		if run, err = d.ownRun(); err != nil {
			return post, nil, nil, err
		}
		space = run.Room
	}
	if space != "" {
		if room, err = d.roomOf(space); err != nil {
			return post, nil, nil, err
		}
	}
	post, ok := d.c.Cited[id]
	if room == nil {
		room = d.s.Rooms[post.SpaceID]
	}
	if !ok || protocol.Said(post.Data) == nil || !d.s.InRoom(room, d.c.By.ID) || post.SpaceID != room.ID {
		return post, nil, nil, notFound("message_id names no message that you may see")
	}
	return post, room, run, nil
}

// ownMessage is the message a draft names, if the sender said it and may still speak as who said it in its room, who is its actor.
func (d *deciding) ownMessage(id string) (protocol.Event, *Room, *protocol.Error) {
	post, room, run, err := d.message(id)
	if err != nil {
		return post, nil, err
	}
	author := room.Replaced.SaidBy(post.Actor.ID, post.Seq)
	switch {
	case d.c.By.Kind == protocol.KindPerson && author != d.c.By.ID,
		d.c.By.Kind == protocol.KindHarness && d.s.harnessOf(author) != d.c.By.ID:
		return post, nil, forbidden("only who said a message changes or deletes it")
	case run != nil && run.AgentID != author:
		return post, nil, d.bad("the run is not that of who said the message")
	}
	if actor := d.c.Draft.Actor; d.c.By.Kind == protocol.KindHarness && actor.ID != "" && actor.ID != d.c.By.ID && actor.ID != author {
		return post, nil, forbidden("actor is not who said the message")
	}
	if a := d.s.Agents[author]; a != nil {
		if a.Room != room.ID {
			return post, nil, forbidden("the agent that said it is not in this room")
		}
		post.Actor = agentActor(a) // whoever took the speaker's place
	}
	if room.Archived {
		return post, nil, closed()
	}
	return post, room, nil
}

func (d *deciding) messageEdited() *protocol.Error {
	draft, ok := d.c.Draft.Data.(*protocol.MessageEdited)
	if !ok || draft.MessageID == "" {
		return d.bad("message_id is missing")
	}
	post, room, err := d.ownMessage(draft.MessageID)
	if err != nil {
		return err
	}
	if mark, _ := room.Marks.Of(post.Seq); mark.Deleted {
		return wasDeleted()
	}
	if strings.TrimSpace(draft.Text) == "" && len(protocol.Said(post.Data).Attachments) == 0 {
		return d.bad("text is empty and the message has no files")
	}
	d.answer(post.Actor, room.ID, draft).RunID = d.runID()
	return nil
}

func (d *deciding) messageDeleted() *protocol.Error {
	draft, ok := d.c.Draft.Data.(*protocol.MessageDeleted)
	if !ok || draft.MessageID == "" {
		return d.bad("message_id is missing")
	}
	post, room, err := d.ownMessage(draft.MessageID)
	if err != nil {
		return err
	}
	if mark, _ := room.Marks.Of(post.Seq); mark.Deleted {
		return nil
	}
	d.answer(post.Actor, room.ID, draft).RunID = d.runID()
	return nil
}

func (d *deciding) reactionSet() *protocol.Error {
	draft, ok := d.c.Draft.Data.(*protocol.ReactionSet)
	if !ok || draft.MessageID == "" {
		return d.bad("message_id is missing")
	}
	if err := d.emoji(draft.Emoji); err != nil {
		return err
	}
	post, room, run, err := d.message(draft.MessageID)
	if err != nil {
		return err
	}
	actor := d.sender()
	switch {
	case run != nil:
		actor = d.runActor(run)
	case d.c.By.Kind == protocol.KindHarness:
		if actor, err = d.actorIn(room); err != nil {
			return err
		}
	}
	return d.set(post, room, actor, draft)
}

func (d *deciding) pinSet() *protocol.Error {
	draft, ok := d.c.Draft.Data.(*protocol.PinSet)
	if err := d.needMember(); err != nil {
		return err
	}
	if !ok || draft.MessageID == "" {
		return d.bad("message_id is missing")
	}
	post, room, _, err := d.message(draft.MessageID)
	if err != nil {
		return err
	}
	return d.set(post, room, d.sender(), draft)
}

// set writes a reaction or a pin, also one that is so already: it may be set otherwise by the time its key comes again, which has to be known
// as used by then (contract U-119).
func (d *deciding) set(post protocol.Event, room *Room, actor protocol.Actor, draft protocol.Data) *protocol.Error {
	if room.Archived {
		return closed()
	}
	if mark, _ := room.Marks.Of(post.Seq); mark.Deleted {
		return wasDeleted()
	}
	d.answer(actor, room.ID, draft).RunID = d.runID()
	return nil
}

// emoji holds an emoji to its form: of any kind, as there are more every year, but no words, nothing invisible and nothing that turns text
// around.
func (d *deciding) emoji(emoji string) *protocol.Error {
	plain := func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)
	}
	switch {
	case emoji == "":
		return d.bad("emoji is missing")
	case len(emoji) > protocol.MaxEmoji:
		return d.bad("emoji has %d bytes: %d at most", len(emoji), protocol.MaxEmoji)
	case strings.IndexFunc(emoji, plain) >= 0, strings.IndexFunc(emoji, visible) < 0, strings.IndexFunc(emoji, func(r rune) bool { return r >= utf8.RuneSelf }) < 0:
		return d.bad("emoji is not an emoji")
	}
	return nil
}

// runID is the run a harness's draft is on; a person's are on none.
func (d *deciding) runID() string {
	if d.c.By.Kind != protocol.KindHarness {
		return ""
	}
	return d.c.Draft.RunID
}

func wasDeleted() *protocol.Error { return notFound("the message was deleted") }
