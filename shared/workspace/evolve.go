package workspace

import (
	"slices"

	"github.com/chipschat/chips-aws/shared/protocol"
)

// Evolve is the state after one more event, in place. It takes whatever was committed: what it cannot place it passes over.
func Evolve(s *State, e protocol.Event) {
	s.Seq, s.TS = e.Seq, e.TS
	if room := s.Rooms[e.SpaceID]; room != nil {
		room.LastSeq = e.Seq
	}
	if e.SpaceID == "" || beyondRoom(e) {
		s.LastBare = e.Seq
	}
	if h := s.Harnesses[s.own(e)]; h != nil {
		h.LastOwn = e.Seq
	}
	s.Rooms[e.SpaceID].evolveAct(e)
	s.heard(e.RunID, e.TS)
	switch d := e.Data.(type) {
	case *protocol.WorkspaceOpened:
		s.Name = d.Name
	case *protocol.WorkspaceRenamed:
		s.Name = d.Name
	case *protocol.PolicyCapSet:
		s.Cap = *d
	case *protocol.ExchangeSettingsSet:
		s.Exchange = *d
	case *protocol.PersonAdded:
		s.People[d.PersonID] = &Person{ID: d.PersonID, Name: d.Name, Role: d.Role}
	case *protocol.PersonUpdated:
		if p := s.People[d.PersonID]; p != nil {
			if d.Previous != "" && d.Previous != d.Name {
				s.contextRenamed(e, d)
			}
			p.Name, p.Role, p.Labels, p.TimeZone = d.Name, d.Role, d.Labels, d.TimeZone
		}
	case *protocol.PersonRemoved:
		s.evolvePersonRemoved(d.PersonID)
	case *protocol.HarnessAdded:
		s.Harnesses[d.HarnessID] = &Harness{ID: d.HarnessID, Name: d.DisplayName, OwnerID: d.OwnerID, Capabilities: d.Capabilities}
	case *protocol.HarnessUpdated:
		if h := s.Harnesses[d.HarnessID]; h != nil {
			h.Name, h.OwnerID, h.Capabilities = d.DisplayName, d.OwnerID, d.Capabilities
		}
	case *protocol.HarnessRemoved:
		s.evolveHarnessRemoved(d.HarnessID)
	case *protocol.HarnessStatusSet:
		if h := s.Harnesses[d.HarnessID]; h != nil {
			h.evolveStatus(e, d)
		}
	case *protocol.HarnessPolicySet:
		if h := s.Harnesses[d.HarnessID]; h != nil {
			policy := d.Policy
			h.Policy = &policy
		}
	case *protocol.HarnessBudgetSet:
		if h := s.Harnesses[d.HarnessID]; h != nil {
			h.LimitUSD, h.Spent = d.LimitUSD, 0
		}
	default:
		s.evolveRoom(e)
	}
	s.Rooms[e.SpaceID].looseMoved(e)
}

