package session_test

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
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

// What becomes of each kind of socket within two rounds.
//
// covers: KEEP-1, KEEP-2, KEEP-7
func TestKeepalive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGateway(t, open(t))
		answering, silent := g.open("ws_1", "a", `"ping"`, true), g.open("ws_1", "b", `"ping","events"`, false)
		ignorant, mute := g.open("ws_1", "c", `"events"`, false), g.open("ws_1", "d", "-", false)
		gone, early := g.open("ws_2", "e", "", true), g.open("ws_2", "f", "-", true)
		gone.gone, early.gone = true, true
		k := g.keepalive()
		minutes(t, k, 18)
		if answering.pings != 2 || answering.closed != 0 || !g.has("ws_1", "a") {
			t.Errorf("one that answers: %+v", answering)
		}
		if silent.pings != 1 || silent.closed != 1001 || g.has("ws_1", "b") {
			t.Errorf("one that says it answers and does not: %+v", silent)
		}
		if ignorant.pings != 2 || ignorant.closed != 0 || !g.has("ws_1", "c") {
			t.Errorf("one that does not know pings: %+v", ignorant)
		}
		if mute.pings != 0 || mute.closed != 0 || !g.has("ws_1", "d") {
			t.Errorf("one that never said hello: %+v", mute)
		}
		if g.has("ws_2", "e") || g.has("ws_2", "f") {
			t.Error("what is gone is still on the books")
		}
		if got := g.listed(); len(got) != 1 || got[0] != "ws_1" {
			t.Errorf("workspaces with sockets: %q", got)
		}
		minutes(t, k, 110) // past two hours
		if answering.closed != 1013 || ignorant.closed != 1013 || g.has("ws_1", "a") || g.has("ws_1", "d") {
			t.Errorf("past their time: %+v, %+v", answering, ignorant)
		}
		minutes(t, k, 9)
		if got := g.listed(); len(got) != 0 {
			t.Errorf("with nobody there: %q", got)
		}
	})
}

// A process that did not send the ping closes nobody for it.
func TestKeepaliveRemembersOnlyItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGateway(t, open(t))
		s := g.open("ws_1", "a", `"ping"`, false)
		first := g.keepalive()
		for s.pings == 0 {
			minutes(t, first, 1)
		}
		s.heard = s.pinged.Add(-time.Hour)
		time.Sleep(4 * time.Minute) // its turn is over
		next := g.keepalive()
		minutes(t, next, 3)
		pings := s.pings
		if s.closed != 0 {
			t.Fatal("closed by a process that asked nothing")
		}
		for s.pings == pings {
			minutes(t, next, 1)
		}
		minutes(t, next, 2)
		if s.closed != 1001 {
			t.Errorf("closed with %d", s.closed)
		}
	})
}

// Silence that is longer than the time between pings is counted from the first that was not answered.
//
// covers: KEEP-2, KEEP-7
func TestKeepaliveOverSeveralPings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGateway(t, open(t))
		silent, late := g.open("ws_1", "a", `"ping"`, false), g.open("ws_1", "b", `"ping"`, false)
		k := g.keepalive(func(c *session.KeepaliveConfig) { c.Silent = 20 * time.Minute })
		for silent.pings == 0 {
			minutes(t, k, 1)
		}
		minutes(t, k, 15)
		late.heard = time.Now()
		minutes(t, k, 7)
		if silent.closed != 1001 || silent.pings != 3 || late.closed != 0 {
			t.Errorf("silent %+v, late %+v", silent, late)
		}
	})
}

