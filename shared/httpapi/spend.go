package httpapi

import (
	"github.com/chipschat/chips-aws/shared/protocol"
	"github.com/chipschat/chips-aws/shared/workspace"
)

// getSpend is what the job of a room has spent by now.
func (a *api) getSpend(c *call) (any, error) {
	var res *protocol.Spend
	err := a.see(c, func(s *workspace.State) error {
		room, err := roomFor(s, c.caller, c.params[protocol.PrefixSpace])
		if err == nil {
			res = room.Spend()
		}
		return err
	})
	return res, err
}

// setCeiling sets what a room allows a job, null for the default; it answers what that is now.
func (a *api) setCeiling(c *call) (any, error) {
	in, err := read[struct {
		USD given[float64] `json:"usd"`
	}](c)
	if err != nil {
		return nil, err
	}
	if !in.USD.is {
		return nil, missing("usd")
	}
	var res struct {
		CeilingUSD float64 `json:"ceiling_usd"`
		repeat
	}
	res.repeat, err = a.setInRoom(c, &protocol.SpaceCeilingSet{CeilingUSD: in.USD.value}, func(room *workspace.Room) {
		res.CeilingUSD = room.JobCeiling().Dollars()
	})
	return &res, err
}

// setLock locks a room's changes or unlocks them; it answers which.
func (a *api) setLock(c *call) (any, error) {
	in, err := read[struct {
		Locked *bool `json:"locked"`
	}](c)
	if err != nil {
		return nil, err
	}
	if in.Locked == nil {
		return nil, missing("locked")
	}
	var res struct {
		Locked bool `json:"locked"`
		repeat
	}
	res.repeat, err = a.setInRoom(c, &protocol.SpaceLockSet{Locked: *in.Locked}, func(room *workspace.Room) { res.Locked = room.Locked })
	return &res, err
}

// setInRoom has a setting of the path's room decided, and shows the room as it is then (contract U-60).
func (a *api) setInRoom(c *call, data protocol.Data, show func(*workspace.Room)) (repeat, error) {
	id := c.params[protocol.PrefixSpace]
	out, err := a.do(c, workspace.DraftIn(id, data))
	if err != nil {
		return repeat{}, err
	}
	return repeated(out), a.see(c, func(s *workspace.State) error {
		room, err := roomFor(s, c.caller, id)
		if err == nil {
			show(room)
		}
		return err
	})
}
