package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"github.com/chipschat/chips-aws/shared/engine"
	"github.com/chipschat/chips-aws/shared/protocol"
	"github.com/chipschat/chips-aws/shared/workspace"
)

// town is a workspace as large as the goals say: 50 rooms, 20 people, ten harnesses with 50 agents, each agent in a room.
type town struct {
	g     *engine.Engine
	id    string
	owner workspace.Caller
}

// operate runs a command that comes by a route of its own.
func (t *town) operate(ctx context.Context, by workspace.Caller, draft protocol.Event) ([]protocol.Event, error) {
	o, err := t.g.Do(ctx, t.id, workspace.Command{By: by, Draft: draft, Operation: true})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", draft.Type, err)
	}
	return o.Events, nil
}

func (t *town) caller(kind protocol.ActorKind, id string) workspace.Caller {
	return workspace.Caller{Workspace: t.id, Kind: kind, ID: id}
}

func build(ctx context.Context, g *engine.Engine) (*town, error) {
	var entropy [10]byte
	rand.Read(entropy[:])
	t := &town{g: g, id: protocol.NewID(protocol.PrefixWorkspace, time.Now(), entropy)}
	events, err := t.operate(ctx, t.caller(protocol.KindSystem, protocol.SystemID), workspace.Draft(&workspace.NameDraft{Name: "Town", OwnerName: "Arjun"}))
	if err != nil {
		return nil, err
	}
	t.owner = t.caller(protocol.KindPerson, events[1].Data.(*protocol.PersonAdded).PersonID)
	people := []workspace.Caller{t.owner}
	for i := range 19 {
		name, role := fmt.Sprintf("Person %d", i+2), protocol.Member
		events, err := t.operate(ctx, t.owner, workspace.Draft(&workspace.PersonDraft{Name: &name, Role: &role}))
		if err != nil {
			return nil, err
		}
		people = append(people, t.caller(protocol.KindPerson, events[0].Data.(*protocol.PersonAdded).PersonID))
	}
	for i := range 10 {
		agents, err := t.harness(ctx, people[i], i)
		if err != nil {
			return nil, err
		}
		for j, agent := range agents {
			n := 4*i + j
			members := []string{agent, people[(n+3)%20].ID, people[(n+7)%20].ID, people[(n+11)%20].ID}
			draft := workspace.DraftIn("", &protocol.SpaceOpened{Title: fmt.Sprintf("Room %d", n), ParticipantIDs: members})
			if _, err := t.operate(ctx, people[i], draft); err != nil {
				return nil, err
			}
		}
	}
	return t, nil
}

// harness makes a harness, which is given an agent in a room with its owner, and registers four more, which it answers.
func (t *town) harness(ctx context.Context, owner workspace.Caller, i int) (agents []string, err error) {
	name, capabilities := fmt.Sprintf("Harness %d", i), []string{"agents"}
	events, err := t.operate(ctx, owner, workspace.Draft(&workspace.HarnessDraft{DisplayName: &name, Capabilities: &capabilities}))
	if err != nil {
		return nil, err
	}
	var by workspace.Caller
	for _, e := range events {
		if added, ok := e.Data.(*protocol.HarnessAdded); ok {
			by = t.caller(protocol.KindHarness, added.HarnessID)
		}
	}
	for j := range 4 {
		name := fmt.Sprintf("Agent %d of %d", j, i)
		draft := workspace.Draft(&workspace.AgentDraft{HarnessID: by.ID, Key: fmt.Sprintf("agent-%d", j), Name: &name})
		events, err := t.operate(ctx, by, draft)
		if err != nil {
			return nil, err
		}
		for _, e := range events {
			if r, ok := e.Data.(*protocol.AgentRegistered); ok {
				agents = append(agents, r.AgentID)
			}
		}
	}
	return agents, nil
}
