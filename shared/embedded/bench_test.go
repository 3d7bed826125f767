package embedded_test

import (
	"crypto/rand"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chipschat/chips-aws/shared/engine"
)

// aMessage is an append as a message of 300 characters makes it, with a key that sorts nowhere near the last.
func aMessage(workspace string, seq int64) engine.Append {
	var c engine.Commit
	_, _ = rand.Read(c.Nonce[:])
	c.Workspace, c.First, c.TS = workspace, seq, time.UnixMilli(1_790_000_000_000+seq)
	c.Sender, c.Key = "agt_01K9ZZZZZZZZZZZZZZZZZZZZZZ", fmt.Sprintf("%x-%d", c.Nonce, seq)
	c.Events = [][]byte{[]byte(`{"type":"message.post","space_id":"spc_01K9ZZZZZZZZZZZZZZZZZZZZZZ","actor":{"kind":"agent","id":"agt_01K9ZZZZZZZZZZZZZZZZZZZZZZ",` +
		`"harness_id":"hrn_01K9ZZZZZZZZZZZZZZZZZZZZZZ"},"text":"` + strings.Repeat("some words ", 27) + `","addressed_to":["agt_01K9ZZZZZZZZZZZZZZZZZZZZZY"]}`)}
	c.Connection, c.Credential = "L0SM9cOFvHcCIhw=", "tok_01K9ZZZZZZZZZZZZZZZZZZZZZZ"
	c.Space, c.Prev = "spc_01K9ZZZZZZZZZZZZZZZZZZZZZZ", map[string]int64{"spc_01K9ZZZZZZZZZZZZZZZZZZZZZZ": seq - 1}
	return engine.Append{Commit: c, Claim: &engine.Claim{Workspace: workspace, Sender: c.Sender, Key: c.Key, After: seq - 1}, Replaces: -1}
}

// BenchmarkAppend makes durable appends, each writer on a workspace of its own.
func BenchmarkAppend(b *testing.B) {
	for _, writers := range []int{1, 16, 64} {
		b.Run(fmt.Sprintf("writers=%d", writers), func(b *testing.B) {
			table := open(b, b.TempDir())
			var left atomic.Int64
			left.Store(int64(b.N))
			var mu sync.Mutex
			var took []time.Duration
			var wg sync.WaitGroup
			for w := range writers {
				wg.Go(func() {
					ws := fmt.Sprintf("ws_01K9ZZZZZZZZZZZZZZZZZZZZ%02d", w)
					var mine []time.Duration
					for seq := int64(1); left.Add(-1) >= 0; seq++ {
						a := aMessage(ws, seq)
						began := time.Now()
						r, err := table.Append(b.Context(), []engine.Append{a})
						if err != nil || !r[0].Written {
							b.Errorf("%v, %v", r, err)
							return
						}
						mine = append(mine, time.Since(began))
					}
					mu.Lock()
					defer mu.Unlock()
					took = append(took, mine...)
				})
			}
			wg.Wait()
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-us")
			b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-us")
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "appends/s")
		})
	}
}

// BenchmarkCommits reads a log of single events in pages.
func BenchmarkCommits(b *testing.B) {
	table := open(b, b.TempDir())
	const size = 20_000
	for seq := int64(1); seq <= size; {
		var chain []engine.Append
		for range 1000 {
			chain = append(chain, aMessage("ws_1", seq))
			seq++
		}
		if _, err := table.Append(b.Context(), chain); err != nil {
			b.Fatal(err)
		}
	}
	events := 0
	for b.Loop() {
		for from := int64(1); from <= size; {
			page, err := table.Commits(b.Context(), "ws_1", from, 500)
			if err != nil {
				b.Fatal(err)
			}
			events += len(page)
			from = page[len(page)-1].Last() + 1
		}
	}
	b.ReportMetric(float64(events)/b.Elapsed().Seconds(), "events/s")
}
