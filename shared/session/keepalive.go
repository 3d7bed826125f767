package session

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/chipschat/chips-aws/shared/engine"
	"github.com/chipschat/chips-aws/shared/protocol"
)

// Hearing says when a socket was last heard. It is asked of transports that send no pings of their own.
type Hearing interface {
	// LastHeard is when the socket last sent anything, as far as the transport knows: the zero time where it does not say. It may be
	// later, as where what is sent to the socket counts too. ErrGone says there is no such socket any more.
	LastHeard(ctx context.Context, connID string) (time.Time, error)
}

// Keepalive pings sockets by frames, where the transport sends no pings of its own, and closes those that do not answer. It also clears
// away rows whose socket is gone or past its time.
//
// It writes nothing while all is well. The workspaces that have sockets are on a list in parts, and a part's turn comes by the clock, once
// in Every; when a socket was last heard the transport knows. Which pings are to be looked after is kept in memory: a process that
// was not there when a ping went out does not close anybody for it.
//
// A ping for each socket of its own, due in the table, was turned down: to move a row in the index is three write units, twice as dear as
// the ping itself. This way a visit is one read unit for each workspace and 4 KB of its connections (docs/adr/0004-keepalive.md).
type Keepalive struct {
	s *Sessions
	c KeepaliveConfig

	mu sync.Mutex // held by a run
	// upTo is the turn (see turn) up to which the parts have had theirs.
	upTo int64
	// todo are the parts whose turn has come and that were not gone through to their end.
	todo []visit

	asking sync.Mutex
	// asked are the pings that were sent and not looked after yet, by connection.
	asked map[string]ask
}

// KeepaliveConfig is how a Keepalive behaves.
type KeepaliveConfig struct {
	Hearing Hearing
	// Every is the time between two pings of a socket, give or take the time between two runs.
	Every time.Duration
	// Silent is how long a ping may go without any frame after it; what is silent for longer is closed by the next run. Only a client
	// whose hello accepts the word ping is held to it (contract U-135).
	Silent time.Duration
	// Missed is how far back a new process supposes that runs were missed: two runs' distance.
	Missed time.Duration
}

// visit is a part of the list, and the workspace after which it is to be gone on with.
type visit struct {
	part  int
	after string
}

// ask is a ping that wants an answer.
type ask struct {
	ws string
	at time.Time
}

const (
	// listPage is how many workspaces are read at once, workspaces how many of them are gone through side by side, and pushes how
	// many sockets of each.
	listPage   = 64
	workspaces = 8
	pushes     = 8
	// connecting is how long it may take to open a socket, from when its row stands.
	connecting = time.Minute
	// leeway is by how much a socket's clock may be behind ours, and be rounded.
	leeway = 5 * time.Second
)

// NewKeepalive makes a Keepalive for connections of s.
func NewKeepalive(s *Sessions, c KeepaliveConfig) *Keepalive {
	return &Keepalive{s: s, c: c, asked: map[string]ask{}}
}

// turn counts the turns of parts since ever: part n%DueShards has turn n. Each part has one in Every.
func (k *Keepalive) turn(t time.Time) int64 {
	return t.UnixNano() / max(1, int64(k.c.Every)/engine.DueShards)
}

// Run looks after the pings sent before and goes through the parts of the list whose turn has come since the last run, until ctx ends:
// what is left then is gone on with by the next run.
func (k *Keepalive) Run(ctx context.Context) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.lookAfter(ctx)
	now := k.s.c.Now()
	if k.upTo == 0 {
		k.upTo = k.turn(now.Add(-k.c.Missed))
	}
	to := k.turn(now)
	for n := max(k.upTo, to-engine.DueShards) + 1; n <= to; n++ {
		part := int(n % engine.DueShards)
		if !slices.ContainsFunc(k.todo, func(v visit) bool { return v.part == part }) {
			k.todo = append(k.todo, visit{part: part})
		}
	}
	k.upTo = to
	for first := true; len(k.todo) > 0 && ctx.Err() == nil; first = false {
		more, err := k.page(ctx, &k.todo[0], first)
		if err != nil {
			return err
		}
		if !more {
			k.todo = k.todo[1:]
		}
	}
	return nil
}

// page goes through the next workspaces of a part, and says whether there are more. One that was cut short is gone through again, but for
// the first of a run, which had all the time there is: a workspace that is too large holds up no other.
func (k *Keepalive) page(ctx context.Context, v *visit, first bool) (more bool, err error) {
	rows, err := k.s.c.Rows.Query(ctx, listPK(v.part), v.after, listPage)
	if ctx.Err() != nil {
		return true, nil
	}
	if err != nil {
		return true, fmt.Errorf("read which workspaces have sockets: %w", err)
	}
	done := make([]bool, len(rows))
	_ = engine.Beside(len(rows), workspaces, func(i int) error {
		if ctx.Err() != nil {
			return nil
		}
		err := k.workspace(ctx, rows[i].SK)
		if done[i] = ctx.Err() == nil; done[i] && err != nil {
			k.s.c.Log.ErrorContext(ctx, "the sockets of a workspace could not be pinged", "workspace_id", rows[i].SK, "error", err)
		}
		return nil // the others' are pinged all the same
	})
	for i, row := range rows {
		if !done[i] && (i > 0 || !first) {
			return true, nil
		}
		v.after = row.SK
	}
	return len(rows) == listPage, nil
}

