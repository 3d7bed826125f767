package gateway

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/coder/websocket"

	"github.com/chipschat/chips-aws/shared/session"
)

// LastHeard is when a connection last sent anything, a pong included; it answers session.ErrGone where there is no such connection.
func (g *Gateway) LastHeard(_ context.Context, connection string) (time.Time, error) {
	s := g.find(connection)
	if s == nil {
		return time.Time{}, session.ErrGone
	}
	return time.Unix(0, s.lastHeard.Load()), nil
}

// startTimers begins to watch the connection. Where Faithful, pings and silence are nobody's business here.
func (s *socket) startTimers() {
	cfg := &s.g.cfg
	s.lastHeard.Store(cfg.Now().UnixNano())
	s.ping = time.AfterFunc(time.Hour, s.sendPing)
	s.idle = time.AfterFunc(cfg.Idle, func() { s.close(websocket.StatusGoingAway, "idle for too long", nil, false) })
	s.lifetime = time.AfterFunc(cfg.Lifetime, func() { s.close(websocket.StatusGoingAway, "open for too long", nil, false) })
	s.silence = time.AfterFunc(cfg.Silent, func() { s.close(websocket.StatusGoingAway, "silent for too long", nil, true) })
	if cfg.Faithful {
		s.ping.Stop()
		s.silence.Stop()
		return
	}
	s.ping.Reset(cfg.Ping)
}

func (s *socket) stopTimers() {
	for _, t := range []*time.Timer{s.idle, s.lifetime, s.silence, s.ping} {
		t.Stop()
	}
}

// heard notes that a frame came in: a message, a ping or a pong.
func (s *socket) heard() {
	s.lastHeard.Store(s.g.cfg.Now().UnixNano())
	s.idle.Reset(s.g.cfg.Idle)
	if !s.g.cfg.Faithful {
		s.silence.Reset(s.g.cfg.Silent)
	}
}

// sent notes that a frame went out.
func (s *socket) sent() { s.idle.Reset(s.g.cfg.Idle) }

// sendPing pings. A missing pong is the silence timer's business; the deadline is no shorter, since one that ends while the ping is being
// written ends the connection.
func (s *socket) sendPing() {
	if s.isClosing() {
		return
	}
	s.ping.Reset(s.g.cfg.Ping)
	ctx, cancel := context.WithTimeout(context.Background(), s.g.cfg.Silent)
	defer cancel()
	_ = s.conn.Ping(ctx)
}

// closeOf is the code and reason a connection ended with.
func closeOf(err error) (websocket.StatusCode, string) {
	var ce websocket.CloseError
	switch {
	case errors.As(err, &ce):
		return ce.Code, ce.Reason
	case errors.Is(err, websocket.ErrMessageTooBig):
		return websocket.StatusMessageTooBig, "message too big"
	case err == nil || errors.Is(err, io.EOF):
		return websocket.StatusAbnormalClosure, "the connection was lost"
	}
	return websocket.StatusAbnormalClosure, ""
}
