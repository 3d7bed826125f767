package fanout

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/chipschat/chips-aws/shared/engine"
	"github.com/chipschat/chips-aws/shared/session"
	"github.com/chipschat/chips-aws/shared/workspace"
)

// Log is what fan-out reads; *engine.Engine is one, and says what these do.
type Log interface {
	StateAt(ctx context.Context, workspace string, seq int64) (*workspace.State, error)
	Commits(ctx context.Context, workspace string, from int64, limit int) ([]engine.Commit, error)
	Head(ctx context.Context, workspace string) (engine.Commit, bool, error)
	Waits() workspace.Waits
	SnapshotIfDue(ctx context.Context, workspace string, seen ...engine.Commit) (bool, error)
	session.RoomLog
}

// Connections are the sockets of a workspace; *session.Sessions is one, and says what these do.
type Connections interface {
	List(ctx context.Context, workspace string, known []session.Connection) ([]session.Connection, error)
	MarkBehind(ctx context.Context, c *session.Connection, n int64) error
	Forget(ctx context.Context, workspace, connID string) error
	Cut(ctx context.Context, workspace, connID string, code int, reason string, last []byte) error
	CutBehind(ctx context.Context, workspace, connID string) error
	Batch(frames [][]byte) [][]byte
}

// Deadlines are armed for what commits set; *deadline.Keeper is one, and says what this does.
type Deadlines interface {
	Arm(ctx context.Context, workspace string, commits []engine.Commit) error
}

// Config is what a Fanout is made of; what is said to have a default may be left zero.
type Config struct {
	Log         Log
	Connections Connections
	// Rows keep the cursors.
	Rows engine.Rows
	Push session.Push
	// Deadlines are armed by every ring; nil is none.
	Deadlines Deadlines
	// Files makes URLs; nil makes none.
	Files session.Files
	// PostTimeout is how long one push may take before its outcome is unknown; 2 s by default.
	PostTimeout time.Duration
	// Workspaces is how many are kept folded, the last used ones; 256 by default.
	Workspaces int
	Now        func() time.Time
	Logger     *slog.Logger
	// Late, where there is one, is told of each range that was sent how long its oldest event took.
	Late func(workspace string, lag time.Duration)
}

// Fanout sends events to live subscriptions. It is for any number of goroutines, and any number of them may share a table.
type Fanout struct {
	c Config

	mu    sync.Mutex
	known map[string]*list.Element // of *worker
	used  *list.List               // the last used first
}

// New makes a Fanout of its parts.
func New(c Config) *Fanout {
	if c.PostTimeout == 0 {
		c.PostTimeout = 2 * time.Second
	}
	if c.Workspaces == 0 {
		c.Workspaces = 256
	}
	return &Fanout{c: c, known: map[string]*list.Element{}, used: list.New()}
}

// worker is a workspace of which one range at a time is sent. Two workers of one workspace, in two processes or because one was pushed
// out while it was busy, do no harm: the cursor tells them apart.
type worker struct {
	f  *Fanout
	ws string
	// turn is held by whoever sends; it guards what the range keeps.
	turn  chan struct{}
	kept  kept
	mu    sync.Mutex
	rings *rings // those that wait for the turn
}

// rings are rings that came while the workspace was busy: they are answered as one.
type rings struct {
	n       int64
	commits []engine.Commit
	// blind says that one of them did not say which commits it is about.
	blind bool
	done  chan struct{}
	err   error
}

// Ring says that a workspace's log has reached at least the last of commits; they may be none (then it is asked how far), some that
// came before, out of order, or with holes. It answers when everything up to there was sent to whoever is live, and an error when it has
// to be rung again.
func (f *Fanout) Ring(ctx context.Context, ws string, commits []engine.Commit) error {
	var n int64
	for _, c := range commits {
		n = max(n, c.Last())
	}
	blind := n == 0
	if blind {
		head, ok, err := f.c.Log.Head(ctx, ws)
		if err != nil || !ok {
			return err
		}
		n, commits = head.Last(), []engine.Commit{head}
	}
	w := f.worker(ws)
	r := w.join(n, commits, blind)
	select {
	case <-r.done: // somebody's turn took ours along
		return r.err
	case <-ctx.Done():
		return ctx.Err()
	case w.turn <- struct{}{}:
		defer func() { <-w.turn }()
	}
	if !w.take(r) {
		return r.err
	}
	defer close(r.done)
	r.err = w.send(ctx, r)
	return r.err
}

// join puts a ring with those that wait.
func (w *worker) join(n int64, commits []engine.Commit, blind bool) *rings {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.rings == nil {
		w.rings = &rings{done: make(chan struct{})}
	}
	w.rings.n = max(w.rings.n, n)
	w.rings.commits = append(w.rings.commits, commits...)
	w.rings.blind = w.rings.blind || blind
	return w.rings
}

// take takes waiting rings to be sent; false when they were, by whoever had the turn before. The turn is held.
func (w *worker) take(r *rings) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.rings != r {
		return false
	}
	w.rings = nil
	return true
}

// moreWaits says whether the turn will be somebody's at once.
func (w *worker) moreWaits() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.rings != nil
}

func (f *Fanout) worker(ws string) *worker {
	f.mu.Lock()
	defer f.mu.Unlock()
	if e := f.known[ws]; e != nil {
		f.used.MoveToFront(e)
		return e.Value.(*worker)
	}
	w := &worker{f: f, ws: ws, turn: make(chan struct{}, 1)}
	f.known[ws] = f.used.PushFront(w)
	if f.used.Len() > f.c.Workspaces {
		delete(f.known, f.used.Remove(f.used.Back()).(*worker).ws)
	}
	return w
}

// send sends rings, and what a fault of ours throws down is an error.
func (w *worker) send(ctx context.Context, r *rings) (err error) {
	defer func() {
		if p := recover(); p != nil {
			w.kept = kept{}
			err = fmt.Errorf("fan-out of %s up to %d: panic: %v", w.ws, r.n, p)
			w.f.c.Logger.ErrorContext(ctx, "fan-out panicked", "alarm", true, "workspace_id", w.ws, "error", err)
		}
	}()
	// Who waits for a frame does not wait for an alarm that cannot be set: the ring fails either way, and what comes again arms again,
	// whatever the cursor says by then.
	unarmed := w.arm(ctx, r)
	if err := errors.Join(unarmed, w.ranges(ctx, r)); err != nil {
		return fmt.Errorf("fan-out of %s up to %d: %w", w.ws, r.n, err)
	}
	if _, err := w.f.c.Log.SnapshotIfDue(ctx, w.ws, r.commits...); err != nil {
		w.f.c.Logger.WarnContext(ctx, "no snapshot could be written", "workspace_id", w.ws, "error", err)
	}
	return nil
}

// arm has the deadlines armed that the rings' commits set.
func (w *worker) arm(ctx context.Context, r *rings) error {
	if w.f.c.Deadlines == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, w.f.c.PostTimeout)
	defer cancel()
	if r.blind {
		return w.f.c.Deadlines.Arm(ctx, w.ws, nil)
	}
	return w.f.c.Deadlines.Arm(ctx, w.ws, r.commits)
}
