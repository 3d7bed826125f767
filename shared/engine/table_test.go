package engine_test

import (
	"context"
	"errors"
	"maps"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/chipschat/chips-aws/shared/embedded"
	"github.com/chipschat/chips-aws/shared/engine"
	"github.com/chipschat/chips-aws/shared/protocol"
	"github.com/chipschat/chips-aws/shared/workspace"
)

// memoryDir is a folder that is gone with the test, in memory where the system has such: what is tested here is not the disk.
func memoryDir(t testing.TB) string {
	dir, err := os.MkdirTemp("/dev/shm", "chips")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func open(t testing.TB) engine.Table {
	table, err := embedded.Open(memoryDir(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { table.Close() })
	return table
}

// watched is a table that counts what is asked of it, and lets a test step in.
type watched struct {
	engine.Table
	mu    sync.Mutex
	calls map[string]int
	// append and put, where set, are called in place of the table's.
	append func(ctx context.Context, appends []engine.Append) ([]engine.Result, error)
	put    func(ctx context.Context, row engine.Row, cond engine.Cond) (int64, error)
}

func watch(t testing.TB) *watched { return &watched{Table: open(t), calls: map[string]int{}} }

func (w *watched) count(call string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.calls[call]++
}

// counted is how often each call was made since it was last asked.
func (w *watched) counted() map[string]int {
	w.mu.Lock()
	defer w.mu.Unlock()
	counted := maps.Clone(w.calls)
	clear(w.calls)
	return counted
}

func (w *watched) Append(ctx context.Context, appends []engine.Append) ([]engine.Result, error) {
	w.count("Append")
	if w.append != nil {
		return w.append(ctx, appends)
	}
	return w.Table.Append(ctx, appends)
}

func (w *watched) Commits(ctx context.Context, ws string, from int64, limit int) ([]engine.Commit, error) {
	w.count("Commits")
	return w.Table.Commits(ctx, ws, from, limit)
}

func (w *watched) Head(ctx context.Context, ws string) (engine.Commit, bool, error) {
	w.count("Head")
	return w.Table.Head(ctx, ws)
}

func (w *watched) ReadClaim(ctx context.Context, ws, sender, key string) (engine.Claim, bool, error) {
	w.count("ReadClaim")
	return w.Table.ReadClaim(ctx, ws, sender, key)
}

func (w *watched) Query(ctx context.Context, pk, after string, limit int) ([]engine.Row, error) {
	w.count("Query")
	return w.Table.Query(ctx, pk, after, limit)
}

func (w *watched) Put(ctx context.Context, row engine.Row, cond engine.Cond) (int64, error) {
	w.count("Put")
	if w.put != nil {
		return w.put(ctx, row, cond)
	}
	return w.Table.Put(ctx, row, cond)
}

var now = time.Date(2026, 9, 2, 14, 22, 15, 4e6, time.UTC)

// start is an engine by simple rules whose clock stands still.
func start(table engine.Table, o engine.Options) *engine.Engine {
	if o.Now == nil {
		o.Now = func() time.Time { return now }
	}
	if o.Decide == nil {
		o.Decide = simple
	}
	return engine.New(table, o)
}

// simple are rules that take every draft as it is, but for a room that is open, which cannot be opened, and a name that the
// workspace has, which it need not be given. Where the workspace is called "closed" no room can be opened either.
func simple(s *workspace.State, c workspace.Command) (workspace.Decision, *protocol.Error) {
	e := c.Draft
	e.IdempotencyKey, e.Actor = "", protocol.Actor{Kind: c.By.Kind, ID: c.By.ID}
	switch d := e.Data.(type) {
	case *protocol.SpaceOpened:
		if s.Rooms[e.SpaceID] != nil || s.Name == "closed" && d.Title != "even so" {
			return workspace.Decision{}, protocol.Refuse(protocol.InvalidEvent, "no room to be opened")
		}
	case *protocol.WorkspaceRenamed:
		if s.Name == d.Name {
			return workspace.Decision{}, nil
		}
	}
	return workspace.Decision{Events: []protocol.Event{e}}, nil
}

// by is a command under a key of usr_1.
func by(key, space string, data protocol.Data) workspace.Command {
	return workspace.Command{
		By:    workspace.Caller{Workspace: "ws_1", Kind: protocol.KindPerson, ID: "usr_1", Credential: "dev_1"},
		Draft: protocol.Event{Envelope: protocol.Envelope{Type: data.EventType(), SpaceID: space, IdempotencyKey: key}, Data: data},
	}
}

func post(key, text string) workspace.Command {
	return by(key, "spc_1", &protocol.MessagePost{Text: text})
}

func openRoom(key, space string) workspace.Command {
	return by(key, space, &protocol.SpaceOpened{Title: "Launch"})
}

func rename(key, name string) workspace.Command {
	return by(key, "", &protocol.WorkspaceRenamed{Name: name})
}

// do runs a command that is to be taken.
func do(t testing.TB, g *engine.Engine, cmd workspace.Command) engine.Outcome {
	t.Helper()
	out, err := g.Do(t.Context(), "ws_1", cmd)
	if err != nil {
		t.Fatalf("%s %q: %v", cmd.Draft.Type, cmd.Draft.IdempotencyKey, err)
	}
	return out
}

// refused runs a command that is to be refused.
func refused(t testing.TB, g *engine.Engine, cmd workspace.Command) {
	t.Helper()
	out, err := g.Do(t.Context(), "ws_1", cmd)
	var refusal *protocol.Error
	if !errors.As(err, &refusal) {
		t.Fatalf("%s %q: %v, %v; want a refusal", cmd.Draft.Type, cmd.Draft.IdempotencyKey, out.Ack(), err)
	}
}

// logOf reads a whole log, which has to be dense.
func logOf(t testing.TB, table engine.Table, ws string) []engine.Commit {
	t.Helper()
	var log []engine.Commit
	for next := int64(1); ; next = log[len(log)-1].Last() + 1 {
		page, err := table.Commits(t.Context(), ws, next, 1000)
		if err != nil {
			t.Fatal(err)
		}
		page = slices.DeleteFunc(page, func(c engine.Commit) bool { return c.Last() < next })
		if len(page) == 0 {
			return log
		}
		for _, c := range page {
			if c.First != next {
				t.Fatalf("a commit at %d, want one at %d", c.First, next)
			}
			next = c.Last() + 1
		}
		log = append(log, page...)
	}
}

// folded is the state folded from the first event on, by nothing but the log.
func folded(t testing.TB, log []engine.Commit) *workspace.State {
	t.Helper()
	s := workspace.New("ws_1")
	for _, c := range log {
		events, err := c.Decode()
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range events {
			workspace.Evolve(s, e)
		}
	}
	return s
}
