package main

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/chipschat/chips-aws/shared/protocol"
)

// One event under one key, sent again and again by every way, is one event with one id, and so it reads live, on replays and over HTTP.
//
// covers: WRT-1, WRT-4, WRT-5, WRT-6, WRT-12, WRT-13, WRT-14, ENV-4, ENV-5, ENV-7, ENV-8, ENV-9, ENV-10, ENV-11, ENV-14, ENV-15
func TestOneKeyOneEvent(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"ordered", "shuffled", "faithful"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			oneKeyOneEvent(t, newTown(t, "CHIPS_GATEWAY="+mode))
		})
	}
}

func oneKeyOneEvent(t *testing.T, c *town) {
	run := c.run()
	s := c.scouts.connect("")
	s.lands("run.started", J{"space_id": c.room, "run_id": run})
	since := c.owner.head()
	live := c.owner.from(since, "")
	// All that Chips fills in, a client may claim what it likes.
	step := J{
		"v": 9, "id": "evt_01K4ZQPX000000000000000009", "ts": "2001-01-01T00:00:00.000Z", "workspace_id": "ws_01K4ZQPX000000000000000009", "seq": 7,
		"actor": J{"kind": "agent", "id": c.s1, "harness_id": c.ledger.id},
		"type":  "step.log", "run_id": run, "step_id": "stp_2", "status": "done", "summary": "Read the PO", "idempotency_key": "scout-run-5-step-2",
	}
	first := s.write(step)
	if want := fmt.Sprintf(`{"frame":"ack","idempotency_key":"scout-run-5-step-2","seq":%d,"duplicate":false}`, since+1); string(s.answers["scout-run-5-step-2"]) != want {
		t.Errorf("acked %v, want %s", first, want)
	}
	event := live.through(since + 1)[0]
	e := read(t, event)
	checkEvent(t, event)
	if str(e, "id") == str(step, "id") || str(e, "ts") < "2002" || str(e, "space_id") != c.room || str(e, "workspace_id") != c.workspace.WorkspaceID {
		t.Errorf("written as %v", e)
	}
	if str(e, "actor", "kind") != "agent" || str(e, "actor", "id") != c.s1 || str(e, "actor", "harness_id") != c.scouts.id {
		t.Errorf("its actor is %v", e["actor"])
	}
	again := func(how string) {
		t.Helper()
		for name, a := range map[string]J{
			"the same socket": s.write(step), "a new one": c.scouts.connect("").write(step), "HTTP": c.scouts.must(http.MethodPost, "/v1/events", step),
		} {
			if a["duplicate"] != true || number(a, "seq") != since+1 || a["differs"] != nil {
				t.Errorf("%s, again by %s it is answered %v", how, name, a)
			}
		}
		for _, read := range [][]jsontext.Value{c.owner.log(since, ""), c.priya.log(since, c.room), c.owner.from(since, "").through(since + 1), c.gus.from(since, `,"accepts":["events"]`).through(since + 1)} {
			same(t, how, read, []jsontext.Value{event})
		}
	}
	again("at once")
	c.restart(syscall.SIGKILL)
	s = c.scouts.connect("")
	again("after a kill")
	// With another body it is the first still, and says so.
	step["summary"] = "Read another"
	if a := s.write(step); a["duplicate"] != true || a["differs"] != true || number(a, "seq") != since+1 {
		t.Errorf("with another body it is answered %v", a)
	}
	// The key is the harness's, whatever its token, and nobody else's.
	other := c.party(c.scouts.id, str(c.owner.must(http.MethodPost, "/v1/harnesses/"+c.scouts.id+"/tokens", nil), "token"))
	if a := other.connect("").write(step); a["duplicate"] != true {
		t.Errorf("under another token it is answered %v", a)
	}
	for _, p := range []*party{c.ledger, c.owner, c.priya} {
		if a := p.connect("").write(J{"type": "message.post", "space_id": c.room, "text": "mine", "idempotency_key": "scout-run-5-step-2"}); a["duplicate"] != false {
			t.Errorf("another's key of the same name is answered %v", a)
		}
	}
	if head := c.owner.head(); head != since+4 {
		t.Errorf("the log went on to %d, want %d", head, since+4)
	}
}

