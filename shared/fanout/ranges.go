package fanout

import (
	"context"
	"errors"
	"fmt"

	"github.com/chipschat/chips-aws/shared/engine"
	"github.com/chipschat/chips-aws/shared/protocol"
	"github.com/chipschat/chips-aws/shared/session"
	"github.com/chipschat/chips-aws/shared/workspace"
)

// kept is what a worker keeps between ranges. Losing it costs reads, never a frame.
type kept struct {
	// cursor is the row as this worker knows it, if read says so; its Done may be ahead of what the row says, which is written.
	cursor  session.Cursor
	read    bool
	written int64
	// completed is up to where this worker knows that nothing is left to be sent, and mine the last claim of its own that it finished.
	completed, mine int64
	// conns are the connections as they were last read.
	conns []session.Connection
	// state is the workspace, folded as far as it was needed; nil until it is.
	state *workspace.State
	// lines are those of rooms in which somebody was told what was said.
	lines session.Lines
}

// maxLost is how often a claim may be lost to others before the ring is given back.
const maxLost = 20

// ranges sends everything up to r.n, in as many ranges as it takes.
func (w *worker) ranges(ctx context.Context, r *rings) error {
	k := &w.kept
	for lost := 0; k.completed < r.n; {
		done, err := w.oneRange(ctx, r)
		if errors.Is(err, engine.ErrCondition) {
			// Somebody else moved the cursor.
			if lost++; lost < maxLost {
				k.read = false
				continue
			}
		}
		if err != nil {
			k.read = false
			return err
		}
		k.completed = max(k.completed, done)
	}
	if k.read && k.cursor.Done > k.written && !w.moreWaits() {
		if err := w.writeCursor(ctx, k.cursor); err != nil {
			// Everything was sent, and we know it; others who do not will cut connections that they need not.
			k.read = false
			w.f.c.Logger.WarnContext(ctx, "a cursor could not be confirmed", "workspace_id", w.ws, "error", err)
		}
	}
	return nil
}

// oneRange sends the next range, or finds that there is nothing to send, and answers up to where all is sent.
func (w *worker) oneRange(ctx context.Context, r *rings) (int64, error) {
	k := &w.kept
	// The cursor is known before the connections are read: who replaces a live subscription touches it (session.settle), so that a claim
	// by what was read before fails.
	if !k.read {
		c, err := session.ReadCursor(ctx, w.f.c.Rows, w.ws)
		if err != nil {
			return 0, fmt.Errorf("read cursor: %w", err)
		}
		k.cursor, k.read, k.written = c, true, c.Done
	}
	live, replaced, err := w.connections(ctx, r.n)
	if err != nil {
		return 0, err
	}
	if k.cursor.Claimed > k.cursor.Done {
		if k.cursor.Claimed != k.mine {
			if live, err = w.cutShort(ctx, live, replaced); err != nil {
				return 0, err
			}
		}
		k.cursor.Done = k.cursor.Claimed
	}
	// base is from where on the first of them has something to be sent.
	base := r.n
	for _, t := range live {
		t.from = max(k.cursor.Claimed, k.completed, t.conn.Sub.LiveFrom)
		base = min(base, t.from)
	}
	if base >= r.n {
		return r.n, nil
	}
	events, err := w.load(ctx, r, base)
	if err != nil {
		return 0, err
	}
	upTo := events[len(events)-1].Seq
	some, err := w.render(ctx, events, live)
	if err != nil || !some { // nothing in it for anybody: the next range may as well begin here
		return upTo, err
	}
	next := k.cursor
	next.Claimed = upTo
	if err := w.writeCursor(ctx, next); err != nil {
		return 0, err
	}
	if err := w.push(ctx, live); err != nil {
		return 0, err
	}
	if w.f.c.Late != nil {
		w.f.c.Late(w.ws, w.f.c.Now().Sub(events[0].TS.Time))
	}
	k.cursor.Done, k.mine = upTo, upTo
	return upTo, nil
}

