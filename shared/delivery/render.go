package delivery

import (
	"slices"

	"github.com/chipschat/chips-aws/shared/protocol"
	"github.com/chipschat/chips-aws/shared/workspace"
)

// Render is the event as the recipient (At the head), whom it covers, is sent it on a socket. s is the state just after the event,
// which may be from before the recipient was in the workspace.
//
// A message is posted as it is to people. A harness is sent its own as it was sent, a message for it as message.new, and any other
// as message.overheard; what one of its agents said to another of its own comes as that one's message.new (SPK-12).
//
// lines are the lines that Wants asked for, nil where it asked for none.
func Render(s *workspace.State, e protocol.Event, r Recipient, lines []protocol.Event) protocol.Event {
	switch d := e.Data.(type) {
	case *protocol.MessagePost, *protocol.RunSteer:
		if r.Kind == protocol.KindHarness {
			e = message(s, e, protocol.Said(d), r, lines)
		}
	case *protocol.MessageHanded:
		if r.Kind == protocol.KindHarness {
			e = handed(s, e, d, r, lines)
		}
	case *protocol.ApprovalResolved:
		if r.Kind == protocol.KindPerson && !sentIt(e, r) {
			c := *d
			c.ResolvedElsewhere = true
			e.Data = &c
		}
	case *protocol.AgentAttached:
		if w, ok := wants(s, e, r); ok {
			c := *d
			files, size := contextFiles(s, s.Rooms[e.SpaceID], r, deliveryBytes-envelopeFixed)
			c.CatchUp = w.Context(s, r, lines, deliveryBytes-envelopeFixed-size)
			c.CatchUp.Files = files
			e.Data = &c
		}
	}
	return show(s, e, r)
}

// Logged is the event as GET /v1/events shows it to the recipient: as it was logged, but for the view of before agents and for
// what only others may see. s is the state at the head.
func Logged(s *workspace.State, e protocol.Event, r Recipient) protocol.Event {
	return show(s, e, r.At(s))
}

// show is the event without what the recipient may not see, and in its view.
func show(s *workspace.State, e protocol.Event, r Recipient) protocol.Event {
	e = hide(s, e, r)
	if r.Kind == protocol.KindHarness && !r.SpeaksAgents {
		e = rewrite(view{s, r.ID}, e)
	}
	return e
}

// Class names all that Render and Finish read of a recipient: for one event and one state, recipients of one class are sent the same bytes.
func Class(e protocol.Event, r Recipient) string {
	if r.Kind == protocol.KindHarness {
		switch e.Data.(type) {
		case *protocol.MessagePost, *protocol.RunSteer, *protocol.MessageHanded, *protocol.AgentAttached: // they may have context, and URLs for a credential
			return r.ID + budgetClass(r) + r.Credential
		}
		return r.ID
	}
	switch e.Data.(type) {
	case *protocol.AgentMoved, *protocol.AgentReleased: // the target is for who is there
		return r.ID
	case *protocol.ApprovalResolved:
		if sentIt(e, r) {
			return string(r.Kind) + " who sent it"
		}
	}
	return string(r.Kind)
}

// sentIt says whether the event came by the recipient's credential (contract U-139).
func sentIt(e protocol.Event, r Recipient) bool {
	return r.Credential != "" && e.Via.Credential == r.Credential
}

// message is a post as a harness in its room hears it.
func message(s *workspace.State, e protocol.Event, post *protocol.MessagePost, r Recipient, lines []protocol.Event) protocol.Event {
	forIDs, to := takers(s, e, post, r)
	working := workingTurns(s, s.Rooms[e.SpaceID], r, append([]string{e.Actor.ID}, forIDs...))
	if len(forIDs) == 0 && s.HarnessOf(e.Actor.ID) == r.ID {
		return cameBack(s, e, post, r, working)
	}
	said := protocol.MessageOverheard{
		MessageID: protocol.MessageID(e.ID), Text: post.Text, From: from(s, e.Actor, s.Rooms[e.SpaceID]), ReplyTo: post.ReplyTo,
		Attachments: post.Attachments, AddressedTo: to, HeldSince: post.HeldSince, Held: post.Held, WorkingTurns: working,
	}
	if len(forIDs) == 0 {
		e.Type, e.Data = said.EventType(), &said
		return e
	}
	return turn(s, e, post, r, lines, forIDs, protocol.MessageNew{
		MessageID: said.MessageID, Text: said.Text, From: said.From, ReplyTo: said.ReplyTo,
		Attachments: said.Attachments, AddressedTo: said.AddressedTo, HeldSince: said.HeldSince, WorkingTurns: working,
	})
}

