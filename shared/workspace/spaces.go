package workspace

import (
	"slices"

	"github.com/chipschat/chips-aws/shared/protocol"
)

// Limits of rooms (contract U-125).
const (
	MaxMembers     = 250
	MaxRoomAgents  = 50
	MaxPersonRooms = 1000
	DefaultTitle   = "New room"
	// maxRoomRuns is how many runs may go in a room at once, lanes too, since a lane may outlive the run it stands under: as many as one
	// commit can cancel with the room.
	maxRoomRuns = 300
	// maxInquiries is how many approvals and questions may wait in a room, or of a harness outside of rooms: each is closed with its run.
	maxInquiries = 100
	// maxBareRuns is how many runs of a harness may go outside of rooms.
	maxBareRuns = 1000
)

// room is the draft's room, which the sender has to be in. One that is unknown and one that is somebody else's read the same.
func (d *deciding) room() (*Room, *protocol.Error) { return d.roomOf(d.c.Draft.SpaceID) }

func (d *deciding) roomOf(id string) (*Room, *protocol.Error) {
	if id == "" {
		return nil, d.bad("space_id is missing")
	}
	room := d.s.Rooms[id]
	if d.s.InRoom(room, d.c.By.ID) {
		return room, nil
	}
	if d.s.WasIn(room, d.c.By.ID) {
		return nil, notFound("the room was deleted")
	}
	return nil, forbidden("you are not in this room")
}

func closed() *protocol.Error {
	return protocol.Refuse(protocol.RoomClosed, "the room is archived: unarchive it first")
}

// spaceOpened opens a room; whoever opens it is its first member.
func (d *deciding) spaceOpened() *protocol.Error {
	draft, ok := d.c.Draft.Data.(*protocol.SpaceOpened)
	ask, asks := d.c.Draft.Data.(*AskDraft)
	switch {
	case asks:
		draft = &protocol.SpaceOpened{Title: ask.Title}
	case !ok:
		return d.bad("the event has no fields")
	}
	title := draft.Title
	if title == "" {
		title = DefaultTitle
	}
	title, bad := CleanName("title", title, MaxTitle)
	if bad != nil {
		return d.field(bad)
	}
	if draft.Key != "" {
		if bad := validKey("key", draft.Key); bad != nil {
			return d.field(bad)
		}
	}
	if len(draft.ParticipantIDs) > MaxMembers {
		return d.bad("participant_ids has %d entries, more than the limit of %d", len(draft.ParticipantIDs), MaxMembers)
	}
	room := &Room{ID: d.mint(protocol.PrefixSpace), Title: title}
	switch {
	case asks:
		return d.spaceAsked(ask, room)
	case d.c.By.Kind == protocol.KindHarness && (draft.AgentIDs != nil || draft.Brief != nil):
		return d.spaceHandedOff(draft, room)
	case d.c.By.Kind == protocol.KindHarness:
		return d.spaceOpenedByHarness(draft, room)
	case draft.AgentIDs != nil || draft.Brief != nil:
		return d.bad("agent_ids and brief are a harness's")
	}
	if err := d.needMember(); err != nil {
		return err
	}
	room.join(d.c.By.ID)
	var agents []*Agent
	for _, id := range draft.ParticipantIDs {
		if room.Has(id) {
			continue
		}
		a, err := d.firstMember(room, id)
		if err != nil {
			return err
		}
		if a != nil {
			agents = append(agents, a)
			room.join(a.ID)
		} else {
			room.join(id)
		}
	}
	return d.open(d.sender(), room, draft.Key, agents, d.c.By.ID)
}

// firstMember checks one of a new room's first members; an agent, or the agent a harness is given there, is answered.
func (d *deciding) firstMember(room *Room, id string) (*Agent, *protocol.Error) {
	switch protocol.PrefixOf(id) {
	case protocol.PrefixPerson:
		if d.s.Person(id) == nil {
			return nil, notFound("participant_ids names nobody known: %.40s", id)
		}
		return nil, d.roomsLeft(id)
	case protocol.PrefixAgent, protocol.PrefixHarness:
		a, err := d.agentFor(room, id)
		if err != nil {
			return nil, err
		}
		return a, d.mayPlace(a, room)
	}
	return nil, notFound("participant_ids names nobody known: %.40s", id)
}