// What is refused names its key, leaves nothing behind and does not use the key up; without a key that can be read nothing is named.
//
// covers: WRT-2, WRT-3, WRT-8, WRT-9, ENV-11
func TestRefusedWrites(t *testing.T) {
	t.Parallel()
	c := newTown(t)
	s := c.ledger.connect("")
	head := c.owner.head()
	post := `"type":"message.post","space_id":"` + c.room + `","text":"x"`
	for name, x := range map[string]struct {
		event, beside string
		code          protocol.Code
		key           string
	}{
		"a key beside the event":        {post, `,"idempotency_key":"beside"`, protocol.InvalidFrame, ""},
		"no key":                        {post, "", protocol.InvalidFrame, ""},
		"an empty key":                  {post + `,"idempotency_key":""`, "", protocol.InvalidFrame, ""},
		"a key in another case":         {post + `,"Idempotency_Key":"k0"`, "", protocol.InvalidFrame, ""},
		"a key that is a number":        {post + `,"idempotency_key":7`, "", protocol.InvalidFrame, ""},
		"a key of 256 bytes":            {post + `,"idempotency_key":"` + strings.Repeat("k", 256) + `"`, "", protocol.InvalidFrame, ""},
		"a key twice":                   {post + `,"idempotency_key":"k1","idempotency_key":"k2"`, "", protocol.InvalidFrame, ""},
		"an unknown type":               {`"type":"no.such","idempotency_key":"k3"`, "", protocol.InvalidEvent, "k3"},
		"a text that is a number":       {`"type":"message.post","space_id":"` + c.room + `","text":7,"idempotency_key":"k4"`, "", protocol.InvalidEvent, "k4"},
		"a room it is not in":           {`"type":"message.post","space_id":"` + c.x + `","text":"x","idempotency_key":"k5"`, "", protocol.Forbidden, "k5"},
		"a room there is not":           {`"type":"message.post","space_id":"spc_01K4ZQPX000000000000000009","text":"x","idempotency_key":"k6"`, "", protocol.Forbidden, "k6"},
		"a run nobody started":          {`"type":"run.paused","run_id":"run_01K4ZQPX000000000000000009","idempotency_key":"k7"`, "", protocol.NotFound, "k7"},
		"somebody not in the room":      {post + `,"to":["` + c.scouts.id + `","agt_01K4ZQPX000000000000000009"],"idempotency_key":"k8"`, "", protocol.InvalidEvent, "k8"},
		"an answer to no message":       {post + `,"reply_to":"msg_01K4ZQPX000000000000000009","idempotency_key":"k9"`, "", protocol.InvalidEvent, "k9"},
		"words that are none":           {`"type":"message.post","space_id":"` + c.room + `","text":" ","idempotency_key":"k10"`, "", protocol.InvalidEvent, "k10"},
		"an agent that is another's":    {post + `,"actor":{"kind":"agent","id":"` + c.s1 + `"},"idempotency_key":"k11"`, "", protocol.Forbidden, "k11"},
		"a person's word by a harness":  {`"type":"member.added","space_id":"` + c.room + `","participant_id":"` + c.owner.id + `","idempotency_key":"k12"`, "", protocol.Forbidden, "k12"},
		"what Chips alone writes":       {`"type":"agent.attached","space_id":"` + c.room + `","agent_id":"` + c.l1 + `","idempotency_key":"k13"`, "", protocol.Forbidden, "k13"},
		"message.held":                  {`"type":"message.held","text":"x","idempotency_key":"k14"`, "", "", "k14"},
		"a message as only Chips makes": {`"type":"message.new","text":"x","idempotency_key":"k15"`, "", protocol.Forbidden, "k15"},
	} {
		delete(s.answers, x.key)
		s.send(`{"frame":"event","event":{` + x.event + `}` + x.beside + `}`)
		for s.answers[x.key] == nil {
			s.pump()
		}
		a := read(t, s.answers[x.key])
		if str(a, "frame") != "error" || x.code != "" && str(a, "code") != string(x.code) || str(a, "message") == "" {
			t.Errorf("%s is answered %v, want %s", name, a, x.code)
		}
		if _, names := a["idempotency_key"]; names != (x.key != "") {
			t.Errorf("%s is answered %v", name, a)
		}
		// The same over HTTP, with the same words and the status of its code.
		err := c.ledger.Do(t.Context(), http.MethodPost, "/v1/events", jsontext.Value("{"+x.event+"}"), nil)
		refusal, ok := errors.AsType[*protocol.Error](err)
		if !ok || string(refusal.Code) != str(a, "code") || x.key != "" && refusal.Message != str(a, "message") {
			t.Errorf("%s over HTTP is answered %v, want %v", name, err, a)
		}
	}
	if now := c.owner.head(); now != head {
		t.Errorf("%d events were written", now-head)
	}
	if a := s.write(J{"type": "message.post", "space_id": c.room, "text": "now right", "idempotency_key": "k4"}); a["duplicate"] != false {
		t.Errorf("a key that was refused is answered %v when its event is right", a)
	}
}

