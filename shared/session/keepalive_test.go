package session_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chipschat/chips-aws/shared/engine"
	"github.com/chipschat/chips-aws/shared/session"
)

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
