package client

import (
	"context"
	"sync/atomic"
	"time"
)

// inboxSize is how many events may wait for the callback.
const inboxSize = 4096

// inboxWait is how long the reader waits for room. It is bounded because a callback that waits for an ack needs the reader.
const inboxWait = 2 * time.Second

// inbox is the stream between the reader and the callback, and how far it has come.
type inbox struct {
	events chan Event
	room   chan struct{} // holds a token when half of it or more is free
	// last is the seq of the newest event let in, where the next subscription starts; negative before that is known.
	last atomic.Int64
	// repeats counts what came and had been let in before.
	repeats atomic.Int64
}

func newInbox(since *int64) *inbox {
	b := &inbox{events: make(chan Event, inboxSize), room: make(chan struct{}, 1)}
	b.last.Store(-1)
	if since != nil {
		b.last.Store(*since)
	}
	return b
}

// put lets an event in, drops it when it was let in before, and answers false when there was no room for it.
func (b *inbox) put(ctx context.Context, e Event) bool {
	if e.Seq <= b.last.Load() {
		b.repeats.Add(1)
		return true
	}
	select {
	case b.events <- e:
	default:
		timer := time.NewTimer(inboxWait)
		defer timer.Stop()
		select {
		case b.events <- e:
		case <-timer.C:
			return false
		case <-ctx.Done():
			return false
		}
	}
	b.last.Store(e.Seq)
	return true
}

// take waits for the next event; false when ctx ended.
func (b *inbox) take(ctx context.Context) (Event, bool) {
	if len(b.events) <= inboxSize/2 {
		select {
		case b.room <- struct{}{}:
		default:
		}
	}
	select {
	case e := <-b.events:
		return e, true
	case <-ctx.Done():
		return Event{}, false
	}
}

// waitRoom waits until half of it is free.
func (b *inbox) waitRoom(ctx context.Context) error {
	for len(b.events) > inboxSize/2 {
		select {
		case <-b.room:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}