// connections are those that are live, and those that were until a subscribe replaced that and do not know yet that it has come to
// rest. Those that replay are told that up to n is theirs.
func (w *worker) connections(ctx context.Context, n int64) (live, replaced []*target, err error) {
	conns, err := w.f.c.Connections.List(ctx, w.ws, w.kept.conns)
	if err != nil {
		return nil, nil, err
	}
	w.kept.conns = conns
	for i := range conns {
		c := &conns[i]
		if c.IsReplaying() {
			if err := w.f.c.Connections.MarkBehind(ctx, c, n); err != nil {
				return nil, nil, err
			}
		}
		switch {
		case c.IsLive():
			live = append(live, &target{conn: c, to: c.Recipient(w.f.c.Log.Waits().TurnQuiet)})
		case c.IsReplaying() && c.Sub.Prior == session.Live:
			replaced = append(replaced, &target{conn: c})
		}
	}
	return live, replaced, nil
}

// cutShort closes the connections that a range which was claimed and not finished was for, or may have been, and answers the other live
// ones. Whoever claimed it may be dead or only slow: what it still sends must find no socket.
func (w *worker) cutShort(ctx context.Context, live, replaced []*target) ([]*target, error) {
	c := w.kept.cursor
	cut := replaced
	var others []*target
	for _, t := range live {
		if t.conn.Sub.LiveFrom >= c.Claimed {
			others = append(others, t)
		} else {
			cut = append(cut, t)
		}
	}
	for _, t := range cut {
		w.f.c.Logger.WarnContext(ctx, "a connection is cut: a range was not finished", "workspace_id", w.ws,
			"connection_id", t.conn.ID, "claimed", c.Claimed, "done", c.Done)
		if err := w.f.c.Connections.Cut(ctx, w.ws, t.conn.ID, session.CloseTryAgain, "resume with since", nil); err != nil {
			return nil, err
		}
	}
	return others, nil
}

// writeCursor writes the cursor, if nobody else has since it was read.
func (w *worker) writeCursor(ctx context.Context, c session.Cursor) error {
	c, err := session.WriteCursor(ctx, w.f.c.Rows, w.ws, c)
	if err != nil {
		return fmt.Errorf("write cursor: %w", err)
	}
	w.kept.cursor, w.kept.written = c, c.Done
	return nil
}

// Bounds of what is read at once, and of how far a state is folded on rather than loaded anew.
const (
	pageCommits = 500
	maxFold     = 5000
)

// load brings the state to base, and answers the events that follow: some, and none above r.n.
func (w *worker) load(ctx context.Context, r *rings, base int64) ([]protocol.Event, error) {
	k := &w.kept
	if k.state != nil && (k.state.Seq > base || k.state.Seq < base-maxFold) {
		k.state = nil
	}
	if k.state == nil {
		state, err := w.f.c.Log.StateAt(ctx, w.ws, base)
		if err != nil {
			return nil, err
		}
		k.state = state
	}
	for {
		events, err := w.next(ctx, r, k.state.Seq+1)
		if err != nil {
			return nil, err
		}
		for len(events) > 0 && events[0].Seq <= base {
			workspace.Evolve(k.state, events[0])
			k.lines.Saw(k.state, events[0])
			events = events[1:]
		}
		if len(events) > 0 {
			return events, nil
		}
	}
}

// next answers the events of the log from seq on: from the rings where they fit on, else from the table.
func (w *worker) next(ctx context.Context, r *rings, seq int64) ([]protocol.Event, error) {
	events, err := follow(nil, r.commits, seq, r.n)
	if err != nil || len(events) > 0 {
		return events, err
	}
	commits, err := w.f.c.Log.Commits(ctx, w.ws, seq, pageCommits)
	if err != nil {
		return nil, err
	}
	events, err = follow(nil, commits, seq, r.n)
	if err == nil && len(events) == 0 {
		err = fmt.Errorf("log: nothing at seq %d, yet it has reached %d", seq, r.n)
	}
	return events, err
}

// follow appends the events from seq on that commits hold without a hole, and none above n.
func follow(events []protocol.Event, commits []engine.Commit, seq, n int64) ([]protocol.Event, error) {
	for again := true; again; {
		again = false
		for _, c := range commits {
			if c.First > seq || c.Last() < seq || c.Last() > n {
				continue
			}
			some, err := c.Decode()
			if err != nil {
				return nil, fmt.Errorf("log: commit at %d: %w", c.First, err)
			}
			events = append(events, some[seq-c.First:]...)
			seq, again = c.Last()+1, true
		}
	}
	return events, nil
}
