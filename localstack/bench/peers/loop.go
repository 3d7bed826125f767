package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// payload is the n-th message: 600 bytes that begin with n. As JSON it is a string, which is what Centrifugo takes.
func payload(n int) []byte {
	s := `"` + strconv.Itoa(n) + " "
	return []byte(s + strings.Repeat("x", 600-len(s)-1) + `"`)
}

// numberOf is which message it is.
func numberOf(payload []byte) (int, error) {
	first, _, _ := strings.Cut(strings.TrimPrefix(string(payload[:min(24, len(payload))]), `"`), " ")
	return strconv.Atoi(first)
}

// receipt is a message's arrival at a subscriber.
type receipt struct {
	n  int
	at time.Time
}

// loop is one publisher and its subscribers: the next message waits until all have the one before.
type loop struct {
	publish     func(context.Context, []byte) error // until it is acknowledged
	subscribers int
	got         chan receipt
	n           int

	acks, receipts []time.Duration
}

// take is what a subscriber calls for a message.
func (l *loop) take(data []byte) {
	at := time.Now()
	if n, err := numberOf(data); err == nil {
		l.got <- receipt{n, at}
	}
}

func (l *loop) once(ctx context.Context) error {
	l.n++
	data := payload(l.n)
	start := time.Now()
	if err := l.publish(ctx, data); err != nil {
		return err
	}
	l.acks = append(l.acks, time.Since(start))
	late := time.NewTimer(10 * time.Second)
	defer late.Stop()
	for have := 0; have < l.subscribers; {
		select {
		case r := <-l.got:
			if r.n == l.n {
				l.receipts = append(l.receipts, r.at.Sub(start))
				have++
			}
		case <-late.C:
			return errors.New("a message did not reach every subscriber")
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// measure runs the loop and answers the medians of its acks and deliveries.
func (l *loop) measure(ctx context.Context, o options, peer string) ([]result, error) {
	of := fmt.Sprintf("%d subscribers", l.subscribers)
	if l.subscribers == 1 {
		of = "1 subscriber"
	}
	ack := result{Peer: peer, Measure: "ack p50, " + of}
	deliver := result{Peer: peer, Measure: "deliver p50, " + of}
	for i := range o.reps + 1 {
		l.acks, l.receipts = l.acks[:0], l.receipts[:0]
		for end := time.Now().Add(o.stretch / 2); time.Now().Before(end); {
			if err := l.once(ctx); err != nil {
				return nil, err
			}
		}
		if i > 0 { // the first warms up
			ack.Values = append(ack.Values, middle(l.acks))
			deliver.Values = append(deliver.Values, middle(l.receipts))
		}
	}
	return []result{ack, deliver}, nil
}

// middle is the median in milliseconds.
func middle(ds []time.Duration) float64 {
	slices.Sort(ds)
	return float64(ds[(len(ds)-1)/2]) / float64(time.Millisecond)
}

// publishers has several publish side by side, each when the one before is acknowledged, and answers how many a second were.
func publishers(ctx context.Context, o options, peer, measure string, publish []func(context.Context, []byte) error) (result, error) {
	r := result{Peer: peer, Measure: measure}
	for i := range o.reps + 1 {
		counts := make([]int, len(publish))
		errs := make([]error, len(publish))
		var all sync.WaitGroup
		start := time.Now()
		for p := range publish {
			all.Go(func() {
				for end := start.Add(o.stretch); time.Now().Before(end) && errs[p] == nil; counts[p]++ {
					errs[p] = publish[p](ctx, payload(counts[p]))
				}
			})
		}
		all.Wait()
		elapsed := time.Since(start)
		if err := errors.Join(errs...); err != nil {
			return r, err
		}
		total := 0
		for _, n := range counts {
			total += n
		}
		if i > 0 {
			r.Values = append(r.Values, float64(total)/elapsed.Seconds())
		}
	}
	return r, nil
}
