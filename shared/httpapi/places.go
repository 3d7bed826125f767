package httpapi

import (
	"github.com/chipschat/chips-aws/shared/protocol"
	"github.com/chipschat/chips-aws/shared/workspace"
)

// attachAgent puts one of a harness's agents in a room in the place of another, or of the harness itself (ATT-1). It answers the room.
func (a *api) attachAgent(c *call) (any, error) {
	in, err := read[struct {
		SpaceID   string `json:"space_id"`
		Replacing string `json:"replacing"`
	}](c)
	switch {
	case err != nil:
		return nil, err
	case in.SpaceID == "":
		return nil, missing("space_id")
	case in.Replacing == "":
		return nil, missing("replacing")
	}
	out, err := a.do(c, workspace.DraftIn(in.SpaceID, &protocol.MembershipReplaced{
		Replaced: in.Replacing, AgentID: c.params[protocol.PrefixAgent],
	}))
	if err != nil {
		return nil, err
	}
	return a.answerSpace(c, out, in.SpaceID)
}

// askSpace asks a harness for a room (contract U-19). It answers the room.
func (a *api) askSpace(c *call) (any, error) {
	in, err := read[struct {
		Text  string `json:"text"`
		Title string `json:"title"`
	}](c)
	if err != nil {
		return nil, err
	}
	out, err := a.do(c, workspace.Draft(&workspace.AskDraft{HarnessID: c.params[protocol.PrefixHarness], Title: in.Title, Text: in.Text}))
	if err != nil {
		return nil, err
	}
	return a.answerOpened(c, out)
}

// claimSpace claims a room that its harness was asked for, for the agent of a key. It answers that agent.
func (a *api) claimSpace(c *call) (any, error) {
	in, err := read[struct {
		Key  string  `json:"key"`
		Name *string `json:"name"`
	}](c)
	if err != nil {
		return nil, err
	}
	if in.Key == "" {
		return nil, missing("key")
	}
	out, err := a.do(c, workspace.DraftIn(c.params[protocol.PrefixSpace], &workspace.ClaimDraft{Key: in.Key, Name: in.Name}))
	if err != nil {
		return nil, err
	}
	return a.answerAgent(c, out, c.caller.ID, in.Key, "")
}

// setLead chooses the agent that leads a room, or none; it answers which (contract U-39, U-60).
func (a *api) setLead(c *call) (any, error) {
	in, err := read[struct {
		AgentID given[string] `json:"agent_id"`
	}](c)
	if err != nil {
		return nil, err
	}
	if !in.AgentID.is {
		return nil, missing("agent_id")
	}
	id := c.params[protocol.PrefixSpace]
	out, err := a.do(c, workspace.DraftIn(id, &protocol.SpaceLeadSet{AgentID: in.AgentID.value}))
	if err != nil {
		return nil, err
	}
	var res struct {
		Lead *string `json:"lead"`
		repeat
	}
	res.repeat = repeated(out)
	return &res, a.see(c, func(s *workspace.State) error {
		room, err := roomFor(s, c.caller, id)
		if err == nil && room.Lead != "" {
			lead := shown(s, c.caller, room.Lead)
			res.Lead = &lead
		}
		return err
	})
}
