package session

import (
	"context"
	"errors"
	"time"

	"github.com/chipschat/chips-aws/shared/engine"
)

// settle waits until nothing of the subscription that this one replaced is on its way any more, so that the two never mix on the
// socket. What does not come to rest is an error.
func (r *replay) settle(ctx context.Context) error {
	var settled func(context.Context) (bool, error)
	switch r.conn.Sub.Prior {
	case Live:
		settled = r.fanoutSettled()
	case Replaying:
		settled = r.replaySettled
	default:
		return nil
	}
	start := r.s.c.Now()
	for wait := 5 * time.Millisecond; ; wait = min(2*wait, 200*time.Millisecond) {
		ok, err := settled(ctx)
		if ok || err != nil {
			return err
		}
		if r.s.c.Now().Sub(start) > 6*r.s.c.Limits.PostTimeout {
			return errors.New("the subscription before does not come to rest")
		}
		if !engine.Sleep(ctx, wait) {
			return ctx.Err()
		}
	}
}

// replaySettled says whether the run that was sending has stopped: it then clears the mark.
func (r *replay) replaySettled(ctx context.Context) (bool, error) {
	conn, ok, err := r.s.get(ctx, r.conn.Workspace, r.conn.ID)
	if err != nil {
		return false, err
	}
	if !ok || !conn.isReplay(r.gen) {
		return false, errStopped
	}
	r.conn = conn
	return conn.Sub.Prior == "", nil
}

// fanoutSettled answers whether every range is over for which fan-out may have read the connection while it was live. When none is
// being sent, the cursor is touched: a range that is about to be claimed by what was read before then fails, and reads the connections
// again. Under load one is always being sent: then the second that was claimed after our row has to be done.
func (r *replay) fanoutSettled() func(context.Context) (bool, error) {
	var first, second int64 = -1, -1
	return func(ctx context.Context) (bool, error) {
		c, err := ReadCursor(ctx, r.s.c.Rows, r.conn.Workspace)
		if err != nil {
			return false, err
		}
		if first == -1 {
			first = c.Claimed
		}
		if second == -1 && c.Claimed != first {
			second = c.Claimed
		}
		if second != -1 && c.Done >= second {
			return true, nil
		}
		if c.Done < c.Claimed {
			return false, nil
		}
		_, err = WriteCursor(ctx, r.s.c.Rows, r.conn.Workspace, c)
		if errors.Is(err, engine.ErrCondition) {
			return false, nil
		}
		return err == nil, err
	}
}
