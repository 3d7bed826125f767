package attachment

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/chipschat/chips-aws/shared/engine"
	"github.com/chipschat/chips-aws/shared/protocol"
	"github.com/chipschat/chips-aws/shared/workspace"
)

// UploadRows and BytesRows are what the PKs of rows begin with that may be due.
const (
	UploadRows = "U#"
	BytesRows  = "B#"
)

// SweepUpload looks at an upload (U#) that is due: it takes away one that was not posted in time, or that nothing holds any more. A room's row
// has the files looked at that were posted there.
func (s *Service) SweepUpload(ctx context.Context, row engine.Row) error {
	id := strings.TrimPrefix(row.PK, UploadRows)
	if protocol.PrefixOf(id) == protocol.PrefixSpace {
		return s.sweepRoom(ctx, row)
	}
	u, ok, err := s.get(ctx, id)
	if err != nil || u.rev == 0 || u.due.IsZero() || u.due.After(s.c.Now()) {
		return err
	}
	if ok {
		if u, err = s.settled(ctx, u); err != nil {
			return err
		}
		if ok, err = s.keepUpload(ctx, &u); err != nil {
			return err
		}
	}
	if !ok {
		return s.takeAway(ctx, u)
	}
	return nil
}

// keepUpload drops what an upload was posted with, or was the face of, that is no more, and says whether it stays.
func (s *Service) keepUpload(ctx context.Context, u *upload) (bool, error) {
	now := s.c.Now()
	before := len(u.Posts)
	isFace := false
	err := s.c.Log.Read(ctx, u.Workspace, func(st *workspace.State) error {
		u.Posts = slices.DeleteFunc(u.Posts, func(p post) bool {
			if p.Key != "" { // the log does not know it, and will not any more
				return now.Sub(p.At.Time) >= unposted
			}
			return deleted(st, p)
		})
		for _, a := range st.Agents {
			isFace = isFace || a.Face.AttachmentID == u.File.AttachmentID
		}
		return nil
	})
	if err != nil {
		return false, err
	}
	if !u.Look.After(now) { // what is to be seen later was not seen now
		u.Look = protocol.Time{}
	}
	if u.Face && !isFace {
		if u.Face = u.Until.After(now); u.Face && u.Look.IsZero() { // it may yet become one
			u.Look = u.Until
		}
	}
	wasPosted := before > len(u.Posts)
	if len(u.Posts) == 0 && !u.Face && (wasPosted || !u.Until.After(now)) {
		return false, nil
	}
	u.schedule()
	return true, ignoreRace(s.put(ctx, u))
}

// takeAway takes an upload away with its use of the bytes. From its first write on nobody can post it any more.
func (s *Service) takeAway(ctx context.Context, u upload) error {
	if !u.Gone {
		u.Gone = true
		if err := s.put(ctx, &u); err != nil {
			return ignoreRace(err)
		}
	}
	id := u.File.AttachmentID
	if u.File.SHA256 != "" {
		if err := s.release(ctx, u.File.SHA256, id); err != nil {
			return err
		}
	}
	if u.Staged {
		if err := s.c.Blobs.Delete(ctx, stagedKey(id)); err != nil {
			return fmt.Errorf("delete upload %s: %w", id, err)
		}
	}
	if _, err := s.c.Rows.Delete(ctx, uploadPK(id), only, engine.IfRev(u.rev)); err != nil {
		return ignoreRace(fmt.Errorf("delete upload %s: %w", id, err))
	}
	return nil
}

// SweepBytes deletes the bytes of a generation (B#) that ended, where whoever ended it did not.
func (s *Service) SweepBytes(ctx context.Context, row engine.Row) error {
	sum := strings.TrimPrefix(row.PK, BytesRows)
	g, row, ok, err := s.readGeneration(ctx, sum)
	if err != nil || !ok || !g.Ended || row.Due.IsZero() {
		return err
	}
	return s.bury(ctx, sum, g, row.Rev)
}

// ignoreRace is a row that somebody else wrote meanwhile: whoever did has said when it is due.
func ignoreRace(err error) error {
	if errors.Is(err, engine.ErrCondition) {
		return nil
	}
	return err
}
