package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/chipschat/chips-aws/shared/embedded"
	"github.com/chipschat/chips-aws/shared/engine"
	"github.com/chipschat/chips-aws/shared/protocol"
	"github.com/chipschat/chips-aws/shared/workspace"
)

// mine is a log of a given length in a file of its own, and a run in it that goes on.
type mine struct {
	table *embedded.Table
	g     *engine.Engine
	town  *town
	by    workspace.Caller
	run   string
}

// depth measures what the length of a log does to appending to it and to loading it.
func (b *bench) depth(ctx context.Context) (err error) {
	long := b.pick(1_000_000, 100_000)
	raw, err := b.rawSync()
	if err != nil {
		return err
	}
	shallow, err := b.dig(ctx, 1000)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, shallow.table.Close()) }()
	start := time.Now()
	deep, err := b.dig(ctx, long)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, deep.table.Close()) }()
	took := time.Since(start)
	appends, err := b.appendAt(ctx, shallow, deep, long)
	if err != nil {
		return err
	}
	b.print("Depth of the log: appending", fmt.Sprintf("engine.Do of a step.log on the embedded table, one after another, no sockets; 50 rooms, 20 people, 50 agents, each log in a file of its own.\n"+
		"The two take turns, the ratio is of the medians of each turn. The %s events, a commit and a claim each, took %.0f s to fill.", thousands(int64(long)), took.Seconds()),
		append([]row{raw}, appends...)...)
	return b.loads(ctx, deep)
}

// dig makes a town whose log has about n events.
func (b *bench) dig(ctx context.Context, n int) (*mine, error) {
	dir, err := b.folder("depth")
	if err != nil {
		return nil, err
	}
	table, err := embedded.Open(dir)
	if err != nil {
		return nil, err
	}
	m := &mine{table: table, g: engine.New(table, engine.Options{Now: time.Now})}
	if err := m.fill(ctx, n); err != nil {
		return nil, errors.Join(err, table.Close())
	}
	return m, nil
}

func (m *mine) fill(ctx context.Context, n int) (err error) {
	if m.town, err = build(ctx, m.g); err != nil {
		return err
	}
	h, err := newHistory(ctx, m.g, m.table, m.town.id)
	if err != nil {
		return err
	}
	if err := h.write(ctx, max(1, n-int(h.state.Seq)), 1); err != nil {
		return err
	}
	// A process that starts now folds from the newest snapshot, as it would have been written on the way.
	m.g = engine.New(m.table, engine.Options{Now: time.Now})
	if _, err := m.g.SnapshotIfDue(ctx, m.town.id); err != nil {
		return err
	}
	agent := h.turns[0].agent
	var entropy [10]byte
	rand.Read(entropy[:])
	m.by, m.run = m.town.caller(protocol.KindHarness, agent.HarnessID), protocol.NewID(protocol.PrefixRun, time.Now(), entropy)
	draft := workspace.DraftIn(agent.Room, &protocol.RunStarted{Title: "measured"})
	draft.RunID, draft.Actor, draft.IdempotencyKey = m.run, protocol.Actor{Kind: protocol.KindAgent, ID: agent.ID}, "start"
	_, err = m.g.Do(ctx, m.town.id, workspace.Command{By: m.by, Draft: draft})
	return err
}

// steps appends n steps to the run, one after another.
func (m *mine) steps(ctx context.Context, n int) (took []time.Duration, err error) {
	for range n {
		draft := workspace.Draft(&protocol.StepLog{StepID: "s1", Status: "ok", Summary: "ran the tests of the parser, all of them pass"})
		draft.RunID, draft.IdempotencyKey = m.run, rand.Text()
		start := time.Now()
		o, err := m.g.Do(ctx, m.town.id, workspace.Command{By: m.by, Draft: draft})
		if err != nil {
			return nil, err
		}
		if o.Duplicate || len(o.Events) != 1 {
			return nil, fmt.Errorf("a step was answered %+v", o.Ack())
		}
		took = append(took, time.Since(start))
	}
	return took, nil
}

// appendAt measures appends to two logs in turns.
func (b *bench) appendAt(ctx context.Context, shallow, deep *mine, long int) ([]row, error) {
	low := row{what: "append p50 at 1,000 events", unit: millis}
	high := row{what: "append p50 at " + thousands(int64(long)) + " events", unit: millis}
	both := row{what: "the second to the first", unit: times, goal: 1.2}
	for i := range 2*b.reps() + 1 {
		var p50 [2]float64
		for j, m := range []*mine{shallow, deep} {
			took, err := m.steps(ctx, b.pick(400, 150))
			if err != nil {
				return nil, err
			}
			p50[j] = ms(quantile(took, 0.5))
		}
		if i == 0 {
			continue // warms up
		}
		low.values, high.values = append(low.values, p50[0]), append(high.values, p50[1])
		both.values = append(both.values, p50[1]/p50[0])
	}
	return []row{low.against("raw sync", b.disk), high.against("raw sync", b.disk), both}, nil
}
