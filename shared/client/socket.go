package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"
	"github.com/go-json-experiment/json"

	"github.com/chipschat/chips-aws/shared/protocol"
)

// readLimit is the largest frame in bytes that is read; the server sends 128 KB at most.
const readLimit = 1 << 20

// stepWait bounds each of the steps that open a socket, and one write.
const stepWait = 15 * time.Second

// What ends a socket by the client's own doing.
var (
	errSilent   = errors.New("nothing was heard for too long")
	errNoAnswer = errors.New("a write got no answer for too long")
	errNameless = errors.New("a frame without a name: the server's gateway failed")
	errNoRoom   = errors.New("the events callback is too far behind")
)

// socket is one connection, from the ticket to the close.
type socket struct {
	c    *Client
	conn *websocket.Conn
	// end ends it, with the reason.
	end context.CancelCauseFunc
	// idle fires when nothing was heard for a while; frames counts what was heard.
	idle   *time.Timer
	frames atomic.Int64
	// controls says that a ping or a pong came: whoever holds the other end answers pings.
	controls atomic.Bool
	// hello is given the workspace when hello was answered.
	hello chan string

	mu       sync.Mutex
	sent     int64 // the place of the newest write that was sent on this socket
	progress bool  // an answer or an event came
}

// connect opens a socket and uses it up. It says whether anything came of it, and why it ended.
func (c *Client) connect(ctx context.Context) (progress bool, err error) {
	life, end := context.WithCancelCause(ctx)
	defer end(nil)
	s := &socket{c: c, end: end, hello: make(chan string, 1)}
	if s.conn, err = c.dial(ctx, s.heardControl); err != nil {
		return false, err
	}
	conn := s.conn
	defer func() { _ = conn.CloseNow() }()
	conn.SetReadLimit(readLimit)
	s.idle = time.AfterFunc(c.cfg.Idle/2, func() { s.probe(life) })
	defer s.idle.Stop()

	// The reader outlives the rest, so that closing can wait for the other side's part.
	reading, stopReading := context.WithCancel(context.WithoutCancel(ctx))
	read := make(chan struct{})
	go func() {
		defer close(read)
		end(s.read(reading))
	}()
	go s.watchAnswers(life)
	err = s.talk(life)
	end(err)
	err = context.Cause(life)
	if ctx.Err() != nil {
		limit := time.AfterFunc(time.Second, stopReading)
		_ = conn.Close(websocket.StatusNormalClosure, "")
		limit.Stop()
	}
	stopReading()
	<-read
	return s.progress, err
}

// dial buys a ticket and opens a socket with it, which calls heard for pings and pongs.
func (c *Client) dial(ctx context.Context, heard func()) (*websocket.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, stepWait)
	defer cancel()
	if err := c.findStart(ctx); err != nil {
		return nil, forGood(fmt.Errorf("find the head: %w", err))
	}
	ticket, err := c.API.Ticket(ctx)
	if err != nil {
		return nil, forGood(fmt.Errorf("get a ticket: %w", err))
	}
	target := c.cfg.SocketURL + "?ticket=" + url.QueryEscape(ticket)
	conn, _, err := websocket.Dial(ctx, target, &websocket.DialOptions{ //nolint:bodyclose // Dial closes it
		HTTPClient:     c.cfg.HTTP,
		OnPingReceived: func(context.Context, []byte) bool { heard(); return true },
		OnPongReceived: func(context.Context, []byte) { heard() },
	})
	if err != nil {
		return nil, errors.New(strings.ReplaceAll(err.Error(), url.QueryEscape(ticket), "…"))
	}
	return conn, nil
}

// findStart asks for the head once, where the stream is to start from now: subscribing without since would lose what comes between
// a socket that died before its first event and the next one.
func (c *Client) findStart(ctx context.Context) error {
	if c.cfg.WriteOnly || c.inbox.last.Load() >= 0 {
		return nil
	}
	page, err := c.API.Events(ctx, EventsQuery{Since: 1<<53 - 1, Limit: 1})
	if err != nil {
		return err
	}
	c.inbox.last.Store(page.LastSeq)
	return nil
}

// forGood marks a refusal of the credential itself, which a new try cannot cure.
func forGood(err error) error {
	var e *protocol.Error
	if errors.As(err, &e) {
		switch s := protocol.HTTPStatus(e.Code); {
		case s == http.StatusTooManyRequests:
		case s >= 400 && s < 500:
			return &permanentError{e}
		}
	}
	return err
}

