package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// writer is a socket that writes in a room, one message after another, each when the one before is acknowledged.
type writer struct {
	*socket
	space string
	// took are the times of its writes in the last stretch, seqs what they were acknowledged at.
	took []time.Duration
	seqs []int64
}

// stretch writes until the time is up.
func (w *writer) stretch(d time.Duration) error {
	w.took, w.seqs = w.took[:0], w.seqs[:0]
	for end := time.Now().Add(d); ; {
		start := time.Now()
		if start.After(end) {
			return nil
		}
		key, err := w.post(w.space)
		if err != nil {
			return err
		}
		seq, err := w.acked(key)
		if err != nil {
			return err
		}
		w.took = append(w.took, time.Since(start))
		w.seqs = append(w.seqs, seq)
	}
}

// load has writers write side by side for a while, and answers how many writes were acknowledged in a second and how long each took.
func load(ws []*writer, d time.Duration) (perSecond float64, took []time.Duration, err error) {
	errs := make([]error, len(ws))
	var all sync.WaitGroup
	start := time.Now()
	for i, w := range ws {
		all.Go(func() { errs[i] = w.stretch(d) })
	}
	all.Wait()
	elapsed := time.Since(start)
	if err := errors.Join(errs...); err != nil {
		return 0, nil, err
	}
	for _, w := range ws {
		took = append(took, w.took...)
	}
	return float64(len(took)) / elapsed.Seconds(), took, nil
}

// dense checks that the writes of writers in one workspace got each a seq of its own, without a hole.
func dense(ws []*writer) error {
	var seqs []int64
	for _, w := range ws {
		if !slices.IsSorted(w.seqs) {
			return fmt.Errorf("the acks of %s are out of order", w.name)
		}
		seqs = append(seqs, w.seqs...)
	}
	slices.Sort(seqs)
	for i := 1; i < len(seqs); i++ {
		if seqs[i] != seqs[i-1]+1 {
			return fmt.Errorf("seq %d is followed by %d", seqs[i-1], seqs[i])
		}
	}
	return nil
}

// writers opens a socket for each place's person; hang up with the function.
func writers(ctx context.Context, places []place) ([]*writer, func(), error) {
	var ws []*writer
	hangUp := func() {
		for _, w := range ws {
			_ = w.close()
		}
	}
	for i, p := range places {
		s, err := dial(ctx, p.person, fmt.Sprintf("w%04d", i))
		if err != nil {
			hangUp()
			return nil, nil, err
		}
		ws = append(ws, &writer{socket: s, space: p.space})
	}
	return ws, hangUp, nil
}

const socketCount = 64

// write measures acknowledged writes: by one socket, by many in a workspace each, by many in one workspace.
func (b *bench) write(ctx context.Context) error {
	raw, err := b.rawSync()
	if err != nil {
		return err
	}
	data, err := b.folder("write")
	if err != nil {
		return err
	}
	var rows []row
	err = b.with(ctx, data, func(s *server) error {
		var apart, together []place
		for i := range socketCount {
			p, err := s.newWorkspace(ctx, fmt.Sprintf("Workspace %d", i))
			if err != nil {
				return err
			}
			apart = append(apart, p)
		}
		for i := range socketCount {
			p, err := s.join(ctx, apart[0], fmt.Sprintf("Writer %d", i))
			if err != nil {
				return err
			}
			together = append(together, p)
		}
		one, err := b.writeBy(ctx, s, "one socket", apart[1:2])
		if err != nil {
			return err
		}
		wide, err := b.writeBy(ctx, s, "64 sockets over 64 workspaces", apart)
		if err != nil {
			return err
		}
		deep, err := b.writeBy(ctx, s, "64 sockets on one workspace", together)
		if err != nil {
			return err
		}
		one[ackedP50].goal, wide[ackedRate].goal, deep[ackedRate].goal = 1, 5000, 1500
		one[ackedP50] = one[ackedP50].against("raw sync", b.disk)
		for _, r := range []*row{&one[ackedRate], &wide[ackedRate], &deep[ackedRate]} {
			*r = r.against("raw syncs/s, one after another", 1000/b.disk)
		}
		rows = slices.Concat(one, wide, deep)
		b.remember("append, 64 publishers over 64 logs", wide[ackedRate])
		b.remember("append, 64 publishers on one log", deep[ackedRate])
		return nil
	})
	if err != nil {
		return err
	}
	rows = append([]row{raw}, rows...)
	b.print("Acknowledged writes", "chips serve over loopback, one file on this disk, synced before each ack. A message of 600 B as a frame, each person in their own room\n"+
		"with a harness that is not connected; one write in flight a socket; nobody subscribed.", rows...)
	return nil
}

// writers' rows, by their place.
const (
	ackedRate = iota
	ackedP50
	ackedP99
	ackedCPU
	ownCPU
)

// writeBy measures the writes of the people of some places, all at once.
func (b *bench) writeBy(ctx context.Context, s *server, what string, at []place) ([]row, error) {
	ws, hangUp, err := writers(ctx, at)
	if err != nil {
		return nil, err
	}
	defer hangUp()
	rows := []row{
		ackedRate: {what: what + ", acked", unit: rate, atLeast: true},
		ackedP50:  {what: what + ", acked p50", unit: millis},
		ackedP99:  {what: what + ", acked p99", unit: millis},
		ackedCPU:  {what: what + ", server's processor time a write", unit: micros},
		ownCPU:    {what: what + ", the load generator's", unit: micros},
	}
	for i := range b.reps() + 1 {
		server, own, err := s.cpu()
		if err != nil {
			return nil, err
		}
		perSecond, took, err := load(ws, b.stretch())
		if err != nil {
			return nil, err
		}
		serverAfter, ownAfter, err := s.cpu()
		if err != nil {
			return nil, err
		}
		each := func(d time.Duration) float64 { return 1000 * ms(d) / float64(len(took)) }
		if i == 0 {
			continue // warms up
		}
		values := []float64{perSecond, ms(quantile(took, 0.5)), ms(quantile(took, 0.99)), each(serverAfter - server), each(ownAfter - own)}
		for r, v := range values {
			rows[r].values = append(rows[r].values, v)
		}
		if at[0].workspace == at[len(at)-1].workspace {
			if err := dense(ws); err != nil {
				return nil, err
			}
		}
	}
	return rows, nil
}
