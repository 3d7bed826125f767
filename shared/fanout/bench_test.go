package fanout_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/chipschat/chips-aws/shared/workspace"
)

// BenchmarkRing is one message from its commit to the sockets of everybody in the room, warm.
func BenchmarkRing(b *testing.B) {
	for _, n := range []int{1, 100} {
		b.Run(fmt.Sprint(n, " connections"), func(b *testing.B) {
			b.ReportAllocs()
			h := newHouse(b)
			for i := range n {
				h.listen([]workspace.Caller{h.scout, h.arjun, h.priya}[i%3])
			}
			for b.Loop() {
				b.StopTimer()
				out := h.say(h.arjun, "@Scout the next step")
				for id := range h.frames {
					h.frames[id] = nil
				}
				b.StartTimer()
				if err := h.fanout.Ring(context.Background(), h.ws, h.since(out.Commit.First-1)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
