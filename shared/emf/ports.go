package emf

import (
	"context"
	"errors"
	"time"

	"github.com/chipschat/chips-aws/shared/engine"
	"github.com/chipschat/chips-aws/shared/session"
)

// Run counts under a metric how often a function runs: Replays, Swept.
func Run[T any](m *Meter, name Metric, run func(context.Context, T) error) func(context.Context, T) error {
	return func(ctx context.Context, in T) error {
		m.add(name, 1)
		return run(ctx, in)
	}
}

// Lag notes under a metric how late something was for a workspace, and keeps the latest: fanout.Config.Late, deadline.Config.Late.
func (m *Meter) Lag(name Metric) func(workspace string, lag time.Duration) {
	return func(workspace string, lag time.Duration) { m.most(name, max(0, lag.Milliseconds()), workspace) }
}

// Push counts what becomes of frames.
func (m *Meter) Push(p session.Push) session.Push { return push{p, m} }

type push struct {
	session.Push
	m *Meter
}

// Post sends a frame.
func (p push) Post(ctx context.Context, connID string, frame []byte) error {
	err := p.Push.Post(ctx, connID, frame)
	p.m.add(Deliveries, count(err == nil))
	p.m.add(PushesGone, count(errors.Is(err, session.ErrGone)))
	p.m.add(PushesThrottled, count(errors.Is(err, session.ErrThrottled)))
	switch {
	case err == nil, errors.Is(err, session.ErrGone), errors.Is(err, session.ErrThrottled), errors.Is(err, session.ErrTooLarge):
	default:
		p.m.add(LostPushes, 1)
	}
	return err
}

func count(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// Table counts what becomes of appends, and what fails by the table's fault.
func (m *Meter) Table(t engine.Table) engine.Table { return table{t, m} }

type table struct {
	engine.Table
	m *Meter
}

// fault counts an error that is the table's. Conditions are there to fail, and nobody is at fault where the caller has gone.
func (t table) fault(ctx context.Context, err error) {
	if err != nil && !errors.Is(err, engine.ErrCondition) && !errors.Is(ctx.Err(), context.Canceled) {
		t.m.add(TableFaults, 1)
	}
}

// Append writes commits.
func (t table) Append(ctx context.Context, appends []engine.Append) ([]engine.Result, error) {
	results, err := t.Table.Append(ctx, appends)
	t.fault(ctx, err)
	for i, r := range results {
		commit := appends[i].Commit
		t.m.about(commit.Workspace)
		t.m.add(Appends, count(r.Written))
		t.m.add(Conflicts, count(r.Winner != nil && r.Winner.Nonce != commit.Nonce))
	}
	return results, err
}

// Commits reads a part of a log.
func (t table) Commits(ctx context.Context, workspace string, from int64, limit int) ([]engine.Commit, error) {
	commits, err := t.Table.Commits(ctx, workspace, from, limit)
	t.fault(ctx, err)
	return commits, err
}

// Head reads the newest commit.
func (t table) Head(ctx context.Context, workspace string) (engine.Commit, bool, error) {
	commit, ok, err := t.Table.Head(ctx, workspace)
	t.fault(ctx, err)
	return commit, ok, err
}

// RoomCommits reads a part of a room.
func (t table) RoomCommits(ctx context.Context, workspace, space string, before int64, limit int) ([]engine.Commit, error) {
	commits, err := t.Table.RoomCommits(ctx, workspace, space, before, limit)
	t.fault(ctx, err)
	return commits, err
}

// ReadClaim reads the claim of a key.
func (t table) ReadClaim(ctx context.Context, workspace, sender, key string) (engine.Claim, bool, error) {
	claim, ok, err := t.Table.ReadClaim(ctx, workspace, sender, key)
	t.fault(ctx, err)
	return claim, ok, err
}

// Get reads a row.
func (t table) Get(ctx context.Context, pk, sk string) (engine.Row, bool, error) {
	row, ok, err := t.Table.Get(ctx, pk, sk)
	t.fault(ctx, err)
	return row, ok, err
}

// Put writes a row.
func (t table) Put(ctx context.Context, row engine.Row, cond engine.Cond) (int64, error) {
	rev, err := t.Table.Put(ctx, row, cond)
	t.fault(ctx, err)
	return rev, err
}

// Delete deletes a row.
func (t table) Delete(ctx context.Context, pk, sk string, cond engine.Cond) (engine.Row, error) {
	row, err := t.Table.Delete(ctx, pk, sk, cond)
	t.fault(ctx, err)
	return row, err
}

// Query reads rows.
func (t table) Query(ctx context.Context, pk, after string, limit int) ([]engine.Row, error) {
	rows, err := t.Table.Query(ctx, pk, after, limit)
	t.fault(ctx, err)
	return rows, err
}

// Glance reads rows.
func (t table) Glance(ctx context.Context, pk, after string, limit int) ([]engine.Row, error) {
	rows, err := t.Table.Glance(ctx, pk, after, limit)
	t.fault(ctx, err)
	return rows, err
}

// Due reads rows that are due.
func (t table) Due(ctx context.Context, shard int, before time.Time, limit int) ([]engine.Row, error) {
	rows, err := t.Table.Due(ctx, shard, before, limit)
	t.fault(ctx, err)
	return rows, err
}
