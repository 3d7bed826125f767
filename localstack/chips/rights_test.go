package main

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/chipschat/chips-aws/shared/protocol"
)

// The types that each kind of sender may write; every other is Chips' own or the other's.
var (
	personWrites = strings.Fields(`space.opened space.renamed space.archived space.unarchived space.deleted member.added member.removed
		agent.moved message.post message.edited message.deleted reaction.set pin.set exchange.set run.steer run.cancel approval.resolved question.answered`)
	harnessWrites = strings.Fields(`space.opened space.renamed space.closed message.post message.edited message.deleted reaction.set message.heard run.started run.paused run.resumed run.completed
		run.failed run.cancelled step.started step.log usage.reported approval.requested approval.resolved question.asked`)
)

// Whoever writes whatever is answered the same on a socket as over HTTP: acked by both, or refused by both with one code and in the
// same words. A harness writes only what a harness sends, a person only what a person sends, and neither where they are not.
//
// covers: AUTH-1, AUTH-2, AUTH-3, AUTH-7, AUTH-8, AUTH-10, HEL-12
func TestWhoMayWriteWhat(t *testing.T) {
	t.Parallel()
	c := newTown(t)
	outside, _ := c.harness("Outsider")
	vera, wes := c.person("Vera", "member"), c.person("Wes", "member")
	run := c.run()
	c.ledger.write("run.started", J{"space_id": c.room, "run_id": run})
	asking := c.run()
	c.ledger.write("run.started", J{"space_id": c.room, "run_id": asking})
	mail := J{"kind": "email.send", "summary": "Mail", "external": true}
	said := messageID(t, read(t, c.owner.log(c.owner.write("message.post", J{"space_id": c.room, "text": "words"})-1, "")[0]))
	inRoom := len(c.priya.log(0, c.room))
	landed := 0
	for _, typ := range append([]string{"message.held", "no.such"}, protocol.Types...) {
		for _, x := range []struct {
			name string
			who  *party
			may  []string
			in   bool
		}{
			{"a person in the room", c.owner, personWrites, true},
			{"a harness in the room", c.ledger, harnessWrites, true},
			{"a person outside", vera, personWrites, false},
			{"a harness outside", outside, harnessWrites, false},
		} {
			fields := J{
				"space_id": c.room, "run_id": run, "text": "x", "title": "T", "step_id": "s", "status": "done", "summary": "x", "message_id": said, "emoji": "👍", "on": true, "state": "going", "mode": "steer",
				"participant_id": wes.id, "agent_id": c.s1, "to_space_id": c.room, "harness_id": c.ledger.id, "person_id": wes.id,
			}
			s := x.who.connect("")
			// First the socket and then HTTP; then, under another key, the other way around.
			for _, socketFirst := range []bool{true, false} {
				switch typ {
				case "run.started":
					fields["run_id"] = c.run()
				case "approval.requested", "question.asked":
					fields["run_id"], fields["action"] = asking, mail
					fields["approval_id"], fields["question_id"] = c.newID(protocol.PrefixApproval), c.newID(protocol.PrefixQuestion)
				case "approval.resolved", "question.answered":
					fields["run_id"], fields["decision"], fields["answer"] = asking, "approved", "Blue"
					fields["approval_id"], fields["question_id"] = c.wants(c.ledger, asking, mail), c.asks(c.ledger, asking)
				case "space.opened", "agent.moved":
					delete(fields, "space_id")
				case "space.archived", "space.unarchived", "space.deleted", "space.closed":
					continue // what comes after would meet another room
				}
				e := x.who.event(typ, fields)
				var bySocket, byHTTP J
				socket := func() { bySocket = s.write(e) }
				if socketFirst {
					socket()
				}
				err := x.who.Do(t.Context(), http.MethodPost, "/v1/events", e, &byHTTP)
				if !socketFirst {
					socket()
				}
				refusal, refused := errors.AsType[*protocol.Error](err)
				switch {
				case !refused && err != nil:
					t.Fatal(err)
				case refused && (str(bySocket, "code") != string(refusal.Code) || str(bySocket, "message") != refusal.Message || bySocket["frame"] != "error"):
					t.Errorf("%s by %s: %v over HTTP, %v on the socket", typ, x.name, refusal, bySocket)
				case !refused && (number(bySocket, "seq") != number(byHTTP, "seq") || bySocket["frame"] != "ack" || bySocket["duplicate"] == byHTTP["duplicate"] && typ != "message.deleted"):
					t.Errorf("%s by %s: %v over HTTP, %v on the socket", typ, x.name, byHTTP, bySocket)
				}
				known := protocol.NewData(typ) != nil
				if may := slices.Contains(x.may, typ); known && !may && (!refused || refusal.Code != protocol.Forbidden) || !known && !refused {
					t.Errorf("%s by %s is answered %v", typ, x.name, err)
				} else if may && !x.in && typ != "space.opened" && !strings.HasPrefix(typ, "run.c") && typ != "run.steer" && typ != "message.heard" && (!refused || refusal.Code != protocol.Forbidden) {
					t.Errorf("%s by %s is answered %v", typ, x.name, err)
				}
				if !refused {
					landed++
				}
			}
		}
	}
	if landed < 15 {
		t.Errorf("%d of all that was sent landed", landed)
	}
	for _, raw := range c.priya.log(0, c.room)[inRoom:] {
		if by := str(read(t, raw), "actor", "id"); by == vera.id || by == outside.id {
			t.Errorf("one who is not in the room wrote %s", raw)
		}
	}
}

