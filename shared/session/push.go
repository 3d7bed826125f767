package session

import (
	"context"
	"errors"
)

// Push sends frames to sockets and closes them, whoever holds them: API Gateway's management API, or the local gateway.
//
// Posts to one connection that follow each other reach it in that order. A post that answers nil has been taken for sending; after
// one of the errors below it certainly was not sent, and after any other error (a deadline included) it may have been, or may yet be.
// A frame is not changed by its sender after Post.
type Push interface {
	Post(ctx context.Context, connID string, frame []byte) error
	// Close closes a socket with a close code where the transport lets one choose, after one try at a last frame (nil is none). Closing
	// what is gone already is nil or ErrGone; after another error the socket may still be open.
	Close(ctx context.Context, connID string, code int, reason string, last []byte) error
}

// Errors of a Push after which the frame was not sent.
var (
	// ErrGone says there is no such socket any more.
	ErrGone = errors.New("the connection is gone")
	// ErrThrottled says to try again a little later; it may be this connection's fault or the whole account's.
	ErrThrottled = errors.New("the push is throttled")
	// ErrBehind says that this consumer takes its frames too slowly.
	ErrBehind = errors.New("the consumer is too far behind")
	// ErrTooLarge says that the transport takes no such frame.
	ErrTooLarge = errors.New("the frame is too large")
)

type pacedKey struct{}

// Paced is a context under which Post may wait until the socket has room (IsPaced). It is for what a connection asked for itself, its replay:
// that is as fast as its reader, which is not a reason to cut it. An answer waits for nobody: while it did, no other frame would be handled.
func Paced(ctx context.Context) context.Context { return context.WithValue(ctx, pacedKey{}, true) }

// IsPaced says whether a Post may wait until the socket has room, for as long as ctx goes.
func IsPaced(ctx context.Context) bool { return ctx.Value(pacedKey{}) != nil }

// Close codes.
const (
	closeGoingAway = 1001 // silent for too long
	closeProtocol  = 1002 // no version in common
	closePolicy    = 1008 // taken back, or too slow
	// CloseTryAgain is for what is nobody's fault: the client comes back and goes on.
	CloseTryAgain = 1013
)
