package session

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/chipschat/chips-aws/shared/engine"
	"github.com/chipschat/chips-aws/shared/protocol"
)

// Cut closes a connection for good: its socket, after one try at a last frame (nil is none), and then its row. Where the socket cannot
// be closed for now, nothing is sent on it any more and the sweep tries again (Overdue); only when not even that could be written is it
// an error.
func (s *Sessions) Cut(ctx context.Context, ws, connID string, code int, reason string, last []byte) error {
	// This has to be done also, and above all, when the time of whoever found the connection wanting is over.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 3*s.c.Limits.PostTimeout)
	defer cancel()
	err := s.close(ctx, connID, code, reason, last)
	if err == nil {
		return s.Forget(ctx, ws, connID)
	}
	s.c.Log.WarnContext(ctx, "a socket could not be closed", "workspace_id", ws, "connection_id", connID, "error", err)
	s.mu.Lock()
	delete(s.said, connID)
	s.mu.Unlock()
	conn, ok, err := s.get(ctx, ws, connID)
	if err != nil {
		return err
	}
	if !ok { // gone meanwhile, or past its time, when it takes no frames either
		return s.Forget(ctx, ws, connID)
	}
	err = s.update(ctx, &conn, func(conn *Connection) bool {
		conn.Sub, conn.Closing, conn.due = nil, true, s.c.Now()
		return true
	})
	if errors.Is(err, errStopped) {
		return nil
	}
	return err
}

// CutBehind cuts a consumer that is too slow, and tells it so if it still takes a frame (KEEP-3).
func (s *Sessions) CutBehind(ctx context.Context, ws, connID string) error {
	last := refusal(protocol.Refuse(protocol.TooFarBehind, "more frames wait for you than are kept: resume with since"), "").Frame
	return s.Cut(ctx, ws, connID, closePolicy, "too far behind", last)
}

// close closes a socket; one that is gone is closed. What is refused at once is tried three times: until a socket is closed, processes that
// know it go on taking its writes for a while (saidFor).
func (s *Sessions) close(ctx context.Context, connID string, code int, reason string, last []byte) error {
	ctx, cancel := context.WithTimeout(ctx, s.c.Limits.PostTimeout)
	defer cancel()
	for wait := 100 * time.Millisecond; ; wait *= 3 {
		err := s.c.Push.Close(ctx, connID, code, reason, last)
		if err == nil || errors.Is(err, ErrGone) {
			return nil
		}
		if wait > 300*time.Millisecond || !engine.Sleep(ctx, wait) {
			return err
		}
		last = nil
	}
}

// CloseCredential closes the sockets that came by a credential which was taken back.
func (s *Sessions) CloseCredential(ctx context.Context, workspace, credential string) error {
	return s.closeAll(ctx, workspace, func(c Connection) bool { return c.Credential == credential })
}

// CloseHolder closes the sockets of a person or a harness that is gone.
func (s *Sessions) CloseHolder(ctx context.Context, workspace, id string) error {
	return s.closeAll(ctx, workspace, func(c Connection) bool { return c.Holder == id })
}

func (s *Sessions) closeAll(ctx context.Context, ws string, which func(Connection) bool) error {
	list, err := s.List(ctx, ws, nil)
	if err != nil {
		return err
	}
	list = slices.DeleteFunc(list, func(c Connection) bool { return !which(c) })
	return engine.Beside(len(list), pushes, func(i int) error {
		return s.Cut(ctx, ws, list[i].ID, closePolicy, "access was taken back", nil)
	})
}

// Overdue does what is due about a connection: it closes one that could not be closed, or whose replay has made no progress for as
// long as a replay may stall. It looks at the row again, as what is due may be told late.
func (s *Sessions) Overdue(ctx context.Context, row engine.Row) error {
	ws := strings.TrimPrefix(row.PK, connectionsPK(""))
	row, ok, err := s.c.Rows.Get(ctx, row.PK, row.SK)
	if err != nil || !ok || row.Due.IsZero() || row.Due.After(s.c.Now()) {
		return err
	}
	conn, err := decodeConnection(ws, row)
	if err != nil {
		return err
	}
	code := CloseTryAgain
	if conn.Closing {
		code = closePolicy
	}
	return s.Cut(ctx, ws, conn.ID, code, "try again", nil)
}
