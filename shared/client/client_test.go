package client

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chipschat/chips-aws/shared/protocol"
)

// covers: HEL-1, SUB-1, TKT-13
func TestOpens(t *testing.T) {
	f := newFake(t)
	start(t, f, func(c *Config) { c.Name, c.Version = "scout", "0.1.0" })
	p := f.next()
	got := p.expect("{")
	want := `{"frame":"hello","protocol":{"min":1,"max":1},"client":{"name":"scout","version":"0.1.0"},"accepts":["events","batches","ping"]}`
	if got != want {
		t.Fatalf("hello is %s, want %s", got, want)
	}
	p.hello()
	p.expectSubscribe(0)
}

// Sockets may have a host of their own, with a path of its own.
func TestSocketURL(t *testing.T) {
	f := newFake(t)
	start(t, f, func(c *Config) { c.SocketURL = "ws" + strings.TrimPrefix(f.url, "http") + "/prod" })
	f.greeted().expectSubscribe(0)
	if at := f.upgraded.Load(); at != "/prod" {
		t.Errorf("the socket was opened at %v", at)
	}
}

func TestStartsFromNowAtTheHead(t *testing.T) {
	f := newFake(t)
	f.head.Store(41)
	h := start(t, f, func(c *Config) { c.Since = nil })
	p := f.greeted()
	p.expectSubscribe(41)
	p.drop()
	// Nothing came on the first socket; the second still starts where the first did.
	f.head.Store(50)
	p = f.greeted()
	p.expectSubscribe(41)
	p.event(42)
	h.want(t, 42)
}

// covers: SUB-4
func TestEventsComeOnceInOrderOverManySockets(t *testing.T) {
	f := newFake(t)
	h := start(t, f, nil)
	p := f.greeted()
	p.expectSubscribe(0)
	p.send(`{"frame":"events","events":[` + eventJSON(1) + `,` + eventJSON(2) + `]}`)
	p.event(2)
	p.event(5)
	h.want(t, 1, 2, 5)
	p.drop()
	p = f.greeted()
	p.expectSubscribe(5)
	p.send(`{"frame":"events","events":[` + eventJSON(2) + `,` + eventJSON(5) + `,` + eventJSON(6) + `]}`)
	p.event(7)
	h.want(t, 6, 7)
	if len(h.events) > 0 {
		t.Fatalf("handed %d twice", <-h.events)
	}
	if n := h.Repeats(); n != 3 {
		t.Errorf("%d repeats, want 3", n)
	}
}

// A client's own ack is not an event it was handed: the stream goes on from what it was handed.
func TestAckDoesNotMoveTheStream(t *testing.T) {
	f := newFake(t)
	h := start(t, f, nil)
	p := f.greeted()
	p.expectSubscribe(0)
	p.event(3)
	h.want(t, 3)
	a := h.post("k1")
	p.expectWrite("k1")
	p.ack("k1", 9, false)
	await(t, a)
	p.drop()
	p = f.greeted()
	p.expectSubscribe(3)
}

// covers: WRT-10, WRT-11
func TestUnansweredIsSentAgainFirst(t *testing.T) {
	f := newFake(t)
	h := start(t, f, nil)
	p := f.greeted()
	p.expectSubscribe(0)
	first := h.post("k1")
	p.expectWrite("k1")
	second := h.post("k2")
	h.waitUnanswered(t, 2)
	// No answer: a nameless frame, an error that names no key, and the end of the socket.
	p.send(`{"frame":"error","code":"internal","message":"x"}`)
	p.send(`{"message":"Internal server error","connectionId":"a","requestId":"b"}`)

	p = f.greeted()
	p.expectWrite("k1")
	p.ack("k1", 8, true)
	p.expectWrite("k2")
	// A third, given after the socket was opened, waits for the subscription.
	third := h.post("k3")
	h.waitUnanswered(t, 2)
	p.send(`{"frame":"error","idempotency_key":"k2","code":"forbidden","message":"not yours"}`)
	p.expectSubscribe(0)
	p.expectWrite("k3")
	p.ack("k1", 8, true) // late, and for nobody
	p.ack("k3", 10, false)

	if got := await(t, first); got.err != nil || !got.ack.Duplicate || got.ack.Seq != 8 {
		t.Errorf("first: %+v", got)
	}
	var e *protocol.Error
	if got := await(t, second); !errors.As(got.err, &e) || e.Code != protocol.Forbidden {
		t.Errorf("second: %+v", got)
	}
	if got := await(t, third); got.err != nil || got.ack.Seq != 10 || got.ack.Duplicate {
		t.Errorf("third: %+v", got)
	}
	h.waitUnanswered(t, 0)
}

