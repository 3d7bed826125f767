package fanout_test

import (
	"context"
	"errors"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/chipschat/chips-aws/shared/engine"
	"github.com/chipschat/chips-aws/shared/session"
)

// Post delivers to a socket, or does something else.
func (m *model) Post(ctx context.Context, id string, frame []byte) error {
	if m.wait(20 * time.Millisecond); m.restless {
		m.wait(100 * time.Millisecond)
	}
	if m.fault("throttled", .05) {
		return session.ErrThrottled
	}
	if m.fault("push lost", .02) {
		return errors.New("push: lost")
	}
	unknown := m.fault("push answer lost", .02)
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.sockets[id]
	if s == nil || !s.open {
		return session.ErrGone
	}
	for _, seq := range seqs(m, frame) {
		s.client.see(m, seq)
	}
	if unknown {
		return errors.New("push: answer lost")
	}
	return ctx.Err()
}

// seqs are those of the events in a frame.
func seqs(m *model, frame []byte) []int64 {
	var f struct {
		Frame  string           `json:"frame"`
		Event  jsontext.Value   `json:"event"`
		Events []jsontext.Value `json:"events"`
	}
	if err := json.Unmarshal(frame, &f); err != nil {
		m.violation("frame %s: %v", frame, err)
	}
	if f.Frame == "event" {
		f.Events = append(f.Events, f.Event)
	}
	var list []int64
	for _, raw := range f.Events {
		var e struct {
			Seq int64 `json:"seq"`
		}
		if err := json.Unmarshal(raw, &e); err != nil {
			m.violation("event %s: %v", raw, err)
		}
		list = append(list, e.Seq)
	}
	return list
}

// Close closes a socket, or says it could not be told.
func (m *model) Close(_ context.Context, id string, _ int, _ string, _ []byte) error {
	m.wait(10 * time.Millisecond)
	if m.fault("close lost", .1) {
		return errors.New("close: lost")
	}
	m.hangUp(id)
	if m.fault("close answer lost", .1) {
		return errors.New("close: answer lost")
	}
	return nil
}

func (m *model) hangUp(id string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if s := m.sockets[id]; s != nil && s.open {
		s.open = false
		close(s.closed)
	}
}

// process is one function's environment: when it dies, nothing it does has an effect any more, and it learns of nothing.
type process struct {
	m *model
	p float64

	mu   sync.Mutex
	dead bool
}

var errDead = errors.New("the process is dead")

// step is one call to the outside: do is done, unless the process is dead by then.
func (p *process) step(do func() error) error {
	if p.dying("died before a call") {
		return errDead
	}
	err := do()
	if p.dying("died after a call") {
		return errDead
	}
	return err
}

func (p *process) dying(what string) bool {
	die := p.m.fault(what, p.p)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dead = p.dead || die
	return p.dead
}

// mortalTable and mortalPush are a table and a push as a process sees them.
type mortalTable struct {
	engine.Table
	p *process
	// ofFanout says that cursors are written for fan-out.
	ofFanout bool
}

func (t mortalTable) Commits(ctx context.Context, ws string, from int64, limit int) (out []engine.Commit, err error) {
	err = t.p.step(func() error {
		out, err = t.Table.Commits(ctx, ws, from, min(limit, 1+t.p.m.below(8))) // short pages
		return err
	})
	return out, err
}

func (t mortalTable) Get(ctx context.Context, pk, sk string) (out engine.Row, ok bool, err error) {
	err = t.p.step(func() error { out, ok, err = t.Table.Get(ctx, pk, sk); return err })
	return out, ok, err
}

func (t mortalTable) Put(ctx context.Context, row engine.Row, cond engine.Cond) (rev int64, err error) {
	if t.p.m.mutant.noCAS {
		cond = engine.Always
	}
	if t.p.m.mutant.noTouch && !t.ofFanout && strings.HasPrefix(row.PK, "F#") {
		return cond.Rev(), nil
	}
	if t.p.m.mutant.noSettle {
		row.Body = prior.ReplaceAll(row.Body, nil)
	}
	err = t.p.step(func() error { rev, err = t.Table.Put(ctx, row, cond); return err })
	return rev, err
}

var prior = regexp.MustCompile(`,"prior":"[a-z]+"`)

func (t mortalTable) Delete(ctx context.Context, pk, sk string, cond engine.Cond) (out engine.Row, err error) {
	err = t.p.step(func() error { out, err = t.Table.Delete(ctx, pk, sk, cond); return err })
	return out, err
}

func (t mortalTable) Query(ctx context.Context, pk, after string, limit int) (out []engine.Row, err error) {
	err = t.p.step(func() error { out, err = t.Table.Query(ctx, pk, after, limit); return err })
	return out, err
}

type mortalPush struct{ p *process }

func (t mortalPush) Post(ctx context.Context, id string, frame []byte) error {
	return t.p.step(func() error { return t.p.m.Post(ctx, id, frame) })
}

func (t mortalPush) Close(ctx context.Context, id string, code int, reason string, last []byte) error {
	return t.p.step(func() error { return t.p.m.Close(ctx, id, code, reason, last) })
}

type mutantConnections struct {
	*session.Sessions
	m *model
}

func (c mutantConnections) MarkBehind(ctx context.Context, conn *session.Connection, n int64) error {
	if c.m.mutant.noMark {
		return nil
	}
	return c.Sessions.MarkBehind(ctx, conn, n)
}

func (c mutantConnections) Cut(ctx context.Context, ws, id string, code int, reason string, last []byte) error {
	if c.m.mutant.noCut {
		return nil
	}
	return c.Sessions.Cut(ctx, ws, id, code, reason, last)
}

type mutantRows struct {
	engine.Rows
	m *model
}

func (r mutantRows) Put(ctx context.Context, row engine.Row, cond engine.Cond) (int64, error) {
	var c session.Cursor
	if r.m.mutant.noClaim && json.Unmarshal(row.Body, &c) == nil && c.Claimed > c.Done {
		return cond.Rev(), nil
	}
	return r.Rows.Put(ctx, row, cond)
}
