package deadline_test

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chipschat/chips-aws/shared/deadline"
	"github.com/chipschat/chips-aws/shared/embedded"
	"github.com/chipschat/chips-aws/shared/engine"
	"github.com/chipschat/chips-aws/shared/protocol"
	"github.com/chipschat/chips-aws/shared/workspace"
)

const ws = "ws_01K4ZQPX000000000000000001"

// alarms are what was set, in order.
type alarms struct {
	mu  sync.Mutex
	set []deadline.Alarm
	err error
}

func (a *alarms) Set(_ context.Context, alarm deadline.Alarm) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.err == nil {
		a.set = append(a.set, alarm)
	}
	return a.err
}

func (a *alarms) take() []deadline.Alarm {
	a.mu.Lock()
	defer a.mu.Unlock()
	set := a.set
	a.set = nil
	return set
}

// world is a workspace with Scout, which makes copies, and a room for them, on a table of its own.
type world struct {
	t            *testing.T
	table        *embedded.Table
	engine       *engine.Engine
	alarms       *alarms
	keeper       *deadline.Keeper
	arjun, scout workspace.Caller
	agent, room  string
	// said are the lines of the log up to read.
	said map[string][]time.Time
	read int64
}

var quiet = slog.New(slog.DiscardHandler)

// inWorld runs a test on a clock that goes on when nothing else does.
func inWorld(t *testing.T, test func(*testing.T, *world)) {
	synctest.Test(t, func(t *testing.T) {
		table, err := embedded.Open(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := table.Close(); err != nil {
				t.Error(err)
			}
		}()
		w := &world{t: t, table: table, alarms: &alarms{}, said: map[string][]time.Time{}}
		w.engine = engine.New(table, engine.Options{Now: time.Now})
		w.keeper = w.newKeeper(w.engine, table, w.alarms)
		out := w.do(workspace.Caller{Kind: protocol.KindSystem, ID: protocol.SystemID}, "", &workspace.NameDraft{Name: "W", OwnerName: "Arjun"})
		w.arjun = workspace.Caller{Workspace: ws, Kind: protocol.KindPerson, ID: out.Events[1].Data.(*protocol.PersonAdded).PersonID}
		name := "Scout"
		for _, e := range w.do(w.arjun, "", &workspace.HarnessDraft{DisplayName: &name, Capabilities: &[]string{"agents", "forks"}}).Events {
			switch d := e.Data.(type) {
			case *protocol.HarnessAdded:
				w.scout = workspace.Caller{Workspace: ws, Kind: protocol.KindHarness, ID: d.HarnessID}
			case *protocol.AgentRegistered:
				w.agent = d.AgentID
			}
		}
		w.room = w.do(w.arjun, "", &protocol.SpaceOpened{Title: "Room"}).Events[0].SpaceID
		test(t, w)
	})
}

func (w *world) newKeeper(log deadline.Log, rows engine.Rows, alarms deadline.Alarms) *deadline.Keeper {
	return deadline.New(deadline.Config{Log: log, Rows: rows, Alarms: alarms, Now: time.Now, Logger: quiet})
}

func (w *world) do(by workspace.Caller, room string, data protocol.Data) engine.Outcome {
	w.t.Helper()
	out, err := w.engine.Do(w.t.Context(), ws, workspace.Command{By: by, Draft: workspace.DraftIn(room, data), Operation: true})
	if err != nil {
		w.t.Fatalf("%s: %v", data.EventType(), err)
	}
	return out
}

// fork asks for a copy and answers the alarm it is to have, and its commit.
func (w *world) fork() (deadline.Alarm, []engine.Commit) {
	w.t.Helper()
	out := w.do(w.arjun, w.room, &protocol.AgentFork{AgentID: w.agent})
	return deadline.Alarm{WorkspaceID: ws, Kind: "fork", ID: out.Events[0].ID, Due: out.Commit.TS.Add(time.Minute)}, []engine.Commit{out.Commit}
}

// copied registers a copy through an engine, and says whether it joined.
func (w *world) copied(through *engine.Engine, key string) (joined bool, err error) {
	out, err := through.Do(w.t.Context(), ws, workspace.Command{By: w.scout, Operation: true, Draft: workspace.Draft(&workspace.AgentDraft{
		HarnessID: w.scout.ID, Key: key, Name: &key, ForkedFrom: w.agent, SpaceID: w.room,
	})})
	for _, e := range out.Events {
		joined = joined || e.Type == "agent.attached"
	}
	return joined, err
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// lines are what the room has said, by the ask it is about.
func (w *world) lines() map[string][]time.Time {
	w.t.Helper()
	for {
		commits, err := w.table.Commits(w.t.Context(), ws, w.read+1, 100)
		w.must(err)
		for _, c := range commits {
			events, err := c.Decode()
			w.must(err)
			for _, e := range events {
				if d, ok := e.Data.(*protocol.RoomSays); ok && e.Seq > w.read {
					w.said[d.About] = append(w.said[d.About], e.TS.Time)
				}
			}
		}
		if len(commits) == 0 || commits[len(commits)-1].Last() <= w.read {
			return w.said
		}
		w.read = commits[len(commits)-1].Last()
	}
}

// kept are the rows of deadlines.
func (w *world) kept() []engine.Row {
	w.t.Helper()
	rows, err := w.table.Query(w.t.Context(), deadline.RowPrefix+ws, "", 100)
	w.must(err)
	return rows
}