// An event whose own effect would now have it refused is a repeat all the same (contract U-78), whichever way it comes again.
//
// covers: WRT-6, WRT-12, RUN-3
func TestARepeatThatItsEffectForbids(t *testing.T) {
	t.Parallel()
	c := newTown(t)
	run, cancelled := c.run(), c.run()
	c.ledger.write("run.started", J{"space_id": c.room, "run_id": run})
	c.ledger.write("run.started", J{"space_id": c.room, "run_id": cancelled})
	own := str(c.ledger.must(http.MethodPost, "/v1/spaces", J{"title": "Own", "key": "own"}), "space_id")
	side := c.open(c.owner, "Side", c.priya.id, c.gus.id)
	gone := c.open(c.owner, "Gone")
	once := []struct {
		by   *party
		typ  string
		with J
	}{
		{c.priya, "message.post", J{"space_id": side, "text": "before it is archived"}},
		{c.ledger, "step.log", J{"run_id": run, "step_id": "s", "status": "done", "summary": "x"}},
		{c.ledger, "run.started", J{"space_id": c.room, "run_id": c.run()}},
		{c.ledger, "run.paused", J{"run_id": run}},
		{c.ledger, "run.resumed", J{"run_id": run}},
		{c.ledger, "run.completed", J{"run_id": run}},
		{c.owner, "run.cancel", J{"run_id": cancelled}},
		{c.owner, "space.renamed", J{"space_id": side, "title": "Aside"}},
		{c.owner, "member.added", J{"space_id": gone, "participant_id": c.priya.id}},
		{c.gus, "member.removed", J{"space_id": side, "participant_id": c.gus.id}},
		{c.owner, "agent.moved", J{"agent_id": c.s1, "to_space_id": c.x}},
		{c.owner, "space.archived", J{"space_id": side}},
		{c.ledger, "space.closed", J{"space_id": own}},
		{c.owner, "space.deleted", J{"space_id": gone}},
		{c.owner, "space.opened", J{"title": "One"}},
	}
	var events []J
	var acks []J
	for _, x := range once {
		e := x.by.event(x.typ, x.with)
		events = append(events, e)
		acks = append(acks, x.by.connect("").write(e))
		if str(acks[len(acks)-1], "frame") != "ack" {
			t.Fatalf("%s is answered %v", x.typ, acks[len(acks)-1])
		}
	}
	head := c.owner.head()
	for _, when := range []string{"at once", "after a kill"} {
		for i, x := range once {
			for how, a := range map[string]J{"a socket": x.by.connect("").write(events[i]), "HTTP": x.by.must(http.MethodPost, "/v1/events", events[i])} {
				if a["duplicate"] != true || number(a, "seq") != number(acks[i], "seq") || a["space_id"] != acks[i]["space_id"] {
					t.Errorf("%s, %s again by %s is answered %v, first %v", when, x.typ, how, a, acks[i])
				}
			}
		}
		if now := c.owner.head(); now != head {
			t.Errorf("the repeats wrote %d events", now-head)
		}
		if when == "at once" {
			c.restart(syscall.SIGKILL)
		}
	}
	// Under a new key each is refused.
	for _, x := range []struct {
		by   *party
		typ  string
		with J
		code protocol.Code
	}{
		{c.ledger, "run.completed", J{"run_id": run}, protocol.InvalidEvent},
		{c.priya, "message.post", J{"space_id": side, "text": "late"}, protocol.RoomClosed},
		{c.gus, "member.removed", J{"space_id": side, "participant_id": c.gus.id}, protocol.Forbidden},
		{c.owner, "space.deleted", J{"space_id": gone}, protocol.NotFound},
	} {
		x.by.connect("").fails(x.code, x.typ, x.with)
	}
}

