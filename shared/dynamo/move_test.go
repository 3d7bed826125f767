package dynamo_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/chipschat/chips-aws/shared/dynamo"
	"github.com/chipschat/chips-aws/shared/dynamo/dynamotest"
	"github.com/chipschat/chips-aws/shared/engine"
	"github.com/chipschat/chips-aws/shared/protocol"
	"github.com/chipschat/chips-aws/shared/workspace"
)

// An agent with a run and a lane going is moved, whatever all of that writes, at the cost of three messages at most.
func TestUnitsOfAMove(t *testing.T) {
	api, name := dynamotest.Kumo(t)
	metered := dynamo.NewMetered(api)
	g := engine.New(dynamo.New(metered, name), engine.Options{Now: time.Now, Waits: workspace.DefaultWaits()})
	ws, keys := anID("ws", 1), 0
	do := func(by workspace.Caller, operation bool, draft protocol.Event) (engine.Outcome, dynamo.Units) {
		t.Helper()
		keys++
		draft.IdempotencyKey = fmt.Sprintf("key-of-some-length-%06d", keys)
		before := metered.Units()
		out, err := g.Do(t.Context(), ws, workspace.Command{By: by, Draft: draft, Operation: operation})
		if err != nil {
			t.Fatalf("%s: %v", draft.Type, err)
		}
		return out, metered.Units().Sub(before)
	}
	word := func(s string) *string { return &s }
	system := workspace.Caller{Kind: protocol.KindSystem, ID: protocol.SystemID}
	opened, _ := do(system, true, workspace.Draft(&workspace.NameDraft{Name: "Acme", OwnerName: "Arjun"}))
	arjun := workspace.Caller{Workspace: ws, Kind: protocol.KindPerson, ID: opened.Events[1].Data.(*protocol.PersonAdded).PersonID}
	made, _ := do(arjun, true, workspace.Draft(&workspace.HarnessDraft{DisplayName: word("Scout")}))
	scout := workspace.Caller{Workspace: ws, Kind: protocol.KindHarness}
	var agent string
	for _, e := range made.Events {
		switch d := e.Data.(type) {
		case *protocol.HarnessAdded:
			scout.ID = d.HarnessID
		case *protocol.AgentRegistered:
			agent = d.AgentID
		}
	}
	rooms := []string{}
	for range 2 {
		out, _ := do(arjun, false, workspace.Draft(&protocol.SpaceOpened{Title: "Room"}))
		rooms = append(rooms, out.Ack().SpaceID)
	}
	do(arjun, false, workspace.Draft(&protocol.AgentMoved{AgentID: agent, ToSpaceID: rooms[0]}))
	run := workspace.DraftIn(rooms[0], &protocol.RunStarted{Title: "Work"})
	run.RunID = anID("run", 1)
	do(scout, false, run)
	lane := workspace.Draft(&protocol.RunStarted{Title: "Lane", ParentRunID: run.RunID})
	lane.RunID = anID("run", 2)
	do(scout, false, lane)
	_, message := do(arjun, false, workspace.DraftIn(rooms[0], &protocol.MessagePost{Text: hindi}))
	moved, units := do(arjun, false, workspace.Draft(&protocol.AgentMoved{AgentID: agent, ToSpaceID: rooms[1]}))
	if len(moved.Events) != 5 || units.WRU > 3*message.WRU || units.RRU > 3*message.RRU {
		t.Errorf("a move of %d events took %+v, a message %+v", len(moved.Events), units, message)
	}
	t.Logf("a move takes %+v, a message %+v", units, message)
}
