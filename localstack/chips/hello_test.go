package main

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"github.com/google/go-cmp/cmp"

	"github.com/chipschat/chips-aws/shared/protocol"
)

// What a harness, one from before agents and a person are told when they say hello.
//
// covers: HEL-1, HEL-2, HEL-4, HEL-5, HEL-6, HEL-7, HEL-8, HEL-10, HEL-13, HEV-1, HEV-2, HEV-3, HEV-5, HEV-6, HEV-7, HEV-8, HEV-9, HEV-10
// covers: HEV-12, HEV-14, HEV-16, HEV-17, HEV-18, HEV-19, HEV-21, HEV-35
func TestHello(t *testing.T) {
	t.Parallel()
	c := newTown(t)
	direct := c.scout.SpaceID
	register := func(key, state string) string {
		return str(c.scouts.must(http.MethodPost, "/v1/harnesses/"+c.scouts.id+"/agents", J{"key": key, "name": key, "state": state}), "agent_id")
	}
	free, away := register("Loose", "active"), register("Away", "archived")
	// A lane is a run under another: the harness is still one.
	run := c.run()
	c.scouts.write("run.started", J{"space_id": c.room, "run_id": run})
	c.scouts.write("run.started", J{"run_id": c.run(), "parent_run_id": run})

	scout := J{"harness_id": c.scouts.id, "display_name": "Scout", "owner_id": c.owner.id, "capabilities": []any{"agents"}}
	ledger := J{"harness_id": c.ledger.id, "display_name": "Ledger", "owner_id": c.owner.id, "capabilities": []any{}}
	base := func(more J) J {
		want := J{
			"v": 1.0, "type": "hello", "workspace_id": c.workspace.WorkspaceID, "actor": J{"kind": "system", "id": "system"},
			"protocol": J{"min": 1.0, "max": 1.0}, "autonomy": 2.0, "workspace": J{"name": "Acme"}, "harnesses": []any{},
		}
		for name, v := range more {
			want[name] = v
		}
		return want
	}
	for _, x := range []struct {
		who  *party
		want J
	}{
		{c.scouts, base(J{
			"harness": scout, "harnesses": []any{scout}, "spaces": []any{direct, c.room}, "agents": []any{
				J{"agent_id": c.s1, "key": direct, "name": "Scout", "lead": false, "state": "active", "spaces": []any{c.room}, "room": c.room},
				J{"agent_id": free, "key": "Loose", "name": "Loose", "lead": false, "state": "active", "spaces": []any{}, "room": nil},
				J{"agent_id": away, "key": "Away", "name": "Away", "lead": false, "state": "archived", "spaces": []any{}, "room": nil},
			},
		})},
		{c.ledger, base(J{"harness": ledger, "harnesses": []any{ledger}, "spaces": []any{c.directOf(c.ledger), c.room}})},
		{c.priya, base(J{"spaces": []any{c.room, c.x}})},
	} {
		s, _ := x.who.w.dial("", bearer(x.who.token))
		s.send(`{"frame":"hello","protocol":{"min":0,"max":7},"client":{"name":"scout","version":"0.1.0"},"harnesses":["` + c.ledger.id +
			`"],"since":1,"accepts":["events","restart","context","models","heartbeats","context_windows","jobs","flowers"]}`)
		got := x.who.heard(s)
		checkEvent(t, got.hello)
		hello := read(t, got.hello)
		if str(hello, "server", "name") != "chipsd" || str(hello, "server", "version") == "" {
			t.Errorf("the server is %v", hello["server"])
		}
		for _, varies := range []string{"id", "ts", "server"} {
			delete(hello, varies)
		}
		if diff := cmp.Diff(x.want, hello); diff != "" {
			t.Errorf("hello of %s: %s", x.who.id, diff)
		}
		// Nothing comes on a socket that did not subscribe, whatever since its hello said.
		c.fence()
		c.owner.must(http.MethodPatch, "/v1/workspaces/"+c.workspace.WorkspaceID, J{"name": "Acme"})
		got.send(`{"frame":"ping"}`)
		if f, err := got.next(); err != nil || f.Frame != "pong" {
			t.Errorf("%+v, %v", f, err)
		}
	}
}

// directOf is the room that a harness was given.
func (c *town) directOf(h *party) string {
	c.t.Helper()
	for _, room := range h.must(http.MethodGet, "/v1/spaces", nil)["spaces"].([]any) {
		if at(room.(J), "direct") == true {
			return str(room.(J), "space_id")
		}
	}
	c.t.Fatal("no direct room")
	return ""
}

