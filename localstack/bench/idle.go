package main

import (
	"context"
	"fmt"
	"time"
)

// idle measures what sockets that do nothing cost the server in memory.
func (b *bench) idle(ctx context.Context) error {
	const sockets, perWorkspace = 1000, 10
	data, err := b.folder("idle")
	if err != nil {
		return err
	}
	fresh := row{what: "before anything", unit: mega}
	made := row{what: "with 100 workspaces made, no socket", unit: mega}
	full := row{what: "with 1,000 idle sockets", unit: mega, goal: 64}
	most := row{what: "the most it had", unit: mega}
	err = b.with(ctx, data, func(s *server) error {
		if err := s.note(&fresh, "VmRSS"); err != nil {
			return err
		}
		var places []place
		for i := range sockets / perWorkspace {
			p, err := s.newWorkspace(ctx, fmt.Sprintf("Workspace %d", i))
			if err != nil {
				return err
			}
			places = append(places, p)
		}
		if err := s.note(&made, "VmRSS"); err != nil {
			return err
		}
		for i := range sockets {
			p := places[i%len(places)]
			socket, err := dial(ctx, p.harness, "idle")
			if err != nil {
				return fmt.Errorf("socket %d: %w", i, err)
			}
			defer socket.close()
			if err := socket.subscribe(p.workspace, -1); err != nil {
				return err
			}
		}
		for range b.reps() {
			select {
			case <-time.After(time.Duration(b.pick(2000, 700)) * time.Millisecond):
			case <-ctx.Done():
				return ctx.Err()
			}
			if err := s.note(&full, "VmRSS"); err != nil {
				return err
			}
		}
		return s.note(&most, "VmHWM")
	})
	if err != nil {
		return err
	}
	full.beside = fmt.Sprintf("%.1f KB a socket", 1024*(full.median()-made.median())/sockets)
	b.print("Memory of idle sockets", "VmRSS of chips serve. 1,000 sockets of 100 workspaces, ten of a harness each, all greeted and subscribed; read every few seconds while they idle.",
		fresh, made, full, most)
	return nil
}

// note adds a number of the process's memory to a row.
func (s *server) note(r *row, field string) error {
	mb, err := s.memory(field)
	r.values = append(r.values, mb)
	return err
}