// cameBack is a harness's own post as it comes back: with the turns of its other agents that go on in the room, for their next steps.
func cameBack(s *workspace.State, e protocol.Event, post *protocol.MessagePost, r Recipient, working []protocol.WorkingTurn) protocol.Event {
	if len(working) == 0 {
		return e
	}
	c, f := *post, from(s, e.Actor, s.Rooms[e.SpaceID])
	c.MessageID, c.From, c.WorkingTurns = protocol.MessageID(e.ID), &f, working
	e.Data = &c
	return e
}

// workingTurns are a harness's turns going in a room, but for those of some agents.
func workingTurns(s *workspace.State, room *workspace.Room, r Recipient, but []string) []protocol.WorkingTurn {
	var turns []protocol.WorkingTurn
	if room == nil {
		return nil
	}
	for _, id := range room.Turns {
		if run := s.Runs[id]; run != nil && run.HarnessID == r.ID && !slices.Contains(but, run.AgentID) {
			turns = append(turns, protocol.WorkingTurn{AgentID: run.AgentID, RunID: run.ID})
		}
	}
	return turns
}

// handed is a message that is handed on, as the harness of those it is handed to is sent it: the event's own id, seq and time, and the
// words as they read by then, by who said them.
func handed(s *workspace.State, e protocol.Event, d *protocol.MessageHanded, r Recipient, lines []protocol.Event) protocol.Event {
	w, ok := wants(s, e, r)
	i := slices.IndexFunc(lines, func(l protocol.Event) bool { return l.Seq == w.Handed })
	if !ok || i < 0 {
		return e
	}
	said, isPost := lines[i].Data.(*protocol.MessagePost)
	if !isPost {
		return e
	}
	post := *said
	if words, edited := w.edits(lines)[w.Handed]; edited {
		post.Text = words
	}
	e.Actor = lines[i].Actor
	e.Actor.ID = s.Rooms[e.SpaceID].Replaced.SaidBy(e.Actor.ID, w.Handed)
	return turn(s, e, &post, r, lines, handedTo(s, d, r), protocol.MessageNew{
		MessageID: d.MessageID, Text: post.Text, From: from(s, e.Actor, s.Rooms[e.SpaceID]), ReplyTo: post.ReplyTo,
		Attachments: post.Attachments, AddressedTo: d.AgentIDs, HeldSince: post.HeldSince, Handed: true, Lead: d.Lead,
		WorkingTurns: workingTurns(s, s.Rooms[e.SpaceID], r, append([]string{e.Actor.ID}, d.AgentIDs...)),
	})
}

// handedTo are those of a harness's agents whom a message is handed to.
func handedTo(s *workspace.State, d *protocol.MessageHanded, r Recipient) []string {
	return slices.DeleteFunc(slices.Clone(d.AgentIDs), func(id string) bool { return s.HarnessOf(id) != r.ID })
}

