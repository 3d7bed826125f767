package embedded

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"go.etcd.io/bbolt"

	"github.com/chipschat/chips-aws/shared/engine"
)

// maxBatch is how many writes share one sync at most: enough that a sync is a small part of each, few enough that none waits long.
const maxBatch = 256

// write is one write that waits for the committer.
type write struct {
	// do makes the write. It keeps its own answer, which counts only if the batch is committed. An error is the store's own failure,
	// and all writes of the batch fail with it.
	do func(*bbolt.Tx) error
	// commits are what do has added to logs, for the feeds.
	commits []engine.Commit
	err     error
	done    chan struct{}
}

// submit hands a write to the committer and waits until it is durable. After an error its outcome is unknown.
func (t *Table) submit(ctx context.Context, what string, w *write) error {
	w.done = make(chan struct{})
	select {
	case <-t.closing:
		return ErrClosed
	default:
	}
	select {
	case t.writes <- w:
	case <-t.closing:
		return ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case <-w.done:
	case <-ctx.Done():
		return ctx.Err()
	case <-t.stopped:
		// Handed over just as the committer stopped: it may still have been answered.
		select {
		case <-w.done:
		default:
			return ErrClosed
		}
	}
	if w.err != nil {
		return fmt.Errorf("%s: %w", what, w.err)
	}
	return nil
}

// commit is the committer.
func (t *Table) commit() {
	defer close(t.stopped)
	batch := make([]*write, 0, maxBatch)
	for {
		select {
		case w := <-t.writes:
			batch = t.drain(append(batch[:0], w))
		case <-t.closing:
			if batch = t.drain(batch[:0]); len(batch) == 0 {
				return
			}
		}
		t.commitBatch(batch)
		clear(batch)
	}
}

// drain adds what waits already to a batch.
func (t *Table) drain(batch []*write) []*write {
	for len(batch) < maxBatch {
		select {
		case w := <-t.writes:
			batch = append(batch, w)
		default:
			return batch
		}
	}
	return batch
}

// commitBatch makes writes durable, or none of them, and answers them.
func (t *Table) commitBatch(batch []*write) {
	err := sound(func() error {
		return t.db.Update(func(tx *bbolt.Tx) error {
			for _, w := range batch {
				if err := w.do(tx); err != nil {
					return err
				}
			}
			return nil
		})
	})
	for _, w := range batch {
		if err == nil {
			t.feeds.add(w.commits) // first: a feed that is made after the answer does not tell of it
		}
		w.err = err
		close(w.done)
	}
}

// errCorrupt says that the file holds what this package did not write.
var errCorrupt = errors.New("the file is damaged: it holds what cannot be read")

// sound does something with the store, and makes an error of what the store throws about a damaged file: one page that cannot be read
// must not end the process.
func sound(do func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true)) // the file is mapped: an offset that is wrong leads anywhere
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %v", errCorrupt, p)
		}
	}()
	return do()
}
