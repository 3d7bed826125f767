package fanout_test

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// run is a client's life: it connects, subscribes from what it saw last, and now and then subscribes again or hangs up.
func (c *client) run(m *model, name string, done <-chan struct{}) {
	for n := 0; ; n++ {
		s := &socket{id: fmt.Sprintf("%s-%d", name, n), client: c, closed: make(chan struct{}), open: true}
		m.mu.Lock()
		m.sockets[s.id] = s
		m.mu.Unlock()
		if !c.live(m, s, done) {
			return
		}
		m.hangUp(s.id)
		if m.chance(.5) { // $disconnect is best effort
			_ = m.sessions(0).Disconnect(context.Background(), s.id, c.caller)
		}
		m.wait(100 * time.Millisecond)
	}
}

// live is one connection's life; false when the test is over.
func (c *client) live(m *model, s *socket, done <-chan struct{}) bool {
	ctx := context.Background()
	p := m.sessions(.005)
	if err := p.Connect(ctx, s.id, c.caller); err != nil {
		return true
	}
	hello := `{"frame":"hello","protocol":{"min":1,"max":1},"client":{"name":"model","version":"1"}}`
	if c.batch {
		hello = strings.TrimSuffix(hello, "}") + `,"accepts":["events","batches"]}`
	}
	if reply, err := p.Frame(ctx, s.id, c.caller, []byte(hello)); err != nil || reply.Close != 0 {
		return true
	}
	for first := true; ; first = false {
		m.mu.Lock()
		since := c.last
		if first {
			c.again = nil
		} else {
			since = max(m.start, since-m.random.Int64N(6))
			c.again = append(c.again, since)
		}
		m.mu.Unlock()
		if !first {
			m.seenNote("subscribed again")
		}
		frame := fmt.Sprintf(`{"frame":"subscribe","workspace_id":%q,"since":%d}`, m.world.ws, since)
		if reply, err := m.sessions(.005).Frame(ctx, s.id, c.caller, []byte(frame)); err != nil || reply.Close != 0 {
			return true
		}
		select {
		case <-done:
			return false
		case <-s.closed:
			return true
		case <-time.After(time.Duration(m.below(int(m.pace * 10)))):
		}
		for first := true; ; first = false {
			if m.fault("hung up", .2) {
				return true
			}
			if m.restless && !m.isCalm() || m.fault("again", .5) && first {
				break
			}
			select {
			case <-done:
				return false
			case <-s.closed:
				return true
			case <-time.After(m.pace * 4):
			}
		}
	}
}