// covers: WRT-10
func TestPostKeepsItsPromiseWhenTheContextEnds(t *testing.T) {
	f := newFake(t)
	h := start(t, f, nil)
	p := f.greeted()
	p.expectSubscribe(0)
	ctx, cancel := context.WithCancel(context.Background())
	gone := make(chan error, 1)
	go func() {
		_, err := h.Post(ctx, Draft{Key: "k1", Data: &protocol.MessagePost{Text: "hi"}})
		gone <- err
	}()
	p.expectWrite("k1")
	cancel()
	if err := await(t, gone); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
	p.drop()
	p = f.greeted()
	p.expectWrite("k1")
	p.ack("k1", 4, false)
	p.expectSubscribe(0)
	h.waitUnanswered(t, 0)
}

func TestOneWriteUnderWayUnlessPipelined(t *testing.T) {
	for _, pipelined := range []bool{false, true} {
		f := newFake(t)
		h := start(t, f, func(c *Config) { c.Pipelined = pipelined })
		p := f.greeted()
		p.expectSubscribe(0)
		h.post("k1")
		p.expectWrite("k1")
		h.post("k2")
		h.waitUnanswered(t, 2)
		if pipelined {
			p.expectWrite("k2")
			continue
		}
		for range 5 {
			p.send(`{"frame":"ping"}`)
			p.expect(`{"frame":"pong"}`)
		}
		p.ack("k1", 2, false)
		p.expectWrite("k2")
	}
}

func TestRunEndsOnARefusalForGood(t *testing.T) {
	t.Run("credential", func(t *testing.T) {
		f := newFake(t)
		f.refuse.Store(protocol.Refuse(protocol.Unauthorized, "no"))
		h := start(t, f, nil)
		a := h.post("k1")
		var e *protocol.Error
		if err := await(t, h.ended); !errors.As(err, &e) || e.Code != protocol.Unauthorized {
			t.Fatalf("got %v", err)
		}
		if len(h.states) > 0 {
			t.Errorf("it is said to be %s, as if another try were made", <-h.states)
		}
		if got := await(t, a); !errors.Is(got.err, ErrStopped) {
			t.Fatalf("got %v", got.err)
		}
	})
	t.Run("protocol", func(t *testing.T) {
		f := newFake(t)
		h := start(t, f, nil)
		p := f.next()
		p.expect(`{"frame":"hello"`)
		p.send(`{"frame":"error","code":"unsupported_protocol","message":"1 to 1"}`)
		var e *protocol.Error
		if err := await(t, h.ended); !errors.As(err, &e) || e.Code != protocol.UnsupportedProtocol {
			t.Fatalf("got %v", err)
		}
	})
	t.Run("busy is not", func(t *testing.T) {
		f := newFake(t)
		f.refuse.Store(protocol.Refuse(protocol.Busy, "later"))
		h := start(t, f, nil)
		await(t, h.states)
		f.refuse.Store(nil)
		f.greeted()
	})
}

func TestTooFarBehindResumes(t *testing.T) {
	f := newFake(t)
	h := start(t, f, nil)
	p := f.greeted()
	p.expectSubscribe(0)
	p.event(1)
	h.want(t, 1)
	p.send(`{"frame":"error","code":"too_far_behind","message":"x"}`)
	f.greeted().expectSubscribe(1)
}