// roomsLeft refuses one more room for a person who is in as many as one may be.
func (d *deciding) roomsLeft(person string) *protocol.Error {
	n := 0
	for _, r := range d.s.Rooms {
		if !r.Deleted && r.Has(person) {
			n++
		}
	}
	if n >= MaxPersonRooms {
		return d.bad("a person is in %d rooms at most", MaxPersonRooms)
	}
	return nil
}

// spaceOpenedByHarness opens a room for the agent of a key, or for the free agent that is named as actor (contract U-129).
func (d *deciding) spaceOpenedByHarness(draft *protocol.SpaceOpened, room *Room) *protocol.Error {
	h := d.s.Harness(d.c.By.ID)
	var agent *Agent
	switch actor := d.c.Draft.Actor; {
	case draft.Key != "":
		if agent = d.agentByKey(h.ID, draft.Key); agent == nil {
			if err := d.agentsLeft(h.ID); err != nil {
				return err
			}
			agent = d.newAgent(h, draft.Key, h.Name)
		}
	case actor.Kind == protocol.KindAgent:
		a, err := d.ownAgent(actor.ID)
		if err != nil {
			return err
		}
		agent = a
	default:
		return protocol.Refuse(protocol.WhichAgent, "say whose room it is: by key, or by naming a free agent of yours as actor")
	}
	if err := d.mayPlace(agent, room); err != nil {
		return err
	}
	if err := d.guestsOf(h, draft.ParticipantIDs, room); err != nil {
		return err
	}
	actor := agentActor(agent)
	room.Members = slices.Insert(room.Members, 0, agent.ID) // whoever opens it is its first member
	return d.open(actor, room, draft.Key, []*Agent{agent}, "")
}

// open writes a room's opening and puts its agents in it.
func (d *deciding) open(actor protocol.Actor, room *Room, key string, agents []*Agent, by string) *protocol.Error {
	if len(room.Members) > MaxMembers || len(agents) > MaxRoomAgents {
		return d.bad("a room holds %d members at most, %d of them agents", MaxMembers, MaxRoomAgents)
	}
	for _, a := range agents {
		if d.s.Agents[a.ID] == nil {
			d.register(a)
		}
	}
	d.answer(actor, room.ID, &protocol.SpaceOpened{Title: room.Title, ParticipantIDs: room.Members, Key: key})
	for _, a := range agents {
		d.put(a, room, &protocol.AgentAttached{By: by})
	}
	for _, a := range agents {
		d.postHeld(a, room)
	}
	return nil
}

// mayChange is the draft's room, which the sender may rename or put away: people who are more than guests.
func (d *deciding) mayChange() (*Room, *protocol.Error) {
	if d.c.By.Kind == protocol.KindPerson {
		if err := d.needMember(); err != nil {
			return nil, err
		}
	}
	room, err := d.room()
	if err != nil {
		return nil, err
	}
	if d.c.By.Kind == protocol.KindHarness && room.OpenedBy != d.c.By.ID {
		return nil, forbidden("a harness changes only the rooms it opened")
	}
	return room, nil
}

// roomActor is who changes a room: the person, or the harness's agent there.
func (d *deciding) roomActor(room *Room) protocol.Actor {
	if d.c.By.Kind == protocol.KindHarness {
		if agents := d.s.AgentsIn(room, d.c.By.ID); len(agents) == 1 {
			return agentActor(agents[0])
		}
	}
	return d.sender()
}

func (d *deciding) spaceRenamed() *protocol.Error {
	draft, ok := d.c.Draft.Data.(*protocol.SpaceRenamed)
	if !ok {
		return d.bad("title is missing")
	}
	title, bad := CleanName("title", draft.Title, MaxTitle)
	if bad != nil {
		return d.field(bad)
	}
	room, err := d.mayChange()
	if err != nil {
		return err
	}
	if err := d.unlocked(room); err != nil {
		return err
	}
	d.answer(d.roomActor(room), room.ID, &protocol.SpaceRenamed{Title: title, Previous: room.Title})
	return nil
}

