package engine

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/chipschat/chips-aws/shared/workspace"
)

// pageCommits is how many commits are asked for at once.
const pageCommits = 1000

// warm is a workspace that is kept folded.
type warm struct {
	engine *Engine
	id     string
	// loading is held by whoever loads it.
	loading chan struct{}

	mu sync.Mutex
	// fold is what is committed, as far as is known here; its state is nil until it is loaded.
	fold
	// looked is when the state was last brought up to date.
	looked time.Time
	// ahead is the state with commits that are being put down, or nil. Where it is at the state's seq it is equal to it.
	ahead *workspace.State
	// queue are commands that wait; driving says that a goroutine is at them.
	queue   []*attempt
	driving bool
}

// fold is a state and what is known of the log that led to it.
type fold struct {
	state *workspace.State
	keys  recent
	// commits is how many the log has up to state, and tail of how many bytes those since the last snapshot are.
	commits int64
	tail    int64
	last    snapshot
}

// advance takes the next commit into a state. One that is in it already is passed over; false then.
func (g *Engine) advance(s *workspace.State, c Commit) (took bool, err error) {
	if c.Last() <= s.Seq {
		return false, nil
	}
	if c.First != s.Seq+1 {
		return false, fmt.Errorf("log of %s: the commit after seq %d begins at %d", c.Workspace, s.Seq, c.First)
	}
	events, err := c.Decode()
	if err != nil {
		return false, fmt.Errorf("log of %s: commit at %d: %w", c.Workspace, c.First, err)
	}
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("log of %s: commit at %d: panic: %v\n%s", c.Workspace, c.First, r, debug.Stack())
		}
	}()
	for _, e := range events {
		g.o.Evolve(s, e)
	}
	if s.Seq != c.Last() {
		return false, fmt.Errorf("log of %s: commit at %d left the state at seq %d", c.Workspace, c.First, s.Seq)
	}
	return true, nil
}

// take folds commits in, in order.
func (g *Engine) take(f *fold, commits ...Commit) error {
	for _, c := range commits {
		took, err := g.advance(f.state, c)
		if err != nil {
			return err
		}
		if took {
			f.commits++
			f.tail += c.size()
			f.keys.add(c)
		}
	}
	return nil
}

// size is about how many bytes a commit is in a table.
func (c Commit) size() int64 {
	n := int64(200)
	for _, e := range c.Events {
		n += int64(len(e))
	}
	return n
}

// take folds commits in, in order. What it cannot fold throws the state away, to be loaded again. The lock is held.
func (w *warm) take(commits ...Commit) error {
	if w.state == nil {
		return nil
	}
	err := w.engine.take(&w.fold, commits...)
	if err != nil {
		w.fold, w.ahead = fold{}, nil
	}
	return err
}

// load folds the workspace from its newest snapshot, unless it is folded already. It comes near the head and perhaps not to it.
func (w *warm) load(ctx context.Context) error {
	if w.seq() >= 0 {
		return nil
	}
	select {
	case w.loading <- struct{}{}:
		defer func() { <-w.loading }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if w.seq() >= 0 {
		return nil
	}
	f, err := w.engine.restore(ctx, w.id, newest)
	if err != nil {
		return err
	}
	f.keys = recent{from: f.state.Seq, most: w.engine.o.Keys}
	for more := true; more; {
		if more, err = w.engine.page(ctx, &f, pageCommits); err != nil {
			return err
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fold, w.ahead = f, nil
	return nil
}

// page folds in one page of the log after a fold, and says whether there is likely to be another.
func (g *Engine) page(ctx context.Context, f *fold, limit int) (more bool, err error) {
	commits, err := g.table.Commits(ctx, f.state.ID, f.state.Seq+1, limit)
	if err != nil {
		return false, fmt.Errorf("read log of %s: %w", f.state.ID, err)
	}
	before := f.state.Seq
	if err := g.take(f, commits...); err != nil {
		return false, err
	}
	var size int64
	for _, c := range commits {
		size += c.size()
	}
	// A page may also be cut at about 1 MB of what is stored. One that is far below both bounds is the last.
	return f.state.Seq > before && (len(commits) == limit || size > 256<<10), nil
}

// seq is how far the workspace is folded, -1 when it is not.
func (w *warm) seq() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.state == nil {
		return -1
	}
	return w.state.Seq
}

// catchUp loads the workspace if need be and folds in what was committed before the call.
func (w *warm) catchUp(ctx context.Context) error {
	if err := w.load(ctx); err != nil {
		return err
	}
	now := w.engine.o.Now()
	head, ok, err := w.engine.table.Head(ctx, w.id)
	if err != nil {
		return fmt.Errorf("read head of %s: %w", w.id, err)
	}
	if !ok {
		return nil
	}
	for seq := w.seq(); seq >= 0 && seq < head.Last(); {
		commits := []Commit{head}
		if head.First > seq+1 {
			if commits, err = w.engine.table.Commits(ctx, w.id, seq+1, pageCommits); err != nil {
				return fmt.Errorf("read log of %s: %w", w.id, err)
			}
		}
		w.mu.Lock()
		err := w.take(commits...)
		w.mu.Unlock()
		if err != nil {
			return err
		}
		before := seq
		if seq = w.seq(); seq == before {
			return fmt.Errorf("log of %s: nothing after seq %d, yet its head is at %d", w.id, seq, head.Last())
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if now.After(w.looked) {
		w.looked = now
	}
	return nil
}
