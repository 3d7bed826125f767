package client

import (
	"context"
	"testing"
	"time"
)

func TestAnswersPingFrames(t *testing.T) {
	f := newFake(t)
	start(t, f, nil)
	p := f.greeted()
	p.expectSubscribe(0)
	p.send(`{"frame":"ping"}`)
	p.expect(`{"frame":"pong"}`)
}

// A socket whose server is known to answer pings is given up soon after it does not.
func TestGivesUpASilentSocket(t *testing.T) {
	f := newFake(t)
	start(t, f, func(c *Config) { c.Idle = 200 * time.Millisecond })
	p := f.greeted()
	p.expectSubscribe(0)
	go func() { _, _, _ = p.conn.Read(context.Background()) }()
	await(t, f.pinged)
	f.deaf.Store(true)
	f.greeted().expectSubscribe(0)
}

// Where pings are not answered, as they may not be behind API Gateway, a socket is kept for as long as the server may be quiet, and then as
// long as it answers ping frames.
func TestKeepsAQuietSocket(t *testing.T) {
	f := newFake(t)
	f.deaf.Store(true)
	start(t, f, func(c *Config) {
		c.Idle, c.Quiet, c.AnswerWait = 50*time.Millisecond, 500*time.Millisecond, 100*time.Millisecond
	})
	p := f.greeted()
	p.expectSubscribe(0)
	for range 2 {
		began := time.Now()
		p.expect(`{"frame":"ping"}`)
		if d := time.Since(began); d < 400*time.Millisecond {
			t.Errorf("asked after %v", d)
		}
		p.send(`{"frame":"pong"}`)
	}
	p.expect(`{"frame":"ping"}`) // and not answered
	f.greeted().expectSubscribe(0)
}

func TestKeepsASocketThatAnswersPings(t *testing.T) {
	f := newFake(t)
	h := start(t, f, func(c *Config) { c.Idle = 100 * time.Millisecond })
	p := f.greeted()
	p.expectSubscribe(0)
	go func() { _, _, _ = p.conn.Read(context.Background()) }() // which answers pings
	select {
	case <-f.sockets:
		t.Fatal("a new socket was opened")
	case <-time.After(500 * time.Millisecond):
	}
	p.event(1)
	h.want(t, 1)
}

func TestGivesUpASocketThatDoesNotAnswer(t *testing.T) {
	f := newFake(t)
	h := start(t, f, func(c *Config) { c.AnswerWait = 50 * time.Millisecond })
	p := f.greeted()
	p.expectSubscribe(0)
	h.post("k1")
	p.expectWrite("k1")
	f.greeted().expectWrite("k1")
}
