package engine

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/chipschat/chips-aws/shared/protocol"
	"github.com/chipschat/chips-aws/shared/workspace"
)

// ErrBusy says that nobody is at fault and no answer can be given: the table throttled, others won too often, or time ran out with
// the outcome in doubt. The key is not answered; the same write may be sent again at any time.
var ErrBusy = errors.New("busy")

// Options are what an Engine is given; all but the clock may be left out.
type Options struct {
	// Now is the clock.
	Now func() time.Time
	// Decide and Evolve are the rules: nil is those of shared/workspace.
	Decide func(*workspace.State, workspace.Command) (workspace.Decision, *protocol.Error)
	Evolve func(*workspace.State, protocol.Event)
	// Waits are what commands are decided with: the zero value is workspace.DefaultWaits.
	Waits workspace.Waits
	// Prices are what models cost where a usage report does not say: nil has none.
	Prices workspace.Prices
	// Workspaces is how many are kept folded, the last used ones: 0 is 256.
	Workspaces int
	// Keys is how many of a workspace's newest commits are known by key without asking the table: 0 is 1000.
	Keys int
	// SnapshotEvery is how many commits there are between two snapshots at least: 0 is 100. Those that are kept are at most fifty times as
	// many apart.
	SnapshotEvery int64
	// Tries is how often a command is put down before it is ErrBusy: 0 is 8.
	Tries int
}

// Engine runs commands against the logs of a table. It is for any number of goroutines, and any number of engines may share a table.
type Engine struct {
	table Table
	o     Options

	mu   sync.Mutex
	warm map[string]*list.Element // of *warm
	used *list.List               // the last used first
}

// New is an engine over a table.
func New(t Table, o Options) *Engine {
	if o.Decide == nil {
		o.Decide = workspace.Decide
	}
	if o.Evolve == nil {
		o.Evolve = workspace.Evolve
	}
	if o.Now == nil {
		panic("engine: no clock")
	}
	if o.Waits == (workspace.Waits{}) {
		o.Waits = workspace.DefaultWaits()
	}
	if o.Workspaces == 0 {
		o.Workspaces = 256
	}
	if o.Keys == 0 {
		o.Keys = 1000
	}
	if o.SnapshotEvery == 0 {
		o.SnapshotEvery = 100
	}
	if o.Tries == 0 {
		o.Tries = 8
	}
	return &Engine{table: t, o: o, warm: map[string]*list.Element{}, used: list.New()}
}

// workspace is a workspace's entry in the cache, made where there is none. One that was pushed out while somebody used it does no
// harm: two entries of one workspace are as two engines.
func (g *Engine) workspace(id string) *warm {
	g.mu.Lock()
	defer g.mu.Unlock()
	if e := g.warm[id]; e != nil {
		g.used.MoveToFront(e)
		return e.Value.(*warm)
	}
	w := &warm{engine: g, id: id, loading: make(chan struct{}, 1)}
	g.warm[id] = g.used.PushFront(w)
	if g.used.Len() > g.o.Workspaces {
		oldest := g.used.Back()
		delete(g.warm, g.used.Remove(oldest).(*warm).id)
	}
	return w
}

// Waits are what commands are decided with.
func (g *Engine) Waits() workspace.Waits { return g.o.Waits }

// Head answers a workspace's newest commit; false when it has none.
func (g *Engine) Head(ctx context.Context, ws string) (Commit, bool, error) {
	return g.table.Head(ctx, ws)
}

// Commits answers commits as Table.Commits does.
func (g *Engine) Commits(ctx context.Context, ws string, from int64, limit int) ([]Commit, error) {
	return g.table.Commits(ctx, ws, from, limit)
}

// Event answers the event that an evt_ or msg_ id names; false when it is in no log of the workspace.
func (g *Engine) Event(ctx context.Context, ws, id string) (protocol.Event, bool, error) {
	seq, ok := protocol.SeqOf(id)
	if !ok || seq < 1 {
		return protocol.Event{}, false, nil
	}
	c, ok, err := g.commitAt(ctx, ws, seq)
	if err != nil || !ok {
		return protocol.Event{}, false, err
	}
	events, err := c.Decode()
	if err != nil {
		return protocol.Event{}, false, err
	}
	e := events[seq-c.First]
	return e, e.ID == id || protocol.MessageID(e.ID) == id, nil
}

// EventAt answers the event at a seq, which the log must reach.
func (g *Engine) EventAt(ctx context.Context, ws string, seq int64) (protocol.Event, error) {
	c, ok, err := g.commitAt(ctx, ws, seq)
	if err == nil && !ok {
		err = errors.New("the log does not reach it")
	}
	if err != nil {
		return protocol.Event{}, fmt.Errorf("read event %d of %s: %w", seq, ws, err)
	}
	events, err := c.Decode()
	if err != nil {
		return protocol.Event{}, err
	}
	return events[seq-c.First], nil
}

// Find answers the commit that holds a sender's idempotency key; false when none that was committed before the call does.
func (g *Engine) Find(ctx context.Context, ws, sender, key string) (Commit, bool, error) {
	w := g.workspace(ws)
	if err := w.catchUp(ctx); err != nil {
		return Commit{}, false, err
	}
	return w.find(ctx, &attempt{key: keyID{sender, key}}, 0)
}

// commitAt answers the commit that holds a seq; false when the log does not reach it.
func (g *Engine) commitAt(ctx context.Context, ws string, seq int64) (Commit, bool, error) {
	commits, err := g.table.Commits(ctx, ws, seq, 1)
	if err != nil || len(commits) == 0 {
		return Commit{}, false, err
	}
	c := commits[0]
	return c, c.First <= seq && seq <= c.Last(), nil
}
