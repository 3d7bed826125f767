package session_test

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/chipschat/chips-aws/shared/engine"
	"github.com/chipschat/chips-aws/shared/protocol"
	"github.com/chipschat/chips-aws/shared/session"
	"github.com/chipschat/chips-aws/shared/workspace"
)

// api is a management API: it posts, closes, and says when a socket was last heard.
type api struct {
	mu      sync.Mutex
	sockets map[string]*socket
	// refuse is asked before each post of a ping.
	refuse func(id string) error
}

// socket is what the api knows of one, and how its client behaves.
type socket struct {
	answers, gone bool
	heard, pinged time.Time
	pings         int
	closed        int
	longest       time.Duration // without a ping, since it was opened
}

func (a *api) Post(_ context.Context, id string, frame []byte) error {
	if string(frame) != `{"frame":"ping"}` {
		return fmt.Errorf("posted %s", frame)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	s := a.sockets[id]
	switch {
	case s == nil || s.gone:
		return session.ErrGone
	case a.refuse != nil:
		if err := a.refuse(id); err != nil {
			return err
		}
	}
	s.longest = max(s.longest, time.Since(s.pinged))
	s.pinged, s.pings = time.Now(), s.pings+1
	if s.answers {
		s.heard = time.Now().Add(50 * time.Millisecond).Truncate(time.Second) // as coarse as it may be
	}
	return nil
}

func (a *api) Close(_ context.Context, id string, code int, _ string, _ []byte) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if s := a.sockets[id]; s != nil && !s.gone {
		s.gone, s.closed = true, code
	}
	return nil
}

func (a *api) LastHeard(_ context.Context, id string) (time.Time, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	s := a.sockets[id]
	if s == nil || s.gone {
		return time.Time{}, session.ErrGone
	}
	return s.heard, nil
}

// gateway is a stage of API Gateway with sockets of any workspaces.
type gateway struct {
	t        *testing.T
	table    engine.Table
	api      *api
	sessions *session.Sessions
	config   session.Config
}

func newGateway(t *testing.T, table engine.Table) *gateway {
	g := &gateway{t: t, table: table, api: &api{sockets: map[string]*socket{}}}
	g.config = session.Config{
		Engine: engine.New(table, engine.Options{Now: time.Now}), Rows: table, Push: g.api, PingFrames: true, Now: time.Now, Log: slog.New(slog.DiscardHandler),
	}
	g.sessions = session.New(g.config)
	return g
}

// keepalive is that of a new process.
func (g *gateway) keepalive(change ...func(*session.KeepaliveConfig)) *session.Keepalive {
	c := session.KeepaliveConfig{Hearing: g.api, Every: 8 * time.Minute, Silent: time.Minute, Missed: 2 * time.Minute}
	for _, f := range change {
		f(&c)
	}
	return session.NewKeepalive(session.New(g.config), c)
}

// open opens a socket and says hello, unless accepts is "-". It answers what the api knows of it.
func (g *gateway) open(ws, id, accepts string, answers bool) *socket {
	g.t.Helper()
	c := workspace.Caller{Workspace: ws, Kind: protocol.KindPerson, ID: "usr_1", Credential: "dev_1"}
	if err := g.sessions.Connect(context.Background(), id, c); err != nil {
		g.t.Fatal(err)
	}
	s := &socket{answers: answers, heard: time.Now(), pinged: time.Now()}
	g.api.mu.Lock()
	g.api.sockets[id] = s
	g.api.mu.Unlock()
	if accepts != "-" {
		// The workspace has no log, so hello is answered with a close; what counts here is what the row says.
		hello := `{"frame":"hello","protocol":{"min":1,"max":1},"client":{"name":"t","version":"1"},"accepts":[` + accepts + `]}`
		if _, err := g.sessions.Frame(context.Background(), id, c, []byte(hello)); err != nil {
			g.t.Fatal(err)
		}
	}
	return s
}

// has says whether a connection has a row.
func (g *gateway) has(ws, id string) bool {
	g.t.Helper()
	_, ok, err := g.table.Get(context.Background(), "X#"+ws, id)
	if err != nil {
		g.t.Fatal(err)
	}
	return ok
}

// listed are the workspaces that the list holds.
func (g *gateway) listed() (all []string) {
	g.t.Helper()
	for part := range engine.DueShards {
		rows, err := g.table.Query(context.Background(), fmt.Sprint("L#", part), "", 10_000)
		if err != nil {
			g.t.Fatal(err)
		}
		for _, row := range rows {
			all = append(all, row.SK)
		}
	}
	return all
}

// minutes runs a keepalive once a minute.
func minutes(t *testing.T, k *session.Keepalive, n int) {
	t.Helper()
	for range n {
		if err := k.Run(context.Background()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
	}
}
