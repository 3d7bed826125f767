package main

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/chipschat/chips-aws/shared/protocol"
)

// asking has Scout's policy set and begins a run of S1 in the room.
func (c *town) asking(level int, rules ...any) string {
	c.t.Helper()
	c.owner.must(http.MethodPut, "/v1/harnesses/"+c.scouts.id+"/policy", J{"autonomy": level, "rules": append([]any{}, rules...)})
	run := c.run()
	c.scouts.write("run.started", J{"space_id": c.room, "run_id": run})
	return run
}

// resolved are the answers to an approval among what a stream is sent up to a seq.
func (s *stream) resolved(id string, through int64) (found []J) {
	for _, raw := range s.through(through) {
		if e := read(s.t, raw); str(e, "type") == "approval.resolved" && str(e, "approval_id") == id {
			found = append(found, e)
		}
	}
	return found
}

// A harness that policy handed nothing and whose run asked nothing is refused under its key, without an ack, and nothing comes of it; the
// one whose run asked, and the one that policy handed the ask to, may answer.
//
// covers: AUTH-4, AUTH-5, AUTH-6
func TestWhichHarnessMayResolve(t *testing.T) {
	t.Parallel()
	c := newTown(t)
	far, _ := c.harness("Far")
	run := c.asking(3, J{"match": "mine", "decision": "ask"}, J{"match": "handed", "decision": "ask", "approvers": []any{far.id}})
	ledger, scout, handed := c.ledger.live(""), c.scouts.live(""), far.live("")
	mine, theirs := c.wants(c.scouts, run, J{"kind": "mine"}), c.wants(c.scouts, run, J{"kind": "handed"})
	before := c.owner.head()
	for _, id := range []string{mine, theirs} {
		e := c.ledger.event("approval.resolved", J{"approval_id": id, "decision": "approved"})
		refused := ledger.write(e)
		ledger.through(c.fence())
		last := read(t, ledger.answers[str(e, "idempotency_key")])
		if str(refused, "frame") != "error" || str(refused, "code") != "forbidden" || str(last, "frame") != "error" {
			t.Errorf("it is answered %v, then %v", refused, last)
		}
		c.ledger.fails(protocol.Forbidden, http.MethodPost, "/v1/events", c.ledger.event("approval.resolved", J{"approval_id": id, "decision": "approved"}))
	}
	handed.fails(protocol.Forbidden, "approval.resolved", J{"approval_id": mine, "decision": "approved"})
	for _, raw := range c.owner.log(before, "") {
		if str(read(t, raw), "type") == "approval.resolved" {
			t.Errorf("what was refused came to be: %s", raw)
		}
	}
	scout.lands("approval.resolved", J{"approval_id": mine, "decision": "denied"})
	end := handed.lands("approval.resolved", J{"approval_id": theirs, "decision": "approved"})
	if got := handed.resolved(theirs, end); len(got) != 1 || str(got[0], "actor", "id") != far.id {
		t.Errorf("it is told %v", got)
	}
}

// Everybody in the room, the run's harness and the approvers wherever they are hear of an answer, once and the same live, after a kill and a
// resume; it is resolved elsewhere on each person's socket but those of the credential that sent it.
//
// covers: FIRST-1, FIRST-2, HEV-29
func TestAnAnswerReachesEverybody(t *testing.T) {
	t.Parallel()
	c := newTown(t)
	mel := c.person("Mel", "member")
	run := c.asking(3, J{"match": "*", "decision": "ask", "approvers": []any{mel.id, "owner"}})
	code := str(c.owner.must(http.MethodPost, "/v1/people/"+c.owner.id+"/pairing-codes", nil), "pairing_code")
	phone, _ := c.device(code, c.owner.id)
	start := c.owner.head()
	type listener struct {
		p         *party
		s         *stream
		elsewhere bool
	}
	listeners := map[string]*listener{
		"who sends it": {p: c.owner}, "another socket of the same key": {p: c.owner}, "the same person's phone": {p: phone, elsewhere: true},
		"Priya": {p: c.priya, elsewhere: true}, "Gus": {p: c.gus, elsewhere: true}, "an approver elsewhere": {p: mel, elsewhere: true},
		"the run's harness": {p: c.scouts}, "another harness": {p: c.ledger},
	}
	subscribe := func(p *party) *stream {
		if p == phone {
			s := p.upgrade("")
			s.subscribe(fmt.Sprintf(`,"since":%d`, start))
			return s
		}
		return p.from(start, "")
	}
	for _, l := range listeners {
		l.s = subscribe(l.p)
	}
	id := c.wants(c.scouts, run, J{"kind": "email.send"})
	listeners["who sends it"].s.lands("approval.resolved", J{"approval_id": id, "decision": "approved"})
	end := c.fence()
	first := map[string]string{}
	check := func(when string) {
		t.Helper()
		for name, l := range listeners {
			got := l.s.resolved(id, end)
			if len(got) != 1 || got[0]["resolved_elsewhere"] == true != l.elsewhere || str(got[0], "decision") != "approved" {
				t.Errorf("%s, %s is told %v", when, name, got)
				continue
			}
			if at := str(got[0], "id"); first[name] != "" && first[name] != at {
				t.Errorf("%s, %s is told another", when, name)
			} else {
				first[name] = at
			}
		}
	}
	check("live")
	c.restart(syscall.SIGKILL)
	for _, l := range listeners {
		l.s = subscribe(l.p)
	}
	check("on a replay")
	for _, raw := range c.priya.log(start, "") {
		if strings.Contains(string(raw), "resolved_elsewhere") {
			t.Errorf("the log says %s", raw)
		}
	}
}