// workspace pings the sockets of one workspace.
func (k *Keepalive) workspace(ctx context.Context, ws string) error {
	const page = 1000
	var conns []Connection
	empty := true
	for after := ""; ; {
		rows, err := k.s.c.Rows.Query(ctx, connectionsPK(ws), after, page)
		if err != nil {
			return fmt.Errorf("read connections: %w", err)
		}
		for _, row := range rows {
			empty, after = false, row.SK
			c, err := decodeConnection(ws, row)
			if err != nil {
				k.s.c.Log.ErrorContext(ctx, "a connection's row cannot be read", "alarm", true, "error", err)
				continue
			}
			conns = append(conns, c)
		}
		if len(rows) < page {
			break
		}
	}
	if empty {
		return k.s.unlist(ctx, ws)
	}
	return engine.Beside(len(conns), pushes, func(i int) error {
		if ctx.Err() != nil {
			return nil
		}
		return k.visit(ctx, &conns[i])
	})
}

// visit does what is to be done about one connection.
func (k *Keepalive) visit(ctx context.Context, c *Connection) error {
	switch {
	case !k.s.c.Now().Before(c.expires):
		return k.s.Cut(ctx, c.Workspace, c.ID, CloseTryAgain, "open for too long", nil)
	case c.Closing: // it is due
		return nil
	case !c.Hello: // not kept open, and so not pinged; one that is being opened is not known to the transport yet
		if k.s.c.Now().Sub(c.At.Time) < connecting {
			return nil
		}
		if _, err := k.lastHeard(ctx, c.ID); errors.Is(err, ErrGone) {
			return k.s.Forget(ctx, c.Workspace, c.ID)
		}
		return nil
	}
	at := k.s.c.Now()
	switch err := k.ping(ctx, c.ID); {
	case errors.Is(err, ErrGone):
		return k.s.Forget(ctx, c.Workspace, c.ID)
	case err != nil && ctx.Err() != nil: // the run is over
	case err != nil: // nobody's fault, or that of a consumer whose transport ends it
		k.s.c.Log.WarnContext(ctx, "a ping did not go out", "workspace_id", c.Workspace, "connection_id", c.ID, "error", err)
	case slices.Contains(c.Accepts, protocol.FramePing):
		k.remember(c.ID, ask{c.Workspace, at})
	}
	return nil
}

// ping sends a ping; three times where the transport, or the whole account, is too busy for the moment.
func (k *Keepalive) ping(ctx context.Context, connID string) error {
	frame, err := json.Marshal(protocol.PingFrame{Frame: protocol.FramePing})
	if err != nil {
		return err
	}
	for try := 1; ; try++ {
		err := k.s.post(ctx, connID, frame)
		if !errors.Is(err, ErrThrottled) || try == 3 || !engine.Sleep(ctx, time.Duration(try)*(100*time.Millisecond+rand.N(200*time.Millisecond))) {
			return err
		}
	}
}

// remember keeps a ping to be looked after. One that is kept already is older, and is looked after first.
func (k *Keepalive) remember(connID string, a ask) {
	k.asking.Lock()
	defer k.asking.Unlock()
	if _, kept := k.asked[connID]; !kept {
		k.asked[connID] = a
	}
}

// lookAfter closes the sockets that were not heard from in the time after a ping.
func (k *Keepalive) lookAfter(ctx context.Context) {
	var ids []string
	for id, a := range k.asked {
		if k.s.c.Now().Sub(a.at) >= k.c.Silent {
			ids = append(ids, id)
		}
	}
	left := make([]bool, len(ids))
	_ = engine.Beside(len(ids), workspaces*pushes, func(i int) error {
		a := k.asked[ids[i]]
		if left[i] = ctx.Err() != nil; left[i] {
			return nil
		}
		if err := k.judge(ctx, ids[i], a); err != nil {
			k.s.c.Log.WarnContext(ctx, "whether a ping was answered is not known", "workspace_id", a.ws, "connection_id", ids[i], "error", err)
		}
		return nil // it was asked once
	})
	for i, id := range ids {
		if !left[i] {
			delete(k.asked, id)
		}
	}
}

// judge closes a socket that was not heard since it was asked.
func (k *Keepalive) judge(ctx context.Context, connID string, a ask) error {
	heard, err := k.lastHeard(ctx, connID)
	switch {
	case errors.Is(err, ErrGone):
		return k.s.Forget(ctx, a.ws, connID)
	case err != nil:
		return err
	case heard.IsZero() || !heard.Before(a.at.Add(-leeway)):
		return nil
	}
	return k.s.Cut(ctx, a.ws, connID, closeGoingAway, "silent for too long", nil)
}

func (k *Keepalive) lastHeard(ctx context.Context, connID string) (time.Time, error) {
	ctx, cancel := context.WithTimeout(ctx, k.s.c.Limits.PostTimeout)
	defer cancel()
	return k.c.Hearing.LastHeard(ctx, connID)
}
