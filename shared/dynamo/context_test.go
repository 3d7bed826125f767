package dynamo_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chipschat/chips-aws/shared/delivery"
	"github.com/chipschat/chips-aws/shared/dynamo"
	"github.com/chipschat/chips-aws/shared/dynamo/dynamotest"
	"github.com/chipschat/chips-aws/shared/engine"
	"github.com/chipschat/chips-aws/shared/protocol"
	"github.com/chipschat/chips-aws/shared/session"
	"github.com/chipschat/chips-aws/shared/workspace"
)

// What a process that knows no line of a room reads to hand over a message with 200 of them, ten edited: at most 30 units.
func TestUnitsOfAColdContext(t *testing.T) {
	ctx := t.Context()
	api, name := dynamotest.Kumo(t)
	metered := dynamo.NewMetered(api)
	table := dynamo.New(metered, name)
	g := engine.New(table, engine.Options{Now: time.Now})
	ws := anID("ws", 1)
	do := func(by workspace.Caller, draft protocol.Event) engine.Outcome {
		t.Helper()
		out, err := g.Do(ctx, ws, workspace.Command{By: by, Draft: draft, Operation: true})
		if err != nil {
			t.Fatalf("%s: %v", draft.Type, err)
		}
		return out
	}
	caller := func(kind protocol.ActorKind, id string) workspace.Caller {
		return workspace.Caller{Workspace: ws, Kind: kind, ID: id, Credential: anID("tok", 1)}
	}
	out := do(caller(protocol.KindSystem, protocol.SystemID), workspace.Draft(&workspace.NameDraft{Name: "Northwind", OwnerName: "Arjun"}))
	arjun := caller(protocol.KindPerson, out.Events[1].Data.(*protocol.PersonAdded).PersonID)
	scout, capabilities := "Scout", []string{"agents"}
	out = do(arjun, workspace.Draft(&workspace.HarnessDraft{DisplayName: &scout, Capabilities: &capabilities}))
	room := out.Events[len(out.Events)-1].SpaceID
	scoutID := out.Events[0].Data.(*protocol.HarnessAdded).HarnessID
	for i := range 28 {
		person, role := fmt.Sprint("Member ", i), protocol.Member
		out = do(arjun, workspace.Draft(&workspace.PersonDraft{Name: &person, Role: &role}))
		do(arjun, workspace.DraftIn(room, &protocol.MemberAdded{ParticipantID: out.Events[0].Data.(*protocol.PersonAdded).PersonID}))
	}
	text := strings.Repeat("Five words of six letters. ", 6)[:150]
	say := func(n int) {
		for i := range n {
			out := do(arjun, workspace.DraftIn(room, &protocol.MessagePost{Text: text}))
			if i%20 == 0 {
				do(arjun, workspace.Draft(&protocol.MessageEdited{MessageID: protocol.MessageID(out.Events[0].ID), Text: text + " Edited."}))
			}
		}
	}
	say(210)
	asked := do(arjun, workspace.DraftIn(room, &protocol.MessagePost{Text: "and?"}))
	s, err := g.StateAt(ctx, ws, asked.Commit.Last())
	if err != nil {
		t.Fatal(err)
	}
	lines, chars := 200, 32000
	to := delivery.Recipient{Kind: protocol.KindHarness, ID: scoutID, Budget: protocol.ContextBudget{Lines: &lines, Chars: &chars}}.At(s)
	metered.Reset()
	var read session.Lines
	got, err := read.For(ctx, g, s, asked.Events[0], to)
	if err != nil {
		t.Fatal(err)
	}
	turn, ok := delivery.Render(s, asked.Events[0], to, got).Data.(*protocol.MessageNew)
	if !ok || len(turn.Context.Lines) != 200 {
		t.Fatalf("%+v", turn)
	}
	edited := 0
	for _, l := range turn.Context.Lines {
		if strings.HasSuffix(*l.Text, "Edited.") {
			edited++
		}
	}
	if edited != 10 {
		t.Errorf("%d lines read as edited", edited)
	}
	if used := metered.Units(); used.RRU > 30 || used.RRU < 10 {
		t.Errorf("%.1f read units: %+v", used.RRU, metered.ByCall())
	} else {
		t.Logf("%.1f read units: %+v", used.RRU, metered.ByCall())
	}
}
