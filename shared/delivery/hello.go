package delivery

import (
	"cmp"
	"slices"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/chipschat/chips-aws/shared/protocol"
	"github.com/chipschat/chips-aws/shared/workspace"
)

// helloBytes is how large a hello may be, below a message's 128 KB, and helloAgentBytes how much of it the agents may take
// (contract U-124).
const (
	helloBytes      = 120 << 10
	helloAgentBytes = 100 << 10
)

// Hello is the event a connection is answered its hello with. id is the evt_ id it goes by: it has no seq and is not in the log.
// s is the state at the head.
func Hello(s *workspace.State, r Recipient, server protocol.Server, id string, now time.Time) protocol.Event {
	d := &protocol.Hello{
		Protocol: protocol.Range{Min: protocol.Version, Max: protocol.Version}, Server: server,
		Harnesses: []protocol.HelloHarness{}, Autonomy: min(workspace.DefaultAutonomy, s.Cap.MaxAutonomy),
		Spaces: s.RoomsOf(r.ID),
	}
	if s.Name != "" {
		d.Workspace = &protocol.HelloWorkspace{Name: s.Name}
	}
	if h := s.Harness(r.ID); h != nil {
		helloHarness(s, h, d)
	}
	return protocol.Event{
		Envelope: protocol.Envelope{
			V: protocol.Version, Type: d.EventType(), ID: id, TS: protocol.At(now), WorkspaceID: s.ID, Actor: protocol.System,
		},
		Data: d,
	}
}

// helloHarness says the harness and what it may do.
func helloHarness(s *workspace.State, h *workspace.Harness, d *protocol.Hello) {
	d.Harness = &protocol.HelloHarness{HarnessID: h.ID, DisplayName: h.Name, OwnerID: h.OwnerID, Capabilities: h.Capabilities}
	d.Harnesses = append(d.Harnesses, *d.Harness)
	if h.Policy != nil {
		p := *h.Policy
		p.Rules = append([]protocol.Rule{}, p.Rules...)
		d.Policy = &p
		d.Autonomy = min(p.Autonomy, s.Cap.MaxAutonomy)
	}
	if h.LimitUSD != nil {
		d.Budget = &protocol.Budget{LimitUSD: *h.LimitUSD, SpentUSD: h.Spent.Dollars()}
	}
	if s.Declares(h.ID, "agents") {
		d.Agents, d.AgentsLeftOut = helloAgents(s, h.ID, helloBytes-size(d))
	}
}

// helloAgents are a harness's agents, those in rooms first, then the free ones, then the archived, as far as they fit in room
// bytes of JSON; and how many were left out.
func helloAgents(s *workspace.State, harness string, room int) ([]protocol.HelloAgent, int) {
	agents := s.AgentsOf(harness)
	place := func(a *workspace.Agent) int {
		switch {
		case a.Archived:
			return 2
		case a.Room == "":
			return 1
		}
		return 0
	}
	slices.SortStableFunc(agents, func(a, b *workspace.Agent) int { return cmp.Compare(place(a), place(b)) })
	list := []protocol.HelloAgent{}
	room = min(room, helloAgentBytes)
	for i, a := range agents {
		said := protocol.HelloAgent{AgentID: a.ID, Key: a.Key, Name: a.Name, Lead: a.Lead, State: workspace.StateActive, Spaces: []string{}}
		if held := s.Held[a.ID]; held != nil {
			said.Held = len(held.Messages)
		}
		if a.Archived {
			said.State = workspace.StateArchived
		}
		if a.Room != "" {
			in := a.Room
			said.Spaces, said.Room = []string{in}, &in
		}
		if room -= size(said) + 1; room < 0 {
			return list, len(agents) - i
		}
		list = append(list, said)
	}
	return list, 0
}

// size is how many bytes v is as JSON. What Chips itself wrote can always be written.
func size(v any) int {
	b, _ := json.Marshal(v)
	return len(b)
}
