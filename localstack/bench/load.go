package main

import (
	"context"
	"fmt"
	"time"

	"github.com/chipschat/chips-aws/shared/engine"
	"github.com/chipschat/chips-aws/shared/workspace"
)

// loads measures how long a process that knows nothing of a workspace takes to know it, with as much log after the
// snapshot as there ever is.
func (b *bench) loads(ctx context.Context, m *mine) error {
	commits, err := m.lengthenTail(ctx)
	if err != nil {
		return err
	}
	size, err := m.snapshotSize(ctx)
	if err != nil {
		return err
	}
	var seq int64
	var ended int
	load := row{what: "cold load, the longest tail", unit: millis, goal: 100}
	for range 2 * b.reps() {
		g := engine.New(m.table, engine.Options{Now: time.Now})
		start := time.Now()
		err := g.Read(ctx, m.town.id, func(s *workspace.State) error {
			seq, ended = s.Seq, len(s.Ended)
			return nil
		})
		if err != nil {
			return err
		}
		load.values = append(load.values, ms(time.Since(start)))
	}
	snapshot := row{what: "its snapshot", unit: kilo, values: []float64{size}, goal: 64}
	b.print("Depth of the log: loading", fmt.Sprintf("A new engine over the same table reads the state: the newest snapshot and the tail, %d commits, just before the next snapshot would be due.\n"+
		"%s events, 50 rooms, 20 people, 50 agents, %s ended runs remembered; the file is in the page cache.", commits, thousands(seq), thousands(int64(ended))), load, snapshot)
	return nil
}

// lengthenTail writes until the next snapshot is due, twice: the second time it stops just before, so that the log after the newest is
// as long as it gets. It answers how many commits that is.
func (m *mine) lengthenTail(ctx context.Context) (commits int, err error) {
	const stride = 20
	until := func(stop int) (n int, err error) {
		for n < stop {
			if _, err := m.steps(ctx, stride); err != nil {
				return n, err
			}
			n += stride
			due, err := m.g.SnapshotIfDue(ctx, m.town.id)
			if err != nil || due {
				return n, err
			}
		}
		return n, nil
	}
	if _, err = until(10_000); err != nil {
		return 0, err
	}
	if commits, err = until(10_000); err != nil {
		return 0, err
	}
	return until(commits - stride)
}

// snapshotSize is what the workspace's newest snapshot takes in the table, in KB.
func (m *mine) snapshotSize(ctx context.Context) (float64, error) {
	rows, err := m.table.Query(ctx, "S#"+m.town.id, "0", 20)
	if err != nil {
		return 0, err
	}
	if len(rows) == 0 {
		return 0, fmt.Errorf("%s has no snapshot", m.town.id)
	}
	newest, size := "", 0
	for _, r := range rows {
		if newest == "" {
			newest = r.SK[:12]
		}
		if r.SK[:12] == newest {
			size += len(r.Body)
		}
	}
	return float64(size) / 1024, nil
}
