package main

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/chipschat/chips-aws/shared/embedded"
	"github.com/chipschat/chips-aws/shared/engine"
)

// replay measures how fast a client that was away is brought what it missed.
func (b *bench) replay(ctx context.Context) error {
	data, err := b.folder("replay")
	if err != nil {
		return err
	}
	var p place
	err = b.with(ctx, data, func(s *server) (err error) {
		p, err = s.newWorkspace(ctx, "Replay")
		return err
	})
	if err != nil {
		return err
	}
	n := b.pick(200_000, 50_000)
	from, to, err := lengthen(ctx, data, p.workspace, n)
	if err != nil {
		return fmt.Errorf("fill the log: %w", err)
	}
	speed := row{what: fmt.Sprintf("%s events to one client", thousands(int64(n))), unit: rate, goal: 150_000, atLeast: true}
	size := row{what: "the same in bytes", unit: "MB/s"}
	err = b.with(ctx, data, func(s *server) error {
		for i := range b.reps() + 1 {
			took, read, err := replayOnce(ctx, p.at(s), from, to)
			if err != nil {
				return err
			}
			if i == 0 {
				continue // reads the log's file for the first time
			}
			speed.values = append(speed.values, float64(to-from)/took.Seconds())
			size.values = append(size.values, float64(read)/1e6/took.Seconds())
		}
		return nil
	})
	if err != nil {
		return err
	}
	b.remember("replay", speed)
	b.print("Replay", "From subscribe to the last event, in events frames, to a harness that is in the room it all happened in: its runs, their steps, what was said.\n"+
		"The client counts the events by their seqs and checks that none is missing.", speed, size)
	return nil
}

// lengthen adds about n events to a workspace's log while no server has the file. It answers the seqs before and at the end.
func lengthen(ctx context.Context, data, workspace string, n int) (from, to int64, err error) {
	table, err := embedded.Open(data)
	if err != nil {
		return 0, 0, err
	}
	defer func() {
		if cerr := table.Close(); err == nil {
			err = cerr
		}
	}()
	g := engine.New(table, engine.Options{Now: time.Now})
	h, err := newHistory(ctx, g, table, workspace)
	if err != nil {
		return 0, 0, err
	}
	from = h.state.Seq
	if err := h.write(ctx, n, 1); err != nil {
		return 0, 0, err
	}
	_, err = g.SnapshotIfDue(ctx, workspace)
	return from, h.state.Seq, err
}

// replayOnce subscribes after from and reads up to the event at seq to.
func replayOnce(ctx context.Context, p place, from, to int64) (took time.Duration, size int64, err error) {
	s, err := dial(ctx, p.harness, "replay")
	if err != nil {
		return 0, 0, err
	}
	defer s.close()
	start := time.Now()
	if err := s.subscribe(p.workspace, from); err != nil {
		return 0, 0, err
	}
	for at := from; at < to; {
		frame, err := s.read()
		if err != nil {
			return 0, 0, fmt.Errorf("after seq %d: %w", at, err)
		}
		if !bytes.HasPrefix(frame, []byte(`{"frame":"event`)) {
			return 0, 0, fmt.Errorf("after seq %d came %.200s", at, frame)
		}
		size += int64(len(frame))
		for seq, rest, ok := cutSeq(frame); ok; seq, rest, ok = cutSeq(rest) {
			if seq != at+1 {
				return 0, 0, fmt.Errorf("after seq %d came %d", at, seq)
			}
			at = seq
		}
	}
	return time.Since(start), size, nil
}