func (d *deciding) spaceArchived() *protocol.Error { return d.putAway(&protocol.SpaceArchived{}) }

func (d *deciding) spaceClosed() *protocol.Error { return d.putAway(&protocol.SpaceClosed{}) }

// putAway archives a room: its runs are cancelled while its agents are still there, and then they are released.
func (d *deciding) putAway(data protocol.Data) *protocol.Error {
	room, err := d.mayChange()
	if err != nil {
		return err
	}
	if room.Archived {
		return closed()
	}
	if err := d.unlocked(room); err != nil {
		return err
	}
	for _, a := range d.s.AgentsIn(room, "") {
		if a.Lead {
			return mainRoom()
		}
	}
	d.cancelRuns(room.ID, "", ReasonArchived)
	d.answer(d.roomActor(room), room.ID, data)
	for _, a := range d.s.AgentsIn(room, "") {
		d.release(a, room, &protocol.AgentReleased{Reason: ReasonArchived, By: d.personID()})
	}
	return nil
}

// personID is the usr_ id of who asks, "" when no person does.
func (d *deciding) personID() string {
	if p := d.person(); p != nil {
		return p.ID
	}
	return ""
}

// spaceUnarchived brings a room back, with those of its agents that are still free.
func (d *deciding) spaceUnarchived() *protocol.Error {
	room, err := d.mayChange()
	if err != nil {
		return err
	}
	if !room.Archived {
		return d.bad("the room is not archived")
	}
	d.answer(d.sender(), room.ID, &protocol.SpaceUnarchived{})
	d.bringBack(room, d.personID())
	return nil
}

// bringBack attaches the agents that a room waits for and that are still free.
func (d *deciding) bringBack(room *Room, by string) {
	back := *room
	back.Archived, back.Members = false, slices.Clone(room.Members)
	var came []*Agent
	for _, a := range d.parkedIn(room) {
		if d.mayPlace(a, &back) == nil {
			back.join(a.ID)
			d.put(a, room, &protocol.AgentAttached{By: by})
			came = append(came, a)
		}
	}
	for _, a := range came {
		d.postHeld(a, &back)
	}
}

// parkedIn are the agents that come back with an archived room, oldest first.
func (d *deciding) parkedIn(room *Room) []*Agent {
	var agents []*Agent
	for _, a := range d.s.Agents {
		if a.Parked == room.ID && a.Room == "" && !a.Archived {
			agents = append(agents, a)
		}
	}
	slices.SortFunc(agents, func(a, b *Agent) int { return compare(a.ID, b.ID) })
	return agents
}

// spaceDeleted takes a room away for good, by whoever opened it, an owner or an admin.
func (d *deciding) spaceDeleted() *protocol.Error {
	draft, ok := d.c.Draft.Data.(*protocol.SpaceDeleted)
	if !ok {
		draft = &protocol.SpaceDeleted{}
	}
	if err := d.needMember(); err != nil {
		return err
	}
	room, err := d.room()
	if err != nil {
		return err
	}
	if room.OpenedBy != d.c.By.ID && !d.person().runsThings() {
		return forbidden("only whoever opened the room, an owner or an admin may delete it")
	}
	if err := d.unlocked(room); err != nil {
		return err
	}
	agents := d.s.AgentsIn(room, "")
	for _, a := range agents {
		if a.Lead {
			return mainRoom()
		}
	}
	d.cancelRuns(room.ID, "", ReasonDeleted)
	d.answer(d.sender(), room.ID, &protocol.SpaceDeleted{DeleteAgents: draft.DeleteAgents})
	for _, a := range agents {
		d.release(a, room, &protocol.AgentReleased{Reason: ReasonDeleted, By: d.c.By.ID, Delete: draft.DeleteAgents})
		if draft.DeleteAgents {
			facts := a.facts()
			facts.State = StateArchived
			d.emit(protocol.System, "", &protocol.AgentUpdated{AgentFacts: facts})
		}
	}
	return nil
}
