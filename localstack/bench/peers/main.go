package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
}

// result is one measurement: a value a repetition.
type result struct {
	Peer    string    `json:"peer"`
	Measure string    `json:"measure"`
	Values  []float64 `json:"values"`
}

// options are how long to measure.
type options struct {
	reps    int
	stretch time.Duration
	replay  int
}

func run(ctx context.Context) error {
	cache := flag.String("cache", "", "`folder` that keeps the servers")
	quick := flag.Bool("quick", false, "fewer and shorter repetitions")
	flag.Parse()
	o := options{reps: 5, stretch: 2 * time.Second, replay: 10_000}
	if *quick {
		o = options{reps: 3, stretch: 500 * time.Millisecond, replay: 3000}
	}
	dir, err := os.MkdirTemp("", "chips-peers-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	out := json.NewEncoder(os.Stdout)
	for _, measure := range []func(context.Context, options, string, string) ([]result, error){jetStream, centrifugo} {
		results, err := measure(ctx, o, *cache, dir)
		if err != nil {
			return err
		}
		for _, r := range results {
			err = errors.Join(err, out.Encode(r))
		}
		if err != nil {
			return err
		}
	}
	return nil
}
