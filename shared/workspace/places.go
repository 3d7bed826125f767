package workspace

import "github.com/chipschat/chips-aws/shared/protocol"

// put writes that an agent is in a room from here on. Who attaches one posts what it said while it was free (postHeld), once all are there.
func (d *deciding) put(a *Agent, room *Room, as *protocol.AgentAttached) {
	as.AgentID = a.ID
	d.emit(protocol.System, room.ID, as)
}

// release writes that an agent has left a room and is free. A lead that leaves leads no more.
func (d *deciding) release(a *Agent, room *Room, as *protocol.AgentReleased) {
	as.AgentID = a.ID
	d.emit(protocol.System, room.ID, as)
	if room.Lead == a.ID && as.Reason != ReasonDeleted {
		d.emit(protocol.System, room.ID, &protocol.SpaceLeadSet{})
	}
}

// spaceLeadSet chooses the agent that hands out the work in a room, or none.
func (d *deciding) spaceLeadSet() *protocol.Error {
	draft, ok := d.c.Draft.Data.(*protocol.SpaceLeadSet)
	if !ok {
		return d.bad("agent_id is missing")
	}
	if err := d.needMember(); err != nil {
		return err
	}
	room, err := d.room()
	if err != nil {
		return err
	}
	if room.Archived {
		return closed()
	}
	lead := ""
	if draft.AgentID != nil {
		if lead = *draft.AgentID; d.s.Agents[lead] == nil || !room.Has(lead) {
			return d.bad("agent_id names no agent in the room")
		}
	}
	if lead != room.Lead {
		d.answer(d.sender(), room.ID, draft)
	}
	return nil
}

// AskDraft is a person's asking a harness for a room, with the first words said there.
type AskDraft struct {
	HarnessID, Title, Text string
}

// EventType says which event the draft causes.
func (*AskDraft) EventType() string { return "space.opened" }

// spaceAsked opens a room that holds a harness itself, which is to claim it.
func (d *deciding) spaceAsked(draft *AskDraft, room *Room) *protocol.Error {
	if err := d.needMember(); err != nil {
		return err
	}
	h := d.s.Harness(draft.HarnessID)
	switch {
	case h == nil:
		return notFound("no such harness")
	case !d.s.Declares(h.ID, "new_spaces"):
		return d.bad("%s does not declare new_spaces: it cannot be asked for a room", h.Name)
	}
	if err := d.said(draft.Text, 0); err != nil {
		return err
	}
	if err := d.roomsLeft(d.c.By.ID); err != nil {
		return err
	}
	d.answer(d.sender(), room.ID, &protocol.SpaceOpened{Title: room.Title, ParticipantIDs: []string{d.c.By.ID, h.ID}, AskedOf: h.ID})
	d.emit(d.sender(), room.ID, &protocol.MessagePost{Text: draft.Text, AddressedTo: []string{h.ID}})
	return nil
}

// ClaimDraft is a harness's claim of a room that it was asked for, for the agent of a key of its own.
type ClaimDraft struct {
	Key  string
	Name *string
}

// EventType says which event the draft causes.
func (*ClaimDraft) EventType() string { return "agent.attached" }

// spaceClaimed puts the agent of a key, made where there is none, in the place of the harness itself; it leads the room from then on.
func (d *deciding) spaceClaimed() *protocol.Error {
	draft, ok := d.c.Draft.Data.(*ClaimDraft)
	if !ok || d.c.By.Kind != protocol.KindHarness {
		return forbidden("only a harness claims a room")
	}
	if bad := validKey("key", draft.Key); bad != nil {
		return d.field(bad)
	}
	h := d.s.Harness(d.c.By.ID)
	name := h.Name
	if draft.Name != nil {
		clean, bad := CleanName("name", *draft.Name, MaxName)
		if bad != nil {
			return d.field(bad)
		}
		name = clean
	}
	room, err := d.room()
	if err != nil {
		return err
	}
	if room.AskedOf != h.ID {
		return d.bad("the room is not waiting for you to claim it")
	}
	a := d.agentByKey(h.ID, draft.Key)
	if a == nil {
		if err := d.agentsLeft(h.ID); err != nil {
			return err
		}
		a = d.newAgent(h, draft.Key, name)
	}
	if err := d.mayPlace(a, room); err != nil {
		return err
	}
	if d.s.Agents[a.ID] == nil {
		d.register(a)
	}
	d.primary = len(d.out)
	d.put(a, room, &protocol.AgentAttached{})
	d.emit(protocol.System, room.ID, &protocol.SpaceLeadSet{AgentID: &a.ID})
	d.postHeld(a, room)
	return nil
}

