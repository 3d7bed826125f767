package httpapi

import (
	"crypto/rand"
	"crypto/sha256"
	"time"

	"github.com/chipschat/chips-aws/shared/protocol"
	"github.com/chipschat/chips-aws/shared/workspace"
)

func (a *api) health(*call) (any, error) {
	return struct {
		Status  string `json:"status"`
		Version string `json:"version"`
	}{"ok", a.Version}, nil
}

// openWorkspace makes a workspace with its owner (contract U-3).
func (a *api) openWorkspace(c *call) (any, error) {
	in, err := read[struct {
		Name  string `json:"name"`
		Owner struct {
			Name string `json:"name"`
		} `json:"owner"`
	}](c)
	if err != nil {
		return nil, err
	}
	if in.Owner.Name == "" {
		return nil, missing("owner.name")
	}
	c.caller.Workspace = newWorkspaceID(a.Now(), c.key)
	out, err := a.do(c, workspace.Draft(&workspace.NameDraft{Name: in.Name, OwnerName: in.Owner.Name}))
	if err != nil {
		return nil, err
	}
	owner, err := made[*protocol.PersonAdded](out)
	if err != nil {
		return nil, err
	}
	res := struct {
		WorkspaceID string `json:"workspace_id"`
		newPerson
	}{WorkspaceID: c.caller.Workspace, newPerson: newPerson{PersonID: owner.PersonID, repeat: repeated(out)}}
	if err := a.letIn(c, &res.newPerson); err != nil {
		return nil, err
	}
	// Nobody in the workspace could make the owner another code, so a repeat brings one.
	if out.Duplicate {
		if res.PairingCode, err = a.Auth.IssuePairingCode(c.ctx, c.caller.Workspace, owner.PersonID); err != nil {
			return nil, err
		}
	}
	return res, nil
}

// newWorkspaceID is a new id; the same one for the same key, so that a repeat finds what it made.
func newWorkspaceID(now time.Time, key string) string {
	var e [10]byte
	_, _ = rand.Read(e[:])
	if key != "" {
		sum := sha256.Sum256([]byte("workspace " + key))
		copy(e[:], sum[:])
		now = time.UnixMilli(0)
	}
	return protocol.NewID(protocol.PrefixWorkspace, now, e)
}

func (a *api) renameWorkspace(c *call) (any, error) {
	in, err := read[struct {
		Name *string `json:"name"`
	}](c)
	if err != nil {
		return nil, err
	}
	if in.Name == nil {
		return nil, missing("name")
	}
	out, err := a.do(c, workspace.Draft(&workspace.NameDraft{Name: *in.Name}))
	if err != nil {
		return nil, err
	}
	var res struct {
		WorkspaceID string `json:"workspace_id"`
		Name        string `json:"name"`
		repeat
	}
	res.WorkspaceID, res.repeat = c.caller.Workspace, repeated(out)
	return &res, a.see(c, func(s *workspace.State) error {
		res.Name = s.Name
		return nil
	})
}

// setCap sets the workspace's cap on policies (contract U-110).
func (a *api) setCap(c *call) (any, error) {
	in, err := read[struct {
		MaxAutonomy *int             `json:"max_autonomy"`
		Rules       *[]protocol.Rule `json:"rules"`
	}](c)
	if err != nil {
		return nil, err
	}
	out, err := a.do(c, workspace.Draft(&workspace.CapDraft{MaxAutonomy: in.MaxAutonomy, Rules: in.Rules}))
	if err != nil {
		return nil, err
	}
	var res struct {
		protocol.PolicyCapSet
		repeat
	}
	res.repeat = repeated(out)
	return &res, a.see(c, func(s *workspace.State) error {
		res.PolicyCapSet = s.Cap
		return nil
	})
}

// exchangeAnswer is the referee's settings; null is never.
type exchangeAnswer struct {
	protocol.ExchangeSettingsSet
	repeat
}

func (a *api) getExchange(c *call) (any, error) {
	var res exchangeAnswer
	return &res, a.see(c, func(s *workspace.State) error {
		res.ExchangeSettingsSet = s.Exchange
		return nil
	})
}

// setExchange sets the referee's settings: a number, null for never, absent as before (contract U-31).
func (a *api) setExchange(c *call) (any, error) {
	in, err := read[struct {
		Stop    given[int] `json:"stop"`
		Hold    given[int] `json:"hold"`
		Circles *bool      `json:"circles"`
	}](c)
	if err != nil {
		return nil, err
	}
	draft := workspace.ExchangeDraft{Circles: in.Circles}
	if in.Stop.is {
		draft.Stop = &workspace.Limit{N: in.Stop.value}
	}
	if in.Hold.is {
		draft.Hold = &workspace.Limit{N: in.Hold.value}
	}
	out, err := a.do(c, workspace.Draft(&draft))
	if err != nil {
		return nil, err
	}
	res := exchangeAnswer{repeat: repeated(out)}
	return &res, a.see(c, func(s *workspace.State) error {
		res.ExchangeSettingsSet = s.Exchange
		return nil
	})
}
