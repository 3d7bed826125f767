package session_test

import (
	"strings"
	"testing"
)

// BenchmarkReplay brings 20,000 messages to a person and to the harness they are for; an op is one event.
func BenchmarkReplay(b *testing.B) {
	const n = 20_000
	w := newWorld(b)
	w.fill(n, strings.Repeat("Northwind want the PO. ", 4))
	since := w.head() - n
	for _, who := range []string{"person", "harness"} {
		b.Run(who, func(b *testing.B) {
			b.ReportAllocs()
			caller := w.priya
			if who == "harness" {
				caller = w.scout
			}
			c := w.connect(caller).hello(`,"accepts":["events"]`)
			bytes := 0
			w.push.onPost = func(_ string, frame []byte) error { bytes += len(frame); return nil }
			for i := 0; i < b.N; i += n {
				c.subscribe(since)
				w.push.frames = map[string][][]byte{}
			}
			if c.state().Sub.State != "live" {
				b.Fatal("not live")
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
		})
	}
}
