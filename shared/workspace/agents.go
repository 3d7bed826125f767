package workspace

import (
	"slices"
	"strings"

	"github.com/chipschat/chips-aws/shared/protocol"
)

// MaxAgents is how many agents a harness may have, archived ones included.
const MaxAgents = 1000

// mainRoom refuses what would touch a Main agent or its Main room.
func mainRoom() *protocol.Error {
	return protocol.Refuse(protocol.LeadRoom, "the Main agent stays in its Main room, alone of the agents there")
}

// agentActor is an agent as an actor.
func agentActor(a *Agent) protocol.Actor {
	return protocol.Actor{Kind: protocol.KindAgent, ID: a.ID, HarnessID: a.HarnessID}
}

// facts are an agent as its events say it.
func (a *Agent) facts() protocol.AgentFacts {
	f := protocol.AgentFacts{
		AgentID: a.ID, HarnessID: a.HarnessID, Name: a.Name, Handle: a.Handle, NameBy: a.NameBy, Lead: a.Lead, Face: a.Face,
		State: StateActive, Key: a.Key, Asked: a.Asked, ForkedFrom: a.ForkedFrom, WhyFree: a.WhyFree,
	}
	if a.Archived {
		f.State = StateArchived
	}
	return f
}

// mayPlace is the one rule about where an agent may be: every way of putting one in a room goes through it.
func (d *deciding) mayPlace(a *Agent, room *Room) *protocol.Error {
	if a.Room == room.ID {
		return d.bad("the agent is in the room already")
	}
	if a.Room != "" && a.Lead {
		return mainRoom()
	}
	if a.Room != "" {
		return &protocol.Error{Code: protocol.AgentElsewhere, Message: a.Name + " is in another room: move it instead", SpaceID: a.Room}
	}
	if a.Archived {
		return d.bad("the agent is archived")
	}
	if room.Archived {
		return closed()
	}
	agents := 0
	for _, m := range room.Members {
		if other := d.s.Agents[m]; other != nil && other.Lead {
			return mainRoom()
		}
		if protocol.PrefixOf(m) == protocol.PrefixAgent {
			agents++
		}
	}
	if a.Lead && d.occupied(room, a) {
		return mainRoom()
	}
	if agents >= MaxRoomAgents || len(room.Members) >= MaxMembers {
		return d.bad("a room holds %d members at most, %d of them agents", MaxMembers, MaxRoomAgents)
	}
	return nil
}

// occupied says whether somebody else acts in a room: an agent, or another harness that is to send one.
func (d *deciding) occupied(room *Room, but *Agent) bool {
	return slices.ContainsFunc(room.Members, func(m string) bool {
		return protocol.PrefixOf(m) != protocol.PrefixPerson && m != but.ID && m != but.HarnessID
	})
}

// agentFor is the agent that an agt_ or hrn_ id means when it is put in a room. A harness without agents registered by key is given
// one: a free one it was given before, else a new one, which is not in the state yet.
func (d *deciding) agentFor(room *Room, id string) (*Agent, *protocol.Error) {
	if protocol.PrefixOf(id) == protocol.PrefixAgent {
		a := d.s.Agents[id]
		if a == nil || d.s.Harness(a.HarnessID) == nil {
			return nil, notFound("participant_id names no agent")
		}
		return a, nil
	}
	h := d.s.Harness(id)
	if h == nil {
		return nil, notFound("participant_id names no harness")
	}
	var free *Agent
	for _, a := range d.s.AgentsOf(h.ID) {
		if protocol.PrefixOf(a.Key) != protocol.PrefixSpace {
			return nil, protocol.Refuse(protocol.WhichAgent, "%s has agents of its own: name one of them", h.Name)
		}
		if free == nil && a.Room == "" && !a.Archived {
			free = a
		}
	}
	if here := d.s.AgentsIn(room, h.ID); len(here) > 0 {
		return here[0], nil
	}
	if free != nil {
		return free, nil
	}
	if err := d.agentsLeft(h.ID); err != nil {
		return nil, err
	}
	return d.newAgent(h, room.ID, h.Name), nil
}

// agentsLeft refuses one more agent for a harness that has as many as one may have.
func (d *deciding) agentsLeft(harness string) *protocol.Error {
	if len(d.s.AgentsOf(harness)) >= MaxAgents {
		return d.bad("a harness has %d agents at most", MaxAgents)
	}
	return nil
}

