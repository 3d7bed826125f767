package fanout_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/chipschat/chips-aws/shared/engine"
	"github.com/chipschat/chips-aws/shared/fanout"
	"github.com/chipschat/chips-aws/shared/protocol"
	"github.com/chipschat/chips-aws/shared/workspace"
)

// Context is read for whom it is for, once for a room, and for nobody else.
func TestContextIsReadOnceForARoom(t *testing.T) {
	h := newHouse(t)
	reads := &readsOf{Log: h.engine}
	h.fanout = fanout.New(fanout.Config{Log: reads, Connections: h.sessions, Rows: h.rows, Push: h, Now: time.Now, Logger: quiet})
	h.listen(h.scout)
	h.listen(h.scout)
	h.listen(h.arjun)
	for range 5 {
		h.say(h.arjun, "for Priya")
		h.ring()
	}
	if reads.n != 0 {
		t.Errorf("%d reads of a room where nobody was asked", reads.n)
	}
	for range 5 {
		h.say(h.arjun, "@Scout?")
		h.say(h.priya, "for Arjun")
		h.ring()
	}
	for range 3 { // what was said is edited, over and over
		said := h.say(h.priya, "for Arjun, edited").Events[0]
		for _, text := range []string{"two", "three"} {
			h.do(h.priya, workspace.Draft(&protocol.MessageEdited{MessageID: protocol.MessageID(said.ID), Text: text}))
		}
		h.say(h.arjun, "@Scout?")
		h.ring()
	}
	if reads.n != 1 {
		t.Errorf("%d reads of a room for sixteen messages, want 1", reads.n)
	}
	reads.err = errors.New("the table is away")
	h.fanout = fanout.New(fanout.Config{Log: reads, Connections: h.sessions, Rows: h.rows, Push: h, Now: time.Now, Logger: quiet})
	id := h.listen(h.scout)
	h.say(h.arjun, "@Scout, once more?")
	if err := h.fanout.Ring(t.Context(), h.ws, nil); !errors.Is(err, reads.err) {
		t.Errorf("ring: %v", err)
	}
	reads.err = nil
	h.ring()
	if got := h.heard(id); got != "message.new @Scout, once more?" {
		t.Errorf("sent %q once it can be read", got)
	}
}

// readsOf counts the reads of rooms, and fails them with err.
type readsOf struct {
	fanout.Log
	n   int
	err error
}

func (r *readsOf) EventAt(ctx context.Context, ws string, seq int64) (protocol.Event, error) {
	r.n++
	return r.Log.EventAt(ctx, ws, seq)
}

func (r *readsOf) RoomCommits(ctx context.Context, ws, space string, line int64, limit int) ([]engine.Commit, error) {
	r.n++
	if r.err != nil {
		return nil, r.err
	}
	return r.Log.RoomCommits(ctx, ws, space, line, limit)
}