// A transport that does not say when a socket was heard, and pings that did not go out, are no silence.
func TestKeepaliveClosesNobodyForWhatItDoesNotKnow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGateway(t, open(t))
		unknown, throttled, hanging := g.open("ws_1", "a", `"ping"`, false), g.open("ws_1", "b", `"ping"`, false), g.open("ws_1", "c", `"ping"`, false)
		unknown.heard = time.Time{}
		tries := 0
		g.api.refuse = func(id string) error {
			switch id {
			case "b":
				tries++
				return session.ErrThrottled
			case "c":
				return context.DeadlineExceeded
			}
			return nil
		}
		minutes(t, g.keepalive(), 20)
		if unknown.pings < 2 || unknown.closed != 0 || throttled.closed != 0 || hanging.closed != 0 {
			t.Errorf("closed with %d, %d, %d", unknown.closed, throttled.closed, hanging.closed)
		}
		if tries != 3*unknown.pings {
			t.Errorf("a throttled ping was tried %d times in %d rounds", tries, unknown.pings)
		}
	})
}

// hanging has every push to some sockets hang until its deadline.
type hanging struct {
	*api
	which func(id string) bool
}

func (h hanging) Post(ctx context.Context, id string, frame []byte) error {
	if h.which(id) {
		<-ctx.Done()
		return ctx.Err()
	}
	return h.api.Post(ctx, id, frame)
}

// A run ends when its time does, the next goes on where it stopped, and what hangs starves nobody.
func TestKeepaliveGoesOnWhereItStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGateway(t, open(t))
		g.config.Push = hanging{g.api, func(id string) bool { return strings.HasPrefix(id, "dead") }}
		var living []*socket
		for ws := range 2000 {
			name := fmt.Sprint("ws_", ws)
			living = append(living, g.open(name, fmt.Sprint("a", ws), "", true))
			g.open(name, fmt.Sprint("dead", ws), "", true)
		}
		for i := range 2000 { // more than any run gets through
			g.open("ws_0_large", fmt.Sprint("dead_large", i), "", true)
		}
		// Two thousand workspaces of two seconds each, eight at once, are five hundred seconds; a run has twenty.
		k := g.keepalive()
		for range 70 {
			began := time.Now()
			ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
			if err := k.Run(ctx); err != nil {
				t.Fatal(err)
			}
			cancel()
			if d := time.Since(began); d > 23*time.Second {
				t.Fatalf("a run took %v", d)
			}
			time.Sleep(time.Minute - time.Since(began))
		}
		for i, s := range living {
			if s.pings == 0 {
				t.Errorf("the socket of workspace %d is never pinged", i)
			}
		}
	})
}

// Sockets come and go, with and without a word, sweeps are up to a minute late, one after the other or two at once, and their processes
// are replaced. Whoever is there and answers is pinged within ten minutes, oftener only where a process is new, and never closed;
// what is gone is forgotten; the list holds the workspaces with sockets and in the end no other.
func TestKeepaliveModel(t *testing.T) {
	for seed := range uint64(12) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { keepaliveModel(t, rand.New(rand.NewPCG(seed, 1))) })
		})
	}
}

