package engine

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/chipschat/chips-aws/shared/workspace"
)

var errOutOfTime = errors.New("nobody waits any more")

// maxChain is how many commits go down in one Append at most.
const maxChain = 100

// submit hands an attempt to the workspace's driver and waits for what it says, or for the attempt's time to be up.
func (w *warm) submit(a *attempt) verdict {
	w.mu.Lock()
	w.queue = append(w.queue, a)
	if !w.driving {
		w.driving = true
		go w.drive()
	}
	w.mu.Unlock()
	select {
	case v := <-a.verdict:
		return v
	case <-a.ctx.Done():
	}
	select {
	case v := <-a.verdict:
		return v
	default:
		return verdict{err: errOutOfTime}
	}
}

// drive decides and puts down what waits, in rounds, until nothing does. There is one at a time for a workspace.
func (w *warm) drive() {
	var todo []*attempt
	for {
		if todo = w.next(todo); len(todo) == 0 {
			return
		}
		todo = w.round(todo)
	}
}

// next is what the next round is about: what is left of the last, and what waits. Attempts that nobody waits for are dropped.
func (w *warm) next(todo []*attempt) []*attempt {
	abandoned := func(a *attempt) bool { return a.ctx.Err() != nil }
	w.mu.Lock()
	defer w.mu.Unlock()
	todo = slices.DeleteFunc(todo, abandoned)
	w.queue = slices.DeleteFunc(w.queue, abandoned)
	n := min(len(w.queue), max(0, maxChain-len(todo)))
	todo = append(todo, w.queue[:n]...)
	w.queue = slices.Delete(w.queue, 0, n)
	w.driving = len(todo) > 0
	return todo
}

// round decides attempts and puts down those that are accepted, all in one chain. It answers those that need another round: what
// was refused on a state that others' commits, or the chain's own, may have made old, and what lost its slot.
func (w *warm) round(todo []*attempt) []*attempt {
	ctx, stop := whileWanted(todo)
	defer stop()
	if err := w.load(ctx); err != nil {
		return w.setBack(ctx, todo, err)
	}
	chain, rest := w.plan(todo)
	if len(chain) > 0 {
		lost, written := w.putDown(ctx, chain)
		if written { // so nothing had been committed after the state they were refused on
			freshen(rest)
		}
		if len(lost) == 0 {
			return rest
		}
		rest = append(w.setBack(ctx, lost, nil), rest...)
	}
	if len(rest) == 0 {
		return nil
	}
	if err := w.catchUp(ctx); err != nil {
		return w.setBack(ctx, rest, err)
	}
	freshen(rest)
	return rest
}

// plan decides attempts one after another, each on the state that the accepted ones before it lead to, and answers those. What
// is refused is told so only where nothing committed can be missing from the state, and nothing uncommitted is in it.
func (w *warm) plan(todo []*attempt) (chain, rest []*attempt) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.state == nil {
		return nil, todo
	}
	if w.ahead != nil && w.ahead.Seq != w.state.Seq {
		w.ahead = nil
	}
	keys := map[keyID]bool{}
	for i, a := range todo {
		if a.key.key != "" {
			if first := w.keys.first[a.key]; first > 0 {
				a.verdict <- verdict{found: first}
				continue
			}
			if a.claim != nil && a.clear < w.keys.from {
				a.verdict <- verdict{look: true}
				continue
			}
			if keys[a.key] {
				rest = append(rest, a)
				continue
			}
		}
		s, err := w.after(chain)
		if err != nil {
			return chain, append(rest, todo[i:]...)
		}
		refusal, err := w.engine.draft(s, a)
		switch {
		case err != nil:
			a.verdict <- verdict{err: err}
		case len(a.missing) > 0:
			a.verdict <- verdict{missing: a.missing}
		case len(a.commit.Events) > 0:
			a.decided, a.recalled = w.state.Seq, w.keys.from
			a.aim()
			keys[a.key] = true
			chain = append(chain, a)
		case a.fresh && len(chain) == 0:
			a.verdict <- verdict{refusal: refusal, nothing: refusal == nil, head: s.Seq}
		default:
			rest = append(rest, a)
		}
	}
	return chain, rest
}

// after is the state that a chain leads to. The lock is held.
func (w *warm) after(chain []*attempt) (*workspace.State, error) {
	if len(chain) == 0 {
		return w.state, nil
	}
	var err error
	if w.ahead == nil {
		w.ahead, err = clone(w.state)
	}
	if err == nil {
		_, err = w.engine.advance(w.ahead, chain[len(chain)-1].commit) // the others are in it
	}
	if err != nil {
		w.ahead = nil
	}
	return w.ahead, err
}

// setBack counts a failure against attempts, ends those that had their share, and waits a little before the others go on.
// Without an error they lost to others.
func (w *warm) setBack(ctx context.Context, todo []*attempt, err error) []*attempt {
	if err == nil {
		err = fmt.Errorf("%w: others were first each time", ErrBusy)
	}
	most := 0
	todo = slices.DeleteFunc(todo, func(a *attempt) bool {
		a.losses++
		most = max(most, a.losses)
		if a.losses < w.engine.o.Tries {
			return false
		}
		a.verdict <- verdict{err: err}
		return true
	})
	if len(todo) > 0 {
		Pause(ctx, most)
	}
	return todo
}

// Pause waits for a random time that grows with the failures so far, and says whether it is worth going on.
func Pause(ctx context.Context, failures int) bool {
	return Sleep(ctx, rand.N(min(5*time.Millisecond<<min(failures, 10), 200*time.Millisecond)))
}

// Sleep waits, and says whether it did so to the end.
func Sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// Beside does n things, so many at once, and answers what errors they had, by their order.
func Beside(n, atOnce int, do func(i int) error) error {
	errs := make([]error, n)
	var running sync.WaitGroup
	turns := make(chan struct{}, max(1, min(n, atOnce)))
	for i := range n {
		turns <- struct{}{}
		running.Go(func() {
			defer func() { <-turns }()
			errs[i] = do(i)
		})
	}
	running.Wait()
	return errors.Join(errs...)
}

func freshen(todo []*attempt) {
	for _, a := range todo {
		a.fresh = true
	}
}

// whileWanted is a context that ends when those of all attempts have ended.
func whileWanted(todo []*attempt) (context.Context, func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(todo[0].ctx))
	var waiting atomic.Int64
	waiting.Store(int64(len(todo)))
	stops := make([]func() bool, len(todo))
	for i, a := range todo {
		stops[i] = context.AfterFunc(a.ctx, func() {
			if waiting.Add(-1) == 0 {
				cancel()
			}
		})
	}
	return ctx, func() {
		for _, stop := range stops {
			stop()
		}
		cancel()
	}
}
