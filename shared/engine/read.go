package engine

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/chipschat/chips-aws/shared/workspace"
)

// Read calls fn with the state after all that was committed before the call; never with what is only being put down. fn must not keep
// the state, change it, or call the engine: nothing else happens in the workspace meanwhile. What fn answers Read answers.
func (g *Engine) Read(ctx context.Context, ws string, fn func(*workspace.State) error) error {
	w := g.workspace(ws)
	if err := w.catchUp(ctx); err != nil {
		return err
	}
	return w.read(fn)
}

// recently is how long ago a state may have been looked at for ReadRecent.
const recently = 3 * time.Second

// ReadRecent is Read with a state that was up to date at most three seconds ago, and that has all that was written through this engine: who
// reads several things one after another has the table asked once. What fn refuses it is shown again as it is now, so that nobody is
// refused by what was true a moment ago.
func (g *Engine) ReadRecent(ctx context.Context, ws string, fn func(*workspace.State) error) error {
	if w := g.workspace(ws); w.lookedAt(g.o.Now().Add(-recently)) && w.read(fn) == nil {
		return nil
	}
	return g.Read(ctx, ws, fn)
}

// lookedAt says whether the state was up to date at a time or later.
func (w *warm) lookedAt(since time.Time) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.state != nil && w.looked.After(since)
}

// ReadWarm is Read with the state as it was last known here, which may be behind; the table is asked only when it is not known at all.
func (g *Engine) ReadWarm(ctx context.Context, ws string, fn func(*workspace.State) error) error {
	w := g.workspace(ws)
	if err := w.load(ctx); err != nil {
		return err
	}
	return w.read(fn)
}

func (w *warm) read(fn func(*workspace.State) error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.state == nil {
		return fmt.Errorf("log of %s: could not be folded just now", w.id)
	}
	return fn(w.state)
}

// StateAt answers a state of the caller's own, folded exactly to seq, which the log must reach.
func (g *Engine) StateAt(ctx context.Context, ws string, seq int64) (*workspace.State, error) {
	s, err := g.base(ctx, ws, seq)
	if err != nil {
		return nil, err
	}
	for s.Seq < seq {
		commits, err := g.table.Commits(ctx, ws, s.Seq+1, pageCommits)
		if err != nil {
			return nil, fmt.Errorf("read log of %s: %w", ws, err)
		}
		before := s.Seq
		for _, c := range commits {
			if c.Last() > seq {
				if err := g.advancePart(s, c, seq); err != nil {
					return nil, err
				}
				break
			}
			if _, err := g.advance(s, c); err != nil {
				return nil, err
			}
		}
		if s.Seq == before {
			return nil, fmt.Errorf("log of %s ends at seq %d, before %d", ws, s.Seq, seq)
		}
	}
	return s, nil
}

// base is a state of the caller's own at or below seq: the one that is warm, where it is of use, or the newest snapshot's.
func (g *Engine) base(ctx context.Context, ws string, seq int64) (*workspace.State, error) {
	if s, err := g.workspace(ws).copyAt(seq); s != nil || err != nil {
		return s, err
	}
	f, err := g.restore(ctx, ws, seq)
	return f.state, err
}

// copyAt copies the state when it is at seq or not far below; nil else.
func (w *warm) copyAt(seq int64) (*workspace.State, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.state == nil || w.state.Seq > seq || w.state.Seq < seq-pageCommits {
		return nil, nil
	}
	return clone(w.state)
}

// advancePart takes the events of the next commit up to seq, which lies within it.
func (g *Engine) advancePart(s *workspace.State, c Commit, seq int64) error {
	if seq < c.First {
		return nil
	}
	c.Events = c.Events[:seq-c.First+1]
	_, err := g.advance(s, c)
	return err
}

// RoomCommits answers the commits that hold a room's lines, newest first and at most limit of them, from the one that holds line on.
// line is the seq of the newest line that is wanted: Room.LastLine of a folded state, or what the oldest commit read so far says in
// Prev of the room; 0 answers none. What the index of rooms lacks is fetched from the log, so nothing is ever missing.
func (g *Engine) RoomCommits(ctx context.Context, ws, space string, line int64, limit int) ([]Commit, error) {
	var found, page []Commit
	more := true
	for line > 0 && len(found) < limit {
		if len(page) == 0 && more {
			var err error
			if page, err = g.table.RoomCommits(ctx, ws, space, line+1, limit-len(found)); err != nil {
				return nil, fmt.Errorf("read room %s: %w", space, err)
			}
			more = len(page) > 0
		}
		var c Commit
		if len(page) > 0 && page[0].Last() >= line {
			c, page = page[0], page[1:]
		} else {
			at, ok, err := g.commitAt(ctx, ws, line)
			if err != nil {
				return nil, fmt.Errorf("read room %s: %w", space, err)
			}
			if !ok {
				return nil, fmt.Errorf("read room %s: no commit at seq %d", space, line)
			}
			c = at
		}
		prev, ok := c.Prev[space]
		if !ok || c.First > line || prev >= c.First {
			return nil, fmt.Errorf("read room %s: the commit at %d does not hold its line %d", space, c.First, line)
		}
		found, line = append(found, c), prev
	}
	return found, nil
}

// lookAhead is how many commits are read on to find the line that comes next in a room.
const lookAhead = 50

// LineBelow answers the seq of a room's newest line below a seq, 0 for none; last is its newest line, Room.LastLine. Where seq is a line of
// the room, or one follows soon, it is told by that; else by the index of rooms, which may lag behind the last moments.
func (g *Engine) LineBelow(ctx context.Context, ws, space string, seq, last int64) (int64, error) {
	if seq > last {
		return last, nil
	}
	next, err := g.table.Commits(ctx, ws, max(seq, 1), lookAhead)
	if err != nil {
		return 0, fmt.Errorf("read room %s: %w", space, err)
	}
	for _, c := range next {
		prev, ok := c.Prev[space]
		if !ok || c.Last() < seq {
			continue
		}
		if c.First >= seq {
			return prev, nil
		}
		return newestLine(c, space, seq, prev)
	}
	page, err := g.table.RoomCommits(ctx, ws, space, seq, 1)
	if err != nil || len(page) == 0 {
		return 0, err
	}
	return newestLine(page[0], space, seq, page[0].Prev[space])
}

// newestLine answers the newest of a room's lines below a seq that a commit holds, else the one before it.
func newestLine(c Commit, space string, seq, prev int64) (int64, error) {
	events, err := c.Decode()
	if err != nil {
		return 0, fmt.Errorf("read room %s: commit at %d: %w", space, c.First, err)
	}
	for _, e := range slices.Backward(events) {
		if e.Seq < seq && slices.Contains(workspace.LineRooms(e), space) {
			return e.Seq, nil
		}
	}
	return prev, nil
}