// turn is the words of an event as a turn for some of a harness's agents, with what comes with it.
func turn(
	s *workspace.State, e protocol.Event, post *protocol.MessagePost, r Recipient, lines []protocol.Event, forIDs []string, turn protocol.MessageNew,
) protocol.Event {
	if e.Actor.Kind != protocol.KindPerson {
		turn.Exchange = exchange(s, s.Rooms[e.SpaceID])
	}
	if r.SpeaksAgents {
		turn.For = forIDs
	}
	// What a turn is told beside the words has its place here: context, room, working_turns and exchange.
	told := tell(s, e, post, r, forIDs, turn.Lead, deliveryBytes-postBytes(post))
	if w, ok := wants(s, e, r); ok {
		left := deliveryBytes - postBytes(post) - told.bytes
		files, size := contextFiles(s, s.Rooms[e.SpaceID], r, left)
		turn.Context = w.Context(s, r, lines, left-size)
		turn.Context.Files, turn.Context.Spend = files, told.spend
	}
	turn.Room = told.room(turn.Context)
	if steer, ok := e.Data.(*protocol.RunSteer); ok {
		c := *steer
		c.MessageID, c.From, c.For, c.Context, c.Room, c.WorkingTurns = turn.MessageID, &turn.From, turn.For, turn.Context, turn.Room, turn.WorkingTurns
		e.Data = &c
		return e
	}
	e.Type, e.Data = turn.EventType(), &turn
	return e
}

// takers are whom of a harness's agents a post is a turn for, each once; and all whom it is for.
func takers(s *workspace.State, e protocol.Event, post *protocol.MessagePost, r Recipient) (forIDs, to []string) {
	to = post.AddressedTo
	if to == nil { // logged before Chips said whom a message is for: it was for every harness in the room
		to = everyAgent(s, s.Rooms[e.SpaceID])
	}
	// Before agents a harness spoke to itself never: all its agents are one, and a turn on its own words would answer itself.
	if !r.SpeaksAgents && s.HarnessOf(e.Actor.ID) == r.ID {
		return nil, to
	}
	for _, id := range to {
		if s.HarnessOf(id) == r.ID && id != e.Actor.ID && !slices.Contains(forIDs, id) {
			forIDs = append(forIDs, id)
		}
	}
	return forIDs, to
}

// everyAgent is who acts in a room: its agents, and the harness itself where it is who the room holds.
func everyAgent(s *workspace.State, room *workspace.Room) []string {
	ids := []string{}
	if room != nil {
		for _, id := range room.Members {
			if s.HarnessOf(id) != "" {
				ids = append(ids, id)
			}
		}
	}
	return ids
}

// from is who said a message, with their role: of a person in the workspace, of an agent in the room.
func from(s *workspace.State, a protocol.Actor, room *workspace.Room) protocol.From {
	f := protocol.From{ID: a.ID, Kind: a.Kind, Name: s.NameOf(a.ID)}
	switch a.Kind {
	case protocol.KindPerson:
		if p := s.People[a.ID]; p != nil {
			f.Role = string(p.Role)
		}
	case protocol.KindAgent, protocol.KindHarness:
		f.Role = "member"
		if room != nil && room.Lead == a.ID {
			f.Role = "lead"
		}
		if name := s.NameOf(s.HarnessOf(a.ID)); name != f.Name {
			f.Harness = name
		}
	}
	return f
}

// hide leaves out what the recipient may not see of an event it is sent.
func hide(s *workspace.State, e protocol.Event, r Recipient) protocol.Event {
	// A room an agent goes to is shown to its harness and to who is there.
	mayKnow := func(agent, room string) bool { return s.HarnessOf(agent) == r.ID || s.InRoom(s.Rooms[room], r.ID) }
	switch d := e.Data.(type) {
	case *protocol.SpaceOpened:
		if d.Key != "" && s.HarnessOf(e.Actor.ID) != r.ID {
			c := *d
			c.Key = ""
			e.Data = &c
		}
	case *protocol.AgentRegistered:
		if d.HarnessID != r.ID {
			c := *d
			c.Key, c.Asked, c.WhyFree = "", "", ""
			e.Data = &c
		}
	case *protocol.AgentUpdated:
		if d.HarnessID != r.ID {
			c := *d
			c.Key, c.Asked, c.WhyFree = "", "", ""
			e.Data = &c
		}
	case *protocol.AgentMoved:
		if !mayKnow(d.AgentID, d.ToSpaceID) {
			c := *d
			c.ToSpaceID = ""
			e.Data = &c
		}
	case *protocol.AgentReleased:
		if !mayKnow(d.AgentID, d.MovedTo) {
			c := *d
			c.MovedTo = ""
			e.Data = &c
		}
	}
	return e
}
