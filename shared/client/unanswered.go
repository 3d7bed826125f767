package client

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/chipschat/chips-aws/shared/protocol"
)

// Errors of Post that are no answer of the server.
var (
	// ErrFull says that as many events wait for their answer as may; the event was not taken.
	ErrFull = errors.New("too many events are waiting for an answer")
	// ErrStopped says that Run has ended, so whether the event landed is not known.
	ErrStopped = errors.New("the client has stopped")
)

// write is an event that the server has not answered yet.
type write struct {
	key   string
	raw   jsontext.Value
	place int64         // its place in the order of writing, from 1
	done  chan struct{} // closed when ack and err are set
	ack   protocol.Ack
	err   error
}

// unanswered is the promise of the writing side: the events without an answer, in the order they were given.
type unanswered struct {
	max int

	mu      sync.Mutex
	stopped bool
	places  int64
	order   []*write
	byKey   map[string]*write
	more    chan struct{} // holds a token when something was added
}

func newUnanswered(limit int) *unanswered {
	return &unanswered{max: limit, byKey: map[string]*write{}, more: make(chan struct{}, 1)}
}

// add takes an event in, or finds the one that waits under the same key.
func (u *unanswered) add(key string, raw jsontext.Value) (*write, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if w, ok := u.byKey[key]; ok {
		return w, nil
	}
	if u.stopped {
		return nil, ErrStopped
	}
	if len(u.order) >= u.max {
		return nil, ErrFull
	}
	u.places++
	w := &write{key: key, raw: raw, place: u.places, done: make(chan struct{})}
	u.order = append(u.order, w)
	u.byKey[key] = w
	select {
	case u.more <- struct{}{}:
	default:
	}
	return w, nil
}

// answer ends the promise for a key; an answer nobody waits for is dropped.
func (u *unanswered) answer(key string, ack protocol.Ack, err error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	w, ok := u.byKey[key]
	if !ok {
		return
	}
	delete(u.byKey, key)
	i, _ := slices.BinarySearchFunc(u.order, w.place, comparePlace)
	u.order = slices.Delete(u.order, i, i+1)
	w.ack, w.err = ack, err
	close(w.done)
}

// after answers the first event whose place is above place, nil when there is none.
func (u *unanswered) after(place int64) *write {
	u.mu.Lock()
	defer u.mu.Unlock()
	i, _ := slices.BinarySearchFunc(u.order, place+1, comparePlace)
	if i == len(u.order) {
		return nil
	}
	return u.order[i]
}

// newest is the place of the event added last, 0 when there was none.
func (u *unanswered) newest() int64 {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.places
}

// next waits for an event whose place is above place.
func (u *unanswered) next(ctx context.Context, place int64) (*write, error) {
	for {
		if w := u.after(place); w != nil {
			return w, nil
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-u.more:
		}
	}
}

// stop tells everybody who waits that no answer will come.
func (u *unanswered) stop() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.stopped = true
	for _, w := range u.order {
		w.err = ErrStopped
		close(w.done)
	}
	u.order, u.byKey = nil, map[string]*write{}
}

func comparePlace(w *write, place int64) int { return int(w.place - place) }
