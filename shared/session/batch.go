package session

import (
	"context"

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
	hand := delivery.Hand{Now: r.s.c.Now()}
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
			if r.batch {
				frames, err = r.add(frames, delivery.Finish(delivery.Render(r.state, e, r.to, lines), hand))
				return err
			}
			b, err := EventFrame(delivery.Finish(delivery.Render(r.state, e, r.to, lines), hand))
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

// add writes an event, as it is sent, into the last of the open events frames, or into a new one.
func (r *replay) add(frames []frame, e protocol.Event) ([]frame, error) {
	const open = `{"frame":"events","events":[`
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
		next := append(make([]byte, 0, r.s.c.Limits.FrameBytes), open...)
		return append(frames, frame{append(next, b[before+1:]...), 1, e.Seq}), nil
	}
	b, err := e.Append(append(make([]byte, 0, r.s.c.Limits.FrameBytes), open...))
	if err != nil {
		return frames, err
	}
	return append(frames, frame{b, 1, e.Seq}), nil
}