// Of all who answer in one moment one is first: everybody else is told who it was, by approvals and by questions.
//
// covers: FIRST-3, FIRST-4
func TestOneAnswerIsFirst(t *testing.T) {
	t.Parallel()
	c := newTown(t)
	run := c.asking(1, J{"match": "*", "decision": "ask", "approvers": []any{c.owner.id, c.priya.id, c.gus.id}})
	people := []*party{c.owner, c.priya, c.gus}
	names := map[string]string{c.owner.id: "Arjun", c.priya.id: "Priya", c.gus.id: "Gus"}
	for range 5 {
		apr, qst := c.wants(c.scouts, run, J{"kind": "x"}), c.asks(c.scouts, run)
		for typ, fields := range map[string]J{"approval.resolved": {"approval_id": apr, "decision": "approved"}, "question.answered": {"question_id": qst, "answer": "Blue"}} {
			var mu sync.Mutex
			var first, told []string
			var all sync.WaitGroup
			for _, p := range people {
				for range 2 {
					e := p.event(typ, fields)
					all.Go(func() {
						err := p.Do(t.Context(), http.MethodPost, "/v1/events", e, nil)
						mu.Lock()
						defer mu.Unlock()
						refusal, refused := errors.AsType[*protocol.Error](err)
						switch {
						case err == nil:
							first = append(first, names[p.id])
						case refused && refusal.Code == protocol.InvalidEvent:
							told = append(told, refusal.Message)
						default:
							t.Errorf("%s is answered %v", typ, err)
						}
					})
				}
			}
			all.Wait()
			if len(first) != 1 || slices.ContainsFunc(told, func(m string) bool { return !strings.Contains(m, first[0]+" (") }) {
				t.Errorf("%s: first were %v; the others are told %q", typ, first, told)
			}
		}
	}
}

// Approvers outside of the room are sent the ask and its answer, and nothing else of the run; nobody else outside is sent anything. Of a run
// of no room its harness, that one's owner and the approvers hear.
//
// covers: HEV-29
func TestWhoHearsOfAnAsk(t *testing.T) {
	t.Parallel()
	c := newTown(t)
	mel, nora := c.person("Mel", "member"), c.person("Nora", "admin")
	far, _ := c.harness("Far")
	c.owner.must(http.MethodPatch, "/v1/people/"+mel.id, J{"labels": []string{"finance"}})
	inRoom := c.asking(3, J{"match": "payment.*", "decision": "ask", "approvers": []any{"role:finance", far.id}}, J{"match": "drive.*", "decision": "allow"})
	bare := c.run()
	c.scouts.write("run.started", J{"run_id": bare})
	start := c.owner.head()
	live := map[string]*stream{}
	for name, p := range map[string]*party{"Mel": mel, "Nora": nora, "Far": far, "Arjun": c.owner, "Priya": c.priya, "Scout": c.scouts} {
		live[name] = p.from(start, "")
	}
	for _, run := range []string{inRoom, bare} {
		c.scouts.write("step.log", J{"run_id": run, "step_id": "s", "status": "done", "summary": "x"})
		c.wants(c.scouts, run, J{"kind": "drive.read"})
		id := c.wants(c.scouts, run, J{"kind": "payment.send"})
		c.asks(c.scouts, run)
		mel.write("approval.resolved", J{"approval_id": id, "decision": "denied"})
		c.wants(c.scouts, run, J{"kind": "payment.send"})
		c.scouts.write("run.completed", J{"run_id": run})
	}
	end := c.fence()
	ask := []string{"approval.requested", "approval.resolved", "approval.requested", "approval.resolved"}
	run := []string{"step.log", "approval.requested", "approval.resolved", "approval.requested", "question.asked", "approval.resolved", "approval.requested", "question.closed", "approval.resolved", "run.completed"}
	for name, want := range map[string][2][]string{
		"Mel": {ask, ask}, "Far": {ask, ask}, "Nora": {}, "Arjun": {run, run}, "Priya": {run, nil}, "Scout": {run, run},
	} {
		var got [2][]string
		for _, raw := range live[name].through(end) {
			switch e := read(t, raw); str(e, "run_id") {
			case inRoom:
				got[0] = append(got[0], str(e, "type"))
			case bare:
				got[1] = append(got[1], str(e, "type"))
			}
		}
		for i := range got {
			slices.Sort(got[i])
			sorted := slices.Sorted(slices.Values(want[i]))
			if !slices.Equal(got[i], sorted) {
				t.Errorf("of run %d %s is sent %v, want %v", i, name, got[i], sorted)
			}
		}
	}
}

