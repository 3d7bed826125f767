package gateway

import (
	"context"
	"encoding/base64"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"
	"github.com/go-json-experiment/json"
)

// socket is one connection from its upgrade to its end.
type socket struct {
	g                         *Gateway
	id                        string
	authorizer                map[string]any
	connectedAt               int64
	sourceIP, userAgent, host string

	conn *websocket.Conn
	net  net.Conn

	ping, silence, idle, lifetime *time.Timer
	lastHeard                     atomic.Int64 // in nanoseconds since 1970

	slot    chan struct{} // one for each message being handled, where they are shuffled
	handled sync.RWMutex  // held for reading while a message is handled

	outbox
}

// serve handles the connection's messages until it ends.
func (s *socket) serve() {
	var err error
	defer func() {
		s.stopTimers()
		s.end()
		code, reason := closeOf(err)
		s.disconnect(code, reason)
	}()
	defer s.g.recoverTo(func() {})
	for {
		var kind websocket.MessageType
		var raw []byte
		if kind, raw, err = s.conn.Read(context.Background()); err != nil {
			return
		}
		s.heard()
		if s.isClosing() {
			continue // reading on is how the other side's close is seen
		}
		if s.g.cfg.Shuffle != nil {
			s.handleShuffled(kind, raw)
			continue
		}
		s.handle(kind, raw)
		s.heard()
	}
}

type handledKey struct{}

// waitHandled waits until the messages that are being handled have been; a closing socket has no others.
func (s *socket) waitHandled(ctx context.Context) {
	done := make(chan struct{})
	go func() {
		s.handled.Lock()
		defer s.handled.Unlock()
		close(done)
	}()
	select {
	case <-done:
	case <-ctx.Done():
	}
}

// handle calls $default with one message and sends back what it answers.
func (s *socket) handle(kind websocket.MessageType, raw []byte) {
	s.handled.RLock()
	defer s.handled.RUnlock()
	if s.isClosing() {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithValue(context.Background(), handledKey{}, s), socketWait)
	defer cancel()
	e := s.event("MESSAGE", "$default")
	e.Body = string(raw)
	if kind == websocket.MessageBinary {
		e.Body, e.IsBase64Encoded = base64.StdEncoding.EncodeToString(raw), true
	}
	defer s.g.recoverTo(func() { s.failed(e.RequestContext.RequestID) })
	answer, err := s.g.handlers.Socket(ctx, e)
	if err != nil || answer.StatusCode/100 != 2 {
		s.g.cfg.Log.ErrorContext(ctx, "the socket function failed",
			"connection", s.id, "request_id", e.RequestContext.RequestID, "status", answer.StatusCode, "error", err)
		s.failed(e.RequestContext.RequestID)
		return
	}
	if answer.Body != "" {
		_ = s.enqueue([]byte(answer.Body), 0)
	}
}

// failed is what becomes of a message whose function failed: no answer, and the socket is closed so that the client sends again.
// API Gateway sends a frame without a name instead.
func (s *socket) failed(request string) {
	if !s.g.cfg.Faithful {
		s.close(websocket.StatusTryAgainLater, "try again", nil, false)
		return
	}
	frame, _ := json.Marshal(map[string]string{"message": "Internal server error", "connectionId": s.id, "requestId": request})
	_ = s.enqueue(frame, 0)
}

// disconnect tells the functions that the connection is no more.
func (s *socket) disconnect(code websocket.StatusCode, reason string) {
	defer s.g.recoverTo(func() {})
	ctx, cancel := context.WithTimeout(context.Background(), socketWait)
	defer cancel()
	e := s.event("DISCONNECT", "$disconnect")
	e.RequestContext.DisconnectStatusCode, e.RequestContext.DisconnectReason = int64(code), &reason
	if answer, err := s.g.handlers.Socket(ctx, e); err != nil || answer.StatusCode >= http.StatusBadRequest {
		s.g.cfg.Log.WarnContext(ctx, "$disconnect failed", "connection", s.id, "status", answer.StatusCode, "error", err)
	}
}

func (s *socket) frameTooLarge() {
	s.close(websocket.StatusMessageTooBig, "frames are 32 KB at most", nil, true)
}

// shuffledAtOnce is how many messages of a connection are handled side by side.
const shuffledAtOnce = 8

// handleShuffled handles a message beside the others of its connection, after a pause that is drawn.
func (s *socket) handleShuffled(kind websocket.MessageType, raw []byte) {
	s.g.shuffleMu.Lock()
	pause := time.Duration(s.g.cfg.Shuffle.Int64N(int64(3 * time.Millisecond)))
	s.g.shuffleMu.Unlock()
	if s.slot == nil {
		s.slot = make(chan struct{}, shuffledAtOnce)
	}
	s.slot <- struct{}{}
	s.g.running.Add(1)
	time.AfterFunc(pause, func() {
		defer s.g.running.Done()
		s.handle(kind, raw)
		<-s.slot
	})
}