// evolveRoom takes the events of rooms, members, agents, messages and runs.
func (s *State) evolveRoom(e protocol.Event) {
	room := s.Rooms[e.SpaceID]
	switch d := e.Data.(type) {
	case *protocol.SpaceOpened:
		s.evolveSpaceOpened(e, d)
	case *protocol.SpaceRenamed:
		if room != nil {
			room.Title = d.Title
		}
	case *protocol.SpaceArchived, *protocol.SpaceClosed:
		if room != nil {
			room.Archived = true
		}
	case *protocol.SpaceUnarchived:
		if room != nil {
			room.Archived = false
			s.forget(room)
		}
	case *protocol.SpaceDeleted:
		if room != nil {
			s.evolveSpaceDeleted(room, e)
		}
	case *protocol.MemberAdded:
		if room != nil && protocol.PrefixOf(d.ParticipantID) != protocol.PrefixAgent {
			s.seat(room, d.ParticipantID, d.By, e)
			room.join(d.ParticipantID)
		}
	case *protocol.MemberRemoved:
		if room != nil && protocol.PrefixOf(d.ParticipantID) != protocol.PrefixAgent {
			room.leave(d.ParticipantID)
		}
	case *protocol.AgentRegistered:
		s.Agents[d.AgentID] = &Agent{ID: d.AgentID}
		s.evolveAgent(d.AgentFacts)
	case *protocol.AgentUpdated:
		s.evolveAgent(d.AgentFacts)
	case *protocol.AgentAttached:
		if a := s.Agents[d.AgentID]; a != nil && room != nil {
			if parked := s.Rooms[a.Parked]; parked != nil && parked != room {
				delete(parked.Seats, a.ID)
			}
			a.Room, a.LastRoom, a.Parked, a.TookRoom, a.WhyFree = room.ID, room.ID, "", false, ""
			s.heldMay(a.ID, e)
			s.takeOver(room, a)
			s.contextJoined(room, a.ID, e.Seq)
			s.seat(room, a.ID, d.By, e)
			room.join(a.ID)
			// The harness itself holds a room only while none of its agents does.
			room.leave(a.HarnessID)
		}
		s.answered(func(ask Ask) bool { return ask.ID == d.ForkOf || ask.ID == d.MadeFor })
	case *protocol.AgentReleased:
		s.evolveReleased(e, d)
	case *protocol.AgentFork:
		s.asked(e, Ask{HarnessID: d.HarnessID, AgentID: d.AgentID, By: d.By})
	case *protocol.AgentAsked:
		s.asked(e, Ask{HarnessID: d.HarnessID, Name: d.Name, By: d.By})
	case *protocol.RoomSays:
		s.answered(func(ask Ask) bool { return ask.ID == d.About })
	case *protocol.AgentMoved: // a line; the agent goes by what follows
	case *protocol.SpaceLeadSet:
		if room != nil {
			room.Lead = ""
			if d.AgentID != nil {
				room.Lead = *d.AgentID
			}
		}
	case *protocol.MembershipReplaced:
		if room != nil {
			s.evolveReplaced(room, e, d)
		}
	case *protocol.SpaceCeilingSet:
		if room != nil {
			room.evolveCeiling(d)
		}
	case *protocol.SpaceLockSet:
		if room != nil {
			room.Locked = d.Locked
		}
	case *protocol.MessageHeld:
		s.hold(e, d)
	case *protocol.TurnPassed: // nothing was said
	case *protocol.ExchangeSet: // a person's is an act of theirs
		if room != nil && d.State == PausedState && e.Actor.Kind == protocol.KindSystem {
			room.Talk.Paused = PausedBySpend
		}
	case *protocol.MessageHanded:
		if room != nil {
			s.turnHanded(room, e, d)
		}
	case *protocol.MessagePost, *protocol.RunSteer:
		if room != nil {
			s.evolveMessage(room, e, protocol.Said(e.Data))
		}
	case *protocol.MessageHeard: // a word of its run
	case *protocol.MessageEdited:
		s.evolveMark(room, e, d.MessageID, false)
	case *protocol.MessageDeleted:
		s.evolveMark(room, e, d.MessageID, true)
		if room != nil {
			room.evolveFilesGone(d.MessageID)
		}
	case *protocol.ReactionSet, *protocol.PinSet: // whoever shows them folds them
		s.heard(e.RunID, e.TS)
	default:
		s.evolveRun(e)
		return
	}
	for _, id := range LineRooms(e) {
		if r := s.Rooms[id]; r != nil {
			r.PrevLine, r.LastLine = r.LastLine, e.Seq
		}
	}
}

// takeOver has an agent take over what its harness itself was doing in a room that it held until now; the room is claimed with that.
func (s *State) takeOver(room *Room, a *Agent) {
	if room.AskedOf == a.HarnessID {
		room.AskedOf = ""
	}
	if !room.Has(a.HarnessID) {
		return
	}
	for _, run := range s.Runs {
		if run.Room == room.ID && run.AgentID == a.HarnessID && !run.EndedRun() {
			run.AgentID = a.ID
		}
	}
}

func (s *State) evolveSpaceOpened(e protocol.Event, d *protocol.SpaceOpened) {
	room := &Room{ID: e.SpaceID, Title: d.Title, OpenedBy: e.Actor.ID, OpenedAt: e.TS, AskedOf: d.AskedOf, OpenedSeq: e.Seq, LastSeq: e.Seq}
	room.begin(e)
	if e.Actor.Kind == protocol.KindAgent {
		room.OpenedBy = e.Actor.HarnessID
	}
	for _, id := range d.ParticipantIDs {
		if protocol.PrefixOf(id) == protocol.PrefixAgent { // agents join by agent.attached
			room.setSeat(id, Seat{})
		} else {
			room.join(id)
		}
		if protocol.PrefixOf(id) == protocol.PrefixHarness {
			s.contextJoined(room, id, e.Seq)
		}
		if h := s.Harnesses[id]; h != nil && d.Direct {
			room.DirectOf, h.Direct = h.ID, room.ID
		}
	}
	s.Rooms[room.ID] = room
}

// evolveSpaceDeleted leaves a stub that remembers who was in the room, and where its lines are; the oldest stubs go.
func (s *State) evolveSpaceDeleted(room *Room, e protocol.Event) {
	s.Rooms[room.ID] = &Room{ID: room.ID, Deleted: true, Members: room.Members, LastSeq: e.Seq, LastLine: room.LastLine}
	s.answered(func(ask Ask) bool { return ask.Room == room.ID })
	s.Deleted = append(s.Deleted, room.ID)
	for len(s.Deleted) > RememberedRooms {
		delete(s.Rooms, s.Deleted[0])
		s.Deleted = s.Deleted[1:]
	}
}

