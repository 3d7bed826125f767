package gateway

import (
	"context"
	"sync"
	"time"

	"github.com/coder/websocket"
	"github.com/go-json-experiment/json"

	"github.com/chipschat/chips-aws/shared/protocol"
	"github.com/chipschat/chips-aws/shared/session"
)

// outbox is what waits to be written to a connection.
type outbox struct {
	mu      sync.Mutex
	queue   [][]byte
	bytes   int  // of queue and what is being written
	writing bool // a writer runs

	room chan struct{} // closed when there is room, if somebody waits for it

	closing bool
	code    websocket.StatusCode
	reason  string
}

// enqueue puts a frame behind the others. A limit of 0 bytes is none.
func (s *socket) enqueue(frame []byte, limit int) error {
	s.mu.Lock()
	waiting := s.waitingLocked()
	switch {
	case s.closing:
		s.mu.Unlock()
		return session.ErrGone
	case s.g.cfg.Faithful && limit > 0 && waiting >= s.g.cfg.BacklogFrames:
		s.mu.Unlock()
		return session.ErrThrottled // all that the management API can say
	case waiting >= s.g.cfg.BacklogFrames:
		s.mu.Unlock()
		s.cutBehind()
		return session.ErrBehind
	case limit > 0 && waiting > 0 && s.bytes+len(frame) > limit:
		s.mu.Unlock()
		return session.ErrThrottled
	}
	s.queue = append(s.queue, frame)
	s.bytes += len(frame)
	s.startWriter()
	s.mu.Unlock()
	return nil
}

// waiting is how many frames are not written yet.
func (s *socket) waiting() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.waitingLocked()
}

func (s *socket) waitingLocked() int {
	if s.writing {
		return len(s.queue) + 1
	}
	return len(s.queue)
}

// waitRoom waits until few frames are left to be written, or none will be any more.
func (s *socket) waitRoom(ctx context.Context) error {
	for {
		s.mu.Lock()
		if s.closing || s.waitingLocked() < pacedFrames {
			s.mu.Unlock()
			return nil
		}
		if s.room == nil {
			s.room = make(chan struct{})
		}
		room := s.room
		s.mu.Unlock()
		select {
		case <-room:
		case <-ctx.Done():
			return session.ErrThrottled
		}
	}
}

// tellRoom wakes whoever waits for room, holding mu.
func (s *socket) tellRoom() {
	if s.room != nil && (s.closing || s.waitingLocked() < pacedFrames) {
		close(s.room)
		s.room = nil
	}
}

// cutBehind gives up a consumer that does not keep up: what waits is dropped, and the error is tried once.
func (s *socket) cutBehind() {
	e := protocol.Refuse(protocol.TooFarBehind, "more than %d frames wait for this socket: reconnect and subscribe with since", s.g.cfg.BacklogFrames)
	last, _ := json.Marshal(protocol.NewErrorFrame(e, ""))
	s.close(websocket.StatusPolicyViolation, "too far behind", last, true)
}

// close ends the connection in an orderly way: what waits is written or dropped, then last, then the close frame. The first call counts.
// From here on the connection is gone to everybody else.
func (s *socket) close(code websocket.StatusCode, reason string, last []byte, drop bool) {
	s.g.remove(s)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing {
		return
	}
	s.closing, s.code, s.reason = true, code, reason[:min(len(reason), 123)]
	if s.g.cfg.Faithful && code != websocket.StatusMessageTooBig {
		s.code, s.reason = websocket.StatusNormalClosure, "" // the management API lets nobody choose
	}
	if drop {
		s.queue = nil
	}
	if last != nil {
		s.queue = append(s.queue, last)
	}
	s.startWriter()
	s.tellRoom()
	// Whoever does not read must not hold the connection.
	time.AfterFunc(s.g.cfg.Grace, func() { _ = s.net.Close() })
}

// end finishes a connection whose reader is gone: what waits is dropped, and nothing more is taken.
func (s *socket) end() {
	s.g.remove(s)
	s.mu.Lock()
	s.closing, s.queue = true, nil
	s.tellRoom()
	s.mu.Unlock()
	// Reads what still comes for a while, since a reset would take away a close frame that the other side has not read. Where the close
	// frame is sent already, or the connection is lost, the code is not used.
	_ = s.conn.Close(websocket.StatusProtocolError, "")
	_ = s.net.Close()
}

func (s *socket) isClosing() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closing
}

// startWriter has the queue written, holding mu. An idle connection has no writer.
func (s *socket) startWriter() {
	if !s.writing {
		s.writing = true
		go s.write()
	}
}

// write empties the queue, and closes the connection where that was asked for. It is the only writer of messages.
func (s *socket) write() {
	defer s.g.recoverTo(func() { _ = s.net.Close() })
	for {
		s.mu.Lock()
		if len(s.queue) == 0 {
			s.queue, s.bytes, s.writing = nil, 0, false
			s.tellRoom()
			closing, code, reason := s.closing, s.code, s.reason
			s.mu.Unlock()
			if closing && code != 0 {
				_ = s.conn.Close(code, reason)
			}
			return
		}
		frame := s.queue[0]
		s.queue = s.queue[1:]
		s.mu.Unlock()
		err := s.conn.Write(context.Background(), websocket.MessageText, frame)
		s.mu.Lock()
		s.bytes -= len(frame)
		if err != nil {
			s.closing, s.queue = true, nil
		}
		s.tellRoom()
		s.mu.Unlock()
		if err == nil {
			s.sent()
		}
	}
}
