package gateway

import (
	"context"

	"github.com/coder/websocket"

	"github.com/chipschat/chips-aws/shared/session"
)

type pacedKey struct{}

// pacedFrames is how many frames may wait to be written while a paced Post does not wait.
const pacedFrames = 16

// Paced is a context under which Post waits for room. It is for what a connection asked for itself, its replay: that is as fast as its
// reader, which is not a reason to cut it. The socket function is called under one.
func Paced(ctx context.Context) context.Context { return context.WithValue(ctx, pacedKey{}, true) }

// Post sends a frame to a connection after those posted before. It does not wait for it to be written, but see Paced. After
// session.ErrBehind the connection has been cut, with the error frame.
func (g *Gateway) Post(ctx context.Context, connection string, frame []byte) error {
	if len(frame) > MessageLimit {
		return session.ErrTooLarge
	}
	if refuse := g.throttle.Load(); refuse != nil && (*refuse)(connection) {
		return session.ErrThrottled
	}
	s := g.find(connection)
	if s == nil {
		return session.ErrGone
	}
	if ctx.Value(pacedKey{}) != nil {
		if err := s.waitRoom(ctx); err != nil {
			return err
		}
	}
	return s.enqueue(frame, g.cfg.BacklogBytes)
}

// Close ends a connection with a close code and a reason of 123 bytes at most, after what was posted before and then last, which may be
// nil. A connection that is gone is closed already.
func (g *Gateway) Close(_ context.Context, connection string, code int, reason string, last []byte) error {
	if s := g.find(connection); s != nil {
		s.close(websocket.StatusCode(code), reason, last, false)
	}
	return nil
}