// Whoever opens a room is its first member, and what is in it is theirs to write and to hear.
//
// covers: AUTH-8, AUTH-9
func TestWhoeverOpensARoomIsInIt(t *testing.T) {
	t.Parallel()
	c := newTown(t)
	for name, x := range map[string]struct {
		who   *party
		first string
		with  J
	}{
		"a person":  {c.priya, c.priya.id, J{"title": "Hers"}},
		"a harness": {c.ledger, c.ledger.id, J{"title": "Its own", "key": "desk"}},
	} {
		live := x.who.live("")
		others := c.gus.live("")
		a := live.write(x.who.event("space.opened", x.with))
		room := str(a, "space_id")
		if !strings.HasPrefix(room, "spc_") {
			t.Fatalf("%s is answered %v", name, a)
		}
		seq := live.lands("message.post", J{"space_id": room, "text": "here"})
		opened, said := false, false
		for _, raw := range live.through(seq) {
			e := read(t, raw)
			if str(e, "type") == "space.opened" {
				members := e["participant_ids"].([]any)
				opened = str(e, "space_id") == room && members[0] == x.first
			}
			said = said || number(e, "seq") == seq && str(e, "type") == "message.post"
		}
		if !opened || !said {
			t.Errorf("%s heard of the room %v, and of its words %v", name, opened, said)
		}
		if members := x.who.must(http.MethodGet, "/v1/spaces/"+room, nil)["member_ids"]; !slices.Contains(members.([]any), any(x.first)) {
			t.Errorf("the room of %s holds %v", name, members)
		}
		for _, raw := range others.through(c.fence()) {
			if str(read(t, raw), "space_id") == room {
				t.Errorf("somebody else heard %s", raw)
			}
		}
		c.gus.fails(protocol.Forbidden, http.MethodGet, "/v1/spaces/"+room, nil)
	}
}

// What a run takes and what it does not, on a socket and over HTTP, each refusal with its reason.
//
// covers: RUN-1, RUN-2, RUN-3, RUN-4, RUN-5, RUN-6
func TestRunStates(t *testing.T) {
	t.Parallel()
	c := newTown(t)
	run := c.run()
	s := c.ledger.connect("")
	refused := func(who *party, typ string, code protocol.Code, says string, fields J) {
		t.Helper()
		e := who.event(typ, fields)
		a := who.connect("").write(e)
		if str(a, "code") != string(code) || !strings.Contains(str(a, "message"), says) || a["idempotency_key"] != e["idempotency_key"] {
			t.Errorf("%s is answered %v, want %s with %q", typ, a, code, says)
		}
		who.fails(code, http.MethodPost, "/v1/events", e)
	}
	step := J{"run_id": run, "step_id": "s", "status": "done", "summary": "x"}
	for _, typ := range []string{"step.log", "run.paused", "run.resumed", "run.completed", "run.failed", "run.cancelled"} {
		refused(c.ledger, typ, protocol.NotFound, "nobody started", step)
	}
	s.lands("run.started", J{"space_id": c.room, "run_id": run})
	refused(c.ledger, "run.started", protocol.InvalidEvent, "known already", J{"space_id": c.room, "run_id": run})
	for _, typ := range []string{"step.log", "run.paused", "run.completed"} {
		refused(c.scouts, typ, protocol.Forbidden, "another harness's", step)
	}
	refused(c.ledger, "run.resumed", protocol.InvalidEvent, "not paused", step)
	s.lands("run.paused", J{"run_id": run})
	refused(c.ledger, "run.paused", protocol.InvalidEvent, "not running", step)
	s.lands("step.log", step)
	s.lands("run.resumed", J{"run_id": run})
	for _, end := range []string{"run.completed", "run.failed", "run.cancelled", "run.cancel"} {
		if end != "run.completed" {
			run = c.run()
			s.lands("run.started", J{"space_id": c.room, "run_id": run})
		}
		if end == "run.cancel" {
			c.priya.connect("").lands(end, J{"run_id": run})
		} else {
			s.lands(end, J{"run_id": run})
		}
		step["run_id"] = run
		for _, typ := range []string{"step.started", "step.log", "run.paused", "run.resumed", "run.completed", "run.failed", "run.cancelled", "message.post"} {
			refused(c.ledger, typ, protocol.InvalidEvent, "nothing comes after its end", J{"run_id": run, "step_id": "s", "title": "t", "status": "done", "summary": "x", "text": "late"})
		}
	}
}
