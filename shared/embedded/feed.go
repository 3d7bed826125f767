package embedded

import (
	"context"
	"sync"

	"github.com/chipschat/chips-aws/shared/engine"
)

// maxBehind is how many bytes of events a feed keeps of one workspace that its reader has not come to.
const maxBehind = 1 << 20

// Change says that a workspace's log has reached Head, durably.
type Change struct {
	Workspace string
	Head      int64
	// Commits are the newest of the log, in order and without a hole up to Head. They begin where the last Change of the workspace ended
	// unless the reader is far behind: then there are fewer, or none, and it reads what it lacks. They are to be read only.
	Commits []engine.Commit

	size int
}

// Feed tells of what is committed, from when it was made on. It never holds the committer up.
type Feed struct {
	feeds *feeds

	mu   sync.Mutex
	cond *sync.Cond
	// waiting holds each workspace's change that nobody has taken, order the workspaces of them that nobody is busy with.
	waiting map[string]*Change
	order   []string
	busy    map[string]bool
}

// feeds are those of a table.
type feeds struct {
	mu  sync.RWMutex
	all map[*Feed]bool
}

// Feed makes a feed of what is committed from now on. It keeps what nobody runs it for, so one that is made has to be run.
func (t *Table) Feed() *Feed {
	f := &Feed{feeds: &t.feeds, waiting: map[string]*Change{}, busy: map[string]bool{}}
	f.cond = sync.NewCond(&f.mu)
	t.feeds.mu.Lock()
	defer t.feeds.mu.Unlock()
	if t.feeds.all == nil {
		t.feeds.all = map[*Feed]bool{}
	}
	t.feeds.all[f] = true
	return f
}

// add tells all feeds of commits, which are durable.
func (s *feeds) add(commits []engine.Commit) {
	if len(commits) == 0 {
		return
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	for f := range s.all {
		f.add(commits)
	}
}

// add takes commits of one workspace.
func (f *Feed) add(commits []engine.Commit) {
	f.mu.Lock()
	defer f.mu.Unlock()
	ws := commits[0].Workspace
	change := f.waiting[ws]
	if change == nil {
		change = &Change{Workspace: ws}
		f.waiting[ws] = change
		if !f.busy[ws] {
			f.order = append(f.order, ws)
			f.cond.Signal()
		}
	}
	for _, c := range commits {
		size := 0
		for _, e := range c.Events {
			size += len(e)
		}
		if change.size+size > maxBehind {
			change.Commits, change.size = nil, 0
		}
		change.Commits = append(change.Commits, c)
		change.size += size
		change.Head = c.Last()
	}
}

// take waits for the next change of a workspace that nobody is busy with; nil when ctx is done.
func (f *Feed) take(ctx context.Context) *Change {
	f.mu.Lock()
	defer f.mu.Unlock()
	for len(f.order) == 0 {
		if ctx.Err() != nil {
			return nil
		}
		f.cond.Wait()
	}
	ws := f.order[0]
	f.order = f.order[1:]
	change := f.waiting[ws]
	delete(f.waiting, ws)
	f.busy[ws] = true
	return change
}

// release says that nobody is busy with a workspace any more.
func (f *Feed) release(ws string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.busy, ws)
	if f.waiting[ws] != nil {
		f.order = append(f.order, ws)
		f.cond.Signal()
	}
}

// Run calls handle with one change after the other until ctx is done, and the feed with it: several at once, but of one
// workspace never more than one, and each workspace's in order. What is committed while it is busy with a workspace comes as one change after it.
func (f *Feed) Run(ctx context.Context, workers int, handle func(context.Context, Change)) {
	wake := context.AfterFunc(ctx, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.cond.Broadcast()
	})
	defer wake()
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for ctx.Err() == nil {
				change := f.take(ctx)
				if change == nil {
					return
				}
				handle(ctx, *change)
				f.release(change.Workspace)
			}
		})
	}
	wg.Wait()
	f.feeds.mu.Lock()
	defer f.feeds.mu.Unlock()
	delete(f.feeds.all, f)
}