// What changes between two connections is in the next hello.
//
// covers: HEV-16, HEV-18, HEV-19, HEV-35, HEV-37, HEV-10
func TestHelloIsOfNow(t *testing.T) {
	t.Parallel()
	c := newTown(t)
	hello := func(p *party) J { t.Helper(); return read(t, p.connect("").hello) }
	c.owner.must(http.MethodPatch, "/v1/workspaces/"+c.workspace.WorkspaceID, J{"name": "Acme & Sons"})
	c.owner.must(http.MethodDelete, "/v1/spaces/"+c.room+"/members/"+c.s1, nil)
	c.owner.must(http.MethodPatch, "/v1/agents/"+c.s1, J{"name": "ASCII Art"})
	h := hello(c.scouts)
	agent := h["agents"].([]any)[0].(J)
	if str(h, "workspace", "name") != "Acme & Sons" || slices.Contains(h["spaces"].([]any), any(c.room)) {
		t.Errorf("hello is %v", h)
	}
	if str(agent, "name") != "ASCII Art" || agent["room"] != nil || len(agent["spaces"].([]any)) != 0 {
		t.Errorf("the agent is %v", agent)
	}
	c.scouts.must(http.MethodPut, "/v1/harnesses/"+c.scouts.id+"/capabilities", J{"capabilities": []string{"forks"}})
	h = hello(c.scouts)
	if h["agents"] != nil || !cmp.Equal(at(h, "harness", "capabilities"), any([]any{"forks"})) {
		t.Errorf("no longer declaring agents, it is told %v", h)
	}
	made, err := as(c.url, adminToken).CreateWorkspace(t.Context(), "", "Nan")
	if err != nil {
		t.Fatal(err)
	}
	nan := (&world{server: c.server, url: c.url, workspace: made}).party(made.PersonID, made.Key)
	if h := hello(nan); h["workspace"] != nil || len(h["spaces"].([]any)) != 0 {
		t.Errorf("in a workspace without a name hello is %v", h)
	}
}

// covers: HEL-3, HEL-11, HEL-12, HEV-4
func TestHelloTakenAndRefused(t *testing.T) {
	t.Parallel()
	c := newTown(t)
	say := func(s *socket, protocol, more string) frame {
		s.send(`{"frame":"hello","protocol":` + protocol + `,"client":{"name":"t","version":"1"}` + more + `}`)
		f, err := s.next()
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	dial := func() *socket { s, _ := c.dial("", bearer(c.scouts.token)); return s }
	for _, versions := range []string{`{"min":2,"max":9}`, `{"min":0,"max":0}`} {
		s := dial()
		if f := say(s, versions, ""); f.Frame != "error" || f.Code != protocol.UnsupportedProtocol || !strings.Contains(f.Message, "1") {
			t.Errorf("%s is answered %+v", versions, f)
		}
		s.wantClose(websocket.StatusProtocolError)
	}
	// A budget for context is taken, whatever there is to hand over; one that is none is refused, and the socket waits for a better.
	for _, budget := range []string{`{"lines":100,"chars":32000}`, `{"lines":0}`, `{"chars":10}`, `{}`, `{"lines":999999,"chars":999999999,"words":3}`} {
		if f := say(dial(), `{"min":1,"max":1}`, `,"context":`+budget); f.Event.Type != "hello" {
			t.Errorf("with %s it is answered %+v", budget, f)
		}
	}
	s := dial()
	for _, budget := range []string{`{"lines":-1}`, `{"chars":-1}`, `{"lines":1.5}`, `{"lines":"40"}`, `{"chars":[]}`, `40`, `{"lines":99999999999999999999}`} {
		if f := say(s, `{"min":1,"max":1}`, `,"context":`+budget); f.Code != protocol.InvalidFrame || !strings.Contains(f.Message, "context") {
			t.Errorf("with %s it is answered %+v", budget, f)
		}
	}
	if f := say(s, `{"min":1,"max":1}`, ""); f.Event.Type != "hello" {
		t.Errorf("after all it is answered %+v", f)
	}
	// Said once it stands, and nobody writes one.
	if f := say(s, `{"min":1,"max":1}`, ""); f.Code != protocol.InvalidFrame {
		t.Errorf("a second is answered %+v", f)
	}
	for i, p := range []*party{c.scouts, c.ledger, c.owner} {
		written := p.connect("").write(J{"type": "hello", "protocol": J{"min": 1, "max": 1}, "idempotency_key": fmt.Sprint("h", i)})
		if str(written, "frame") != "error" || str(written, "code") != "forbidden" {
			t.Errorf("a hello in an event frame is answered %v", written)
		}
	}
}