func keepaliveModel(t *testing.T, random *rand.Rand) {
	var mu sync.Mutex
	below := func(n int) int {
		mu.Lock()
		defer mu.Unlock()
		return random.IntN(n)
	}
	g := newGateway(t, slowRows{open(t), below})
	type client struct {
		ws, id string
		s      *socket
	}
	var clients []client
	done := make(chan struct{})
	var running sync.WaitGroup
	for range 1 + below(2) {
		running.Go(func() {
			k := g.keepalive()
			for {
				select {
				case <-done:
					return
				case <-time.After(time.Until(time.Now().Truncate(time.Minute).Add(time.Minute + time.Duration(below(59))*time.Second))):
				}
				if below(20) == 0 {
					k = g.keepalive()
				}
				if err := k.Run(context.Background()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for i := range 150 {
		time.Sleep(time.Duration(below(60)) * time.Second)
		if len(clients) > 0 && below(3) == 0 { // one goes, and its $disconnect may be lost
			n := below(len(clients))
			c := clients[n]
			clients = append(clients[:n], clients[n+1:]...)
			g.api.mu.Lock()
			c.s.gone = true
			g.api.mu.Unlock()
			if below(2) == 0 {
				if err := g.sessions.Forget(context.Background(), c.ws, c.id); err != nil {
					t.Error(err)
				}
			}
			continue
		}
		ws, id := fmt.Sprint("ws_", below(6)), fmt.Sprint("c", i)
		clients = append(clients, client{ws, id, g.open(ws, id, `"ping"`, true)})
	}
	time.Sleep(12 * time.Minute)
	for _, c := range clients {
		g.api.mu.Lock()
		s := *c.s
		g.api.mu.Unlock()
		if s.closed != 0 || !g.has(c.ws, c.id) {
			t.Errorf("%s of %s was there and is closed with %d", c.id, c.ws, s.closed)
		}
		if longest := max(s.longest, time.Since(s.pinged)); longest >= 10*time.Minute {
			t.Errorf("%s of %s heard nothing for %v", c.id, c.ws, longest)
		}
	}
	listed := map[string]bool{}
	for _, ws := range g.listed() {
		listed[ws] = true
	}
	for _, c := range clients {
		if !listed[c.ws] {
			t.Errorf("%s has a socket and is not listed", c.ws)
		}
	}
	for _, c := range clients {
		g.api.mu.Lock()
		c.s.gone = true
		g.api.mu.Unlock()
	}
	time.Sleep(20 * time.Minute)
	for i := range 6 {
		rows, err := g.table.Query(context.Background(), fmt.Sprint("X#ws_", i), "", 100)
		if err != nil || len(rows) > 0 {
			t.Errorf("ws_%d: %d connections are left, %v", i, len(rows), err)
		}
	}
	if left := g.listed(); len(left) > 0 {
		t.Errorf("%q are listed, with nobody there", left)
	}
	close(done)
	running.Wait()
}

// slowRows takes its time over connections and the list, so that those who use them meet.
type slowRows struct {
	engine.Table
	below func(n int) int
}

func (s slowRows) pause(pk string) {
	if pk[0] == 'X' || pk[0] == 'L' {
		time.Sleep(time.Duration(s.below(3000)) * time.Millisecond)
	}
}

func (s slowRows) Get(ctx context.Context, pk, sk string) (engine.Row, bool, error) {
	s.pause(pk)
	return s.Table.Get(ctx, pk, sk)
}

func (s slowRows) Put(ctx context.Context, row engine.Row, cond engine.Cond) (int64, error) {
	s.pause(row.PK)
	return s.Table.Put(ctx, row, cond)
}

func (s slowRows) Delete(ctx context.Context, pk, sk string, cond engine.Cond) (engine.Row, error) {
	s.pause(pk)
	return s.Table.Delete(ctx, pk, sk, cond)
}

func (s slowRows) Query(ctx context.Context, pk, after string, limit int) ([]engine.Row, error) {
	s.pause(pk)
	rows, err := s.Table.Query(ctx, pk, after, limit)
	s.pause(pk)
	return rows, err
}

// meeting does something right before a workspace is taken off the list.
type meeting struct {
	engine.Table
	meet func()
}

func (m *meeting) Delete(ctx context.Context, pk, sk string, cond engine.Cond) (engine.Row, error) {
	if meet := m.meet; pk[0] == 'L' && meet != nil {
		m.meet = nil
		meet()
	}
	return m.Table.Delete(ctx, pk, sk, cond)
}

// A socket that is opened while its workspace is taken off the list, being the first again, is listed.
func TestOpenedWhileUnlisted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := &meeting{Table: open(t)}
		g := newGateway(t, table)
		g.open("ws_1", "a", "", true).gone = true
		minutes(t, g.keepalive(), 9) // forgets it
		table.meet = func() { g.open("ws_1", "b", "", true) }
		minutes(t, g.keepalive(), 9)
		if table.meet != nil || !g.has("ws_1", "b") {
			t.Fatal("they did not meet")
		}
		if got := g.listed(); len(got) != 1 {
			t.Errorf("listed are %q", got)
		}
	})
}