// What was asked, who may answer, and the rules that answers made outlast a kill: an open approval is answered after it, once, and what was
// answered stays so.
//
// covers: HEV-32, HEV-33, FIRST-3
func TestApprovalsOutlastAKill(t *testing.T) {
	t.Parallel()
	c := newTown(t)
	run := c.asking(1, J{"match": "email.*", "decision": "ask", "reason": "Mail asks."})
	open, done := c.wants(c.scouts, run, J{"kind": "email.send", "external": true}), c.wants(c.scouts, run, J{"kind": "drive.write"})
	question := c.asks(c.scouts, run)
	ack := c.owner.must(http.MethodPost, "/v1/events", c.owner.event("approval.resolved", J{"approval_id": done, "decision": "approved", "remember": "always"}))
	if ack["remembered"] != true {
		t.Errorf("always is acked %v", ack)
	}
	matters := c.wants(c.scouts, run, J{"kind": "drive.write", "irreversible": true})
	e := c.owner.event("approval.resolved", J{"approval_id": matters, "decision": "approved", "remember": "always"})
	for _, duplicate := range []bool{false, true} {
		if ack := c.owner.must(http.MethodPost, "/v1/events", e); ack["remembered"] != false || ack["duplicate"] != duplicate {
			t.Errorf("what matters is acked %v", ack)
		}
	}
	c.owner.must(http.MethodPost, "/v1/events", c.owner.event("approval.resolved", J{"approval_id": c.wants(c.scouts, run, J{"kind": "docs.write"}), "decision": "approved", "remember": "session"}))
	decides := func(kind string) string {
		since := c.owner.head()
		c.wants(c.scouts, run, J{"kind": kind})
		return str(read(t, c.owner.log(since, "")[0]), "verdict", "decision")
	}
	for range 2 {
		c.restart(syscall.SIGKILL)
		hello := read(t, c.scouts.connect("").hello)
		rules, _ := at(hello, "policy", "rules").([]any)
		if len(rules) != 2 || str(rules[1].(J), "match") != "drive.write" || str(rules[1].(J), "made_by") != c.owner.id || str(rules[1].(J), "made_at") == "" {
			t.Errorf("hello's rules are %v", rules)
		}
		if a, s, x := decides("drive.write"), decides("docs.write"), decides("crm.write"); a != "allow" || s != "allow" || x != "ask" {
			t.Errorf("always is %s, the session %s, another %s", a, s, x)
		}
		c.owner.fails(protocol.InvalidEvent, http.MethodPost, "/v1/events", c.owner.event("approval.resolved", J{"approval_id": done, "decision": "denied"}))
	}
	c.priya.fails(protocol.Forbidden, http.MethodPost, "/v1/events", c.priya.event("approval.resolved", J{"approval_id": open, "decision": "approved"}))
	c.owner.write("approval.resolved", J{"approval_id": open, "decision": "approved"})
	c.owner.fails(protocol.InvalidEvent, http.MethodPost, "/v1/events", c.owner.event("approval.resolved", J{"approval_id": open, "decision": "denied"}))
	c.gus.write("question.answered", J{"question_id": question, "answer": "Green"})
	c.scouts.write("run.completed", J{"run_id": run})
	run = c.run()
	c.scouts.write("run.started", J{"space_id": c.room, "run_id": run})
	if a, s := decides("drive.write"), decides("docs.write"); a != "allow" || s != "ask" {
		t.Errorf("in another run always is %s, the session %s", a, s)
	}
}

// An agent's hello says how many of its words wait.
//
// covers: HEV-20
func TestHelloSaysWhatIsHeld(t *testing.T) {
	t.Parallel()
	c := newTown(t)
	held := func() (n any) {
		for _, a := range read(t, c.scouts.connect("").hello)["agents"].([]any) {
			if str(a.(J), "agent_id") == c.s1 {
				n = a.(J)["held"]
			}
		}
		return n
	}
	if n := held(); n != nil {
		t.Errorf("held are %v", n)
	}
	c.owner.must(http.MethodDelete, "/v1/spaces/"+c.room+"/members/"+c.s1, nil)
	for range 3 {
		c.scouts.write("message.post", J{"actor": speaks(c.s1), "text": "while free"})
	}
	c.restart(syscall.SIGKILL)
	if n := held(); n != 3.0 {
		t.Errorf("held are %v", n)
	}
	c.owner.must(http.MethodPost, "/v1/spaces/"+c.room+"/members", J{"participant_id": c.s1})
	if n := held(); n != nil {
		t.Errorf("held are %v", n)
	}
}
