package session

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/chipschat/chips-aws/shared/engine"
)

// Where sockets are pinged by frames, the workspaces that have any are on a list, in engine.DueShards parts: L#<part> and the
// workspace's id. It is written when the first of a workspace comes, and when none is left.

func listPK(part int) string { return "L#" + strconv.Itoa(part) }

// list sees to it that a workspace is on the list. It is called when the connection's row stands: see unlist.
func (s *Sessions) list(ctx context.Context, ws string) error {
	row := engine.Row{PK: listPK(engine.DueShard("L#", ws)), SK: ws}
	_, ok, err := s.c.Rows.Get(ctx, row.PK, row.SK)
	if err == nil && !ok {
		_, err = s.c.Rows.Put(ctx, row, engine.Absent)
	}
	if err != nil && !errors.Is(err, engine.ErrCondition) {
		return fmt.Errorf("list workspace %s: %w", ws, err)
	}
	return nil
}

// unlist takes a workspace that had no connection off the list. One whose row came to stand meanwhile is seen here, if list looked
// before the workspace was taken off; if it looked after, it has put the workspace on again.
func (s *Sessions) unlist(ctx context.Context, ws string) error {
	if _, err := s.c.Rows.Delete(ctx, listPK(engine.DueShard("L#", ws)), ws, engine.Always); err != nil {
		return fmt.Errorf("unlist workspace %s: %w", ws, err)
	}
	rows, err := s.c.Rows.Query(ctx, connectionsPK(ws), "", 1)
	if err == nil && len(rows) > 0 {
		err = s.list(ctx, ws)
	}
	return err
}
