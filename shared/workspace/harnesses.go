package workspace

import (
	"maps"
	"slices"

	"github.com/chipschat/chips-aws/shared/protocol"
)

// Limits of what a harness says of itself.
const (
	maxCapabilities = 64
	maxStatusWords  = 1000
)

// granted are the capabilities that only a person gives; all others a harness declares itself.
var granted = []string{"context_files", "models", "heartbeats", "jobs", "context_windows"}

// harnessAdded makes a harness with its direct room and, there, its one agent.
func (d *deciding) harnessAdded() *protocol.Error {
	draft, ok := d.c.Draft.Data.(*HarnessDraft)
	if !ok {
		return d.bad("display_name is missing")
	}
	if err := d.needMember(); err != nil {
		return err
	}
	if draft.DisplayName == nil {
		return d.bad("display_name is missing")
	}
	name, bad := CleanName("display_name", *draft.DisplayName, MaxName)
	if bad != nil {
		return d.field(bad)
	}
	capabilities := []string{}
	if draft.Capabilities != nil {
		if capabilities, bad = words("capabilities", *draft.Capabilities, maxCapabilities); bad != nil {
			return d.field(bad)
		}
	}
	if err := d.roomsLeft(d.c.By.ID); err != nil {
		return err
	}
	h := &Harness{ID: d.mint(protocol.PrefixHarness), Name: name, OwnerID: d.c.By.ID, Capabilities: capabilities}
	room := d.mint(protocol.PrefixSpace)
	d.answer(d.sender(), "", &protocol.HarnessAdded{HarnessID: h.ID, DisplayName: name, OwnerID: h.OwnerID, Capabilities: capabilities})
	agent := d.newAgent(h, room, name)
	d.register(agent)
	d.emit(d.sender(), room, &protocol.SpaceOpened{Title: name, ParticipantIDs: []string{h.OwnerID, h.ID}, Direct: true})
	d.put(agent, &Room{ID: room}, &protocol.AgentAttached{By: h.OwnerID})
	return nil
}

// needOwnerOf refuses all but the harness's owner, an owner and an admin.
func (d *deciding) needOwnerOf(harness string) *protocol.Error {
	h := d.s.Harness(harness)
	p := d.person()
	switch {
	case p == nil || p.Role == protocol.Guest && (h == nil || h.OwnerID != p.ID):
		return forbidden("only the harness's owner, an owner or an admin may do this")
	case h == nil:
		return notFound("no such harness")
	case h.OwnerID != p.ID && !p.runsThings():
		return forbidden("only the harness's owner, an owner or an admin may do this")
	}
	return nil
}

// harnessUpdated changes a harness's name or capabilities. The harness itself declares words, and cannot grant itself the managed ones.
func (d *deciding) harnessUpdated() *protocol.Error {
	draft, ok := d.c.Draft.Data.(*HarnessDraft)
	if !ok {
		return d.bad("nothing is asked for")
	}
	self := d.c.By.Kind == protocol.KindHarness && d.c.By.ID == draft.HarnessID
	if !self {
		if err := d.needOwnerOf(draft.HarnessID); err != nil {
			return err
		}
	}
	old := d.s.Harness(draft.HarnessID)
	h := *old
	if draft.DisplayName != nil {
		name, bad := CleanName("display_name", *draft.DisplayName, MaxName)
		if bad != nil {
			return d.field(bad)
		}
		if self {
			return forbidden("a harness does not rename itself")
		}
		h.Name = name
	}
	if draft.Capabilities != nil {
		list, bad := words("capabilities", *draft.Capabilities, maxCapabilities)
		if bad != nil {
			return d.field(bad)
		}
		for _, w := range list {
			if self && slices.Contains(granted, w) && !slices.Contains(old.Capabilities, w) {
				return forbidden("capabilities: only a person grants %s", w)
			}
		}
		h.Capabilities = list
	}
	if h.Name == old.Name && slices.Equal(h.Capabilities, old.Capabilities) {
		return nil
	}
	d.answer(d.sender(), "", &protocol.HarnessUpdated{HarnessID: h.ID, DisplayName: h.Name, OwnerID: h.OwnerID, Capabilities: h.Capabilities})
	return nil
}

