package workspace

import "github.com/chipschat/chips-aws/shared/protocol"

// memberAdded adds a person, an agent, or the agent a harness is given there.
func (d *deciding) memberAdded() *protocol.Error {
	draft, ok := d.c.Draft.Data.(*protocol.MemberAdded)
	if !ok || draft.ParticipantID == "" {
		return d.bad("participant_id is missing")
	}
	if err := d.needMember(); err != nil {
		return err
	}
	room, err := d.room()
	if err != nil {
		return err
	}
	id := draft.ParticipantID
	switch protocol.PrefixOf(id) {
	case protocol.PrefixPerson:
		if d.s.Person(id) == nil {
			return notFound("participant_id names nobody known")
		}
		if room.Has(id) {
			return d.bad("participant_id is in the room already")
		}
		if len(room.Members) >= MaxMembers {
			return d.bad("a room holds %d members at most", MaxMembers)
		}
		if err := d.roomsLeft(id); err != nil {
			return err
		}
		d.answer(d.sender(), room.ID, &protocol.MemberAdded{ParticipantID: id, By: d.c.By.ID})
		return nil
	case protocol.PrefixAgent, protocol.PrefixHarness:
		a, err := d.agentFor(room, id)
		if err != nil {
			return err
		}
		if err := d.mayPlace(a, room); err != nil {
			return err
		}
		if d.s.Agents[a.ID] == nil {
			d.register(a)
		}
		d.answer(d.sender(), room.ID, &protocol.MemberAdded{ParticipantID: a.ID, By: d.c.By.ID})
		d.put(a, room, &protocol.AgentAttached{By: d.c.By.ID})
		d.postHeld(a, room)
		return nil
	}
	return notFound("participant_id names nobody known")
}

// memberRemoved takes somebody out; anybody may take themselves out.
func (d *deciding) memberRemoved() *protocol.Error {
	draft, ok := d.c.Draft.Data.(*protocol.MemberRemoved)
	if !ok || draft.ParticipantID == "" {
		return d.bad("participant_id is missing")
	}
	id := draft.ParticipantID
	if id != d.c.By.ID {
		if err := d.needMember(); err != nil {
			return err
		}
	}
	room, err := d.room()
	if err != nil {
		return err
	}
	if protocol.PrefixOf(id) == protocol.PrefixHarness {
		agents := d.s.AgentsIn(room, id)
		if len(agents) > 1 {
			return protocol.Refuse(protocol.WhichAgent, "the harness has %d agents in the room: name one", len(agents))
		}
		if len(agents) == 1 {
			id = agents[0].ID
		}
	}
	if !room.Has(id) {
		return notFound("participant_id is not in the room")
	}
	if protocol.PrefixOf(id) == protocol.PrefixHarness {
		return d.bad("the harness itself is who the room holds: it stays until an agent of it comes")
	}
	a := d.s.Agents[id]
	if a == nil {
		d.answer(d.sender(), room.ID, &protocol.MemberRemoved{ParticipantID: id, By: d.c.By.ID})
		return nil
	}
	if a.Lead {
		return mainRoom()
	}
	d.cancelRuns(room.ID, a.ID, ReasonRemoved)
	d.answer(d.sender(), room.ID, &protocol.MemberRemoved{ParticipantID: a.ID, By: d.c.By.ID})
	d.release(a, room, &protocol.AgentReleased{Reason: ReasonRemoved, By: d.c.By.ID})
	return nil
}

// agentMoved moves an agent from the room it is in to another.
func (d *deciding) agentMoved() *protocol.Error {
	draft, ok := d.c.Draft.Data.(*protocol.AgentMoved)
	if !ok || draft.AgentID == "" || draft.ToSpaceID == "" {
		return d.bad("agent_id and to_space_id are needed")
	}
	if err := d.needMember(); err != nil {
		return err
	}
	to, err := d.roomOf(draft.ToSpaceID)
	if err != nil {
		return err
	}
	a := d.s.Agents[draft.AgentID]
	if a == nil || d.s.Harness(a.HarnessID) == nil {
		return notFound("agent_id names no agent")
	}
	if space := d.c.Draft.SpaceID; space != "" && space != a.Room {
		return d.bad("space_id is not the room the agent is in")
	}
	from := d.s.Rooms[a.Room]
	if from == nil {
		return d.bad("the agent is in no room: add it")
	}
	if err := d.mayMove(a); err != nil {
		return err
	}
	if to.ID == from.ID {
		return d.bad("the agent is in that room already")
	}
	free := *a
	free.Room = ""
	if a.Lead {
		return mainRoom()
	}
	if err := d.mayPlace(&free, to); err != nil {
		return err
	}
	d.cancelRuns(from.ID, a.ID, ReasonMoved)
	d.answer(d.sender(), from.ID, &protocol.AgentMoved{AgentID: a.ID, ToSpaceID: to.ID})
	d.release(a, from, &protocol.AgentReleased{Reason: ReasonMoved, By: d.c.By.ID, MovedTo: to.ID})
	d.emit(d.sender(), to.ID, &protocol.MemberAdded{ParticipantID: a.ID, By: d.c.By.ID})
	d.put(a, to, &protocol.AgentAttached{By: d.c.By.ID})
	d.postHeld(a, to)
	return nil
}

// mayMove refuses those who may not move an agent out of where it is; they have to be where it goes, too.
func (d *deciding) mayMove(a *Agent) *protocol.Error {
	from := d.s.Rooms[a.Room]
	if from != nil && from.Has(d.c.By.ID) || d.person().runsThings() || d.s.Harnesses[a.HarnessID].OwnerID == d.c.By.ID {
		return nil
	}
	return forbidden("only somebody in both rooms, the agent's owner, an owner or an admin may do this")
}
