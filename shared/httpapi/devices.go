package httpapi

import (
	"errors"

	"github.com/chipschat/chips-aws/shared/auth"
	"github.com/chipschat/chips-aws/shared/protocol"
	"github.com/chipschat/chips-aws/shared/workspace"
)

// deviceAnswer is a device. TimeZone is null for none, and for one that is in no database (contract U-146).
type deviceAnswer struct {
	DeviceID string  `json:"device_id"`
	PersonID string  `json:"person_id"`
	TimeZone *string `json:"time_zone"`
}

func answerDevice(d auth.Device) deviceAnswer {
	res := deviceAnswer{DeviceID: d.ID, PersonID: d.PersonID}
	if d.TimeZone != "" {
		res.TimeZone = &d.TimeZone
	}
	return res
}

// pairDevice registers a device by a pairing code, which is all the credential there is.
func (a *api) pairDevice(c *call) (any, error) {
	in, err := read[struct {
		PairingCode string          `json:"pairing_code"`
		PublicKey   string          `json:"public_key"`
		Kind        auth.DeviceKind `json:"kind"`
		Name        string          `json:"name"`
		TimeZone    string          `json:"time_zone"`
	}](c)
	if err != nil {
		return nil, err
	}
	d, err := a.Auth.PairDevice(c.ctx, auth.Pairing{Code: in.PairingCode, PublicKey: in.PublicKey, Kind: in.Kind, Name: in.Name, TimeZone: in.TimeZone})
	if err != nil {
		return nil, err
	}
	c.caller = workspace.Caller{Workspace: d.Workspace, Kind: protocol.KindPerson, ID: d.PersonID, Credential: d.ID}
	res := struct {
		deviceAnswer
		Workspace struct {
			ID   string `json:"id"`
			Name string `json:"name,omitzero"`
		} `json:"workspace"`
	}{deviceAnswer: answerDevice(d)}
	res.Workspace.ID = d.Workspace
	// The code is spent and the device stands: what fails from here on must not cost them.
	err = errors.Join(a.sayZone(c, d), a.see(c, func(s *workspace.State) error {
		res.Workspace.Name = s.Name
		return nil
	}))
	if err != nil {
		a.Log.ErrorContext(c.ctx, "a device was paired, but not all that belongs to it was done", "device_id", d.ID, "error", err.Error())
	}
	return &res, nil
}

// sayZone writes into the log the zone of the phone its person registered last (contract U-87).
func (a *api) sayZone(c *call, d auth.Device) error {
	zone, err := a.Auth.PhoneZone(c.ctx, d.Workspace, d.PersonID)
	if err != nil {
		return err
	}
	_, err = a.do(c, workspace.Draft(&workspace.PersonDraft{PersonID: d.PersonID, TimeZone: &zone}))
	return err
}

// device is the device of the path, if the caller may deal with it.
func (a *api) device(c *call) (auth.Device, error) {
	d, err := a.Auth.Device(c.ctx, c.caller.Workspace, c.params[protocol.PrefixDevice])
	if err != nil {
		return auth.Device{}, err
	}
	return d, a.see(c, func(s *workspace.State) error {
		if workspace.MayPair(s, c.caller, d.PersonID) != nil {
			return unknown(protocol.PrefixDevice)
		}
		return nil
	})
}

func (a *api) updateDevice(c *call) (any, error) {
	in, err := read[struct {
		TimeZone given[string] `json:"time_zone"`
	}](c)
	if err != nil {
		return nil, err
	}
	if !in.TimeZone.is {
		return nil, missing("time_zone")
	}
	if _, err := a.device(c); err != nil {
		return nil, err
	}
	zone := ""
	if in.TimeZone.value != nil {
		zone = *in.TimeZone.value
	}
	d, err := a.Auth.SetTimeZone(c.ctx, c.caller.Workspace, c.params[protocol.PrefixDevice], zone)
	if err != nil {
		return nil, err
	}
	return answerDevice(d), a.sayZone(c, d)
}

func (a *api) removeDevice(c *call) (any, error) {
	id := c.params[protocol.PrefixDevice]
	d, err := a.device(c)
	if err == nil {
		_, err = a.Auth.RevokeDevice(c.ctx, c.caller.Workspace, id)
	}
	if cerr := a.closeRevoked(c, id); cerr != nil {
		return nil, cerr
	}
	if err != nil {
		return nil, err
	}
	return answerDevice(d), a.sayZone(c, d)
}

// closeRevoked closes the sockets of a credential that does not stand. It is done whether or not this call took it back, so that one
// that died in between is finished by the next.
func (a *api) closeRevoked(c *call, credential string) error {
	_, stands, err := a.Auth.Stands(c.ctx, credential)
	if err != nil || stands {
		return err
	}
	return a.Sessions.CloseCredential(c.ctx, c.caller.Workspace, credential)
}

// issueTicket makes a ticket that opens one socket (TKT-4, TKT-8).
func (a *api) issueTicket(c *call) (any, error) {
	ticket, expires, err := a.Auth.IssueTicket(c.ctx, c.caller)
	return struct {
		Ticket    string `json:"ticket"`
		ExpiresIn int    `json:"expires_in"`
	}{ticket, expires}, err
}
