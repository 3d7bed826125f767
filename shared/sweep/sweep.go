package sweep

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/chipschat/chips-aws/shared/engine"
)

// Handler does what is due about one row. It is told of rows that were done already, and of one row by two sweeps at once. Its
// context ends after ten seconds. An error puts the row off.
type Handler func(ctx context.Context, row engine.Row) error

// Config is what a Sweep is made of. Only Beside may be nil.
type Config struct {
	Rows engine.Rows
	// Due are the handlers by what a row's PK begins with, up to and with its '#'.
	Due map[string]Handler
	// Beside is run in each sweep, all at once and beside the rows. The context of each ends when the run does: what is left is for
	// the next to do.
	Beside []func(context.Context) error
	Now    func() time.Time
	Log    *slog.Logger
}

const (
	// runFor is how long a run begins anything new, and rowFor how long a handler may take: together less than the minute between
	// two runs.
	runFor = 40 * time.Second
	rowFor = 10 * time.Second
	// spare is what is left of a run's own deadline when nothing new is begun any more.
	spare = rowFor + 5*time.Second
	// page is how many rows of a shard are read at once.
	page = 100
	// A row that fails is put off by firstDelay, and at most by lastDelay.
	firstDelay = time.Minute
	lastDelay  = time.Hour
	// remembered is of how many failing rows is kept how often they failed.
	remembered = 10_000
)

// Sweep does what is due. It is for one or several goroutines, and any number of them may share the table.
type Sweep struct {
	c Config

	mu sync.Mutex
	// failures is how often in a row the handling of a row failed.
	failures map[key]int
}

type key struct{ pk, sk string }

// New makes a Sweep of its parts.
func New(c Config) *Sweep { return &Sweep{c: c, failures: map[key]int{}} }

// Run sweeps once. The error says what could not be looked at; rows whose handling failed are logged and come again by themselves.
func (s *Sweep) Run(ctx context.Context) error {
	until := s.c.Now().Add(runFor)
	if deadline, ok := ctx.Deadline(); ok && deadline.Add(-spare).Before(until) {
		until = deadline.Add(-spare)
	}
	jobs := make([]func() error, 0, engine.DueShards+len(s.c.Beside))
	for shard := range engine.DueShards {
		jobs = append(jobs, func() error { return s.shard(ctx, shard, until) })
	}
	for _, beside := range s.c.Beside {
		jobs = append(jobs, func() error {
			ctx, cancel := context.WithDeadline(ctx, until)
			defer cancel()
			return guarded(func() error { return beside(ctx) })
		})
	}
	errs := make([]error, len(jobs))
	var running sync.WaitGroup
	for i, job := range jobs {
		running.Go(func() { errs[i] = job() })
	}
	running.Wait()
	return errors.Join(errs...)
}

// shard does what is due in one shard, the oldest first, as long as something may be begun.
func (s *Sweep) shard(ctx context.Context, shard int, until time.Time) error {
	seen := map[key]bool{}
	for {
		rows, err := s.c.Rows.Due(ctx, shard, s.c.Now(), page)
		if err != nil {
			return fmt.Errorf("read what is due in shard %d: %w", shard, err)
		}
		news := false
		for _, row := range rows {
			k := key{row.PK, row.SK}
			if seen[k] { // the index is late, or it is due again: the next run's
				continue
			}
			if ctx.Err() != nil || !s.c.Now().Before(until) {
				return nil
			}
			seen[k], news = true, true
			s.row(ctx, k, row)
		}
		if !news || len(rows) < page {
			return nil
		}
	}
}

// row does what is due about one row, and puts it off where that fails.
func (s *Sweep) row(ctx context.Context, k key, row engine.Row) {
	kind, _, _ := strings.Cut(row.PK, "#")
	handle := s.c.Due[kind+"#"]
	if handle == nil {
		handle = func(context.Context, engine.Row) error {
			return errors.New("nobody knows what is due about such a row")
		}
	}
	limited, cancel := context.WithTimeout(ctx, rowFor)
	defer cancel()
	err := guarded(func() error { return handle(limited, row) })
	if err == nil {
		s.mu.Lock()
		delete(s.failures, k)
		s.mu.Unlock()
		return
	}
	if ctx.Err() != nil {
		return // the run was ended, which says nothing about the row
	}
	delay := s.delay(k)
	s.c.Log.ErrorContext(ctx, "what is due could not be done and is put off", "pk", row.PK, "sk", row.SK, "due", row.Due, "for", delay.String(), "error", err)
	row.Due = s.c.Now().Add(delay)
	// Where somebody wrote the row meanwhile, they said when it is due.
	if _, err := s.c.Rows.Put(ctx, row, engine.IfRev(row.Rev)); err != nil && !errors.Is(err, engine.ErrCondition) {
		s.c.Log.ErrorContext(ctx, "what is due could not be put off", "pk", row.PK, "sk", row.SK, "error", err)
	}
}

// delay counts a failure and says for how long the row is put off.
func (s *Sweep) delay(k key) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.failures) >= remembered {
		clear(s.failures)
	}
	n := s.failures[k]
	s.failures[k] = n + 1
	if n >= 6 {
		return lastDelay
	}
	return min(firstDelay<<n, lastDelay)
}

// guarded makes a panic an error: one row's is not to be the others'.
func guarded(do func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return do()
}