// A harness that sends as itself speaks as its one agent in the room; with more than one it has to say which.
//
// covers: HEV-15, ENV-15
func TestAHarnessSpeaksAsItsAgent(t *testing.T) {
	t.Parallel()
	c := newTown(t)
	since := c.owner.head()
	live := c.owner.from(since, "")
	s := c.scouts.connect("")
	self := J{"kind": "harness", "id": c.scouts.id}
	run := c.run()
	for _, actor := range []J{nil, self, {"kind": "agent", "id": c.s1}} {
		fields := func(more J) J {
			if actor != nil {
				more["actor"] = actor
			}
			return more
		}
		s.lands("message.post", fields(J{"space_id": c.room, "text": "x"}))
		run = c.run()
		s.lands("run.started", fields(J{"space_id": c.room, "run_id": run}))
		s.lands("step.log", fields(J{"run_id": run, "step_id": "s", "status": "done", "summary": "x"}))
	}
	for _, raw := range live.through(s.lands("run.completed", J{"run_id": run})) {
		want := J{"kind": "agent", "id": c.s1, "harness_id": c.scouts.id}
		if e := read(t, raw); fmt.Sprint(e["actor"]) != fmt.Sprint(want) {
			t.Errorf("%s is by %v", str(e, "type"), e["actor"])
		}
	}
	// In the room it was given, which no agent of it is in now, it speaks for itself.
	direct := s.lands("message.post", J{"space_id": c.directOf(c.scouts), "text": "alone"})
	if e := read(t, live.through(direct)[0]); str(e, "actor", "id") != c.scouts.id || str(e, "actor", "kind") != "harness" {
		t.Errorf("there it is %v", e["actor"])
	}
	second := str(c.scouts.must(http.MethodPost, "/v1/harnesses/"+c.scouts.id+"/agents", J{"key": "two", "name": "Two"}), "agent_id")
	c.owner.must(http.MethodPost, "/v1/spaces/"+c.room+"/members", J{"participant_id": second})
	s.fails(protocol.WhichAgent, "message.post", J{"space_id": c.room, "text": "who"})
	s.fails(protocol.WhichAgent, "run.started", J{"space_id": c.room, "run_id": c.run(), "actor": self})
	s.fails(protocol.Forbidden, "message.post", J{"space_id": c.room, "text": "x", "actor": J{"kind": "agent", "id": c.l1}})
	seq := s.lands("message.post", J{"space_id": c.room, "text": "it is me", "actor": J{"kind": "agent", "id": second}})
	got := live.through(seq)
	if e := read(t, got[len(got)-1]); str(e, "actor", "id") != second || str(e, "actor", "harness_id") != c.scouts.id {
		t.Errorf("the second speaks as %v", e["actor"])
	}
	// On a run it is the run's agent, whoever else is there.
	last := c.run()
	s.lands("run.started", J{"space_id": c.room, "run_id": last, "actor": J{"kind": "agent", "id": second}})
	on := live.through(s.lands("message.post", J{"run_id": last, "text": "on it"}))
	if e := read(t, on[len(on)-1]); str(e, "actor", "id") != second || str(e, "run_id") != last || str(e, "space_id") != c.room {
		t.Errorf("on its run it is %v", e)
	}
}
