package main

import (
	"net/http"
	"testing"

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
	for len(listens.restarts) == 0 {
		listens.pump()
	}
	asked := read(t, listens.restarts[0])
	if str(asked, "asked_by") != c.owner.id || str(asked, "asked_at") == "" || len(asked) != 3 {
		t.Errorf("it is asked by %v", asked)
	}
	// Everybody who shares a room with it is told; a socket that did not ask for it is not asked to restart.
	for name, s := range map[string]*stream{"a person": people, "a socket that does not listen": deaf} {
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
	// Nobody's word: what was true before is said after a while.
	c.scouts.must(http.MethodPut, path+"/status", J{"status": "trouble", "message": "no disk"})
	if err := press(c.owner); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the wait ends", func() bool { return status() == "trouble" })
	for _, s := range []*stream{listens, deaf, back} {
		_ = s.CloseNow()
	}
	eventually(t, "with nothing connected it cannot be asked", func() bool { return press(c.owner) != nil })
	if got := status(); got != "trouble" {
		t.Errorf("not asked, it reads %s", got)
	}
}
