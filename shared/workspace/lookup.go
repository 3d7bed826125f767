package workspace

import (
	"slices"

	"github.com/chipschat/chips-aws/shared/protocol"
)

// harnessOf is the harness behind a hrn_ or agt_ id, "" for anybody else.
func (s *State) harnessOf(id string) string {
	switch protocol.PrefixOf(id) {
	case protocol.PrefixHarness:
		return id
	case protocol.PrefixAgent:
		if a := s.Agents[id]; a != nil {
			return a.HarnessID
		}
	}
	return ""
}

// HarnessOf is the harness behind a hrn_ or agt_ id, "" for anybody else.
func (s *State) HarnessOf(id string) string { return s.harnessOf(id) }

// InRoom says whether a person, or a harness by itself or by any of its agents, is in a room. A deleted room has nobody in it.
func (s *State) InRoom(room *Room, id string) bool {
	if room == nil || room.Deleted {
		return false
	}
	return s.wasIn(room, id)
}

// wasIn is InRoom for deleted rooms too, whose members are those of the deletion.
func (s *State) wasIn(room *Room, id string) bool {
	if protocol.PrefixOf(id) != protocol.PrefixHarness {
		return room.Has(id)
	}
	return slices.ContainsFunc(room.Members, func(m string) bool { return s.harnessOf(m) == id })
}

// WasIn says whether somebody was in a room that has been deleted when it was.
func (s *State) WasIn(room *Room, id string) bool {
	return room != nil && room.Deleted && s.wasIn(room, id)
}

// RoomsOf are the ids of the rooms a person or a harness is in, archived ones too, in the order they were opened.
func (s *State) RoomsOf(id string) []string {
	var rooms []*Room
	for _, r := range s.Rooms {
		if s.InRoom(r, id) {
			rooms = append(rooms, r)
		}
	}
	slices.SortFunc(rooms, func(a, b *Room) int { return int(a.OpenedSeq - b.OpenedSeq) })
	ids := make([]string, len(rooms))
	for i, r := range rooms {
		ids[i] = r.ID
	}
	return ids
}

// AgentsOf are a harness's agents, archived ones too, in the order they were made.
func (s *State) AgentsOf(harness string) []*Agent {
	var agents []*Agent
	for _, a := range s.Agents {
		if a.HarnessID == harness {
			agents = append(agents, a)
		}
	}
	slices.SortFunc(agents, func(a, b *Agent) int { return compare(a.ID, b.ID) })
	return agents
}

// AgentsIn are the agents in a room, in the order they joined; those of one harness alone when it is not "".
func (s *State) AgentsIn(room *Room, harness string) []*Agent {
	var agents []*Agent
	for _, m := range room.Members {
		if a := s.Agents[m]; a != nil && (harness == "" || a.HarnessID == harness) {
			agents = append(agents, a)
		}
	}
	return agents
}

// Declares says whether a harness has a capability.
func (s *State) Declares(harness, capability string) bool {
	h := s.Harnesses[harness]
	return h != nil && slices.Contains(h.Capabilities, capability)
}

// Shares says whether somebody (a usr_ or hrn_ id) is in a room with a participant (a usr_, hrn_ or agt_ id).
func (s *State) Shares(id, participant string) bool {
	for _, r := range s.Rooms {
		if s.InRoom(r, id) && s.InRoom(r, participant) {
			return true
		}
	}
	return false
}

// NameOf is what a participant is called, "" for one nobody knows.
func (s *State) NameOf(id string) string {
	switch protocol.PrefixOf(id) {
	case protocol.PrefixPerson:
		if p := s.People[id]; p != nil {
			return p.Name
		}
	case protocol.PrefixHarness:
		if h := s.Harnesses[id]; h != nil {
			return h.Name
		}
	case protocol.PrefixAgent:
		if a := s.Agents[id]; a != nil {
			return a.Name
		}
	}
	return ""
}

// Person is a person who is still in the workspace, nil for anybody else.
func (s *State) Person(id string) *Person {
	if p := s.People[id]; p != nil && !p.Removed {
		return p
	}
	return nil
}

// Harness is a harness that is still in the workspace, nil for any other.
func (s *State) Harness(id string) *Harness {
	if h := s.Harnesses[id]; h != nil && !h.Removed {
		return h
	}
	return nil
}

func compare(a, b string) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}