// newAgent is an agent that is not in the state yet, under the first free name and handle.
func (d *deciding) newAgent(h *Harness, key, asked string) *Agent {
	a := &Agent{ID: d.mint(protocol.PrefixAgent), HarnessID: h.ID, Key: key}
	d.call(a, asked)
	return a
}

// call names an agent: as asked where that is free, else numbered.
func (d *deciding) call(a *Agent, asked string) {
	names, handles := map[string]bool{}, map[string]bool{}
	for _, o := range d.named(a.ID) {
		names[nameKey(o.Name)], handles[nameKey(o.Handle)] = true, true
	}
	taken := func(name string) bool { return names[nameKey(name)] }
	handleTaken := func(handle string) bool { return handles[nameKey(handle)] }
	a.Name, a.Asked = asked, ""
	if taken(asked) {
		a.Name, a.Asked = numbered(asked, taken), asked
	}
	if a.Handle = HandleOf(a.Name); a.Handle != "" && handleTaken(a.Handle) {
		a.Handle = numberedHandle(a.Handle, handleTaken)
	}
}

// named are all agents but one, those that this decision makes included.
func (d *deciding) named(but string) []*Agent {
	var agents []*Agent
	for _, a := range d.s.Agents {
		if a.ID != but {
			agents = append(agents, a)
		}
	}
	for _, e := range d.out {
		if made, ok := e.Data.(*protocol.AgentRegistered); ok && made.AgentID != but {
			agents = append(agents, &Agent{ID: made.AgentID, Name: made.Name, Handle: made.Handle})
		}
	}
	return agents
}

// register writes that there is a new agent.
func (d *deciding) register(a *Agent) {
	d.emit(protocol.System, "", &protocol.AgentRegistered{AgentFacts: a.facts()})
}

// agentByKey is a harness's agent under a key, nil when it has none.
func (d *deciding) agentByKey(harness, key string) *Agent {
	for _, a := range d.s.Agents {
		if a.HarnessID == harness && a.Key == key {
			return a
		}
	}
	return nil
}

// ownAgent is an agent of the harness that asks.
func (d *deciding) ownAgent(id string) (*Agent, *protocol.Error) {
	a := d.s.Agents[id]
	if a == nil || a.HarnessID != d.c.By.ID {
		return nil, forbidden("actor is not an agent of yours")
	}
	return a, nil
}

// agentRenamed is a person's name or face for an agent: its owner's, an owner's or an admin's.
func (d *deciding) agentRenamed() *protocol.Error {
	draft, ok := d.c.Draft.Data.(*AgentDraft)
	if !ok {
		return d.bad("name is missing")
	}
	p := d.person()
	if p == nil {
		return forbidden("a harness names its agents by registering them")
	}
	old := d.s.Agents[draft.AgentID]
	if old == nil || d.s.Harness(old.HarnessID) == nil {
		return notFound("no such agent")
	}
	if err := d.needOwnerOf(old.HarnessID); err != nil {
		return err
	}
	if draft.Name == nil && !draft.SetFace {
		return d.bad("neither name nor face is given")
	}
	a := *old
	if draft.Name != nil {
		name, bad := CleanName("name", *draft.Name, MaxName)
		if bad != nil {
			return d.field(bad)
		}
		a.NameBy = p.ID
		if sameName(name, a.Name) {
			a.Name = name
		} else {
			d.call(&a, name)
		}
	}
	if draft.SetFace {
		if err := d.face(draft.Face); err != nil {
			return err
		}
		a.Face = draft.Face
	}
	if a == *old {
		return nil
	}
	updated := &protocol.AgentUpdated{AgentFacts: a.facts()}
	if a.Name != old.Name {
		updated.Previous = old.Name
	}
	d.answer(d.sender(), "", updated)
	return nil
}

// face checks a face: an emoji, or an image that whoever gives it uploaded; the zero Face is none.
func (d *deciding) face(f protocol.Face) *protocol.Error {
	switch {
	case f.Emoji != "" && f.AttachmentID != "":
		return d.bad("face has an emoji or an attachment_id, not both")
	case f.Emoji != "":
		return d.emoji(f.Emoji)
	case f.AttachmentID != "":
		up, ok := d.c.Uploads[f.AttachmentID]
		if !ok || up.By != d.c.By.ID {
			return d.bad("face.attachment_id names no upload of yours: %.40s", f.AttachmentID)
		}
		if !strings.HasPrefix(up.File.MimeType, "image/") {
			return d.bad("face.attachment_id is no image but %s", up.File.MimeType)
		}
	}
	return nil
}
