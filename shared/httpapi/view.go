package httpapi

import (
	"github.com/chipschat/chips-aws/shared/protocol"
	"github.com/chipschat/chips-aws/shared/workspace"
)

// sees says whether a participant is shown to a caller outside of rooms: everybody to people but guests, to all others themselves and
// whoever shares a room with them (contract U-56, U-81).
func sees(s *workspace.State, by workspace.Caller, id string) bool {
	if p := s.Person(by.ID); p != nil && p.Role != protocol.Guest {
		return true
	}
	return id == by.ID || s.HarnessOf(id) == by.ID || s.Shares(by.ID, id)
}

// shown is an id as it is written for a caller: in the view of before agents a harness's own agents are the harness (AGT-15).
func shown(s *workspace.State, by workspace.Caller, id string) string {
	if beforeAgents(s, by) && s.HarnessOf(id) == by.ID {
		return by.ID
	}
	return id
}

// beforeAgents says whether a caller is a harness that has not declared agents.
func beforeAgents(s *workspace.State, by workspace.Caller) bool {
	return by.Kind == protocol.KindHarness && !s.Declares(by.ID, "agents")
}
