package sweep_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chipschat/chips-aws/shared/embedded"
	"github.com/chipschat/chips-aws/shared/engine"
	"github.com/chipschat/chips-aws/shared/sweep"
)

// world is a table with rows that are due, and what was done about them.
type world struct {
	t     *testing.T
	table *embedded.Table
	log   bytes.Buffer

	mu    sync.Mutex
	tried map[string][]time.Time // by sk
	order []string
	// do is how a row goes; nil deletes it.
	do func(ctx context.Context, row engine.Row) error
}

func newWorld(t *testing.T) *world {
	dir, err := os.MkdirTemp("/dev/shm", "chips")
	if err != nil {
		dir = t.TempDir()
	}
	table, err := embedded.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = table.Close()
		_ = os.RemoveAll(dir)
	})
	return &world{t: t, table: table, tried: map[string][]time.Time{}}
}

func (w *world) sweep(change ...func(*sweep.Config)) *sweep.Sweep {
	c := sweep.Config{
		Rows: w.table, Due: map[string]sweep.Handler{"J#": w.handle}, Now: time.Now, Log: slog.New(slog.NewTextHandler(&w.log, nil)),
	}
	for _, f := range change {
		f(&c)
	}
	return sweep.New(c)
}

func (w *world) handle(ctx context.Context, row engine.Row) error {
	w.mu.Lock()
	w.tried[row.SK] = append(w.tried[row.SK], time.Now())
	w.order = append(w.order, row.SK)
	w.mu.Unlock()
	if w.do != nil {
		if err := w.do(ctx, row); err != nil {
			return err
		}
	}
	_, err := w.table.Delete(ctx, row.PK, row.SK, engine.Always)
	return err
}

func (w *world) put(pk, sk string, due time.Time) {
	w.t.Helper()
	if _, err := w.table.Put(context.Background(), engine.Row{PK: pk, SK: sk, Body: []byte("{}"), Due: due}, engine.Always); err != nil {
		w.t.Fatal(err)
	}
}

// inShard is a sort key whose row is in a shard.
func inShard(pk string, shard, n int) string {
	for i := n * 100_000; ; i++ {
		if sk := fmt.Sprintf("%08d", i); engine.DueShard(pk, sk) == shard {
			return sk
		}
	}
}

func (w *world) times(sk string) []time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.tried[sk]
}

// What is due is done, the oldest of a shard first, as many as there are; what is not due yet is not.
func TestDoesWhatIsDue(t *testing.T) {
	w := newWorld(t)
	now := time.Now()
	var want []string
	for i := range 250 {
		sk := inShard("J#1", 3, i)
		want = append(want, sk)
		w.put("J#1", sk, now.Add(-time.Hour+time.Duration(i)*time.Second))
	}
	for i := range 100 {
		w.put("J#2", fmt.Sprint(i), now.Add(-time.Second))
	}
	w.put("J#2", "later", now.Add(time.Hour))
	if err := w.sweep().Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	if len(w.tried) != 350 || len(w.times("later")) != 0 {
		t.Errorf("%d rows were done", len(w.tried))
	}
	last := -1
	for _, sk := range w.order {
		for i := range want {
			if want[i] == sk {
				if i < last {
					t.Fatalf("row %d was done after row %d", i, last)
				}
				last = i
			}
		}
	}
}

