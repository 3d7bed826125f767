package embedded

import (
	"bytes"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/chipschat/chips-aws/shared/engine"
)

// memory keeps the volatile rows: of each pk, in order of sk.
type memory struct {
	mu   sync.RWMutex
	rows map[string][]engine.Row
}

// find answers where a row is or would be. The caller holds the lock.
func (m *memory) find(pk, sk string) (int, bool) {
	return slices.BinarySearchFunc(m.rows[pk], sk, func(r engine.Row, sk string) int { return strings.Compare(r.SK, sk) })
}

// copied is a row that shares no memory with r.
func copied(r engine.Row) engine.Row {
	r.Body = bytes.Clone(r.Body)
	return r
}

func (m *memory) get(pk, sk string) (engine.Row, bool) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	i, ok := m.find(pk, sk)
	if !ok {
		return engine.Row{}, false
	}
	return copied(m.rows[pk][i]), true
}

func (m *memory) put(row engine.Row, cond engine.Cond) (int64, error) {
	row = copied(row)
	row.Expires, row.Due = fromExpiry(expiry(row.Expires)), fromMillis(millis(row.Due))
	m.mu.Lock()
	defer m.mu.Unlock()
	i, some := m.find(row.PK, row.SK)
	row.Rev = 0
	if some {
		row.Rev = m.rows[row.PK][i].Rev
	}
	if !holds(cond, row.Rev) {
		return 0, engine.ErrCondition
	}
	row.Rev++
	if some {
		m.rows[row.PK][i] = row
	} else {
		m.rows[row.PK] = slices.Insert(m.rows[row.PK], i, row)
	}
	return row.Rev, nil
}

func (m *memory) delete(pk, sk string, cond engine.Cond) (engine.Row, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var old engine.Row
	i, some := m.find(pk, sk)
	if some {
		old = m.rows[pk][i]
	}
	if !holds(cond, old.Rev) {
		return engine.Row{}, engine.ErrCondition
	}
	if some {
		m.rows[pk] = slices.Delete(m.rows[pk], i, i+1)
		if len(m.rows[pk]) == 0 {
			delete(m.rows, pk)
		}
	}
	return old, nil
}

func (m *memory) query(pk, after string, limit int) []engine.Row {
	m.mu.RLock()
	defer m.mu.RUnlock()
	i, equal := m.find(pk, after)
	if equal {
		i++
	}
	all := m.rows[pk][i:]
	rows := make([]engine.Row, 0, min(limit, len(all)))
	for _, r := range all[:min(limit, len(all))] {
		rows = append(rows, copied(r))
	}
	return rows
}

// due looks at every row: sweeps are rare.
func (m *memory) due(shard int, until time.Time, limit int) []engine.Row {
	m.mu.RLock()
	defer m.mu.RUnlock()
	var rows []engine.Row
	for _, all := range m.rows {
		for _, r := range all {
			if !r.Due.IsZero() && !r.Due.After(until) && engine.DueShard(r.PK, r.SK) == shard {
				rows = append(rows, r)
			}
		}
	}
	rows = oldest(rows, limit)
	for i := range rows {
		rows[i] = copied(rows[i])
	}
	return rows
}

func (m *memory) purge(now time.Time) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	gone := 0
	for pk, all := range m.rows {
		kept := slices.DeleteFunc(all, func(r engine.Row) bool { return !r.Expires.IsZero() && !r.Expires.After(now) })
		gone += len(all) - len(kept)
		if m.rows[pk] = kept; len(kept) == 0 {
			delete(m.rows, pk)
		}
	}
	return gone
}

// oldest sorts rows by when they are due and keeps the first of them.
func oldest(rows []engine.Row, limit int) []engine.Row {
	slices.SortStableFunc(rows, func(a, b engine.Row) int { return a.Due.Compare(b.Due) })
	return rows[:min(limit, len(rows))]
}
