package main

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/chipschat/chips-aws/shared/protocol"
)

// A harness is asked to restart on the sockets that listen for it, now or never; it reads as restarting until its next word, for three
// minutes at most.
//
// covers: RST-1, RST-2, RST-3, RST-4, RST-5, RST-6, RST-7, RST-8, RST-9, RST-10
func TestRestart(t *testing.T) {
	t.Parallel()
	c := newTown(t, "CHIPS_RESTART_WAIT_MS=3000")
	path := "/v1/harnesses/" + c.scouts.id
	press := func(by *party) error { return by.Do(t.Context(), http.MethodPost, path+"/restart", nil, nil) }
	status := func() string { return str(c.priya.must(http.MethodGet, path, nil), "status") }

	listens := c.scouts.from(c.owner.head(), `,"accepts":["restart"]`)
	second, others := c.scouts.from(c.owner.head(), `,"accepts":["models","restart"]`), c.ledger.from(c.owner.head(), `,"accepts":["restart"]`)
	c.owner.fails(protocol.InvalidRequest, http.MethodPost, path+"/restart", nil) // it does not declare it
	c.scouts.must(http.MethodPut, path+"/capabilities", J{"capabilities": []string{"agents", "restarts"}})
	c.priya.fails(protocol.Forbidden, http.MethodPost, path+"/restart", nil)
	c.scouts.fails(protocol.Forbidden, http.MethodPost, path+"/restart", nil)
	deaf, people := c.scouts.from(c.owner.head(), ""), c.gus.from(c.owner.head(), "")
	if err := press(c.owner); err != nil {
		t.Fatal(err)
	}
	if got := status(); got != "restarting" {
		t.Errorf("asked, it is %s", got)
	}
	for _, s := range []*stream{listens, second} {
		for len(s.restarts) == 0 {
			s.pump()
		}
		asked := read(t, s.restarts[0])
		if str(asked, "asked_by") != c.owner.id || str(asked, "asked_at") == "" || len(asked) != 3 {
			t.Errorf("it is asked by %v", asked)
		}
	}
	// Everybody who shares a room with it is told; a socket that did not ask for it, and another's, is not asked to restart.
	for name, s := range map[string]*stream{"a person": people, "a socket that does not listen": deaf, "another harness": others} {
		told := 0
		for _, raw := range s.through(c.fence()) {
			if e := read(t, raw); str(e, "type") == "harness.status_set" && str(e, "status") == "restarting" {
				told++
			}
		}
		if told != 1 || len(s.restarts) != 0 {
			t.Errorf("%s is told %d times and asked %d times", name, told, len(s.restarts))
		}
	}
	// A socket that opens is its next word, and is not asked again.
	back := c.scouts.from(0, `,"accepts":["restart"]`)
	if got := status(); got != "ok" {
		t.Errorf("with a socket open it is %s", got)
	}
	if back.through(c.fence()); len(back.restarts) != 0 {
		t.Error("a reconnect is asked again")
	}
	for _, x := range []struct{ word, want string }{{"trouble", "trouble"}, {"ok", "ok"}} {
		if err := press(c.owner); err != nil {
			t.Fatal(err)
		}
		c.scouts.must(http.MethodPut, path+"/status", J{"status": x.word})
		if got := status(); got != x.want {
			t.Errorf("its word is %s, and it reads %s", x.word, got)
		}
	}
	c.scouts.fails(protocol.InvalidRequest, http.MethodPut, path+"/status", J{"status": "restarting"})
	c.ledger.fails(protocol.Forbidden, http.MethodPut, path+"/status", J{"status": "ok"})
	// An admin may ask it, and of a member's harness the member.
	if err := press(c.person("Nora", "admin")); err != nil || status() != "restarting" {
		t.Errorf("an admin is answered %v", err)
	}
	c.scouts.must(http.MethodPut, path+"/status", J{"status": "ok"})
	vera := c.person("Vera", "member")
	h := vera.must(http.MethodPost, "/v1/harnesses", J{"display_name": "Vera's", "capabilities": []string{"restarts"}})
	hers := c.party(str(h, "harness_id"), str(h, "token"))
	hers.live(`,"accepts":["restart"]`)
	vera.must(http.MethodPost, "/v1/harnesses/"+hers.id+"/restart", nil)
	c.priya.fails(protocol.Forbidden, http.MethodPost, "/v1/harnesses/"+hers.id+"/restart", nil)
	// Nobody's word: what was true before is said after a while.
	c.scouts.must(http.MethodPut, path+"/status", J{"status": "trouble", "message": "no disk"})
	if err := press(c.owner); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the wait ends", func() bool { return status() == "trouble" })
	said := of(t, c.priya.log(0, ""), "harness.status_set")
	said = slices.DeleteFunc(said, func(e J) bool { return str(e, "harness_id") != c.scouts.id })
	last := said[len(said)-2:]
	begun, _ := time.Parse(time.RFC3339, str(last[0], "ts"))
	over, _ := time.Parse(time.RFC3339, str(last[1], "ts"))
	if waited := over.Sub(begun); str(last[0], "status") != "restarting" || str(last[1], "message") != "no disk" || waited < 3*time.Second || waited > 7*time.Second {
		t.Errorf("after %v it is told %v", waited, last)
	}
	for _, s := range []*stream{listens, second, deaf, back} {
		_ = s.CloseNow()
	}
	eventually(t, "with nothing connected it cannot be asked", func() bool { return press(c.owner) != nil })
	before := c.owner.head()
	if err := press(c.owner); err == nil || status() != "trouble" || c.owner.head() != before {
		t.Errorf("not asked, it is answered %v, reads %s, and the log went from %d to %d", err, status(), before, c.owner.head())
	}
}
