package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"
)

// receipt is a message's arrival at a subscriber.
type receipt struct {
	key []byte
	at  time.Time
	err error
}

// listen reads a subscriber's events and tells of each that has a key of the writer's in it.
func (s *socket) listen(ctx context.Context, writer string, got chan<- receipt) {
	mark := []byte(`"text":"` + writer + "-")
	for {
		frame, err := s.read()
		if err != nil {
			select {
			case got <- receipt{err: err}:
			case <-ctx.Done():
			}
			return
		}
		at := time.Now()
		if i := bytes.Index(frame, mark); i >= 0 {
			key, _, _ := bytes.Cut(frame[i+len(`"text":"`):], []byte(":"))
			got <- receipt{bytes.Clone(key), at, nil}
		}
	}
}

// deliver measures the way of a message from the writer's send to the subscriber's receipt.
func (b *bench) deliver(ctx context.Context) error {
	data, err := b.folder("deliver")
	if err != nil {
		return err
	}
	var rows []row
	err = b.with(ctx, data, func(s *server) error {
		p, err := s.newWorkspace(ctx, "Deliver")
		if err != nil {
			return err
		}
		one, err := b.closedLoop(ctx, p, []place{p}, "one subscriber", 1.5)
		if err != nil {
			return err
		}
		b.remember("ack p50, 1 subscriber", one[0])
		b.remember("deliver p50, 1 subscriber", one[1])
		var crowd []place
		for i := range 100 {
			one, err := p.person.AddPerson(ctx, fmt.Sprintf("Reader %d", i), "member")
			if err != nil {
				return err
			}
			if err := p.person.AddMember(ctx, p.space, one.PersonID); err != nil {
				return err
			}
			crowd = append(crowd, p.readBy(one))
		}
		many, err := b.closedLoop(ctx, p, crowd, "100 subscribers", 0)
		if err != nil {
			return err
		}
		b.remember("ack p50, 100 subscribers", many[0])
		b.remember("deliver p50, 100 subscribers", many[1])
		rows = append(one, many...)
		return nil
	})
	if err != nil {
		return err
	}
	b.print("Delivery", "As above, but the next message waits until all subscribers have the one before. From before the writer's send to after the subscriber's\n"+
		"read, every subscriber counted. The one subscriber is the harness the message is for; the 100 are people in the room.", rows...)
	return nil
}

// closedLoop has one writer write, each message when all subscribers have the one before.
func (b *bench) closedLoop(ctx context.Context, p place, readers []place, what string, goal float64) ([]row, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	name := fmt.Sprintf("d%d", len(readers))
	w, err := dial(ctx, p.person, name)
	if err != nil {
		return nil, err
	}
	defer w.close()
	got := make(chan receipt, len(readers))
	for _, r := range readers {
		api := r.person
		if len(readers) == 1 {
			api = r.harness
		}
		s, err := dial(ctx, api, name)
		if err != nil {
			return nil, err
		}
		defer s.close()
		if err := s.subscribe(p.workspace, -1); err != nil {
			return nil, err
		}
		go s.listen(ctx, name, got)
	}
	ack := row{what: what + ", acked p50", unit: millis}
	p50 := row{what: what + ", delivered p50", unit: millis, goal: goal}
	p99 := row{what: what + ", delivered p99", unit: millis}
	loop := &loop{w: w, space: p.space, readers: len(readers), got: got}
	if err := loop.warmUp(ctx); err != nil {
		return nil, err
	}
	for range b.reps() {
		if err := loop.stretch(ctx, b.stretch()/2); err != nil {
			return nil, err
		}
		ack.values = append(ack.values, ms(quantile(loop.acks, 0.5)))
		p50.values = append(p50.values, ms(quantile(loop.receipts, 0.5)))
		p99.values = append(p99.values, ms(quantile(loop.receipts, 0.99)))
	}
	return []row{ack, p50, p99}, nil
}

// loop is a writer and those who read it.
type loop struct {
	w              *socket
	space          string
	readers        int
	got            chan receipt
	acks, receipts []time.Duration
}

// warmUp writes until a message reached everybody, since a subscription says nothing when it is live.
func (l *loop) warmUp(ctx context.Context) error {
	for range 100 {
		err := l.once(ctx, 200*time.Millisecond)
		if err == nil {
			return l.stretch(ctx, 200*time.Millisecond)
		}
		if !errors.Is(err, errLate) {
			return err
		}
	}
	return errors.New("the subscribers are not sent what is written")
}

func (l *loop) stretch(ctx context.Context, d time.Duration) error {
	l.acks, l.receipts = l.acks[:0], l.receipts[:0]
	for end := time.Now().Add(d); time.Now().Before(end); {
		if err := l.once(ctx, 10*time.Second); err != nil {
			return err
		}
	}
	return nil
}

var errLate = errors.New("a message did not reach every subscriber in time")

// once writes one message and waits until it was acknowledged and everybody has it.
func (l *loop) once(ctx context.Context, limit time.Duration) error {
	start := time.Now()
	key, err := l.w.post(l.space)
	if err != nil {
		return err
	}
	if _, err := l.w.acked(key); err != nil {
		return err
	}
	l.acks = append(l.acks, time.Since(start))
	late := time.NewTimer(limit)
	defer late.Stop()
	for n := 0; n < l.readers; {
		select {
		case r := <-l.got:
			if r.err != nil {
				return fmt.Errorf("a subscriber's socket: %w", r.err)
			}
			if string(r.key) == key {
				l.receipts = append(l.receipts, r.at.Sub(start))
				n++
			}
		case <-late.C:
			return errLate
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}
