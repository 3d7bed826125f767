package engine

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/chipschat/chips-aws/shared/workspace"
)

// snapshotWeight is how many times its own size the log after a snapshot grows to before the next is due.
const snapshotWeight = 8

// span is how many commits lie between two snapshots that are kept at most. One is due at half of it at the latest, which leaves room for a long
// stretch before that is seen.
func (g *Engine) span() int64 { return 50 * g.o.SnapshotEvery }

func (g *Engine) due(f *fold) bool {
	n := f.commits - f.last.Commits
	return n >= g.o.SnapshotEvery && (f.tail > snapshotWeight*int64(f.last.Size) || n >= g.span()/2)
}

// SnapshotIfDue writes a snapshot of the workspace when the log since the last one has grown long enough, and says whether it did.
// It is to be called after every stretch of the log that was handled, with the commits that were seen: where they follow on from
// what is folded here nothing is read.
func (g *Engine) SnapshotIfDue(ctx context.Context, ws string, seen ...Commit) (bool, error) {
	w := g.workspace(ws)
	if err := w.follow(ctx, seen); err != nil {
		return false, err
	}
	f, raw, err := w.dueNow()
	if err != nil || raw == nil {
		return false, err
	}
	m, _, err := g.nextSnapshot(ctx, ws, atOrBelow(newest))
	if err != nil {
		return false, err
	}
	if m.Seq > f.last.Seq { // another has written one meanwhile
		w.noteSnapshot(m, f)
		if f, raw, err = w.dueNow(); err != nil || raw == nil {
			return false, err
		}
	}
	if m.Seq < f.last.Seq { // they were deleted, to be written anew
		f.last = m
	}
	if f.commits-f.last.Commits > g.span() {
		if err := g.fill(ctx, ws, f.last.Seq); err != nil {
			return false, err
		}
	}
	m, err = g.write(ctx, ws, snapshot{Seq: f.state.Seq, Commits: f.commits}, raw)
	if err != nil {
		return false, err
	}
	w.noteSnapshot(m, f)
	return true, g.thin(ctx, ws, m.Seq)
}

// follow folds in commits that were seen, and reads what is missing before them; all there is when none are given.
func (w *warm) follow(ctx context.Context, seen []Commit) error {
	if err := w.load(ctx); err != nil {
		return err
	}
	seen = slices.Clone(seen)
	slices.SortFunc(seen, func(a, b Commit) int { return cmp.Compare(a.First, b.First) })
	w.mu.Lock()
	gap := len(seen) == 0
	for _, c := range seen {
		if gap = w.state == nil || c.First > w.state.Seq+1; gap {
			break
		}
		if err := w.take(c); err != nil {
			w.mu.Unlock()
			return err
		}
	}
	w.mu.Unlock()
	if gap {
		return w.catchUp(ctx)
	}
	return nil
}

// dueNow answers the fold as it is and its state written out, nil when no snapshot is due.
func (w *warm) dueNow() (fold, []byte, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.state == nil || !w.engine.due(&w.fold) {
		return fold{}, nil, nil
	}
	raw, err := encodeState(w.state)
	f := w.fold
	f.state = &workspace.State{Seq: w.state.Seq} // the rest goes on changing
	return f, raw, err
}

// noteSnapshot notes that there is a newer snapshot than the last that f, an earlier look at the fold, knew.
func (w *warm) noteSnapshot(m snapshot, f fold) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if m.Commits <= w.last.Commits {
		return
	}
	// The bytes before it go by its share of the commits.
	if n := f.commits - f.last.Commits; n > 0 {
		w.tail = max(0, w.tail-f.tail*(m.Commits-f.last.Commits)/n)
	}
	w.last = m
}

// fill folds on from a seq and writes snapshots, none further than the span from the next.
func (g *Engine) fill(ctx context.Context, ws string, seq int64) error {
	f, err := g.restore(ctx, ws, seq)
	if err != nil {
		return err
	}
	f.keys.most = 1
	for more := true; more; {
		if more, err = g.page(ctx, &f, int(min(pageCommits, g.span()/2))); err != nil {
			return err
		}
		if n := f.commits - f.last.Commits; n >= g.span()/2 || !more && n >= g.o.SnapshotEvery {
			raw, err := encodeState(f.state)
			if err != nil {
				return err
			}
			if f.last, err = g.write(ctx, ws, snapshot{Seq: f.state.Seq, Commits: f.commits}, raw); err != nil {
				return err
			}
		}
	}
	return nil
}

// thin takes away one snapshot that is no longer needed: the third newest, when those around it are within the span of each other. As one
// is taken for each that is written, what stays is the newest two and one for every span.
func (g *Engine) thin(ctx context.Context, ws string, seq int64) error {
	var older []snapshot // one, two and three before it
	var rows [3][]Row
	for after := past(snapshotSK(seq, 0)); len(older) < 3; {
		m, read, err := g.nextSnapshot(ctx, ws, after)
		if err != nil || len(read) == 0 {
			return err
		}
		after = past(read[0].SK)
		if m.Seq > 0 {
			rows[len(older)] = read
			older = append(older, m)
		}
	}
	if older[0].Commits-older[2].Commits > g.span() {
		return nil
	}
	for _, row := range rows[1] { // the row that counts goes first
		if !strings.HasPrefix(row.SK, snapshotPrefix(older[1].Seq)) {
			break
		}
		if _, err := g.table.Delete(ctx, row.PK, row.SK, Always); err != nil {
			return fmt.Errorf("thin snapshots of %s: %w", ws, err)
		}
	}
	return nil
}
