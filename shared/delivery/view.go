package delivery

import (
	"slices"

	"github.com/chipschat/chips-aws/shared/protocol"
	"github.com/chipschat/chips-aws/shared/workspace"
)

// view is the workspace as a harness that has not declared agents knew it before there were any: its own agents are the harness
// itself, and another's agent is a participant of kind harness with its own id and name (contract U-99).
type view struct {
	s    *workspace.State
	self string // the harness's id
}

// own says whether an id is an agent of the harness.
func (v view) own(id string) bool {
	a := v.s.Agents[id]
	return a != nil && a.HarnessID == v.self
}

// id is an id as the harness knew it.
func (v view) id(id string) string {
	if v.own(id) {
		return v.self
	}
	return id
}

// ids are ids as the harness knew them, each once; nil stays nil.
func (v view) ids(ids []string) []string {
	if ids == nil {
		return nil
	}
	known := make([]string, 0, len(ids))
	for _, id := range ids {
		if id = v.id(id); !slices.Contains(known, id) {
			known = append(known, id)
		}
	}
	return known
}

func (v view) actor(a protocol.Actor) protocol.Actor {
	if a.Kind != protocol.KindAgent {
		return a
	}
	return protocol.Actor{Kind: protocol.KindHarness, ID: v.id(a.ID)}
}

func (v view) from(f protocol.From) protocol.From {
	if f.Kind != protocol.KindAgent {
		return f
	}
	f.Kind = protocol.KindHarness
	if v.own(f.ID) {
		f.ID, f.Name, f.Harness = v.self, v.s.NameOf(v.self), ""
	}
	return f
}

// turns are turns as the harness knew them.
func (v view) turns(turns []protocol.WorkingTurn) []protocol.WorkingTurn {
	var known []protocol.WorkingTurn
	for _, t := range turns {
		known = append(known, protocol.WorkingTurn{AgentID: v.id(t.AgentID), RunID: t.RunID})
	}
	return known
}

// room is a room whose agents of the harness are the harness itself, one member by its own name; notes read the same.
func (v view) room(room *protocol.Room) *protocol.Room {
	if room == nil {
		return nil
	}
	c := protocol.Room{
		Members: make([]protocol.RoomMember, 0, len(room.Members)), MembersLeftOut: room.MembersLeftOut,
		Notes: map[string]string{}, Rules: map[string]string{}, ClocksAt: map[string]int{},
	}
	for _, w := range room.Working {
		w.AgentID = v.id(w.AgentID)
		c.Working = append(c.Working, w)
	}
	for _, i := range room.Idle {
		i.AgentID = v.id(i.AgentID)
		c.Idle = append(c.Idle, i)
	}
	seen := false
	for _, m := range room.Members {
		if m.Kind == protocol.KindAgent {
			m.Kind = protocol.KindHarness
		}
		if v.own(m.ParticipantID) {
			if seen {
				continue
			}
			seen = true
			m.ParticipantID, m.Name, m.Harness = v.self, v.s.NameOf(v.self), ""
		}
		c.Members = append(c.Members, m)
	}
	slices.SortStableFunc(c.Members, byName)
	for id, note := range room.Notes {
		c.Notes[v.id(id)], c.ClocksAt[v.id(id)] = note, room.ClocksAt[id]
	}
	for id, rules := range room.Rules {
		c.Rules[v.id(id)] = rules
	}
	return &c
}

// rewrite is an event with every id in a field of its own as the harness knew it. Words in texts stay as they are. Each type
// that holds the id of an agent has its line here.
func rewrite(v view, e protocol.Event) protocol.Event {
	e.Actor = v.actor(e.Actor)
	switch d := e.Data.(type) {
	case *protocol.MessagePost:
		c := *d
		c.To.IDs, c.AddressedTo, c.HeldFor = v.ids(d.To.IDs), v.ids(d.AddressedTo), v.ids(d.HeldFor)
		if d.From != nil {
			f := v.from(*d.From)
			c.From = &f
		}
		c.WorkingTurns = v.turns(d.WorkingTurns)
		e.Data = &c
	case *protocol.MessageNew:
		c := *d
		c.From, c.AddressedTo = v.from(d.From), v.ids(d.AddressedTo)
		c.Room, c.WorkingTurns = v.room(d.Room), v.turns(d.WorkingTurns)
		e.Data = &c
	case *protocol.RunSteer:
		c := *d
		c.AddressedTo, c.Room, c.WorkingTurns = v.ids(d.AddressedTo), v.room(d.Room), v.turns(d.WorkingTurns)
		if d.From != nil {
			f := v.from(*d.From)
			c.From = &f
		}
		e.Data = &c
	case *protocol.MessageOverheard:
		c := *d
		c.WorkingTurns = v.turns(d.WorkingTurns)
		c.From, c.AddressedTo = v.from(d.From), v.ids(d.AddressedTo)
		e.Data = &c
	case *protocol.SpaceOpened:
		c := *d
		c.ParticipantIDs = v.ids(d.ParticipantIDs)
		e.Data = &c
	case *protocol.MessageHanded:
		c := *d
		c.AgentIDs = v.ids(d.AgentIDs)
		e.Data = &c
	case *protocol.SpaceLeadSet:
		if d.AgentID != nil {
			id := v.id(*d.AgentID)
			e.Data = &protocol.SpaceLeadSet{AgentID: &id}
		}
	case *protocol.MemberAdded:
		c := *d
		c.ParticipantID = v.id(d.ParticipantID)
		e.Data = &c
	case *protocol.MemberRemoved:
		c := *d
		c.ParticipantID = v.id(d.ParticipantID)
		e.Data = &c
	case *protocol.RoomSays:
		c := *d
		c.About = v.id(d.About)
		e.Data = &c
	case *protocol.AgentMoved:
		c := *d
		c.AgentID = v.id(d.AgentID)
		e.Data = &c
	}
	return e
}
