package porttest

import (
	"context"
	"slices"
	"time"

	"github.com/chipschat/chips-aws/shared/engine"
)

var _ engine.Table = (*Faulty)(nil)

// Append appends, or fails. Where several are asked for a fault strikes one of them, and those before it are done.
func (f *Faulty) Append(ctx context.Context, appends []engine.Append) ([]engine.Result, error) {
	fault, err := f.draw(ctx)
	if err != nil {
		return nil, err
	}
	if fault == none || fault == slow || len(appends) == 0 {
		return f.inner.Append(ctx, appends)
	}
	var done []engine.Result
	struck := f.below(len(appends))
	if struck > 0 {
		done, err = f.inner.Append(ctx, appends[:struck])
		if err != nil || len(done) < struck || !done[struck-1].Written {
			return done, err
		}
	}
	this := slices.Clone(appends[struck : struck+1])
	apply := func(ctx context.Context) { _, _ = f.inner.Append(ctx, this) }
	switch fault {
	case lostReply:
		apply(ctx)
	case late:
		f.postpone(apply)
	case torn:
		f.tear(ctx, this[0])
	case repeated:
		apply(ctx)
		rest, err := f.inner.Append(ctx, appends[struck:])
		return append(done, rest...), err
	}
	return done, fault.err("append")
}

// tear puts the claim of an append and loses its commit, or postpones it. The port writes no claim alone, so it is written before a
// commit at a slot that is taken: the first. Where there is no log yet, all is lost.
func (f *Faulty) tear(ctx context.Context, a engine.Append) {
	if a.Claim == nil {
		return
	}
	if _, some, err := f.inner.Head(ctx, a.Commit.Workspace); err != nil || !some {
		return
	}
	alone := a
	alone.Commit.First = 1
	results, err := f.inner.Append(ctx, []engine.Append{alone})
	if err != nil || len(results) == 0 || !results[0].Claimed || f.coin() {
		return
	}
	a.Claim = nil
	f.postpone(func(ctx context.Context) { _, _ = f.inner.Append(ctx, []engine.Append{a}) })
}

// Commits reads, or fails.
func (f *Faulty) Commits(ctx context.Context, workspace string, from int64, limit int) ([]engine.Commit, error) {
	return read(ctx, f, "commits", func() ([]engine.Commit, error) { return f.inner.Commits(ctx, workspace, from, limit) })
}

// found is a read's answer with whether there was any.
type found[T any] struct {
	v  T
	ok bool
}

// Head reads, or fails.
func (f *Faulty) Head(ctx context.Context, workspace string) (engine.Commit, bool, error) {
	r, err := read(ctx, f, "head", func() (found[engine.Commit], error) {
		c, ok, err := f.inner.Head(ctx, workspace)
		return found[engine.Commit]{c, ok}, err
	})
	return r.v, r.ok, err
}

// RoomCommits reads, or fails. It may miss the newest, as an index does that lags.
func (f *Faulty) RoomCommits(ctx context.Context, workspace, space string, before int64, limit int) ([]engine.Commit, error) {
	return read(ctx, f, "room commits", func() ([]engine.Commit, error) {
		commits, err := f.inner.RoomCommits(ctx, workspace, space, before, limit)
		if n := len(commits); n > 0 && f.lags() {
			commits = commits[1+f.below(n):]
		}
		return commits, err
	})
}

// lags says whether an index is behind this time: as likely as a write is late.
func (f *Faulty) lags() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.random.Float64() < f.faults.Late
}

// ReadClaim reads, or fails.
func (f *Faulty) ReadClaim(ctx context.Context, workspace, sender, key string) (engine.Claim, bool, error) {
	r, err := read(ctx, f, "read claim", func() (found[engine.Claim], error) {
		c, ok, err := f.inner.ReadClaim(ctx, workspace, sender, key)
		return found[engine.Claim]{c, ok}, err
	})
	return r.v, r.ok, err
}

// Get reads, or fails.
func (f *Faulty) Get(ctx context.Context, pk, sk string) (engine.Row, bool, error) {
	r, err := read(ctx, f, "get", func() (found[engine.Row], error) {
		row, ok, err := f.inner.Get(ctx, pk, sk)
		return found[engine.Row]{row, ok}, err
	})
	return r.v, r.ok, err
}

// Put writes, or fails.
func (f *Faulty) Put(ctx context.Context, row engine.Row, cond engine.Cond) (int64, error) {
	row.Body = slices.Clone(row.Body)
	return write(ctx, f, "put", func(ctx context.Context) (int64, error) { return f.inner.Put(ctx, row, cond) })
}

// Delete deletes, or fails.
func (f *Faulty) Delete(ctx context.Context, pk, sk string, cond engine.Cond) (engine.Row, error) {
	return write(ctx, f, "delete", func(ctx context.Context) (engine.Row, error) { return f.inner.Delete(ctx, pk, sk, cond) })
}

// Query reads, or fails.
func (f *Faulty) Query(ctx context.Context, pk, after string, limit int) ([]engine.Row, error) {
	return read(ctx, f, "query", func() ([]engine.Row, error) { return f.inner.Query(ctx, pk, after, limit) })
}

// Glance reads, or fails.
func (f *Faulty) Glance(ctx context.Context, pk, after string, limit int) ([]engine.Row, error) {
	return read(ctx, f, "glance", func() ([]engine.Row, error) { return f.inner.Glance(ctx, pk, after, limit) })
}

// Due reads, or fails.
func (f *Faulty) Due(ctx context.Context, shard int, before time.Time, limit int) ([]engine.Row, error) {
	return read(ctx, f, "due", func() ([]engine.Row, error) { return f.inner.Due(ctx, shard, before, limit) })
}