func (s *State) evolvePersonRemoved(id string) {
	if p := s.People[id]; p != nil {
		p.Removed = true
	}
	for _, room := range s.Rooms {
		room.leave(id)
	}
}

func (s *State) evolveAgent(f protocol.AgentFacts) {
	a := s.Agents[f.AgentID]
	if a == nil {
		return
	}
	a.HarnessID, a.Key, a.Name, a.Handle, a.NameBy, a.Lead = f.HarnessID, f.Key, f.Name, f.Handle, f.NameBy, f.Lead
	a.Asked, a.ForkedFrom, a.WhyFree = f.Asked, f.ForkedFrom, f.WhyFree
	a.Face = f.Face
	a.Archived = f.State == StateArchived
}

func (s *State) evolveReleased(e protocol.Event, d *protocol.AgentReleased) {
	a := s.Agents[d.AgentID]
	if a == nil {
		return
	}
	room := s.Rooms[e.SpaceID]
	if a.Room == e.SpaceID {
		a.Room = ""
	}
	a.Parked, a.TookRoom = "", false
	if room != nil && room.Archived {
		a.Parked, a.TookRoom = room.ID, d.Reason == ReasonAgentArchived
	}
	if room == nil || room.Deleted { // a deleted room remembers who was in it
		return
	}
	seat, sat := room.Seats[a.ID]
	room.leave(a.ID)
	if sat && a.Parked != "" {
		room.setSeat(a.ID, seat)
	}
	if room.Lead == a.ID {
		room.Lead = ""
	}
	// The direct room falls back to the harness itself.
	if room.DirectOf == a.HarnessID && !slices.ContainsFunc(room.Members, func(m string) bool { return s.harnessOf(m) == a.HarnessID }) {
		room.join(a.HarnessID)
		s.contextJoined(room, a.HarnessID, e.Seq)
	}
}

// forget has a room that is brought back wait no longer for agents that their harness has archived: they come by themselves, or not.
func (s *State) forget(room *Room) {
	for _, a := range s.Agents {
		if a.Parked == room.ID && a.Archived {
			a.Parked, a.TookRoom = "", false
			delete(room.Seats, a.ID)
		}
	}
}

func (s *State) evolveMessage(room *Room, e protocol.Event, d *protocol.MessagePost) {
	if room.FirstSaid == 0 {
		room.FirstSaid = e.Seq
	}
	if d.Brief {
		room.begin(e)
	}
	s.lastWords(room, e, d)
	s.turnGiven(room, e, d)
	if e.Actor.Kind != protocol.KindPerson {
		room.talked(e, d)
	}
	room.evolveFiles(e, d.Attachments)
	if e.Actor.Kind != protocol.KindPerson {
		if d.HeldSince != nil {
			s.heldPosted(e.Actor.ID, e)
		}
		room.LastAgentSaid = e.Actor.ID
		s.contextSaid(room, e)
		return
	}
	switch len(d.AddressedTo) {
	case 0:
	case 1:
		if room.LastTo == nil {
			room.LastTo = map[string]string{}
		}
		room.LastTo[e.Actor.ID] = d.AddressedTo[0]
	default:
		delete(room.LastTo, e.Actor.ID)
	}
}

func (r *Room) join(id string) {
	if !r.Has(id) {
		r.Members = append(r.Members, id)
	}
}

func (r *Room) leave(id string) {
	r.Members = slices.DeleteFunc(r.Members, func(m string) bool { return m == id })
	delete(r.LastTo, id)
	delete(r.Seats, id)
}

// LineRooms are the rooms an event writes a context line in. A person's rename is a line in every room, but in none of their chains:
// it is read from the state.
func LineRooms(e protocol.Event) []string {
	if e.SpaceID == "" {
		return nil
	}
	switch e.Data.(type) {
	case *protocol.MessagePost, *protocol.RunSteer, *protocol.MemberAdded, *protocol.MemberRemoved, *protocol.AgentMoved,
		*protocol.SpaceRenamed, *protocol.SpaceArchived, *protocol.SpaceUnarchived, *protocol.SpaceClosed:
		return []string{e.SpaceID}
	}
	return nil
}

// StateActive and the words below are what the log says of an agent.
const (
	StateActive   = "active"
	StateArchived = "archived"

	ReasonArchived      = "archived"
	ReasonDeleted       = "deleted"
	ReasonMoved         = "moved"
	ReasonAgentArchived = "agent_archived"
	ReasonRemoved       = "removed"
	ReasonReplaced      = "replaced"
)