func TestLargeEventsGoByHTTP(t *testing.T) {
	f := newFake(t)
	answers := make(chan func(http.ResponseWriter), 3)
	f.post = func(w http.ResponseWriter) { (<-answers)(w) }
	h := start(t, f, nil)
	p := f.greeted()
	p.expectSubscribe(0)
	large := func() chan answer {
		out := make(chan answer, 1)
		go func() {
			ack, err := h.Post(context.Background(), Draft{Key: "big", Data: &protocol.MessagePost{Text: strings.Repeat("x", MaxFrame)}})
			out <- answer{ack, err}
		}()
		return out
	}
	a := large()
	answers <- func(w http.ResponseWriter) { // no answer
		w.WriteHeader(503)
		_, _ = w.Write([]byte(`{"code":"busy","message":"x"}`))
	}
	p = f.greeted()
	answers <- func(w http.ResponseWriter) {
		_, _ = w.Write([]byte(`{"idempotency_key":"big","seq":7,"duplicate":true}`))
	}
	if got := await(t, a); got.err != nil || got.ack.Seq != 7 {
		t.Fatalf("got %+v", got)
	}
	p.expectSubscribe(0)
	a = large()
	answers <- func(w http.ResponseWriter) {
		w.WriteHeader(409)
		_, _ = w.Write([]byte(`{"code":"room_closed","message":"x"}`))
	}
	var e *protocol.Error
	if got := await(t, a); !errors.As(got.err, &e) || e.Code != protocol.RoomClosed {
		t.Fatalf("got %+v", got)
	}
}

func TestTooManyUnanswered(t *testing.T) {
	f := newFake(t)
	h := start(t, f, func(c *Config) { c.MaxUnanswered = 1 })
	f.greeted()
	h.post("k1")
	h.waitUnanswered(t, 1)
	if got := await(t, h.post("k2")); !errors.Is(got.err, ErrFull) {
		t.Fatalf("got %v", got.err)
	}
}

func TestPostRefusesWhatCannotBeAnswered(t *testing.T) {
	c := New(Config{})
	for _, raw := range []string{`{"idempotency_key":"k","idempotency_key":"k"}`, `{"idempotency_key":"other"}`, `{`, `{}`, "{\"idempotency_key\":\"k\",\"x\":\"\xff\"}"} {
		if _, err := c.PostRaw(t.Context(), "k", []byte(raw)); err == nil || errors.Is(err, ErrFull) {
			t.Errorf("%s was taken", raw)
		}
	}
}

// A callback that posts while more events come than the inbox holds must not stop the answer it waits for.
func TestCallbackMayPostWithAFullInbox(t *testing.T) {
	f := newFake(t)
	var mu sync.Mutex
	var got []int64
	var h *harness
	release := make(chan struct{})
	h = start(t, f, func(c *Config) {
		c.OnEvent = func(ctx context.Context, e Event) {
			if e.Seq == 1 {
				<-release
				if _, err := h.Post(ctx, Draft{Key: "k1", Data: &protocol.MessagePost{Text: "hi"}}); err != nil {
					t.Errorf("post: %v", err)
				}
			}
			mu.Lock()
			got = append(got, e.Seq)
			mu.Unlock()
		}
	})
	p := f.greeted()
	p.expectSubscribe(0)
	for seq := 1; seq <= inboxSize+2; {
		var b strings.Builder
		for n := 0; n < 500 && seq <= inboxSize+2; n++ {
			b.WriteString("," + eventJSON(seq))
			seq++
		}
		p.send(`{"frame":"events","events":[` + b.String()[1:] + `]}`)
	}
	close(release)
	p = f.greeted() // the reader had no room
	p.expectWrite("k1")
	p.ack("k1", 9999, true)
	p.expect(`{"frame":"subscribe"`)
	for seq := inboxSize; seq <= inboxSize+10; seq++ {
		p.event(seq)
	}
	deadline := time.After(10 * time.Second)
	for h.LastSeq() < inboxSize+10 {
		select {
		case <-deadline:
			t.Fatalf("handed up to %d", h.LastSeq())
		case <-time.After(time.Millisecond):
		}
	}
	mu.Lock()
	defer mu.Unlock()
	for i, s := range got {
		if s != int64(i+1) {
			t.Fatalf("place %d holds seq %d", i, s)
		}
	}
}

func TestBackoff(t *testing.T) {
	if d := backoff(0, time.Second); d != 0 {
		t.Errorf("the first try waits %v", d)
	}
	for tries := 1; tries < 100; tries++ {
		if d := backoff(tries, 30*time.Second); d < 0 || d > 30*time.Second || (tries < 5 && d > 100*time.Millisecond<<tries) {
			t.Errorf("try %d waits %v", tries, d)
		}
	}
}