// A row that fails, panics, hangs, or is of no known kind is put off, for longer each time, and holds up no other.
func TestPutsOffWhatFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		now := time.Now()
		fails, panics, hangs, fine := inShard("J#1", 5, 1), inShard("J#1", 5, 2), inShard("J#1", 5, 3), inShard("J#1", 5, 4)
		for i, sk := range []string{fails, panics, hangs, fine} {
			w.put("J#1", sk, now.Add(time.Duration(i-10)*time.Second))
		}
		w.put("Q#1", "unknown", now)
		w.do = func(ctx context.Context, row engine.Row) error {
			switch row.SK {
			case fails:
				return errors.New("broken")
			case panics:
				panic("broken")
			case hangs:
				<-ctx.Done()
				return ctx.Err()
			}
			return nil
		}
		s := w.sweep()
		for range 8 * 60 {
			if err := s.Run(context.Background()); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Until(time.Now().Truncate(time.Minute).Add(time.Minute)))
		}
		if got := w.times(fine); len(got) != 1 || got[0].Sub(now) > 15*time.Second {
			t.Errorf("the row behind them was done at %v", got)
		}
		for _, sk := range []string{fails, panics, hangs} {
			at := w.times(sk)
			if len(at) < 8 || len(at) > 16 {
				t.Errorf("%s was tried %d times in 8 hours", sk, len(at))
				continue
			}
			if first, last := at[1].Sub(at[0]), at[len(at)-1].Sub(at[len(at)-2]); first > 2*time.Minute+10*time.Second || last < time.Hour || last > time.Hour+2*time.Minute {
				t.Errorf("%s was put off for %v at first and %v at last", sk, first, last)
			}
		}
		row, ok, err := w.table.Get(context.Background(), "Q#1", "unknown")
		if err != nil || !ok || !row.Due.After(time.Now()) || !strings.Contains(w.log.String(), "nobody knows") {
			t.Errorf("a row of no known kind: %+v, %v", row, err)
		}
		// Once it goes well it counts from the start.
		w.do = nil
		time.Sleep(time.Hour)
		if err := s.Run(context.Background()); err != nil {
			t.Fatal(err)
		}
		if _, ok, err := w.table.Get(context.Background(), "J#1", fails); ok || err != nil {
			t.Errorf("what can be done by now is not: %v", err)
		}
	})
}

// What somebody wrote while it was being done is due when they say.
func TestPutsOffNothingThatWasWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.put("J#1", "a", time.Now())
		soon := time.Now().Add(10 * time.Second)
		w.do = func(context.Context, engine.Row) error {
			w.put("J#1", "a", soon)
			return errors.New("and it failed")
		}
		if err := w.sweep().Run(context.Background()); err != nil {
			t.Fatal(err)
		}
		if row, _, err := w.table.Get(context.Background(), "J#1", "a"); err != nil || !row.Due.Equal(soon) {
			t.Errorf("due at %v, %v", row.Due, err)
		}
	})
}

// A run ends in time whatever hangs, one shard holds up no other, what is left is done by the next, and what is beside the rows has its
// time, and its panic, for itself.
func TestEndsInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		now := time.Now()
		for i := range 30 {
			w.put("J#1", inShard("J#1", 0, i), now.Add(-time.Hour))
		}
		other := inShard("J#1", 15, 0)
		w.put("J#1", other, now)
		w.do = func(ctx context.Context, row engine.Row) error {
			if row.SK != other {
				<-ctx.Done()
			}
			return ctx.Err()
		}
		beside := 0
		s := w.sweep(func(c *sweep.Config) {
			c.Beside = []func(context.Context) error{
				func(context.Context) error { panic("beside") },
				func(ctx context.Context) error { <-ctx.Done(); beside++; return nil },
			}
		})
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		err := s.Run(ctx)
		if err == nil || !strings.Contains(err.Error(), "panic: beside") {
			t.Errorf("the run answers %v", err)
		}
		if d := time.Since(now); d < 40*time.Second || d > 50*time.Second || beside != 1 {
			t.Errorf("it took %v", d)
		}
		if got := w.times(other); len(got) != 1 || !got[0].Equal(now) {
			t.Errorf("the other shard was done at %v", got)
		}
		done := len(w.tried)
		if done < 4 || done > 6 {
			t.Errorf("%d rows were begun", done)
		}
		w.do = nil
		time.Sleep(3 * time.Minute)
		if err := s.Run(context.Background()); err == nil || len(w.tried) != 31 {
			t.Errorf("the next run did %d rows: %v", len(w.tried), err)
		}
	})
}

// noDue cannot be asked what is due in one shard.
type noDue struct{ engine.Rows }

func (r noDue) Due(ctx context.Context, shard int, before time.Time, limit int) ([]engine.Row, error) {
	if shard == 7 {
		return nil, engine.ErrThrottled
	}
	return r.Rows.Due(ctx, shard, before, limit)
}

func TestSaysWhatCouldNotBeLookedAt(t *testing.T) {
	w := newWorld(t)
	sk := inShard("J#1", 8, 0)
	w.put("J#1", sk, time.Now())
	err := w.sweep(func(c *sweep.Config) { c.Rows = noDue{w.table} }).Run(context.Background())
	if !errors.Is(err, engine.ErrThrottled) || len(w.times(sk)) != 1 {
		t.Errorf("%v, and the next shard was done %d times", err, len(w.times(sk)))
	}
}
