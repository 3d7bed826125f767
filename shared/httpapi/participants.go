package httpapi

import (
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/chipschat/chips-aws/shared/protocol"
	"github.com/chipschat/chips-aws/shared/workspace"
)

// participant is somebody in the workspace as a caller is told of them (contract U-55).
type participant struct {
	ParticipantID string             `json:"participant_id"`
	Kind          protocol.ActorKind `json:"kind"`
	Name          string             `json:"name"`
	Handle        string             `json:"handle,omitzero"`
	Role          protocol.Role      `json:"role,omitzero"`
	// HarnessID and Harness are the harness behind an agent.
	HarnessID string `json:"harness_id,omitzero"`
	Harness   string `json:"harness,omitzero"`
	// State is active or archived, for an agent.
	State string `json:"state,omitzero"`
	// Held is how many of an agent's words wait for it to be in a room.
	Held int `json:"held,omitzero"`
	// SpaceIDs are those of the caller's rooms that they are in.
	SpaceIDs []string `json:"space_ids"`
}

// listParticipants answers who is in the workspace: everybody to people but guests, to all others who shares a room with them (WHO-7).
func (a *api) listParticipants(c *call) (any, error) {
	at, err := readCursor(c)
	if err != nil {
		return nil, err
	}
	var entries []participant
	var more bool
	err = a.see(c, func(s *workspace.State) error {
		spaces := spacesOf(s, c.caller)
		var ids []string
		ids, more = at.next(participantsFor(s, c.caller, spaces))
		for _, id := range ids {
			p := viewParticipant(s, c.caller, id)
			p.SpaceIDs = append([]string{}, spaces[id]...)
			entries = append(entries, p)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	var res struct {
		Participants []jsontext.Value `json:"participants"`
		NextAfter    string           `json:"next_after,omitzero"`
	}
	res.Participants, res.NextAfter, err = list(entries, func(p participant) string { return p.ParticipantID }, more)
	return res, err
}

// spacesOf are the caller's rooms that each participant is in, under the ids the caller is shown.
func spacesOf(s *workspace.State, by workspace.Caller) map[string][]string {
	spaces := map[string][]string{}
	for _, space := range s.RoomsOf(by.ID) {
		for _, m := range s.Rooms[space].Members {
			id := shown(s, by, m)
			if !slices.Contains(spaces[id], space) {
				spaces[id] = append(spaces[id], space)
			}
		}
	}
	return spaces
}

// participantsFor are the ids of whom a caller is told of.
func participantsFor(s *workspace.State, by workspace.Caller, spaces map[string][]string) []string {
	ids := []string{by.ID}
	for id := range spaces {
		ids = append(ids, id)
	}
	p := s.Person(by.ID)
	all := p != nil && p.Role != protocol.Guest
	for id, p := range s.People {
		if all && !p.Removed {
			ids = append(ids, id)
		}
	}
	for id, h := range s.Harnesses {
		if all && !h.Removed {
			ids = append(ids, id)
		}
	}
	for id, agent := range s.Agents {
		if all || agent.HarnessID == by.ID {
			ids = append(ids, shown(s, by, id))
		}
	}
	return ids
}

func viewParticipant(s *workspace.State, by workspace.Caller, id string) participant {
	p := participant{ParticipantID: id, Name: s.NameOf(id), Handle: workspace.HandleOf(s.NameOf(id))}
	switch protocol.PrefixOf(id) {
	case protocol.PrefixPerson:
		p.Kind, p.Role = protocol.KindPerson, s.People[id].Role
	case protocol.PrefixHarness:
		p.Kind = protocol.KindHarness
	case protocol.PrefixAgent:
		agent := s.Agents[id]
		p.Kind, p.Handle, p.HarnessID, p.Harness = protocol.KindAgent, agent.Handle, agent.HarnessID, s.NameOf(agent.HarnessID)
		p.State, p.Held = workspace.StateActive, s.HeldOf(id)
		if agent.Archived {
			p.State = workspace.StateArchived
		}
		// Before agents, another's agent is a harness like any other (AGT-16).
		if beforeAgents(s, by) {
			p.Kind = protocol.KindHarness
		}
	}
	return p
}
