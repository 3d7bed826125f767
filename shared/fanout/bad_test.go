package fanout_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chipschat/chips-aws/shared/engine"
	"github.com/chipschat/chips-aws/shared/fanout"
	"github.com/chipschat/chips-aws/shared/session"
)

// One connection that hangs, fails or is throttled is ended, and holds no other up for longer than a push may take.
// covers: KEEP-3, KEEP-4
func TestBadConnections(t *testing.T) {
	for _, x := range []struct {
		name string
		post func() error
		code int
		last string
		most time.Duration
	}{
		{"gone", func() error { return session.ErrGone }, 0, "", 0},
		{"unknown", func() error { return errors.New("who knows") }, 1013, "", 0},
		{"hanging", func() error { time.Sleep(2 * time.Second); return context.DeadlineExceeded }, 1013, "", 2 * time.Second},
		{"too slow, for certain", func() error { return session.ErrBehind }, 1008, "too_far_behind", 0},
		{"throttled while others are not", func() error { return session.ErrThrottled }, 1008, "too_far_behind", 4 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			h := newHouse(t)
			bad, good := h.listen(h.arjun), h.listen(h.priya)
			h.onPost = func(id string) error {
				if id == bad {
					return x.post()
				}
				time.Sleep(10 * time.Millisecond)
				return nil
			}
			h.say(h.arjun, "one")
			h.say(h.arjun, "two")
			began := time.Now()
			h.ring()
			if took := time.Since(began); took > x.most+100*time.Millisecond {
				t.Errorf("%s: it took %v", x.name, took)
			}
			if got := h.heard(good); got != "message.post one, message.post two" {
				t.Errorf("%s: the other is sent %q", x.name, got)
			}
			frames := h.sent(bad)
			if h.closed[bad] != x.code || (x.last == "") != (len(frames) == 0) || x.last != "" && !bytes.Contains(frames[0], []byte(x.last)) {
				t.Errorf("%s: closed with %d after %s", x.name, h.closed[bad], frames)
			}
			h.onPost = nil
			h.say(h.arjun, "three")
			h.ring()
			if got := h.heard(good); got != "message.post three" || len(h.sent(bad)) != len(frames) {
				t.Errorf("%s: then %q", x.name, got)
			}
		})
	}
}

// A throttle that is everybody's is waited out.
func TestThrottledAccount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t)
		a, b := h.listen(h.arjun), h.listen(h.priya)
		until := time.Now().Add(5 * time.Second)
		h.onPost = func(string) error {
			if time.Now().Before(until) {
				return session.ErrThrottled
			}
			return nil
		}
		h.say(h.arjun, "one")
		h.ring()
		if x, y := h.heard(a), h.heard(b); x != "message.post one" || y != x {
			t.Errorf("sent %q and %q, closed %v", x, y, h.closed)
		}
	})
}

// A range that somebody claimed and did not finish is cut short: who it was for resumes, who came after goes on.
// covers: KEEP-5
func TestCutShort(t *testing.T) {
	h := newHouse(t)
	a, b := h.listen(h.arjun), h.listen(h.scout)
	h.say(h.arjun, "one")
	died := make(chan struct{})
	go func() { // as a process that is killed: nothing after the claim is done
		defer close(died)
		dying := fanout.New(fanout.Config{Log: h.engine, Connections: dead{h.sessions}, Rows: h.rows, Push: deadPush{}, Now: time.Now, Logger: quiet})
		if err := dying.Ring(context.Background(), h.ws, h.since(h.rung)); err == nil {
			t.Error("it says that all is sent")
		}
	}()
	<-died
	late := h.listenFrom(h.priya, h.rung)
	h.say(h.arjun, "two")
	h.ring()
	if h.closed[a] != 1013 || h.closed[b] != 1013 || h.heard(a) != "" {
		t.Errorf("closed with %d and %d", h.closed[a], h.closed[b])
	}
	if got := h.heard(late); got != "message.post one, message.post two" {
		t.Errorf("who came after is sent %q", got)
	}
	if got := h.heard(h.listenFrom(h.arjun, h.rung-2)); got != "message.post one, message.post two" {
		t.Errorf("who resumes is sent %q", got)
	}
	// By the same process that failed and goes on, too.
	h.onPost = func(string) error { return errors.New("who knows") }
	c := h.listen(h.arjun)
	h.say(h.arjun, "three")
	broken := fanout.New(fanout.Config{Log: h.engine, Connections: dead{h.sessions}, Rows: h.rows, Push: h, Now: time.Now, Logger: quiet})
	if err := broken.Ring(context.Background(), h.ws, nil); err == nil {
		t.Error("it says that all is sent")
	}
	h.onPost = nil
	h.ring()
	if h.closed[c] != 1013 || h.heard(c) != "" {
		t.Errorf("closed with %d", h.closed[c])
	}
}

// Who claimed a range may be slow and not dead. What it is still sending must not mix with what a second subscribe on the socket
// has asked for, so that connection is cut too; also by one who has found nothing to do for itself meanwhile.
func TestCutShortOfTheSlow(t *testing.T) {
	for _, meanwhile := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			h := newHouse(t)
			ctx := context.Background()
			other := h.newFanout()
			if err := other.Ring(ctx, h.ws, nil); err != nil { // it knows the cursor as it is now
				t.Fatal(err)
			}
			c := h.listen(h.arjun)
			slow := make(chan struct{})
			h.onPost = func(id string) error {
				if id == c {
					<-slow
				}
				return nil
			}
			out := h.say(h.arjun, "one")
			go func() { _ = h.fanout.Ring(ctx, h.ws, []engine.Commit{out.Commit}) }()
			synctest.Wait()
			go func() {
				frame := fmt.Sprintf(`{"frame":"subscribe","workspace_id":%q,"since":0}`, h.ws)
				_, _ = h.sessions.Frame(ctx, c, h.arjun, []byte(frame))
			}()
			time.Sleep(100 * time.Millisecond)
			if meanwhile {
				if err := other.Ring(ctx, h.ws, []engine.Commit{out.Commit}); err != nil {
					t.Fatal(err)
				}
			}
			d := h.listen(h.priya)
			if err := other.Ring(ctx, h.ws, []engine.Commit{h.say(h.arjun, "two").Commit}); err != nil {
				t.Fatal(err)
			}
			if h.closed[c] != 1013 || h.closed[d] != 0 {
				t.Errorf("closed with %d and %d", h.closed[c], h.closed[d])
			}
			close(slow)
			time.Sleep(time.Minute)
			if got := h.heard(c); got != "" || h.heard(d) != "message.post two" {
				t.Errorf("then it is sent %q", got)
			}
		})
	}
}

// dead and deadPush are what a process that is killed gets done.
type dead struct{ *session.Sessions }

func (dead) Cut(context.Context, string, string, int, string, []byte) error { return errDead }

type deadPush struct{}

func (deadPush) Post(context.Context, string, []byte) error               { return errDead }
func (deadPush) Close(context.Context, string, int, string, []byte) error { return errDead }
