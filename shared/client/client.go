package client

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	mrand "math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/chipschat/chips-aws/shared/protocol"
)

// Client is one participant's connection to Chips. Its methods may be called from many goroutines.
type Client struct {
	cfg Config
	// API is the HTTP side, under the same credential.
	API API

	writes  *unanswered
	managed []*managing
	inbox   *inbox
	handed  atomic.Int64
}

// New makes a client; Run connects it.
func New(cfg Config) *Client {
	cfg = cfg.withDefaults()
	c := &Client{
		cfg:    cfg,
		API:    API{URL: cfg.URL, Credential: cfg.Credential, HTTP: cfg.HTTP},
		writes: newUnanswered(cfg.MaxUnanswered),
		inbox:  newInbox(cfg.Since),
	}
	for _, m := range cfg.Managed {
		c.managed = append(c.managed, &managing{Managed: m})
	}
	if cfg.Since != nil {
		c.handed.Store(*cfg.Since)
	}
	return c
}

// LastSeq is the seq of the last event whose callback has returned: what to pass as Since to a client that goes on from here.
// It is 0 before the first, where Since was nil.
func (c *Client) LastSeq() int64 { return c.handed.Load() }

// Repeats is how many events came that had come before, and were dropped. A server that keeps its word sends none.
func (c *Client) Repeats() int64 { return c.inbox.repeats.Load() }

// Run keeps the client connected until ctx ends, and then answers ctx's error; or until the server refuses it for good (the credential
// does not stand, no protocol version in common), and then answers that as a *protocol.Error. It may be called once.
func (c *Client) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	delivered := make(chan struct{})
	go func() {
		defer close(delivered)
		c.deliver(ctx)
	}()
	defer func() { cancel(); c.writes.stop(); <-delivered }()

	for tries := 0; ; tries++ {
		progress, err := c.connect(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		var refusal *permanentError
		if errors.As(err, &refusal) {
			return refusal.err
		}
		c.state(Lost, err)
		if progress {
			tries = 0
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(backoff(tries, c.cfg.MaxBackoff)):
		}
	}
}

// backoff is how long to wait after so many tries that came to nothing: not at all at first, then up to twice as long each time.
// The whole pause is drawn, so clients that lost the same server do not come back together.
func backoff(tries int, longest time.Duration) time.Duration {
	if tries == 0 {
		return 0
	}
	most := longest
	if tries < 10 {
		most = min(longest, 100*time.Millisecond<<tries)
	}
	return mrand.N(most)
}

// Post writes an event and waits for the server's answer: its ack, or a *protocol.Error that refuses it. When ctx ends first, the event
// goes on being sent all the same. ErrFull and ErrStopped say why there is no answer.
func (c *Client) Post(ctx context.Context, d Draft) (protocol.Ack, error) {
	d.Key = cmp.Or(d.Key, rand.Text())
	raw, err := d.encode()
	if err != nil {
		return protocol.Ack{}, fmt.Errorf("encode %s: %w", d.Data.EventType(), err)
	}
	return c.PostRaw(ctx, d.Key, raw)
}

// PostRaw is Post for an event that is JSON already, with key as its idempotency_key.
func (c *Client) PostRaw(ctx context.Context, key string, raw jsontext.Value) (protocol.Ack, error) {
	// What the server cannot read it cannot answer by key, and the promise would never end.
	var inside struct {
		Key string `json:"idempotency_key"`
	}
	if err := json.Unmarshal(raw, &inside); err != nil {
		return protocol.Ack{}, fmt.Errorf("the event is no valid JSON: %w", err)
	}
	if key == "" || len(key) > 255 || inside.Key != key {
		return protocol.Ack{}, errors.New("idempotency_key is 1 to 255 bytes, inside the event")
	}
	w, err := c.writes.add(key, raw)
	if err != nil {
		return protocol.Ack{}, err
	}
	select {
	case <-w.done:
		return w.ack, w.err
	case <-ctx.Done():
		return protocol.Ack{}, ctx.Err()
	}
}

// Unanswered is how many events wait for their answer.
func (c *Client) Unanswered() int {
	c.writes.mu.Lock()
	defer c.writes.mu.Unlock()
	return len(c.writes.order)
}

// deliver hands events to the callback until ctx ends.
func (c *Client) deliver(ctx context.Context) {
	for {
		e, ok := c.inbox.take(ctx)
		if !ok {
			return
		}
		if c.cfg.OnEvent != nil {
			c.cfg.OnEvent(ctx, e)
		}
		c.handed.Store(e.Seq)
	}
}

func (c *Client) state(s State, err error) {
	if c.cfg.OnState != nil {
		c.cfg.OnState(s, err)
	}
}

// permanentError is a refusal that a new try cannot cure.
type permanentError struct{ err *protocol.Error }

func (e *permanentError) Error() string { return e.err.Error() }