// talk says what the client has to say, in its order, until life ends.
func (s *socket) talk(life context.Context) error {
	cfg := &s.c.cfg
	err := s.write(life, protocol.ClientHello{
		Frame: "hello", Protocol: protocol.Range{Min: protocol.Version, Max: protocol.Version},
		Client:  protocol.ClientName{Name: cfg.Name, Version: cfg.Version},
		Accepts: append(cfg.Accepts[:len(cfg.Accepts):len(cfg.Accepts)], "ping"), Context: cfg.Context,
	})
	if err != nil {
		return err
	}
	var workspace string
	select {
	case workspace = <-s.hello:
	case <-time.After(stepWait):
		return errors.New("hello was not answered")
	case <-life.Done():
		return context.Cause(life)
	}
	s.c.state(Open, nil)
	s.c.sendCopies(life)

	newest := s.c.writes.newest()
	for w := s.c.writes.after(0); w != nil && w.place <= newest; w = s.c.writes.after(w.place) {
		if err := s.send(life, w); err != nil {
			return err
		}
	}
	if !cfg.WriteOnly {
		if err := s.subscribe(life, workspace); err != nil {
			return err
		}
	}
	s.c.state(Subscribed, nil)

	for {
		w, err := s.c.writes.next(life, s.place())
		if err != nil {
			return err
		}
		if err := s.send(life, w); err != nil {
			return err
		}
	}
}

func (s *socket) subscribe(life context.Context, workspace string) error {
	if err := s.c.inbox.waitRoom(life); err != nil {
		return err
	}
	since := s.c.inbox.last.Load()
	return s.write(life, protocol.Subscribe{Frame: "subscribe", WorkspaceID: workspace, Since: &since})
}

// send sends one event, and waits for its answer unless order does not matter.
func (s *socket) send(life context.Context, w *write) error {
	s.mu.Lock()
	s.sent = w.place
	s.mu.Unlock()
	if len(w.raw) > MaxFrame && !s.c.cfg.NoHTTPWrites {
		return s.sendByHTTP(life, w)
	}
	if err := s.write(life, protocol.EventFrame{Frame: "event", Event: w.raw}); err != nil {
		return err
	}
	if s.c.cfg.Pipelined {
		return nil
	}
	select {
	case <-w.done:
		return nil
	case <-life.Done():
		return context.Cause(life)
	}
}

// sendByHTTP writes an event that is too large for a frame. Only an answer about the event itself ends its promise.
func (s *socket) sendByHTTP(life context.Context, w *write) error {
	var ack protocol.Ack
	err := s.c.API.Do(life, http.MethodPost, "/v1/events", w.raw, &ack)
	var refusal *protocol.Error
	switch {
	case err == nil:
		s.answer(w.key, ack, nil)
	case errors.As(err, &refusal) && refusal.Code != protocol.Unauthorized && protocol.HTTPStatus(refusal.Code) < 429:
		s.answer(w.key, ack, refusal)
	default:
		return err
	}
	return nil
}

func (s *socket) write(life context.Context, frame any) error {
	b, err := json.Marshal(frame)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(life, stepWait)
	defer cancel()
	return s.conn.Write(ctx, websocket.MessageText, b)
}

func (s *socket) answer(key string, ack protocol.Ack, err error) {
	s.mu.Lock()
	s.progress = true
	s.mu.Unlock()
	s.c.writes.answer(key, ack, err)
}

func (s *socket) place() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sent
}

// heard notes a sign of life.
func (s *socket) heard() {
	s.frames.Add(1)
	s.idle.Reset(s.c.cfg.Idle / 2)
}

// heardControl notes a ping or a pong.
func (s *socket) heardControl() {
	s.controls.Store(true)
	s.heard()
}

// probe asks a socket that has been silent for half of what it may be for a sign of life, and gives it up where none comes. Where it is
// not known whether pings are answered, that says nothing yet: then it is asked again, by a frame, when it has been silent for much longer.
func (s *socket) probe(life context.Context) {
	before := s.frames.Load()
	ctx, cancel := context.WithTimeout(life, s.c.cfg.Idle/2)
	defer cancel()
	err := s.conn.Ping(ctx)
	silent := func() bool { return s.frames.Load() == before && life.Err() == nil }
	if err == nil || !silent() {
		return
	}
	if !s.controls.Load() {
		if !pause(life, s.c.cfg.Quiet-s.c.cfg.Idle) || !silent() {
			return
		}
		if s.write(life, protocol.PingFrame{Frame: "ping"}) == nil && !pause(life, s.c.cfg.AnswerWait) || !silent() {
			return
		}
	}
	s.end(errSilent)
}

// pause waits, and says whether it did so to the end.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// watchAnswers gives the socket up when the oldest event that was sent on it has had no answer for one to two AnswerWaits.
func (s *socket) watchAnswers(life context.Context) {
	ticks := time.NewTicker(s.c.cfg.AnswerWait)
	defer ticks.Stop()
	var before *write
	for {
		select {
		case <-life.Done():
			return
		case <-ticks.C:
		}
		oldest := s.c.writes.after(0)
		if oldest != nil && oldest.place > s.place() {
			oldest = nil
		}
		if oldest != nil && oldest == before {
			s.end(errNoAnswer)
			return
		}
		before = oldest
	}
}
