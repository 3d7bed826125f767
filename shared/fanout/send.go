package fanout

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/chipschat/chips-aws/shared/delivery"
	"github.com/chipschat/chips-aws/shared/engine"
	"github.com/chipschat/chips-aws/shared/protocol"
	"github.com/chipschat/chips-aws/shared/session"
	"github.com/chipschat/chips-aws/shared/workspace"
)

// target is a live connection and what it is to be sent: the frames of the events above from that are for it.
type target struct {
	conn   *session.Connection
	to     delivery.Recipient
	from   int64
	covers bool
	frames [][]byte
}

// render folds events in, gives each target its frames, and says whether there are any. An error is of reading.
func (w *worker) render(ctx context.Context, events []protocol.Event, live []*target) (some bool, err error) {
	hand := delivery.Hand{Now: w.f.c.Now(), Goes: goesAfter(events)}
	for _, e := range events {
		session.Guard(ctx, w.f.c.Logger, e, func() error {
			for _, t := range live {
				t.covers = t.from < e.Seq && delivery.Covers(w.kept.state, e, t.to)
			}
			return nil
		})
		workspace.Evolve(w.kept.state, e)
		w.kept.lines.Saw(w.kept.state, e)
		for _, t := range live {
			t.to = t.to.At(w.kept.state)
		}
		frames := map[string][]byte{} // by the class of those who read it alike
		for _, t := range live {
			if t.from >= e.Seq {
				continue
			}
			var unread error
			session.Guard(ctx, w.f.c.Logger, e, func() error {
				if !t.covers && !delivery.Covers(w.kept.state, e, t.to) && !delivery.FirstMember(w.kept.state, e, t.to) {
					return nil
				}
				class := delivery.Class(e, t.to)
				frame, ok := frames[class]
				if !ok {
					lines, err := w.kept.lines.For(ctx, w.f.c.Log, w.kept.state, e, t.to)
					if err != nil {
						unread = err
						return nil
					}
					handed, err := session.HandOver(ctx, w.f.c.Files, delivery.Render(w.kept.state, e, t.to, lines), hand, t.to.Credential)
					if err != nil {
						unread = err
						return nil
					}
					if frame, err = session.EventFrame(handed); err != nil {
						return err
					}
					frames[class] = frame
				}
				t.frames = append(t.frames, frame)
				some = true
				return nil
			})
			if unread != nil {
				return false, unread
			}
		}
		w.receipt(e, live)
	}
	return some, nil
}

// goesAfter says whether a run goes on that none of some events has ended.
func goesAfter(events []protocol.Event) func(run string) bool {
	ended := map[string]bool{}
	for _, e := range events {
		switch e.Data.(type) {
		case *protocol.RunCompleted, *protocol.RunFailed, *protocol.RunCancelled, *protocol.RunCancel:
			ended[e.RunID] = true
		}
	}
	return func(run string) bool { return !ended[run] }
}

// receipt tells the harnesses whose runs go in a room what becomes of a person's words there, beside the words; the state is the one just
// after them. A receipt is now or never. The person's own follows the ack (package session).
func (w *worker) receipt(e protocol.Event, live []*target) {
	disposition := w.kept.state.Disposition(e)
	if disposition == "" || e.IdempotencyKey == "" {
		return
	}
	frame, err := session.ReceiptFrame(e.IdempotencyKey, disposition)
	if err != nil {
		return
	}
	working := w.kept.state.WorkingAt(e)
	for _, t := range live {
		if t.from < e.Seq && t.to.Kind == protocol.KindHarness && working[t.to.ID] {
			t.frames = append(t.frames, frame)
		}
	}
}

// push sends each target its frames, side by side. An error means that a connection may go on with a hole: the range is not done.
func (w *worker) push(ctx context.Context, live []*target) error {
	var (
		wg   sync.WaitGroup
		sent atomic.Int64 // how many posts went well, of any
		mu   sync.Mutex
		errs []error
	)
	// All of a range has a limit too, so that one slow consumer does not hold its workspace up.
	rangeCtx, cancel := context.WithTimeout(ctx, 5*w.f.c.PostTimeout)
	defer cancel()
	for _, t := range live {
		if len(t.frames) == 0 {
			continue
		}
		wg.Go(func() {
			if err := w.pushTo(rangeCtx, t, &sent); err != nil {
				mu.Lock()
				defer mu.Unlock()
				errs = append(errs, err)
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// pushTo sends one target its frames in order. A connection that fails is ended here, so that it resumes by since.
func (w *worker) pushTo(ctx context.Context, t *target, sent *atomic.Int64) error {
	conns, id := w.f.c.Connections, t.conn.ID
	if t.conn.TakesBatches() {
		t.frames = conns.Batch(t.frames)
	}
	for _, frame := range t.frames {
		err := w.post(ctx, id, frame, sent)
		switch {
		case err == nil:
			continue
		case errors.Is(err, session.ErrTooLarge):
			w.f.c.Logger.ErrorContext(ctx, "a frame is too large and is passed over", "alarm", true,
				"workspace_id", w.ws, "connection_id", id, "bytes", len(frame))
			continue
		case errors.Is(err, session.ErrGone):
			return conns.Forget(context.WithoutCancel(ctx), w.ws, id)
		case errors.Is(err, session.ErrBehind):
			return conns.CutBehind(ctx, w.ws, id)
		}
		w.f.c.Logger.WarnContext(ctx, "a connection is cut: the outcome of a push is unknown", "workspace_id", w.ws,
			"connection_id", id, "error", err)
		return conns.Cut(ctx, w.ws, id, session.CloseTryAgain, "resume with since", nil)
	}
	return nil
}

// post sends one frame. Throttled, it tries again: for as long as a post may take while others get through, since it is this
// consumer's fault then; and as long as the range may take while none does, since it is the account's.
func (w *worker) post(ctx context.Context, connID string, frame []byte, sent *atomic.Int64) error {
	start, before := w.f.c.Now(), sent.Load()
	for wait := 20 * time.Millisecond; ; wait = min(2*wait, 500*time.Millisecond) {
		one, cancel := context.WithTimeout(ctx, w.f.c.PostTimeout)
		err := w.f.c.Push.Post(one, connID, frame)
		cancel()
		if err == nil {
			sent.Add(1)
		}
		if !errors.Is(err, session.ErrThrottled) {
			return err
		}
		if sent.Load() > before && w.f.c.Now().Sub(start) > w.f.c.PostTimeout {
			return session.ErrBehind
		}
		if !engine.Sleep(ctx, wait/2+rand.N(wait)) {
			return session.ErrBehind // certainly not sent, and no more time for it
		}
	}
}
