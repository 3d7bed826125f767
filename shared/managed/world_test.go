package managed_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chipschat/chips-aws/shared/embedded"
	"github.com/chipschat/chips-aws/shared/engine"
	"github.com/chipschat/chips-aws/shared/managed"
	"github.com/chipschat/chips-aws/shared/protocol"
	"github.com/chipschat/chips-aws/shared/workspace"
)

type J = map[string]any

// counted counts what is written.
type counted struct {
	engine.Rows
	writes atomic.Int64
}

func (c *counted) Put(ctx context.Context, row engine.Row, cond engine.Cond) (int64, error) {
	c.writes.Add(1)
	return c.Rows.Put(ctx, row, cond)
}

func (c *counted) Delete(ctx context.Context, pk, sk string, cond engine.Cond) (engine.Row, error) {
	c.writes.Add(1)
	return c.Rows.Delete(ctx, pk, sk, cond)
}

// listening are sockets that all listen.
type listening struct{}

func (listening) Listens(context.Context, string, string, string) (bool, error) { return true, nil }
func (listening) Away(context.Context, string, string, string) (bool, error)    { return false, nil }
func (listening) Tell(context.Context, string, string, string, []byte) (int, error) {
	return 1, nil
}

// world is a workspace in which Scout was granted everything, on a real log.
type world struct {
	t              *testing.T
	ws             string
	rows           *counted
	now            time.Time
	service        *managed.Service
	engine         *engine.Engine
	arjun, scout   workspace.Caller
	harness, agent string
}

func newWorld(t *testing.T, table engine.Table, sockets managed.Sockets) *world {
	t.Helper()
	w := &world{t: t, ws: protocol.NewID("ws", time.Now(), [10]byte{1}), rows: &counted{Rows: table}, now: time.Now()}
	w.engine = engine.New(table, engine.Options{Now: w.clock, Waits: workspace.DefaultWaits()})
	w.service = w.newService(sockets)
	do := func(by workspace.Caller, data protocol.Data) []protocol.Event {
		out, err := w.engine.Do(t.Context(), w.ws, workspace.Command{By: by, Draft: workspace.Draft(data), Operation: true})
		if err != nil {
			t.Fatal(err)
		}
		return out.Events
	}
	system := workspace.Caller{Workspace: w.ws, Kind: protocol.KindSystem, ID: protocol.SystemID}
	person := do(system, &workspace.NameDraft{Name: "Northwind", OwnerName: "Arjun"})[1].Data.(*protocol.PersonAdded).PersonID
	w.arjun = workspace.Caller{Workspace: w.ws, Kind: protocol.KindPerson, ID: person}
	name, capabilities := "Scout", []string{"agents", "context_files", "models", "heartbeats", "jobs", "context_windows"}
	for _, e := range do(w.arjun, &workspace.HarnessDraft{DisplayName: &name, Capabilities: &capabilities}) {
		switch d := e.Data.(type) {
		case *protocol.HarnessAdded:
			w.harness = d.HarnessID
		case *protocol.AgentRegistered:
			w.agent = d.AgentID
		}
	}
	w.scout = workspace.Caller{Workspace: w.ws, Kind: protocol.KindHarness, ID: w.harness}
	return w
}

func (w *world) clock() time.Time { return w.now }

func (w *world) newService(sockets managed.Sockets) *managed.Service {
	return managed.New(managed.Config{Rows: w.rows, Log: w.engine, Sockets: sockets, Now: w.clock, Logger: slog.New(slog.DiscardHandler)})
}

func local(t *testing.T) *world {
	table, err := embedded.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = table.Close() })
	return newWorld(t, table, listening{})
}

func encode(t *testing.T, v any) []byte {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func (w *world) put(path string, copy J) error {
	subject := w.agent
	if path == "jobs" {
		subject = w.harness
	}
	return w.service.Put(context.Background(), w.scout, subject, path, encode(w.t, copy))
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// refused checks that a copy is refused with words of the limit, and that nothing is written.
func (w *world) refused(err error, before int64, words string) {
	w.t.Helper()
	e, ok := errors.AsType[*protocol.Error](err)
	if !ok || e.Code != protocol.InvalidRequest || !strings.Contains(e.Message, words) {
		w.t.Errorf("refused with %v, want words of %q", err, words)
	}
	if n := w.rows.writes.Load(); n != before {
		w.t.Errorf("%d writes of what is refused", n-before)
	}
}

func files(n, size int, fill string) J {
	var list []J
	for i := range n {
		list = append(list, J{"name": fmt.Sprint("F", i), "title": "F", "text": strings.Repeat(fill, size/len(fill)+1)[:size], "hash": fill[:1], "editable": true})
	}
	return J{"files": list}
}

func list(n int, entry func(int) any) (all []any) {
	for i := range n {
		all = append(all, entry(i))
	}
	return all
}

func job(id string) J {
	return J{"job_id": id, "name": "J", "about": "", "kind": "other", "on": true, "editable": true}
}

func heartbeat(n int) J {
	return J{"on": false, "every": 10, "editable": true, "choices": list(n, func(i int) any { return 10 * (i + 1) })}
}

func model(n int) J {
	return J{"model": "m0", "own": true, "editable": true, "choices": list(n, func(i int) any { return J{"id": fmt.Sprint("m", i), "label": "M", "efforts": []J{}} })}
}
