package managed_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/chipschat/chips-aws/shared/dynamo"
	"github.com/chipschat/chips-aws/shared/dynamo/dynamotest"
	"github.com/chipschat/chips-aws/shared/embedded"
	"github.com/chipschat/chips-aws/shared/engine"
	"github.com/chipschat/chips-aws/shared/protocol"
	"github.com/chipschat/chips-aws/shared/session"
	"github.com/chipschat/chips-aws/shared/workspace"
)

// All that the five requests of a page read of small copies, with what became of the changes, whether somebody listens and a page of runs,
// is ten units at most: one to see who asks, one for each copy and its change, half of one for the sockets each time, and one for the runs.
func TestUnitsOfAPage(t *testing.T) {
	api, name := dynamotest.Kumo(t)
	metered := dynamo.NewMetered(api)
	table := dynamo.New(metered, name)
	w := newWorld(t, table, nil)
	sessions := session.New(session.Config{Engine: w.engine, Rows: table, Now: w.clock, Log: slog.New(slog.DiscardHandler)})
	w.service = w.newService(sessions)
	for i, by := range []workspace.Caller{w.arjun, w.scout, w.scout} {
		w.must(sessions.Connect(t.Context(), fmt.Sprint("c", i), by))
	}
	w.must(w.put("context", files(4, 600, "Be kind. ")))
	w.must(w.put("model", model(20)))
	w.must(w.put("heartbeat", heartbeat(12)))
	w.must(w.put("context-window", J{"used": 1, "window": 2, "as_of": "2026-09-02T14:22:15Z", "compacts": true, "editable": true}))
	w.must(w.put("jobs", J{"jobs": list(8, func(i int) any { return job(fmt.Sprint("j", i)) })}))
	at := w.now.UTC().Format(time.RFC3339)
	w.must(w.service.AddRuns(t.Context(), w.scout, w.harness, encode(t, J{"runs": list(10, func(i int) any {
		return J{"job_id": "j1", "run_id": fmt.Sprint(i), "started_at": at, "ended_at": at, "outcome": "done"}
	})})))
	w.now = w.now.Add(time.Minute) // nobody has looked at the log for a while
	metered.Reset()
	for _, path := range []string{"context", "model", "heartbeat", "context-window"} {
		v, err := w.service.Read(t.Context(), w.arjun, w.agent, path)
		if w.must(err); v.Copy == nil || !v.Away {
			t.Errorf("%s: %+v", path, v)
		}
	}
	v, err := w.service.ReadJobs(t.Context(), w.arjun, w.harness, "", 50)
	if w.must(err); len(v.Runs) != 10 {
		t.Errorf("%d runs", len(v.Runs))
	}
	t.Logf("the page: %+v", metered.ByCall())
	if rru := metered.Units().RRU; rru > 10 || rru < 5+2.5 {
		t.Errorf("a page reads %v units: %+v", rru, metered.ByCall())
	}
}

// Who may read a copy is told as it was three seconds ago at most, where another process has taken it away; whoever was given it is let in
// at once. The copy and what became of a change are as they are now, whoever wrote them.
func TestWhoMayReadACopy(t *testing.T) {
	table, err := embedded.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = table.Close() })
	w := newWorld(t, table, listening{})
	other := engine.New(table, engine.Options{Now: w.clock, Waits: workspace.DefaultWaits()})
	do := func(data protocol.Data) []protocol.Event {
		t.Helper()
		out, err := other.Do(t.Context(), w.ws, workspace.Command{By: w.arjun, Draft: workspace.Draft(data), Operation: true})
		w.must(err)
		return out.Events
	}
	reads := func(by workspace.Caller, path string, want protocol.Code) {
		t.Helper()
		_, err := w.service.Read(context.Background(), by, w.agent, path)
		if e, refused := errors.AsType[*protocol.Error](err); refused && e.Code != want || !refused && (err != nil || want != "") {
			t.Errorf("%s is answered %v, want %q", path, err, want)
		}
	}
	role := func(role protocol.Role, person string) workspace.Caller {
		name := "Priya"
		draft := &workspace.PersonDraft{Role: &role, PersonID: person}
		if person == "" {
			draft.Name = &name
			person = do(draft)[0].Data.(*protocol.PersonAdded).PersonID
		} else {
			do(draft)
		}
		return workspace.Caller{Workspace: w.ws, Kind: protocol.KindPerson, ID: person}
	}
	w.must(w.put("heartbeat", heartbeat(2)))
	reads(w.arjun, "heartbeat", "")
	priya := role(protocol.Guest, "")
	reads(priya, "heartbeat", protocol.Forbidden)
	role(protocol.Admin, priya.ID)
	reads(priya, "heartbeat", "") // just now
	role(protocol.Guest, priya.ID)
	w.now = w.now.Add(3*time.Second - time.Millisecond)
	reads(priya, "heartbeat", "")
	w.now = w.now.Add(2 * time.Millisecond)
	reads(priya, "heartbeat", protocol.Forbidden)

	capabilities := []string{"agents"}
	do(&workspace.HarnessDraft{HarnessID: w.harness, Capabilities: &capabilities})
	reads(w.arjun, "heartbeat", "")
	w.now = w.now.Add(3 * time.Second)
	reads(w.arjun, "heartbeat", protocol.NotFound)
	capabilities = append(capabilities, "heartbeats")
	do(&workspace.HarnessDraft{HarnessID: w.harness, Capabilities: &capabilities})
	reads(w.arjun, "heartbeat", "")

	// What another process writes is read at once.
	here := w.service
	w.service = w.newService(listening{})
	asked, err := w.service.Ask(t.Context(), w.arjun, w.agent, "heartbeat", "changes", "", encode(t, J{"on": true, "every": 10}))
	w.must(err)
	v, err := here.Read(t.Context(), w.arjun, w.agent, "heartbeat")
	if w.must(err); v.Change == nil || v.Change.ID != asked.ChangeID || v.Change.State != protocol.ChangeWaiting {
		t.Errorf("asked for %v, it reads %+v", asked, v.Change)
	}
}
