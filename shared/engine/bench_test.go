package engine_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chipschat/chips-aws/shared/embedded"
	"github.com/chipschat/chips-aws/shared/engine"
)

// BenchmarkDo is 64 writers of one workspace on a durable table.
func BenchmarkDo(b *testing.B) {
	table, err := embedded.Open(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	defer table.Close()
	g := start(table, engine.Options{Now: time.Now})
	text := strings.Repeat("word ", 20)
	var n atomic.Int64
	b.SetParallelism(32)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := g.Do(context.Background(), "ws_1", post(fmt.Sprint(n.Add(1)), text)); err != nil {
				b.Error(err)
			}
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "Do/s")
}
