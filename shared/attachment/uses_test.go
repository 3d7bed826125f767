package attachment

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

var (
	seeds = flag.Int("seeds", 3000, "how many runs of the model of shared bytes there are")
	seed  = flag.Uint64("seed", 0, "the one run to make, 0 for all")
)

// Some store the same bytes and take them away again, side by side, one call of the table or the store at a time in an order that is drawn;
// some die at one. Whoever has them stored finds them for as long as it wants, and in the end nothing is left over.
// covers: HLD-10
func TestSharedBytesModel(t *testing.T) {
	from, to := uint64(1), uint64(*seeds)
	if *seed != 0 {
		from, to = *seed, *seed
	}
	for n := from; n <= to; n++ {
		synctest.Test(t, func(t *testing.T) {
			if err := sharedBytes(t, rand.New(rand.NewPCG(n, 0))); err != nil {
				t.Errorf("-seed %d: %v", n, err)
			}
		})
		if t.Failed() {
			return
		}
	}
}

// play holds up each call of a memory until it is drawn.
type play struct {
	mu     sync.Mutex
	rng    *rand.Rand
	parked []chan bool
	held   map[string]string // by use, the key of bytes that have to be there
	live   int
}

// step waits to be drawn, and may be where the caller dies.
func (p *play) step() {
	turn := make(chan bool)
	p.mu.Lock()
	p.parked = append(p.parked, turn)
	p.mu.Unlock()
	if dies := <-turn; dies {
		runtime.Goexit()
	}
}

// one draws who goes on; false when nobody waits.
func (p *play) one() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.parked) == 0 {
		return false
	}
	i := p.rng.IntN(len(p.parked))
	turn := p.parked[i]
	p.parked = slices.Delete(p.parked, i, i+1)
	turn <- p.rng.IntN(60) == 0
	return true
}

const shared = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

func sharedBytes(t *testing.T, rng *rand.Rand) error {
	w := newWorld(t)
	p := &play{rng: rng, held: map[string]string{}}
	w.memory.step = p.step
	var uses []string
	users := 2 + rng.IntN(4)
	for i := range users {
		rounds := 1 + rng.IntN(3)
		var mine []string
		for j := range rounds {
			mine = append(mine, fmt.Sprintf("att_%d_%d", i, j))
		}
		uses = append(uses, mine...)
		p.live++
		go func() {
			defer func() {
				p.mu.Lock()
				defer p.mu.Unlock()
				p.live--
			}()
			for _, use := range mine {
				key, err := w.keep(t.Context(), shared, use, []byte("bytes"))
				if err != nil {
					return // too busy: as one that dies
				}
				p.mu.Lock()
				p.held[use] = key
				p.mu.Unlock()
				p.step() // it is used for a while
				p.mu.Lock()
				delete(p.held, use)
				p.mu.Unlock()
				_ = w.release(t.Context(), shared, use)
			}
		}()
	}
	for {
		synctest.Wait()
		if err := p.lost(w.memory); err != nil {
			return err
		}
		p.mu.Lock()
		live := p.live
		p.mu.Unlock()
		switch {
		case live == 0:
			return leftOver(t, w, p, uses)
		case !p.one():
			time.Sleep(time.Millisecond) // they wait before they try again
		}
	}
}

// lost says whether bytes that somebody has stored are not there.
func (p *play) lost(m *memory) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	m.mu.Lock()
	defer m.mu.Unlock()
	for use, key := range p.held {
		if string(m.blobs[key]) != "bytes" {
			return fmt.Errorf("%s has lost its bytes at %s", use, key)
		}
	}
	return nil
}

// leftOver does what the sweep does about those that died, and says what is left after it.
func leftOver(t *testing.T, w *world, p *play, uses []string) error {
	w.memory.step = func() {}
	for _, use := range uses {
		delete(p.held, use)
		if err := w.release(t.Context(), shared, use); err != nil {
			return err
		}
	}
	w.now = w.now.Add(time.Hour)
	w.sweep(t)
	if len(w.memory.blobs) > 0 {
		return fmt.Errorf("left over: %v", w.memory.blobs)
	}
	return nil
}