// harnessRemoved takes a harness away: its runs are cancelled, its agents released and archived.
func (d *deciding) harnessRemoved() *protocol.Error {
	draft, ok := d.c.Draft.Data.(*protocol.HarnessRemoved)
	if !ok {
		return d.bad("harness_id is missing")
	}
	if err := d.needOwnerOf(draft.HarnessID); err != nil {
		return err
	}
	h := d.s.Harness(draft.HarnessID)
	// What one commit does not hold ends without an event of its own when the harness goes.
	for _, a := range d.s.AgentsOf(h.ID) {
		// The agent's runs and what they asked, its release, that it leads no more and, at the end, the harness's own event.
		if a.Room == "" || len(d.out)+len(d.topRuns(a.Room, a.ID))+d.waiting(a.Room)+3 > MaxEvents {
			continue
		}
		d.cancelRuns(a.Room, a.ID, ReasonRemoved)
		d.release(a, d.s.Rooms[a.Room], &protocol.AgentReleased{Reason: ReasonRemoved, By: d.c.By.ID})
	}
	d.answer(d.sender(), "", &protocol.HarnessRemoved{HarnessID: h.ID})
	return nil
}

// harnessStatusSet takes a harness's word on how it is.
func (d *deciding) harnessStatusSet() *protocol.Error {
	switch draft := d.c.Draft.Data.(type) {
	case *RestartDraft:
		return d.restart(draft)
	case *BackDraft:
		return d.back(draft)
	case *AwayDraft:
		return d.away(draft)
	}
	draft, ok := d.c.Draft.Data.(*protocol.HarnessStatusSet)
	if !ok || d.c.By.Kind != protocol.KindHarness || draft.HarnessID != d.c.By.ID {
		return forbidden("only the harness itself says how it is")
	}
	switch {
	case draft.Status != StatusOK && draft.Status != StatusTrouble:
		return d.bad(`status is "ok" or "trouble"`)
	case len(draft.Message) > maxStatusWords:
		return d.bad("message is over %d bytes", maxStatusWords)
	}
	h := d.s.Harness(draft.HarnessID)
	if h.Reads() == draft.Status && h.StatusWords == draft.Message {
		return nil
	}
	d.answer(d.sender(), "", draft)
	return nil
}

// harnessPolicySet sets a harness's policy, whole.
func (d *deciding) harnessPolicySet() *protocol.Error {
	draft, ok := d.c.Draft.Data.(*protocol.HarnessPolicySet)
	if !ok {
		return d.bad("autonomy and rules are needed")
	}
	if err := d.needAdmin(); err != nil {
		return err
	}
	h := d.s.Harness(draft.HarnessID)
	if h == nil {
		return notFound("no such harness")
	}
	if draft.Autonomy < 0 || draft.Autonomy > 3 {
		return d.bad("autonomy is 0, 1, 2 or 3")
	}
	var before []protocol.Rule
	if h.Policy != nil {
		before = h.Policy.Rules
	}
	rules, bad := checkRules(draft.Rules, before)
	if bad != nil {
		return d.field(bad)
	}
	d.answer(d.sender(), "", &protocol.HarnessPolicySet{HarnessID: h.ID, Policy: protocol.Policy{Autonomy: draft.Autonomy, Rules: rules}})
	return nil
}

// harnessBudgetSet sets a harness's ceiling, or takes it away.
func (d *deciding) harnessBudgetSet() *protocol.Error {
	draft, ok := d.c.Draft.Data.(*protocol.HarnessBudgetSet)
	if !ok {
		return d.bad("limit_usd is missing")
	}
	if err := d.needAdmin(); err != nil {
		return err
	}
	h := d.s.Harness(draft.HarnessID)
	if h == nil {
		return notFound("no such harness")
	}
	if draft.LimitUSD != nil {
		if _, ok := NanosOf(*draft.LimitUSD); !ok {
			return d.bad("limit_usd is a number from 0 to %d, or null", MaxUSD)
		}
	}
	d.answer(d.sender(), "", &protocol.HarnessBudgetSet{HarnessID: h.ID, LimitUSD: draft.LimitUSD})
	return nil
}

func (s *State) evolveHarnessRemoved(id string) {
	h := s.Harnesses[id]
	if h == nil {
		return
	}
	h.Removed = true
	for _, run := range s.Runs {
		if run.HarnessID == id {
			s.end(run, Cancelled, true)
		}
	}
	for _, a := range s.Agents {
		if a.HarnessID == id {
			a.Archived, a.Room, a.Parked, a.TookRoom, a.Lead = true, "", "", false, false
			delete(s.Held, a.ID)
		}
	}
	for _, room := range s.Rooms {
		if !room.Deleted {
			room.Members = slices.DeleteFunc(room.Members, func(m string) bool { return s.harnessOf(m) == id })
			maps.DeleteFunc(room.ContextFrom, func(m string, _ int64) bool { return s.harnessOf(m) == id })
			maps.DeleteFunc(room.Seats, func(m string, _ Seat) bool { return s.harnessOf(m) == id })
			if s.harnessOf(room.Lead) == id {
				room.Lead = ""
			}
		}
	}
}
