package workspace

import (
	"fmt"

	"github.com/chipschat/chips-aws/shared/protocol"
)

// CompactedDraft asks, as Chips itself, for the quiet line in the room of an agent that has compacted its context. In no room there is
// none.
type CompactedDraft struct {
	AgentID string
	// From and To are how full its context was before and after, in tokens.
	From, To int64
}

// EventType says which event the draft causes.
func (*CompactedDraft) EventType() string { return "room.line" }

func (d *deciding) compacted() *protocol.Error {
	draft, ok := d.c.Draft.Data.(*CompactedDraft)
	if !ok || d.c.By.Kind != protocol.KindSystem {
		return forbidden("only Chips writes room.line")
	}
	a := d.s.Agents[draft.AgentID]
	if a == nil || a.Room == "" {
		return nil
	}
	d.answer(protocol.System, a.Room, &protocol.RoomSays{
		Kind: protocol.LineCompacted, About: a.ID,
		Text: fmt.Sprintf("%s compacted its context, from %d tokens to %d.", a.Name, draft.From, draft.To),
	})
	return nil
}

// managedAnswered tells what became of a change. What it became is decided where the change waits.
func (d *deciding) managedAnswered() *protocol.Error {
	draft, ok := d.c.Draft.Data.(*protocol.ManagedAnswered)
	if !ok || d.c.By.Kind != protocol.KindSystem {
		return forbidden("only Chips writes managed.answered")
	}
	d.answer(protocol.System, "", draft)
	return nil
}

// MayReadManaged says why somebody may not read what of an agent or a harness (subject) is managed from Chips: its own harness reads it, and
// people but guests who share a room with it or run its harness.
func (s *State) MayReadManaged(by Caller, subject string) *protocol.Error {
	h := s.Harness(s.harnessOf(subject))
	p := s.Person(by.ID)
	switch {
	case h == nil:
		return notFound("no such agent or harness")
	case by.ID == h.ID:
		return nil
	case p == nil:
		return notFound("no such agent or harness")
	case p.Role == protocol.Guest:
		return forbidden("a guest may not see how an agent is set up")
	case !p.runsThings() && h.OwnerID != p.ID && !s.Shares(p.ID, subject):
		return forbidden("you share no room with it")
	}
	return nil
}

// MayChangeManaged says why somebody may not ask for a change of it: people but guests ask who share a room with the agent, and of what is
// a harness's own its owner, an owner and an admin.
func (s *State) MayChangeManaged(by Caller, subject string) *protocol.Error {
	if err := s.MayReadManaged(by, subject); err != nil {
		return err
	}
	p := s.Person(by.ID)
	switch {
	case p == nil:
		return forbidden("a person asks for changes")
	case protocol.PrefixOf(subject) == protocol.PrefixAgent && !s.Shares(p.ID, subject):
		return forbidden("you share no room with it")
	case protocol.PrefixOf(subject) == protocol.PrefixHarness && !p.runsThings() && s.Harnesses[subject].OwnerID != p.ID:
		return forbidden("only the harness's owner, an owner or an admin may do this")
	}
	return nil
}
