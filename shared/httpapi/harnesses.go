package httpapi

import (
	"slices"

	"github.com/chipschat/chips-aws/shared/protocol"
	"github.com/chipschat/chips-aws/shared/workspace"
)

// newHarness is the answer to making a harness. The token is shown this once; a repeat has none.
type newHarness struct {
	HarnessID string `json:"harness_id"`
	// SpaceID is its direct room, AgentID the agent it was given there.
	SpaceID string `json:"space_id"`
	AgentID string `json:"agent_id"`
	newToken
	repeat
}

// newToken is a harness's token and what it goes by afterwards.
type newToken struct {
	Token   string `json:"token,omitzero"`
	TokenID string `json:"token_id,omitzero"`
}

func (a *api) addHarness(c *call) (any, error) {
	in, err := read[struct {
		DisplayName  *string   `json:"display_name"`
		Capabilities *[]string `json:"capabilities"`
	}](c)
	if err != nil {
		return nil, err
	}
	out, err := a.do(c, workspace.Draft(&workspace.HarnessDraft{DisplayName: in.DisplayName, Capabilities: in.Capabilities}))
	if err != nil {
		return nil, err
	}
	res := newHarness{repeat: repeated(out)}
	for _, e := range out.Events {
		switch d := e.Data.(type) {
		case *protocol.HarnessAdded:
			res.HarnessID = d.HarnessID
		case *protocol.SpaceOpened:
			res.SpaceID = e.SpaceID
		case *protocol.AgentRegistered:
			res.AgentID = d.AgentID
		}
	}
	if res.HarnessID == "" {
		return nil, otherRequest()
	}
	if !out.Duplicate {
		res.Token, res.TokenID, err = a.Auth.IssueToken(c.ctx, c.caller.Workspace, res.HarnessID)
	}
	return &res, err
}

// harnessView is a harness as it is now.
type harnessView struct {
	HarnessID    string   `json:"harness_id"`
	DisplayName  string   `json:"display_name"`
	OwnerID      string   `json:"owner_id"`
	Capabilities []string `json:"capabilities"`
	// Status is ok, trouble, restarting or away, and Message what was said with it.
	Status  string `json:"status"`
	Message string `json:"message,omitzero"`
	// Autonomy is the level in force, Policy what was set; that and the ceiling only where runsIt.
	Autonomy int              `json:"autonomy"`
	Policy   *protocol.Policy `json:"policy,omitzero"`
	// LimitUSD is its ceiling, null for none.
	LimitUSD *float64 `json:"limit_usd"`
	repeat
}

func viewHarness(s *workspace.State, h *workspace.Harness) harnessView {
	return harnessView{
		HarnessID: h.ID, DisplayName: h.Name, OwnerID: h.OwnerID, Capabilities: slices.Clone(h.Capabilities),
		Status: h.Reads(), Message: h.StatusWords, Autonomy: s.Autonomy(h.ID), Policy: h.Policy, LimitUSD: h.LimitUSD,
	}
}

// runsIt says whether somebody is told what a harness is allowed: itself, its owner, and people but guests, as its events are.
func runsIt(s *workspace.State, by workspace.Caller, h *workspace.Harness) bool {
	p := s.Person(by.ID)
	return by.ID == h.ID || by.ID == h.OwnerID || p != nil && p.Role != protocol.Guest
}

func (a *api) getHarness(c *call) (any, error) { return a.answerHarness(c, repeat{}) }

// answerHarness answers the harness of the path, to whom it is shown.
func (a *api) answerHarness(c *call, r repeat) (any, error) {
	id := c.params[protocol.PrefixHarness]
	var res harnessView
	err := a.see(c, func(s *workspace.State) error {
		h := s.Harness(id)
		if h == nil || !sees(s, c.caller, id) && h.OwnerID != c.caller.ID {
			return unknown(protocol.PrefixHarness)
		}
		res = viewHarness(s, h)
		if !runsIt(s, c.caller, h) {
			res.Policy, res.LimitUSD = nil, nil
		}
		return nil
	})
	res.repeat = r
	return &res, err
}

// changeHarness has a draft decided and answers the harness of the path.
func (a *api) changeHarness(c *call, draft protocol.Data) (any, error) {
	out, err := a.do(c, workspace.Draft(draft))
	if err != nil {
		return nil, err
	}
	return a.answerHarness(c, repeated(out))
}

func (a *api) setCapabilities(c *call) (any, error) {
	in, err := read[struct {
		Capabilities *[]string `json:"capabilities"`
	}](c)
	if err != nil {
		return nil, err
	}
	if in.Capabilities == nil {
		return nil, missing("capabilities")
	}
	return a.changeHarness(c, &workspace.HarnessDraft{HarnessID: c.params[protocol.PrefixHarness], Capabilities: in.Capabilities})
}

func (a *api) setPolicy(c *call) (any, error) {
	in, err := read[struct {
		Autonomy *int            `json:"autonomy"`
		Rules    []protocol.Rule `json:"rules"`
	}](c)
	if err != nil {
		return nil, err
	}
	if in.Autonomy == nil {
		return nil, missing("autonomy")
	}
	policy := protocol.Policy{Autonomy: *in.Autonomy, Rules: in.Rules}
	return a.changeHarness(c, &protocol.HarnessPolicySet{HarnessID: c.params[protocol.PrefixHarness], Policy: policy})
}

func (a *api) setBudget(c *call) (any, error) {
	in, err := read[struct {
		LimitUSD given[float64] `json:"limit_usd"`
	}](c)
	if err != nil {
		return nil, err
	}
	if !in.LimitUSD.is {
		return nil, missing("limit_usd")
	}
	return a.changeHarness(c, &protocol.HarnessBudgetSet{HarnessID: c.params[protocol.PrefixHarness], LimitUSD: in.LimitUSD.value})
}

func (a *api) setStatus(c *call) (any, error) {
	in, err := read[struct {
		Status  string `json:"status"`
		Message string `json:"message"`
	}](c)
	if err != nil {
		return nil, err
	}
	return a.changeHarness(c, &protocol.HarnessStatusSet{HarnessID: c.params[protocol.PrefixHarness], Status: in.Status, Message: in.Message})
}

// removeHarness takes a harness away, with its tokens (contract U-118).
func (a *api) removeHarness(c *call) (any, error) {
	id := c.params[protocol.PrefixHarness]
	out, err := a.remove(c, id, &protocol.HarnessRemoved{HarnessID: id})
	if err != nil {
		return nil, err
	}
	return struct {
		HarnessID string `json:"harness_id"`
		repeat
	}{id, out}, nil
}

// mayKeepTokens refuses those who may not make or take back the tokens of the path's harness.
func (a *api) mayKeepTokens(c *call) error {
	return a.see(c, func(s *workspace.State) error {
		return refusal(workspace.MayKeepTokens(s, c.caller, c.params[protocol.PrefixHarness]))
	})
}

func (a *api) addToken(c *call) (any, error) {
	if err := a.mayKeepTokens(c); err != nil {
		return nil, err
	}
	token, id, err := a.Auth.IssueToken(c.ctx, c.caller.Workspace, c.params[protocol.PrefixHarness])
	return newToken{token, id}, err
}

func (a *api) removeToken(c *call) (any, error) {
	if err := a.mayKeepTokens(c); err != nil {
		return nil, err
	}
	id := c.params[protocol.PrefixToken]
	err := a.Auth.RevokeToken(c.ctx, c.caller.Workspace, c.params[protocol.PrefixHarness], id)
	if cerr := a.closeRevoked(c, id); cerr != nil {
		return nil, cerr
	}
	return newToken{TokenID: id}, err
}
