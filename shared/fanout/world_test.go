package fanout_test

import (
	"context"
	"log/slog"
	"os"
	"testing"
	"time"

	"github.com/chipschat/chips-aws/shared/embedded"
	"github.com/chipschat/chips-aws/shared/engine"
	"github.com/chipschat/chips-aws/shared/protocol"
	"github.com/chipschat/chips-aws/shared/workspace"
)

var quiet = slog.New(slog.DiscardHandler)

// open is a table that is gone with the test, in memory where the system has such: what is tested here is not the disk.
func open(t testing.TB) *embedded.Table {
	dir, err := os.MkdirTemp("/dev/shm", "chips")
	if err != nil {
		dir = t.TempDir()
	}
	table, err := embedded.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		table.Close()
		os.RemoveAll(dir)
	})
	return table
}

// world is a workspace with an owner, a member and a harness in one room.
type world struct {
	t      testing.TB
	engine *engine.Engine
	ws     string

	arjun, priya, scout, ledger workspace.Caller
	room, direct                string
	// s1 is Scout's agent in the room.
	s1, ledgerA string
}

// do runs a command that has to go well.
func (w *world) do(by workspace.Caller, draft protocol.Event) engine.Outcome {
	w.t.Helper()
	out, err := w.engine.Do(context.Background(), w.ws, workspace.Command{By: by, Draft: draft, Operation: true})
	if err != nil {
		w.t.Fatalf("%s: %v", draft.Type, err)
	}
	return out
}

// find is the first event of a type in what a command caused.
func find[D protocol.Data](w *world, out engine.Outcome) D {
	w.t.Helper()
	for _, e := range out.Events {
		if d, ok := e.Data.(D); ok {
			return d
		}
	}
	var none D
	w.t.Fatalf("no %s", none.EventType())
	return none
}

func newWorld(t testing.TB, e *engine.Engine) *world {
	w := &world{t: t, engine: e, ws: protocol.NewID(protocol.PrefixWorkspace, time.Unix(1_700_000_000, 0), [10]byte{1})}
	system := workspace.Caller{Workspace: w.ws, Kind: protocol.KindSystem, ID: protocol.SystemID}
	person := func(id string) workspace.Caller {
		return workspace.Caller{Workspace: w.ws, Kind: protocol.KindPerson, ID: id, Credential: "key_" + id}
	}
	out := w.do(system, workspace.Draft(&workspace.NameDraft{Name: "Northwind", OwnerName: "Arjun"}))
	w.arjun = person(find[*protocol.PersonAdded](w, out).PersonID)
	name, role := "Priya", protocol.Member
	out = w.do(w.arjun, workspace.Draft(&workspace.PersonDraft{Name: &name, Role: &role}))
	w.priya = person(find[*protocol.PersonAdded](w, out).PersonID)
	harness := func(name string, capabilities ...string) (workspace.Caller, string, string) {
		out := w.do(w.arjun, workspace.Draft(&workspace.HarnessDraft{DisplayName: &name, Capabilities: &capabilities}))
		id := find[*protocol.HarnessAdded](w, out).HarnessID
		attached := find[*protocol.AgentAttached](w, out)
		return workspace.Caller{Workspace: w.ws, Kind: protocol.KindHarness, ID: id, Credential: "tok_" + id}, attached.AgentID, out.Events[len(out.Events)-1].SpaceID
	}
	w.scout, w.s1, w.direct = harness("Scout", "agents")
	var ledgerDirect string
	w.ledger, w.ledgerA, ledgerDirect = harness("Ledger")
	out = w.do(w.arjun, workspace.Draft(&protocol.SpaceOpened{Title: "R", ParticipantIDs: []string{w.priya.ID}}))
	w.room = out.Ack().SpaceID
	w.move(w.s1, w.direct, w.room)
	w.move(w.ledgerA, ledgerDirect, w.room)
	return w
}

func (w *world) move(agent, from, to string) engine.Outcome {
	w.t.Helper()
	return w.do(w.arjun, workspace.DraftIn(from, &protocol.AgentMoved{AgentID: agent, ToSpaceID: to}))
}

// say posts a message in the room.
func (w *world) say(by workspace.Caller, text string) engine.Outcome {
	w.t.Helper()
	return w.do(by, workspace.DraftIn(w.room, &protocol.MessagePost{Text: text}))
}

func (w *world) head() int64 {
	w.t.Helper()
	c, _, err := w.engine.Head(context.Background(), w.ws)
	if err != nil {
		w.t.Fatal(err)
	}
	return c.Last()
}
