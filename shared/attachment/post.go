package attachment

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/chipschat/chips-aws/shared/engine"
	"github.com/chipschat/chips-aws/shared/protocol"
	"github.com/chipschat/chips-aws/shared/workspace"
)

// Engine is the engine with the uploads of what it decides looked up, and noted where they were posted.
type Engine struct {
	*engine.Engine
	files *Service
}

// Engine is e with its uploads.
func (s *Service) Engine(e *engine.Engine) Engine { return Engine{e, s} }

// Do is engine.Engine's. What names no file costs nothing more.
func (e Engine) Do(ctx context.Context, ws string, cmd workspace.Command) (engine.Outcome, error) {
	s := e.files
	posted, replaced := workspace.UploadsOf(cmd.Draft)
	if len(posted) > 0 {
		var err error
		if cmd.Uploads, err = s.facts(ctx, ws, cmd, posted, replaced); err != nil {
			return engine.Outcome{}, err
		}
	}
	if err := s.leaving(ctx, ws, &cmd); err != nil {
		return engine.Outcome{}, err
	}
	out, err := e.Engine.Do(ctx, ws, cmd)
	var refused *protocol.Error
	switch {
	case err == nil:
		s.posted(ctx, out.Events, cmd.Draft.IdempotencyKey)
	case errors.As(err, &refused):
		s.notPosted(ctx, cmd, posted)
	}
	return out, err
}

// facts are those of the uploads that a post names. Each that may be posted is noted to be posted perhaps, before it is.
func (s *Service) facts(ctx context.Context, ws string, cmd workspace.Command, posted, replaced []string) (map[string]workspace.Upload, error) {
	facts := map[string]workspace.Upload{}
	key := cmd.Draft.IdempotencyKey
	_, face := cmd.Draft.Data.(*workspace.AgentDraft)
	for _, id := range replaced {
		u, ok, err := s.get(ctx, id)
		if err != nil {
			return nil, err
		}
		if !ok || u.Workspace != ws || u.Blob == "" {
			continue
		}
		if u, err = s.settled(ctx, u); err != nil {
			return nil, err
		}
		facts[id] = u.fact()
	}
	for _, id := range posted {
		u, ok, err := s.update(ctx, id, func(u *upload) bool {
			if u.Workspace != ws || u.By != cmd.By.ID || u.Blob == "" || len(u.Posts) >= maxPosts || u.perhaps(key) {
				return false
			}
			switch {
			case face: // whether it came to be one is looked at when it has or will not
				u.Face, u.Look = true, protocol.At(s.c.Now().Add(unposted))
			case key != "": // without one nobody could find out what became of it
				now := protocol.At(s.c.Now())
				u.Posts = append(u.Posts, post{Key: key, At: &now})
			}
			u.Until = protocol.At(s.c.Now().Add(unposted))
			u.schedule()
			return true
		})
		if err != nil {
			return nil, err
		}
		if ok && u.Workspace == ws && u.Blob != "" {
			f := facts[id] // it may be one that is replaced, too
			f.File, f.By, f.Spent = u.File, u.By, !face && key != "" && !u.perhaps(key)
			facts[id] = f
		}
	}
	return facts, nil
}

// perhaps says whether it is noted that the upload is perhaps posted under a key.
func (u *upload) perhaps(key string) bool {
	return key != "" && slices.ContainsFunc(u.Posts, func(p post) bool { return p.Key == key })
}

func (u *upload) fact() workspace.Upload {
	f := workspace.Upload{File: u.File, By: u.By}
	for _, p := range u.Posts {
		if p.Key == "" && p.Space != "" && !slices.Contains(f.Rooms, p.Space) {
			f.Rooms = append(f.Rooms, p.Space)
		}
	}
	return f
}

// at notes that the upload is in an event of the log, which perhaps was under a key; false where that is known.
func (u *upload) at(e protocol.Event, key string) bool {
	n := len(u.Posts)
	u.Posts = slices.DeleteFunc(u.Posts, func(p post) bool { return p.Key != "" && p.Key == key })
	known := slices.ContainsFunc(u.Posts, func(p post) bool { return p.Seq == e.Seq })
	if !known {
		if d, said := e.Data.(*protocol.MessagePost); said && d.HeldSince != nil {
			// It is held no longer: of several, the oldest is posted first.
			if i := slices.IndexFunc(u.Posts, func(p post) bool { return p.Key == "" && p.Space == "" }); i >= 0 {
				u.Posts = slices.Delete(u.Posts, i, i+1)
			}
		}
		u.Posts = append(u.Posts, post{Space: e.SpaceID, Seq: e.Seq})
	}
	u.schedule()
	return !known || len(u.Posts) != n
}

