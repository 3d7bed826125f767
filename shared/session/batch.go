package session

import (
	"bytes"
	"context"
	"slices"

	"github.com/go-json-experiment/json"

	"github.com/chipschat/chips-aws/shared/delivery"
	"github.com/chipschat/chips-aws/shared/protocol"
	"github.com/chipschat/chips-aws/shared/workspace"
)

// frame is n events on the wire, the last of them at seq last.
type frame struct {
	bytes []byte
	n     int
	last  int64
}

// render folds the events in and writes those that are covered: several to an events frame where the client takes those.
func (r *replay) render(ctx context.Context, events []protocol.Event, covered []bool) ([]frame, error) {
	var frames []frame
	hand := delivery.Hand{Now: r.s.c.Now(), Goes: func(run string) bool { return r.going[run] }}
	for i, e := range events {
		workspace.Evolve(r.state, e)
		r.lines.Saw(r.state, e)
		if !covered[i] && !delivery.Always(r.state, e, r.to) {
			continue
		}
		var unread error
		Guard(ctx, r.s.c.Log, e, func() error {
			lines, err := r.lines.For(ctx, r.s.c.Engine, r.state, e, r.to)
			if err != nil {
				unread = err
				return nil
			}
			handed, err := HandOver(ctx, r.s.c.Files, delivery.Render(r.state, e, r.to, lines), hand, r.to.Credential)
			if err != nil {
				unread = err
				return nil
			}
			if r.batch {
				frames, err = r.add(frames, handed)
				return err
			}
			b, err := EventFrame(handed)
			if err == nil {
				frames = append(frames, frame{b, 1, e.Seq})
			}
			return err
		})
		if unread != nil {
			return nil, unread
		}
	}
	if r.batch {
		for i := range frames {
			frames[i].bytes = append(frames[i].bytes, "]}"...)
		}
	}
	return frames, nil
}

// TakesBatches says whether a live connection takes several events in one frame. SUB-9 sends single ones to who accepts events alone.
func (c *Connection) TakesBatches() bool {
	return slices.Contains(c.Accepts, "events") && slices.Contains(c.Accepts, "batches")
}

// Batch packs frames of EventFrame into events frames, in their order and within the limits of those. What is by itself, or is another
// frame, stays as it is.
func (s *Sessions) Batch(frames [][]byte) [][]byte {
	var packed [][]byte
	for len(frames) > 0 {
		n, size := 1, len(openEvents)+len("]}")+len(frames[0])-len(openEvent)
		for isEvent(frames[0]) && n < len(frames) && isEvent(frames[n]) && n < s.c.Limits.EventsPerFrame && size+len(frames[n])-len(openEvent) <= s.c.Limits.FrameBytes {
			size += len(frames[n]) - len(openEvent) // its last byte makes room for the comma
			n++
		}
		if n == 1 {
			packed, frames = append(packed, frames[0]), frames[1:]
			continue
		}
		b := append(make([]byte, 0, size), openEvents...)
		for _, f := range frames[:n] {
			b = append(append(b, f[len(openEvent):len(f)-1]...), ',')
		}
		packed, frames = append(packed, append(b[:len(b)-1], "]}"...)), frames[n:]
	}
	return packed
}

func isEvent(frame []byte) bool { return bytes.HasPrefix(frame, []byte(openEvent)) }

// ReceiptFrame is a receipt as a frame.
func ReceiptFrame(key, disposition string) ([]byte, error) {
	return json.Marshal(protocol.Receipt{Frame: protocol.FrameReceipt, IdempotencyKey: key, Disposition: disposition})
}

// How an event frame and an events frame begin.
const (
	openEvent  = `{"frame":"event","event":`
	openEvents = `{"frame":"events","events":[`
)

// add writes an event, as it is sent, into the last of the open events frames, or into a new one.
func (r *replay) add(frames []frame, e protocol.Event) ([]frame, error) {
	if len(frames) > 0 {
		f := &frames[len(frames)-1]
		before := len(f.bytes)
		b, err := e.Append(append(f.bytes, ','))
		if err != nil {
			return frames, err
		}
		if f.n < r.s.c.Limits.EventsPerFrame && len(b)+len("]}") <= r.s.c.Limits.FrameBytes {
			f.bytes, f.last = b, e.Seq
			f.n++
			return frames, nil
		}
		f.bytes = b[:before]
		next := append(make([]byte, 0, r.s.c.Limits.FrameBytes), openEvents...)
		return append(frames, frame{append(next, b[before+1:]...), 1, e.Seq}), nil
	}
	b, err := e.Append(append(make([]byte, 0, r.s.c.Limits.FrameBytes), openEvents...))
	if err != nil {
		return frames, err
	}
	return append(frames, frame{b, 1, e.Seq}), nil
}
