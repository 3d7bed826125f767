package main

import (
	"context"
	"testing"
	"time"

	"github.com/coder/websocket"
)

// covers: KEEP-1, KEEP-2, KEEP-7
func TestKeepalive(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "CHIPS_PING_MS=100", "CHIPS_SILENT_MS=1000")
	pings := make(chan struct{}, 1000)
	answers := func(yes bool) func(*websocket.DialOptions) {
		return func(o *websocket.DialOptions) {
			o.OnPingReceived = func(context.Context, []byte) bool { pings <- struct{}{}; return yes }
		}
	}
	living, silent := w.open(w.workspace.Key, answers(true)), w.open(w.scout.Token, answers(false))
	closed := make(chan error, 1)
	go func() {
		_, err := living.next()
		closed <- err
	}()
	silent.wantClose(websocket.StatusGoingAway)
	if len(pings) < 10 {
		t.Errorf("%d pings in a second", len(pings))
	}
	select {
	case err := <-closed:
		t.Errorf("a socket that answers pings ended: %v", err)
	case <-time.After(1500 * time.Millisecond):
	}
}

// Where the gateway sends no pings, as API Gateway, the sweep does by frames, and closes who says that they answer and does not.
//
// covers: KEEP-1, KEEP-2, KEEP-7
func TestKeepaliveByFrames(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "CHIPS_GATEWAY=faithful", "CHIPS_PING_MS=200", "CHIPS_SILENT_MS=300")
	open := func(accepts string) *socket {
		s, _ := w.dial("", bearer(w.workspace.Key))
		s.send(`{"frame":"hello","protocol":{"min":1,"max":1},"client":{"name":"t","version":"1"},"accepts":[` + accepts + `]}`)
		s.want("event", "")
		return s
	}
	living, silent, ignorant := open(`"ping"`), open(`"ping"`), open(`"events"`)
	closed := make(chan struct{})
	pings := make(chan int)
	go func() { // answers each
		n := 0
		for {
			select {
			case <-closed:
				pings <- n
				return
			default:
			}
			if f, err := living.next(); err != nil {
				t.Errorf("a socket that answers ended: %v", err)
				<-closed
				pings <- n
				return
			} else if f.Frame == "ping" {
				n++
				living.send(`{"frame":"pong"}`)
			}
		}
	}()
	if last := silent.wantClose(websocket.StatusNormalClosure); last.Frame != "ping" {
		t.Errorf("the last frame was %+v", last)
	}
	close(closed)
	if n := <-pings; n < 10 {
		t.Errorf("%d pings in five seconds", n)
	}
	// One that does not know pings is pinged all the same, which keeps its way open, and stays.
	ignorant.want("ping", "")
	ignorant.send(w.post("still-there", "hi"))
	ignorant.want("ack", "still-there")
}