// spaceHandedOff opens a room for free agents of a harness and hands them a brief there, said by the agent that sends it (contract U-131).
func (d *deciding) spaceHandedOff(draft *protocol.SpaceOpened, room *Room) *protocol.Error {
	h := d.s.Harness(d.c.By.ID)
	if draft.Brief == nil {
		return d.bad("brief is missing: agent_ids are handed one")
	}
	if err := d.said(draft.Brief.Text, len(draft.Brief.UploadIDs)); err != nil {
		return err
	}
	if len(draft.AgentIDs) == 0 || len(draft.AgentIDs) > MaxRoomAgents {
		return d.bad("agent_ids has %d entries: it takes 1 to %d", len(draft.AgentIDs), MaxRoomAgents)
	}
	if d.c.Draft.Actor.Kind != protocol.KindAgent {
		return protocol.Refuse(protocol.WhichAgent, "name the agent that hands the work off as actor")
	}
	sender, err := d.ownAgent(d.c.Draft.Actor.ID)
	if err != nil {
		return err
	}
	if sender.Archived {
		return d.bad("actor: the agent is archived")
	}
	var agents []*Agent
	for _, id := range draft.AgentIDs {
		a := d.s.Agents[id]
		if a == nil || a.HarnessID != h.ID {
			return notFound("agent_ids names no agent of yours: %.40s", id)
		}
		if room.Has(id) {
			return d.bad("agent_ids names %.40s twice", id)
		}
		if err := d.mayPlace(a, room); err != nil {
			return err
		}
		agents = append(agents, a)
		room.join(id)
	}
	if err := d.guestsOf(h, draft.ParticipantIDs, room); err != nil {
		return err
	}
	if err := d.open(agentActor(sender), room, "", agents, ""); err != nil {
		return err
	}
	post := &protocol.MessagePost{Text: draft.Brief.Text, UploadIDs: draft.Brief.UploadIDs, AddressedTo: draft.AgentIDs, Brief: true}
	if err := d.attach(room, &protocol.MessagePost{UploadIDs: draft.Brief.UploadIDs}, post); err != nil {
		return err
	}
	d.emit(agentActor(sender), room.ID, post)
	return nil
}

// guestsOf puts a harness's owner, and people who share a room with it, in a room that it opens.
func (d *deciding) guestsOf(h *Harness, people []string, room *Room) *protocol.Error {
	if d.s.Person(h.OwnerID) != nil {
		room.join(h.OwnerID)
	}
	for _, id := range people {
		if d.s.Person(id) == nil || !d.s.Shares(h.ID, id) && id != h.OwnerID {
			return notFound("participant_ids names nobody you share a room with: %.40s", id)
		}
		if err := d.roomsLeft(id); err != nil {
			return err
		}
		room.join(id)
	}
	return nil
}

// said checks that a message says something.
func (d *deciding) said(text string, files int) *protocol.Error {
	switch {
	case files > MaxFiles:
		return d.bad("upload_ids has %d files, more than the limit of %d", files, MaxFiles)
	case len(text) > protocol.MaxText:
		return d.bad("text has %d bytes, more than the limit of %d", len(text), protocol.MaxText)
	case isBlank(text) && files == 0:
		return d.bad("text is empty and there are no files")
	}
	return nil
}