// posted notes where files were posted. What cannot be noted now is found out by whoever asks.
func (s *Service) posted(ctx context.Context, events []protocol.Event, key string) {
	for _, e := range events {
		for _, a := range workspace.FilesOf(e) {
			_, _, err := s.update(ctx, a.AttachmentID, func(u *upload) bool { return u.at(e, key) })
			if err != nil {
				s.c.Logger.WarnContext(ctx, "where a file was posted could not be noted", "attachment_id", a.AttachmentID, "seq", e.Seq, "error", err)
			}
		}
	}
}

// notPosted takes back what was noted for a post that was refused.
func (s *Service) notPosted(ctx context.Context, cmd workspace.Command, ids []string) {
	for _, id := range ids {
		_, _, err := s.update(ctx, id, func(u *upload) bool {
			if u.By != cmd.By.ID || !u.perhaps(cmd.Draft.IdempotencyKey) {
				return false
			}
			u.Posts = slices.DeleteFunc(u.Posts, func(p post) bool { return p.Key == cmd.Draft.IdempotencyKey })
			u.schedule()
			return true
		})
		if err != nil {
			s.c.Logger.WarnContext(ctx, "that a file was not posted could not be noted", "attachment_id", id, "error", err)
		}
	}
}

// settled is an upload of which nothing is only perhaps, as far as the log can say.
func (s *Service) settled(ctx context.Context, u upload) (upload, error) {
	for _, p := range slices.Clone(u.Posts) {
		if p.Key == "" {
			continue
		}
		c, ok, err := s.c.Log.Find(ctx, u.Workspace, u.By, p.Key)
		if err != nil {
			return u, err
		}
		if !ok {
			continue
		}
		events, err := c.Decode()
		if err != nil {
			return u, err
		}
		for _, e := range events {
			if !slices.ContainsFunc(workspace.FilesOf(e), func(a protocol.Attachment) bool { return a.AttachmentID == u.File.AttachmentID }) {
				continue
			}
			u, _, err = s.update(ctx, u.File.AttachmentID, func(u *upload) bool { return u.at(e, p.Key) })
			if err != nil {
				return u, err
			}
		}
	}
	return u, nil
}

// lookAgain is how long after what holds files is about to go they are looked at: it has gone by then, or will not.
const lookAgain = 5 * time.Minute

// leaving has the files looked at, some time later, that a command is about to take a use of away: a message's, a room's, or the face that an
// agent had.
func (s *Service) leaving(ctx context.Context, ws string, cmd *workspace.Command) error {
	switch d := cmd.Draft.Data.(type) {
	case *protocol.MessageDeleted:
		return s.deleting(ctx, ws, d.MessageID, cmd)
	case *protocol.SpaceDeleted:
		return s.deletingRoom(ctx, ws, cmd.Draft.SpaceID, cmd.By)
	case *workspace.AgentDraft:
		if !d.SetFace {
			return nil
		}
		var face string
		err := s.c.Log.Read(ctx, ws, func(st *workspace.State) error {
			if a := st.Agents[d.AgentID]; a != nil && a.Face.AttachmentID != d.Face.AttachmentID {
				face = a.Face.AttachmentID
			}
			return nil
		})
		if err != nil || face == "" {
			return err
		}
		return s.look(ctx, ws, face, s.c.Now().Add(lookAgain))
	}
	return nil
}

// deleting has the files of a message looked at some time after it is about to be deleted.
func (s *Service) deleting(ctx context.Context, ws, message string, cmd *workspace.Command) error {
	e, ok, err := s.c.Log.Event(ctx, ws, message)
	if err != nil {
		return err
	}
	cmd.Cited = map[string]protocol.Event{}
	if !ok {
		return nil
	}
	cmd.Cited[message] = e
	if e.Actor.ID != cmd.By.ID && e.Actor.HarnessID != cmd.By.ID {
		return nil
	}
	for _, a := range workspace.FilesOf(e) {
		if err := s.look(ctx, ws, a.AttachmentID, s.c.Now().Add(lookAgain)); err != nil {
			return err
		}
	}
	return nil
}
