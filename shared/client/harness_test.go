package client

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/chipschat/chips-aws/shared/protocol"
)

// harness runs a client against a fake server and collects what it is handed.
type harness struct {
	*Client
	events chan int64
	states chan State
	ended  chan error
	cancel context.CancelFunc
}

func start(t *testing.T, f *fakeServer, change func(*Config)) *harness {
	h := &harness{events: make(chan int64, 10000), states: make(chan State, 100), ended: make(chan error, 1)}
	zero := int64(0)
	cfg := Config{
		URL: f.url, Credential: Bearer("secret"), Since: &zero,
		OnEvent: func(_ context.Context, e Event) { h.events <- e.Seq },
		OnState: func(s State, _ error) { h.states <- s },
	}
	if change != nil {
		change(&cfg)
	}
	h.Client = New(cfg)
	ctx, cancel := context.WithCancel(context.Background())
	h.cancel = cancel
	done := make(chan struct{})
	go func() {
		defer close(done)
		h.ended <- h.Run(ctx)
	}()
	t.Cleanup(func() { cancel(); <-done })
	return h
}

// want reads events until the seqs are there, in order.
func (h *harness) want(t *testing.T, seqs ...int64) {
	t.Helper()
	var got []int64
	for range seqs {
		select {
		case s := <-h.events:
			got = append(got, s)
		case <-time.After(5 * time.Second):
			t.Fatalf("handed %v, want %v", got, seqs)
		}
	}
	if d := cmp.Diff(seqs, got); d != "" {
		t.Fatal(d)
	}
}

// waitUnanswered polls until n events wait for their answer.
func (h *harness) waitUnanswered(t *testing.T, n int) {
	t.Helper()
	deadline := time.After(5 * time.Second)
	for h.Unanswered() != n {
		select {
		case <-deadline:
			t.Fatalf("%d unanswered, want %d", h.Unanswered(), n)
		case <-time.After(time.Millisecond):
		}
	}
}

type answer struct {
	ack protocol.Ack
	err error
}

func (h *harness) post(key string) chan answer {
	out := make(chan answer, 1)
	go func() {
		ack, err := h.Post(context.Background(), Draft{Key: key, SpaceID: "spc_1", Data: &protocol.MessagePost{Text: "hi"}})
		out <- answer{ack, err}
	}()
	return out
}

func await[T any](t *testing.T, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(5 * time.Second):
		t.Fatal("nothing came")
		panic("unreachable")
	}
}
