package main

import (
	"context"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/chipschat/chips-aws/shared/client"
	"github.com/chipschat/chips-aws/shared/protocol"
)

// kept is a socket of a harness that the client keeps open, which comes back after whatever.
type kept struct {
	opened chan struct{}
	end    func()
}

func (c *town) keepUp(p *party) *kept {
	c.t.Helper()
	ctx, cancel := context.WithCancel(c.t.Context())
	k, done := &kept{opened: make(chan struct{}, 100)}, make(chan struct{})
	harness := client.New(client.Config{
		URL: c.url, Credential: client.Bearer(p.token), Accepts: []string{"restart"}, MaxBackoff: 200 * time.Millisecond,
		OnState: func(s client.State, _ error) {
			if s == client.Open {
				k.opened <- struct{}{}
			}
		},
	})
	go func() {
		defer close(done)
		_ = harness.Run(ctx)
	}()
	k.end = func() { cancel(); <-done }
	c.t.Cleanup(k.end)
	c.opens(k)
	return k
}

// opens waits until a harness has opened its socket, once more.
func (c *town) opens(k *kept) {
	c.t.Helper()
	select {
	case <-k.opened:
	case <-time.After(20 * time.Second):
		c.t.Fatal("the harness has no socket")
	}
}

func (c *town) status(p *party) string {
	c.t.Helper()
	return str(c.priya.must(http.MethodGet, "/v1/harnesses/"+p.id, nil), "status")
}

func (c *town) reads(p *party, want string) {
	c.t.Helper()
	eventually(c.t, "it reads "+want, func() bool { return c.status(p) == want })
}

// A harness reads away when it has had no socket for a while, to everybody who is told how it is, and as before when it is back. What it
// says itself stands, trouble until it says otherwise. A server that was killed says so too, and not before all had time to come back.
//
// covers: RST-6, RST-7, RST-8, RST-9, RST-10
func TestAway(t *testing.T) {
	t.Parallel()
	const silent, wait = 1500 * time.Millisecond, 4 * time.Second
	c := newTown(t, "CHIPS_SILENT_MS=1500", "CHIPS_PING_MS=300", "CHIPS_RESTART_WAIT_MS=4000")
	start := c.owner.head()
	path := "/v1/harnesses/" + c.scouts.id
	// said is how a harness was said to be, and when last.
	said := func(p *party) (all string, last time.Time) {
		t.Helper()
		var words []string
		for _, raw := range c.owner.log(start, "") {
			if e := read(t, raw); str(e, "type") == "harness.status_set" && str(e, "harness_id") == p.id {
				words = append(words, str(e, "status"))
				last, _ = time.Parse(time.RFC3339, str(e, "ts"))
			}
		}
		return strings.Join(words, " "), last
	}
	check := func(p *party, want string) {
		t.Helper()
		if all, _ := said(p); all != want {
			t.Errorf("it was said to be %q, want %q", all, want)
		}
	}
	// passes lets as much time pass as makes a harness away that has no socket from now on.
	passes := func() {
		t.Helper()
		p, _ := c.harness("Fleeting")
		c.reads(p, "away")
	}
	c.scouts.must(http.MethodPut, path+"/capabilities", J{"capabilities": []string{"agents", "restarts"}})
	c.reads(c.scouts, "away") // it never had a socket
	c.owner.fails(protocol.InvalidRequest, http.MethodPost, path+"/restart", nil)

	first := c.keepUp(c.scouts)
	if got := c.status(c.scouts); got != "ok" {
		t.Errorf("with a socket it reads %s", got)
	}
	second := c.keepUp(c.scouts)
	first.end() // one of two
	passes()
	check(c.scouts, "away ok")

	ledger := c.keepUp(c.ledger)
	c.kill()
	ledger.end() // which does not come back
	c.restart(syscall.SIGKILL)
	up := time.Now()
	c.opens(second)
	c.reads(c.ledger, "away")
	if _, at := said(c.ledger); at.Sub(up) < silent-time.Second { // up is when we have seen it, which is later
		t.Errorf("away %v after the server was up", at.Sub(up))
	}
	check(c.scouts, "away ok")

	asked := time.Now()
	c.owner.must(http.MethodPost, path+"/restart", nil)
	second.end()
	passes()
	if got := c.status(c.scouts); got != "restarting" {
		t.Errorf("waited for, it reads %s", got)
	}
	c.reads(c.scouts, "away")
	if _, at := said(c.scouts); at.Sub(asked) < wait-time.Millisecond {
		t.Errorf("away %v after it was asked", at.Sub(asked))
	}
	third := c.keepUp(c.scouts)
	check(c.scouts, "away ok restarting away ok")

	c.scouts.must(http.MethodPut, path+"/status", J{"status": "trouble", "message": "No disk."})
	third.end()
	passes()
	check(c.scouts, "away ok restarting away ok trouble")
	c.scouts.must(http.MethodPut, path+"/status", J{"status": "ok"})
	c.reads(c.scouts, "away")
	check(c.scouts, "away ok restarting away ok trouble ok away")
	// Everybody is told the same, live and on a replay.
	for _, p := range []*party{c.priya, c.gus, c.scouts} {
		told := p.from(start, "").through(c.fence())
		same(t, "told", told[:len(told)-1], p.log(start, "")[:len(told)-1])
		if n := len(of(t, told, "harness.status_set")); n < 8 {
			t.Errorf("%s is told of %d", p.id, n)
		}
	}
}
