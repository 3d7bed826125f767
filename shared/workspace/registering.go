package workspace

import (
	"github.com/chipschat/chips-aws/shared/protocol"
)

// agentRegistered registers an agent under its harness's key: the same key is the same agent, renamed, archived or brought back.
func (d *deciding) agentRegistered() *protocol.Error {
	draft, ok := d.c.Draft.Data.(*AgentDraft)
	if !ok || d.c.By.Kind != protocol.KindHarness || draft.HarnessID != d.c.By.ID {
		return forbidden("only a harness registers its agents")
	}
	h := d.s.Harness(d.c.By.ID)
	if bad := validKey("key", draft.Key); bad != nil {
		return d.field(bad)
	}
	if draft.Name == nil {
		return d.bad("name is missing")
	}
	name, bad := CleanName("name", *draft.Name, MaxName)
	if bad != nil {
		return d.field(bad)
	}
	if draft.State != nil && *draft.State != StateActive && *draft.State != StateArchived {
		return d.bad("state is %q or %q", StateActive, StateArchived)
	}
	if err := d.checkAnswer(draft); err != nil {
		return err
	}
	old := d.agentByKey(h.ID, draft.Key)
	if old == nil {
		if err := d.agentsLeft(h.ID); err != nil {
			return err
		}
		a := d.newAgent(h, draft.Key, name)
		if err := d.lead(a, draft.Lead); err != nil {
			return err
		}
		a.Archived = draft.State != nil && *draft.State == StateArchived
		if a.Archived && a.Lead {
			return mainRoom()
		}
		a.ForkedFrom = draft.ForkedFrom
		ask := d.answers(a, draft)
		d.primary = len(d.out)
		d.register(a)
		if ask != nil {
			d.joinFor(ask, a.ID)
		}
		return nil
	}
	return d.registeredAgain(old, draft, name)
}

// lead gives or takes the Main agent's mark. A harness has one; it moves while the first has no Main room yet.
func (d *deciding) lead(a *Agent, want *bool) *protocol.Error {
	if want == nil || *want == a.Lead {
		return nil
	}
	if !*want {
		if a.Room != "" {
			return mainRoom()
		}
		a.Lead = false
		return nil
	}
	if room := d.s.Rooms[a.Room]; room != nil && d.occupied(room, a) {
		return mainRoom()
	}
	for _, other := range d.s.AgentsOf(a.HarnessID) {
		if !other.Lead || other.ID == a.ID {
			continue
		}
		if other.Room != "" {
			return mainRoom()
		}
		facts := other.facts()
		facts.Lead = false
		d.emit(protocol.System, "", &protocol.AgentUpdated{AgentFacts: facts})
	}
	a.Lead = true
	return nil
}

// registeredAgain is a registration of a key that is known: nothing is written when nothing changed.
func (d *deciding) registeredAgain(old *Agent, draft *AgentDraft, name string) *protocol.Error {
	a := *old
	// Under the name it asked for before, it keeps the number it was given; a person's name stays.
	if a.NameBy == "" && !sameName(name, a.Name) && !sameName(name, a.Asked) {
		d.call(&a, name)
	} else if a.NameBy == "" && sameName(name, a.Name) {
		a.Name = name
	}
	if err := d.lead(&a, draft.Lead); err != nil {
		return err
	}
	back := false
	if draft.State != nil {
		archive := *draft.State == StateArchived
		if archive && a.Lead {
			return mainRoom()
		}
		if archive && !a.Archived {
			a.Archived = true
			d.leaveToArchive(old)
		}
		back = a.Archived && !archive
		a.Archived = archive
	}
	if a.Archived && a.Lead {
		return mainRoom()
	}
	if a.Archived && draft.SpaceID != "" {
		return d.bad("the agent is archived: bring it back with state %q", StateActive)
	}
	if draft.ForkedFrom != "" {
		a.ForkedFrom = draft.ForkedFrom
	}
	ask := d.answers(&a, draft)
	if a != *old {
		updated := &protocol.AgentUpdated{AgentFacts: a.facts()}
		if a.Name != old.Name {
			updated.Previous = old.Name
		}
		d.answer(protocol.System, "", updated)
	}
	switch {
	case ask != nil:
		d.joinFor(ask, a.ID)
	case back:
		d.returnFromArchive(&a)
	}
	return nil
}

// leaveToArchive takes an agent that is being archived out of its room; a room it was the only agent in is archived with it.
func (d *deciding) leaveToArchive(a *Agent) {
	room := d.s.Rooms[a.Room]
	if room == nil {
		return
	}
	d.cancelRuns(room.ID, a.ID, ReasonAgentArchived)
	if len(d.s.AgentsIn(room, "")) == 1 {
		d.emit(protocol.System, room.ID, &protocol.SpaceArchived{})
	}
	d.release(a, room, &protocol.AgentReleased{Reason: ReasonAgentArchived})
}

// returnFromArchive brings an agent back to the room that was archived with it, and that room with it.
func (d *deciding) returnFromArchive(a *Agent) {
	room := d.s.Rooms[a.Parked]
	if room == nil || !a.TookRoom || room.Deleted || !room.Archived || a.Room != "" {
		return
	}
	back := *room
	back.Archived = false
	if d.mayPlace(a, &back) != nil {
		return
	}
	d.emit(protocol.System, room.ID, &protocol.SpaceUnarchived{})
	d.put(a, room, &protocol.AgentAttached{})
	d.postHeld(a, room)
}
