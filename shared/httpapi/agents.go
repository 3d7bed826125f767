package httpapi

import (
	"github.com/go-json-experiment/json/jsontext"

	"github.com/chipschat/chips-aws/shared/engine"
	"github.com/chipschat/chips-aws/shared/protocol"
	"github.com/chipschat/chips-aws/shared/workspace"
)

// agentView is an agent as it is now (contract U-41). Its key and its room are said to its own harness only.
type agentView struct {
	AgentID string `json:"agent_id"`
	Key     string `json:"key,omitzero"`
	Name    string `json:"name"`
	Handle  string `json:"handle,omitzero"`
	NameBy  string `json:"name_by,omitzero"`
	// Face is what it is shown with.
	Face protocol.Face `json:"face,omitzero"`
	Lead bool          `json:"lead"`
	// State is active or archived.
	State string `json:"state"`
}

func viewAgent(agent *workspace.Agent) agentView {
	v := agentView{AgentID: agent.ID, Name: agent.Name, Handle: agent.Handle, NameBy: agent.NameBy, Face: agent.Face, Lead: agent.Lead, State: workspace.StateActive}
	if agent.Archived {
		v.State = workspace.StateArchived
	}
	return v
}

// ownAgent is an agent as its own harness is told of it.
type ownAgent struct {
	agentView
	// Room is the open room it is in, null while it is free.
	Room *string `json:"room"`
	// WhyFree says why it is not in the room that it was registered for.
	WhyFree string `json:"why_free,omitzero"`
	repeat
}

func viewOwnAgent(agent *workspace.Agent) ownAgent {
	v := ownAgent{agentView: viewAgent(agent)}
	v.Key = agent.Key
	if room := agent.Room; room != "" {
		v.Room = &room
	}
	return v
}

// registerAgent registers an agent under a key of its harness's own (AGT-2).
func (a *api) registerAgent(c *call) (any, error) {
	in, err := read[struct {
		Key   string  `json:"key"`
		Name  *string `json:"name"`
		Lead  *bool   `json:"lead"`
		State *string `json:"state"`
		// ForkedFrom, or MadeFor, and SpaceID say which ask it answers.
		ForkedFrom string `json:"forked_from"`
		MadeFor    string `json:"made_for"`
		SpaceID    string `json:"space_id"`
	}](c)
	if err != nil {
		return nil, err
	}
	if in.Key == "" {
		return nil, missing("key")
	}
	id := c.params[protocol.PrefixHarness]
	out, err := a.do(c, workspace.Draft(&workspace.AgentDraft{
		HarnessID: id, Key: in.Key, Name: in.Name, Lead: in.Lead, State: in.State,
		ForkedFrom: in.ForkedFrom, MadeFor: in.MadeFor, SpaceID: in.SpaceID,
	}))
	if err != nil {
		return nil, err
	}
	return a.answerAgent(c, out, id, in.Key, in.SpaceID)
}

// answerAgent answers a harness its agent under a key, as it is now, and why it is not in the room that it was made for (space "": for none).
func (a *api) answerAgent(c *call, out engine.Outcome, harness, key, space string) (any, error) {
	var res ownAgent
	err := a.see(c, func(s *workspace.State) error {
		for _, agent := range s.AgentsOf(harness) {
			if agent.Key == key {
				res = viewOwnAgent(agent)
				res.WhyFree = whyFree(agent, space)
				return nil
			}
		}
		return otherRequest()
	})
	res.repeat = repeated(out)
	return &res, err
}

// whyFree says why an agent is not in the room it was registered for, "" where it is or was for none.
func whyFree(agent *workspace.Agent, space string) string {
	switch {
	case space == "" || agent.Room == space:
		return ""
	case agent.Room != "":
		return workspace.Elsewhere
	}
	return agent.WhyFree
}

// listAgents answers a harness all of its agents, by id (contract U-124).
func (a *api) listAgents(c *call) (any, error) {
	at, err := readCursor(c)
	if err != nil {
		return nil, err
	}
	if c.params[protocol.PrefixHarness] != c.caller.ID {
		return nil, unknown(protocol.PrefixHarness)
	}
	var entries []ownAgent
	var more bool
	err = a.see(c, func(s *workspace.State) error {
		var ids []string
		for _, agent := range s.AgentsOf(c.caller.ID) {
			ids = append(ids, agent.ID)
		}
		ids, more = at.next(ids)
		for _, id := range ids {
			entries = append(entries, viewOwnAgent(s.Agents[id]))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	var res struct {
		Agents    []jsontext.Value `json:"agents"`
		NextAfter string           `json:"next_after,omitzero"`
	}
	res.Agents, res.NextAfter, err = list(entries, func(v ownAgent) string { return v.AgentID }, more)
	return res, err
}

// updateAgent is a person's name or face for an agent (contract U-40).
func (a *api) updateAgent(c *call) (any, error) {
	in, err := read[struct {
		Name *string              `json:"name"`
		Face given[protocol.Face] `json:"face"`
	}](c)
	if err != nil {
		return nil, err
	}
	id := c.params[protocol.PrefixAgent]
	draft := &workspace.AgentDraft{AgentID: id, Name: in.Name, SetFace: in.Face.is}
	if in.Face.value != nil {
		draft.Face = *in.Face.value
	}
	out, err := a.do(c, workspace.Draft(draft))
	if err != nil {
		return nil, err
	}
	var res struct {
		agentView
		repeat
	}
	res.repeat = repeated(out)
	return &res, a.see(c, func(s *workspace.State) error {
		agent := s.Agents[id]
		if agent == nil {
			return unknown(protocol.PrefixAgent)
		}
		res.agentView = viewAgent(agent)
		return nil
	})
}

// moveAgent moves an agent to another room, which is answered.
func (a *api) moveAgent(c *call) (any, error) {
	in, err := read[struct {
		SpaceID string `json:"space_id"`
	}](c)
	if err != nil {
		return nil, err
	}
	if in.SpaceID == "" {
		return nil, missing("space_id")
	}
	out, err := a.do(c, workspace.Draft(&protocol.AgentMoved{AgentID: c.params[protocol.PrefixAgent], ToSpaceID: in.SpaceID}))
	if err != nil {
		return nil, err
	}
	return a.answerSpace(c, out, in.SpaceID)
}

// askFork asks for a copy of an agent in the room (contract U-44).
func (a *api) askFork(c *call) (any, error) {
	in, err := read[struct {
		AgentID string `json:"agent_id"`
	}](c)
	if err != nil {
		return nil, err
	}
	return a.ask(c, &protocol.AgentFork{AgentID: in.AgentID})
}

// askAgent asks a harness for a new agent in the room (contract U-44).
func (a *api) askAgent(c *call) (any, error) {
	in, err := read[struct {
		HarnessID string `json:"harness_id"`
		Name      string `json:"name"`
	}](c)
	if err != nil {
		return nil, err
	}
	return a.ask(c, &protocol.AgentAsked{HarnessID: in.HarnessID, Name: in.Name})
}

// ask writes an ask and answers its id, which is the event's.
func (a *api) ask(c *call, draft protocol.Data) (any, error) {
	out, err := a.do(c, workspace.DraftIn(c.params[protocol.PrefixSpace], draft))
	if err != nil {
		return nil, err
	}
	for _, e := range out.Events {
		if e.Type == draft.EventType() {
			return struct {
				AskID string `json:"ask_id"`
				repeat
			}{e.ID, repeated(out)}, nil
		}
	}
	return nil, otherRequest()
}
