package httpapi

import (
	"slices"

	"github.com/chipschat/chips-aws/shared/protocol"
	"github.com/chipschat/chips-aws/shared/workspace"
)

// newPerson is the answer to making a person. The secrets are shown this once; a repeat has none.
type newPerson struct {
	PersonID string `json:"person_id"`
	// Key is only there where people's bearer keys are switched on (contract U-2).
	Key         string `json:"key,omitzero"`
	PairingCode string `json:"pairing_code,omitzero"`
	repeat
}

// letIn issues the credentials of a person who was just added.
func (a *api) letIn(c *call, p *newPerson) (err error) {
	if p.Duplicate {
		return nil
	}
	if p.Key, _, err = a.Auth.IssueKey(c.ctx, c.caller.Workspace, p.PersonID); err != nil {
		return err
	}
	p.PairingCode, err = a.Auth.IssuePairingCode(c.ctx, c.caller.Workspace, p.PersonID)
	return err
}

func (a *api) addPerson(c *call) (any, error) {
	in, err := read[struct {
		Name *string        `json:"name"`
		Role *protocol.Role `json:"role"`
	}](c)
	if err != nil {
		return nil, err
	}
	out, err := a.do(c, workspace.Draft(&workspace.PersonDraft{Name: in.Name, Role: in.Role}))
	if err != nil {
		return nil, err
	}
	added, err := made[*protocol.PersonAdded](out)
	if err != nil {
		return nil, err
	}
	res := newPerson{PersonID: added.PersonID, repeat: repeated(out)}
	return &res, a.letIn(c, &res)
}

func (a *api) updatePerson(c *call) (any, error) {
	in, err := read[struct {
		Name   *string        `json:"name"`
		Role   *protocol.Role `json:"role"`
		Labels *[]string      `json:"labels"`
	}](c)
	if err != nil {
		return nil, err
	}
	id := c.params[protocol.PrefixPerson]
	out, err := a.do(c, workspace.Draft(&workspace.PersonDraft{PersonID: id, Name: in.Name, Role: in.Role, Labels: in.Labels}))
	if err != nil {
		return nil, err
	}
	var res struct {
		PersonID string        `json:"person_id"`
		Name     string        `json:"name"`
		Role     protocol.Role `json:"role"`
		Labels   []string      `json:"labels"`
		repeat
	}
	res.repeat = repeated(out)
	return &res, a.see(c, func(s *workspace.State) error {
		p := s.Person(id)
		if p == nil {
			return unknown(protocol.PrefixPerson)
		}
		res.PersonID, res.Name, res.Role, res.Labels = p.ID, p.Name, p.Role, slices.Clone(p.Labels)
		return nil
	})
}

// removePerson takes a person out of the workspace, with all they hold (contract U-118).
func (a *api) removePerson(c *call) (any, error) {
	id := c.params[protocol.PrefixPerson]
	out, err := a.remove(c, id, &protocol.PersonRemoved{PersonID: id})
	if err != nil {
		return nil, err
	}
	return struct {
		PersonID string `json:"person_id"`
		repeat
	}{id, out}, nil
}

// remove writes that a person or a harness is gone, then takes back what they hold and closes their sockets. One who is gone already
// is refused, but what may be left of them is taken back all the same.
func (a *api) remove(c *call, id string, data protocol.Data) (repeat, error) {
	out, refusal := a.do(c, workspace.Draft(data))
	if refusal != nil && !a.gone(c, id) {
		return repeat{}, refusal
	}
	if _, err := a.Auth.RemoveHolder(c.ctx, c.caller.Workspace, id); err != nil {
		return repeat{}, err
	}
	if err := a.Sessions.CloseHolder(c.ctx, c.caller.Workspace, id); err != nil {
		return repeat{}, err
	}
	return repeated(out), refusal
}

// gone says whether a person or a harness was removed.
func (a *api) gone(c *call, id string) bool {
	gone := false
	err := a.see(c, func(s *workspace.State) error {
		p, h := s.People[id], s.Harnesses[id]
		gone = p != nil && p.Removed || h != nil && h.Removed
		return nil
	})
	return err == nil && gone
}

// addPairingCode makes a code for one more device of a person's.
func (a *api) addPairingCode(c *call) (any, error) {
	id := c.params[protocol.PrefixPerson]
	err := a.see(c, func(s *workspace.State) error { return refusal(workspace.MayPair(s, c.caller, id)) })
	if err != nil {
		return nil, err
	}
	code, err := a.Auth.IssuePairingCode(c.ctx, c.caller.Workspace, id)
	return struct {
		PersonID    string `json:"person_id"`
		PairingCode string `json:"pairing_code"`
	}{id, code}, err
}

// refusal is err as an error, nil for none.
func refusal(err *protocol.Error) error {
	if err == nil {
		return nil
	}
	return err
}
