package gateway

import (
	"context"

	"github.com/coder/websocket"

	"github.com/chipschat/chips-aws/shared/session"
)

// pacedFrames is how many frames may wait to be written while a paced Post does not wait.
const pacedFrames = 16

// Post sends a frame to a connection after those posted before. It does not wait for it to be written, but see session.IsPaced. After
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
	if session.IsPaced(ctx) {
		if err := s.waitRoom(ctx); err != nil {
			return err
		}
	}
	return s.enqueue(frame, g.cfg.BacklogBytes)
}

// Close ends a connection with a close code and a reason of 123 bytes at most, after what was posted before and then last, which may be
// nil. With 1008 it ends at once: what waits is not written any more, and when Close returns, as soon as ctx ends at the latest, no message
// of the connection is being handled but the one that asks for it. A connection that is gone is closed already.
func (g *Gateway) Close(ctx context.Context, connection string, code int, reason string, last []byte) error {
	s := g.find(connection)
	if s == nil {
		return nil
	}
	atOnce := websocket.StatusCode(code) == websocket.StatusPolicyViolation
	s.close(websocket.StatusCode(code), reason, last, atOnce)
	if atOnce && ctx.Value(handledKey{}) != s {
		s.waitHandled(ctx)
	}
	return nil
}
