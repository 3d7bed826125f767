package attachment

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/chipschat/chips-aws/shared/engine"
	"github.com/chipschat/chips-aws/shared/protocol"
	"github.com/chipschat/chips-aws/shared/workspace"
)

// closing is the row of a room that is about to be deleted, or was, and whose files are still to be looked at.
type closing struct {
	Workspace string `json:"workspace"`
	// Line is the newest line of the room that was not gone through yet; before it has Begun, the newest there was when the row was made.
	Line  int64 `json:"line"`
	Begun bool  `json:"begun,omitzero"`
}

// deletingRoom has a room's files looked at some time after it is about to be deleted by somebody who is in it.
func (s *Service) deletingRoom(ctx context.Context, ws, space string, by workspace.Caller) error {
	row := closing{Workspace: ws}
	there := false
	err := s.c.Log.Read(ctx, ws, func(st *workspace.State) error {
		room := st.Rooms[space]
		if there = st.InRoom(room, by.ID) && !room.Deleted; there {
			row.Line = room.LastLine
		}
		return nil
	})
	if err != nil || !there {
		return err
	}
	_, err = s.putClosing(ctx, space, row, s.c.Now().Add(lookAgain), engine.Always)
	return err
}

func (s *Service) putClosing(ctx context.Context, space string, row closing, due time.Time, cond engine.Cond) (int64, error) {
	body, err := json.Marshal(row)
	if err != nil {
		return 0, err
	}
	rev, err := s.c.Rows.Put(ctx, engine.Row{PK: uploadPK(space), SK: only, Body: body, Due: due}, cond)
	if err != nil {
		return 0, fmt.Errorf("write the deleting of room %s: %w", space, err)
	}
	return rev, nil
}

const (
	// commitsAtOnce is how many commits of a deleted room are gone through before it is written down, and filesAtOnce how many of their
	// files are noted side by side.
	commitsAtOnce, filesAtOnce = 100, 8
	// begunFor is how long more of a room is begun in one sweep: a handler has ten seconds.
	begunFor = 4 * time.Second
)

// sweepRoom goes through the lines of a room that was deleted, from the newest, and has each of its files looked at by the sweep. What it
// does not get done the next sweep does.
func (s *Service) sweepRoom(ctx context.Context, kept engine.Row) error {
	space := strings.TrimPrefix(kept.PK, UploadRows)
	kept, ok, err := s.c.Rows.Get(ctx, kept.PK, kept.SK)
	if err != nil || !ok || kept.Due.After(s.c.Now()) {
		return err
	}
	var row closing
	if err := json.Unmarshal(kept.Body, &row); err != nil {
		return fmt.Errorf("decode the deleting of room %s: %w", space, err)
	}
	deleted := false
	err = s.c.Log.Read(ctx, row.Workspace, func(st *workspace.State) error {
		room := st.Rooms[space]
		if deleted = room == nil || room.Deleted; deleted && !row.Begun && room != nil {
			row.Line = max(row.Line, room.LastLine) // what was said between the two
		}
		return nil
	})
	if err != nil {
		return err
	}
	for began := s.c.Now(); deleted && row.Line > 0; {
		row.Begun = true
		if row.Line, err = s.lookThrough(ctx, row.Workspace, space, row.Line); err != nil {
			return err
		}
		if row.Line == 0 {
			break
		}
		if kept.Rev, err = s.putClosing(ctx, space, row, s.c.Now(), engine.IfRev(kept.Rev)); err != nil {
			return ignoreRace(err)
		}
		if s.c.Now().Sub(began) >= begunFor {
			return nil
		}
	}
	_, err = s.c.Rows.Delete(ctx, kept.PK, kept.SK, engine.IfRev(kept.Rev))
	return ignoreRace(err)
}

// lookThrough has the files of some of a room's commits looked at, from the one that holds line down, and answers the line below them, 0 when
// there is none.
func (s *Service) lookThrough(ctx context.Context, ws, space string, line int64) (int64, error) {
	commits, err := s.c.Log.RoomCommits(ctx, ws, space, line, commitsAtOnce)
	if err != nil {
		return 0, err
	}
	var ids []string
	for _, c := range commits {
		events, err := c.Decode()
		if err != nil {
			return 0, fmt.Errorf("log of %s: commit at %d: %w", ws, c.First, err)
		}
		for _, e := range events {
			if e.SpaceID != space {
				continue
			}
			for _, a := range workspace.FilesOf(e) {
				ids = append(ids, a.AttachmentID)
			}
		}
		line = c.Prev[space]
	}
	return line, s.lookAll(ctx, ws, ids)
}

// lookAll has uploads looked at by the next sweep.
func (s *Service) lookAll(ctx context.Context, ws string, ids []string) error {
	return engine.Beside(len(ids), filesAtOnce, func(i int) error { return s.look(ctx, ws, ids[i], s.c.Now()) })
}

// look has an upload looked at once it is a time, and soon after. A look that is to come before is put off, since it may find nothing of
// what this one is for, and there is only one; one that is to come somewhat later does for both.
func (s *Service) look(ctx context.Context, ws, id string, from time.Time) error {
	soon := s.c.Now().Add(lookAgain)
	_, _, err := s.update(ctx, id, func(u *upload) bool {
		if u.Workspace != ws || !u.Look.Before(from) && !u.Look.After(soon) {
			return false
		}
		u.Look = protocol.At(from)
		u.schedule()
		return true
	})
	return err
}
