package porttest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/chipschat/chips-aws/shared/engine"
)

// ErrFault is wrapped by every error that Faulty makes up, but for ErrThrottled.
var ErrFault = errors.New("injected fault")

// Faults is how likely each fault is for one call, from 0 to 1; together they are 1 at most.
type Faults struct {
	// LostReply applies a write and answers an error. A read fails.
	LostReply float64
	// Late answers an error for a write, and applies it at a later call or by Release: as it stands, conditions and all. A read fails.
	Late float64
	// Lost answers an error and never applies the write. A read fails.
	Lost float64
	// Torn is for an Append alone: its claim stands, its commit is lost or late; an error is answered. Else it is as Lost.
	Torn float64
	// Repeated is for an Append alone: it is applied, and answered with what the same append gets right after, as by a client library
	// that tries again by itself. All else is just done: no adapter lets its library try the write of a row again.
	Repeated float64
	// Throttled answers engine.ErrThrottled and does nothing; of several appends it may cut off the later ones.
	Throttled float64
	// Slow waits for up to Delay before the call is made, which otherwise goes well.
	Slow float64
	// Delay is the longest wait of a slow call.
	Delay time.Duration
}

// Storm is a mix in which everything happens often.
var Storm = Faults{LostReply: .04, Late: .06, Lost: .04, Torn: .04, Repeated: .06, Throttled: .06, Slow: .1, Delay: 20 * time.Millisecond}

// Faulty is a table that fails at random, as its seed says. With several callers at once the order of their calls decides too.
// What it applies late it applies in any order, between the calls of others.
type Faulty struct {
	inner  engine.Table
	mu     sync.Mutex
	random *rand.Rand
	faults Faults
	late   []func(context.Context)
	seen   map[string]int
}

// NewFaulty wraps a sound table.
func NewFaulty(inner engine.Table, seed uint64, faults Faults) *Faulty {
	return &Faulty{inner: inner, random: rand.New(rand.NewPCG(seed, 0)), faults: faults, seen: map[string]int{}}
}

// Set changes how likely faults are from now on; the zero Faults is a table that works, but for what is late still.
func (f *Faulty) Set(faults Faults) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.faults = faults
}

// Release applies all that is still late, in random order.
func (f *Faulty) Release(ctx context.Context) {
	f.mu.Lock()
	overdue := f.late
	f.late = nil
	f.random.Shuffle(len(overdue), func(i, j int) { overdue[i], overdue[j] = overdue[j], overdue[i] })
	f.mu.Unlock()
	for _, apply := range overdue {
		apply(ctx)
	}
}

// Seen is how often each fault happened, by its field's name: a test that met none of a kind has shown nothing about it.
func (f *Faulty) Seen() map[string]int {
	f.mu.Lock()
	defer f.mu.Unlock()
	seen := map[string]int{}
	for k, n := range f.seen {
		seen[k] = n
	}
	return seen
}

// fault is what happens to one call.
type fault int

const (
	none fault = iota
	lostReply
	late
	lost
	torn
	repeated
	throttled
	slow
)

var faultNames = [...]string{"", "LostReply", "Late", "Lost", "Torn", "Repeated", "Throttled", "Slow"}

// draw picks the fault of a call, after waiting where it is slow and applying something late now and then.
func (f *Faulty) draw(ctx context.Context) (fault, error) {
	f.mu.Lock()
	var overdue func(context.Context)
	if n := len(f.late); n > 0 && f.random.Float64() < .3 {
		i := f.random.IntN(n)
		overdue = f.late[i]
		f.late[i] = f.late[n-1]
		f.late = f.late[:n-1]
	}
	x, picked := f.random.Float64(), none
	for i, p := range []float64{f.faults.LostReply, f.faults.Late, f.faults.Lost, f.faults.Torn, f.faults.Repeated, f.faults.Throttled, f.faults.Slow} {
		if x < p {
			picked = fault(i + 1)
			f.seen[faultNames[picked]]++
			break
		}
		x -= p
	}
	var wait time.Duration
	if picked == slow && f.faults.Delay > 0 {
		wait = time.Duration(f.random.Int64N(int64(f.faults.Delay))) + 1
	}
	f.mu.Unlock()
	if overdue != nil {
		overdue(context.WithoutCancel(ctx))
	}
	if wait > 0 {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			return lost, ctx.Err()
		}
	}
	return picked, nil
}

// coin is a fair one.
func (f *Faulty) coin() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.random.IntN(2) == 0
}

// below is a random number of 0 to n-1.
func (f *Faulty) below(n int) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.random.IntN(n)
}

// postpone keeps a write for later.
func (f *Faulty) postpone(apply func(context.Context)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.late = append(f.late, apply)
}

func (f fault) err(what string) error {
	if f == throttled {
		return engine.ErrThrottled
	}
	return fmt.Errorf("%s: %w: %s", what, ErrFault, faultNames[f])
}

// write makes one write of which no part can be applied alone.
func write[T any](ctx context.Context, f *Faulty, what string, do func(context.Context) (T, error)) (T, error) {
	var zero T
	fault, err := f.draw(ctx)
	if err != nil {
		return zero, err
	}
	switch fault {
	case lostReply:
		_, _ = do(ctx)
	case late:
		f.postpone(func(ctx context.Context) { _, _ = do(ctx) })
	case none, slow, repeated:
		return do(ctx)
	}
	return zero, fault.err(what)
}

// read makes one read, which can only fail.
func read[T any](ctx context.Context, f *Faulty, what string, do func() (T, error)) (T, error) {
	fault, err := f.draw(ctx)
	if err != nil {
		var zero T
		return zero, err
	}
	switch fault {
	case none, slow, repeated:
		return do()
	}
	var zero T
	return zero, fault.err(what)
}
