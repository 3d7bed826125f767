package session

import (
	"context"

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

func cursorPK(ws string) string { return "F#" + ws }

const cursorSK = "-"

// ReadCursor answers how far fan-out is.
func ReadCursor(ctx context.Context, rows engine.Rows, ws string) (Cursor, error) {
	row, ok, err := rows.Get(ctx, cursorPK(ws), cursorSK)
	if err != nil || !ok {
		return Cursor{}, err
	}
	c := Cursor{Rev: row.Rev}
	return c, json.Unmarshal(row.Body, &c)
}

// WriteCursor writes how far fan-out is if the row is still at c.Rev, else fails with engine.ErrCondition, and answers it at its new revision.
func WriteCursor(ctx context.Context, rows engine.Rows, ws string, c Cursor) (Cursor, error) {
	body, err := json.Marshal(c)
	if err != nil {
		return c, err
	}
	cond := engine.Absent
	if c.Rev > 0 {
		cond = engine.IfRev(c.Rev)
	}
	c.Rev, err = rows.Put(ctx, engine.Row{PK: cursorPK(ws), SK: cursorSK, Body: body}, cond)
	return c, err
}
