package session

import (
	"context"
	"errors"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/chipschat/chips-aws/shared/engine"
)

// Cursor is how far fan-out is in a workspace, the row F#<workspace>: it has claimed the events up to Claimed before sending them, and
// those up to Done were sent to everybody.
type Cursor struct {
	Claimed int64 `json:"claimed"`
	Done    int64 `json:"done"`
	// Rev is the row's revision, 0 where there is none yet.
	Rev int64 `json:"-"`
}

// CursorPK and CursorSK are where a workspace's cursor is.
func CursorPK(ws string) string { return "F#" + ws }

// CursorSK is the sort key of every cursor.
const CursorSK = "-"

// ReadCursor answers how far fan-out is.
func ReadCursor(ctx context.Context, rows engine.Rows, ws string) (Cursor, error) {
	row, ok, err := rows.Get(ctx, CursorPK(ws), CursorSK)
	if err != nil || !ok {
		return Cursor{}, err
	}
	c := Cursor{Rev: row.Rev}
	return c, json.Unmarshal(row.Body, &c)
}

// settle waits until nothing of the subscription that this one replaced is on its way any more, so that the two never mix on the
// socket. What does not settle is closed.
func (r *replay) settle(ctx context.Context) error {
	settled := func() (bool, error) { return true, nil }
	switch r.conn.Sub.Prior {
	case Live: // the range in which fan-out may still be sending
		var before Cursor
		settled = func() (bool, error) {
			c, err := ReadCursor(ctx, r.s.c.Rows, r.conn.Workspace)
			if before.Claimed == 0 {
				before = c
			}
			return c.Done >= before.Claimed, err
		}
	case Replaying: // the run that was sending clears the mark when it stops
		settled = func() (bool, error) {
			conn, ok, err := r.s.get(ctx, r.conn.Workspace, r.conn.ID)
			if err == nil && (!ok || !conn.isReplay(r.gen)) {
				return false, errStopped
			}
			r.conn = conn
			return err == nil && conn.Sub.Prior == "", err
		}
	}
	start := r.s.c.Now()
	for wait := 5 * time.Millisecond; ; wait = min(2*wait, 200*time.Millisecond) {
		ok, err := settled()
		if ok || err != nil {
			return err
		}
		if r.s.c.Now().Sub(start) > 5*r.s.c.Limits.PostTimeout {
			return errors.New("the subscription before does not come to rest")
		}
		if !sleep(ctx, wait) {
			return ctx.Err()
		}
	}
}
