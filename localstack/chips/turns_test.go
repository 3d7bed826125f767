package main

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/chipschat/chips-aws/shared/protocol"
)

// working are the turns that an event names as going.
func working(e J) []string {
	list, _ := e["working_turns"].([]any)
	turns := []string{}
	for _, x := range list {
		turns = append(turns, str(x.(J), "agent_id")+" "+str(x.(J), "run_id"))
	}
	return turns
}

// Words that are said while a turn is going name it at its harness, and the turn's next context has them.
//
// covers: WORK-1, WORK-2, WORK-3, WORK-4, WORK-5, WORK-6, WORK-7, WORK-9, WORK-10
func TestWorkingTurns(t *testing.T) {
	t.Parallel()
	c := newTown(t)
	s2 := str(c.scouts.must(http.MethodPost, "/v1/harnesses/"+c.scouts.id+"/agents", J{"key": "second", "name": "Second"}), "agent_id")
	c.owner.must(http.MethodPost, "/v1/spaces/"+c.room+"/members", J{"participant_id": s2})
	r1, r2 := c.run(), c.run()
	as := func(agent string, fields J) J {
		fields["actor"] = J{"kind": "agent", "id": agent}
		return fields
	}
	c.scouts.write("run.started", as(c.s1, J{"space_id": c.room, "run_id": r1}))
	c.scouts.write("run.started", as(s2, J{"space_id": c.room, "run_id": r2}))
	s := c.scouts.from(c.owner.head(), "")
	t1, t2 := c.s1+" "+r1, s2+" "+r2
	var last int64
	for _, x := range []struct {
		who  *party
		text string
		more J
		typ  string
		want []string
	}{
		{c.owner, "@Ledger only", nil, "message.overheard", []string{t1, t2}},
		{c.owner, "@Scout, you", nil, "message.new", []string{t2}},
		{c.owner, "@Scout and @Second", nil, "message.new", []string{}},
		{c.ledger, "for the people", nil, "message.overheard", []string{t1, t2}},
		{c.scouts, "mine, for the people", as(c.s1, J{}), "message.post", []string{t2}},
		{c.scouts, "@Second, yours", as(c.s1, J{}), "message.new", []string{}},
		{c.scouts, "@Ledger, yours", as(c.s1, J{}), "message.post", []string{t2}},
	} {
		fields := J{"space_id": c.room, "text": x.text}
		for name, v := range x.more {
			fields[name] = v
		}
		last = x.who.write("message.post", fields)
		e := s.messages(last)[x.text]
		if str(e, "type") != x.typ || !cmp.Equal(working(e), x.want) {
			t.Errorf("%q comes as %s with %v, want %s with %v", x.text, str(e, "type"), working(e), x.typ, x.want)
		}
		if x.typ == "message.post" && (str(e, "message_id") != messageID(t, e) || str(e, "from", "id") != c.s1) {
			t.Errorf("%q comes back with message_id %q from %v", x.text, str(e, "message_id"), e["from"])
		}
	}
	heard := messageID(t, read(t, c.owner.log(last-1, "")[0]))
	ack := s.write(c.scouts.event("message.heard", J{"run_id": r2, "message_id": heard}))
	e := read(t, c.owner.log(number(ack, "seq")-1, "")[0])
	if str(ack, "frame") != "ack" || str(e, "type") != "message.heard" || str(e, "actor", "id") != s2 || str(e, "message_id") != heard || str(e, "space_id") != c.room {
		t.Errorf("message.heard is answered %v and logged as %v", ack, e)
	}
	s.fails(protocol.NotFound, "message.heard", J{"run_id": r2, "message_id": "msg_01K4ZQPX000000000000000009"})
	s.fails(protocol.InvalidEvent, "message.heard", J{"run_id": r2})
	s.fails(protocol.NotFound, "message.heard", J{"run_id": c.run(), "message_id": heard})
	c.owner.write("message.post", J{"space_id": c.room, "text": "@Ledger, before it ended"})
	c.scouts.write("run.completed", J{"run_id": r2})
	if got := working(s.messages(c.owner.write("message.post", J{"space_id": c.room, "text": "@Ledger again"}))["@Ledger again"]); !slices.Equal(got, []string{t1}) {
		t.Errorf("after one ended %v go on", got)
	}
	turn := s.messages(c.owner.write("message.post", J{"space_id": c.room, "text": "@Second, next"}))["@Second, next"]
	lines, _ := at(turn, "context", "lines").([]any)
	if !slices.ContainsFunc(lines, func(l any) bool { return str(l.(J), "text") == "@Ledger, before it ended" }) {
		t.Errorf("what its turn ended without hearing is not in %v", lines)
	}
	// On a replay only what goes on now is named.
	c.scouts.write("run.completed", J{"run_id": r1})
	for text, e := range c.scouts.from(last-20, "").messages(c.fence()) {
		if got := working(e); len(got) > 0 {
			t.Errorf("on a replay %q names %v", text, got)
		}
	}
}

// A person's words where a run is going are answered twice, on the one socket that wrote them; and its harness is told the same, live.
//
// covers: RCPT-1, RCPT-2, RCPT-3, RCPT-4, RCPT-5, RCPT-6, RCPT-7, RCPT-8, RCPT-9, RCPT-10
func TestReceipts(t *testing.T) {
	t.Parallel()
	c := newTown(t)
	since := c.owner.head()
	writer, other, unsubscribed := c.owner.from(since, ""), c.owner.from(since, ""), c.priya.connect("")
	scouts, ledger := c.scouts.from(since, ""), c.ledger.from(since, "")
	say := func(s *stream, typ string, fields J) (key string, seq int64) {
		t.Helper()
		e := s.p.event(typ, fields)
		ack := s.write(e)
		if str(ack, "frame") != "ack" {
			t.Fatalf("%v is answered %v", e, ack)
		}
		return str(e, "idempotency_key"), number(ack, "seq")
	}
	say(writer, "message.post", J{"space_id": c.room, "text": "no run is going"})
	run := c.run()
	c.scouts.write("run.started", J{"space_id": c.room, "run_id": run})
	c.scouts.write("run.paused", J{"run_id": run})
	var want []receipt
	for _, x := range []struct {
		typ    string
		fields J
		says   string
	}{
		{"message.post", J{"space_id": c.room, "text": "@Ledger"}, "queued"},
		{"run.steer", J{"run_id": run, "mode": "steer", "text": "not that"}, "steered"},
		{"run.steer", J{"run_id": run, "mode": "interrupt", "text": "stop"}, "steered"},
		{"run.steer", J{"run_id": run, "mode": "followup", "text": "then this"}, "queued"},
	} {
		key, _ := say(writer, x.typ, x.fields)
		want = append(want, receipt{key: key, says: x.says})
	}
	key, _ := say(unsubscribed, "message.post", J{"space_id": c.room, "text": "by one who does not listen"})
	for len(unsubscribed.receipts) == 0 {
		unsubscribed.pump()
	}
	if got := unsubscribed.receipts[0]; got.key != key || got.says != "queued" {
		t.Errorf("one who is not subscribed is told %v", got)
	}
	if ack := c.owner.must(http.MethodPost, "/v1/events", c.owner.event("message.post", J{"space_id": c.room, "text": "over HTTP"})); ack["disposition"] != "queued" {
		t.Errorf("over HTTP the ack is %v", ack)
	}
	again := c.owner.event("message.post", J{"space_id": c.room, "text": "@Ledger"})
	again["idempotency_key"] = want[0].key
	writer.write(again)
	say(writer, "message.post", J{"space_id": c.x, "text": "in another room"})
	steered := "run.steer"
	c.scouts.write("run.completed", J{"run_id": run})
	_, late := say(writer, steered, J{"run_id": run, "mode": "steer", "text": "too late"})
	end := c.fence()
	bare := func(got []receipt) (all []receipt) {
		for _, r := range got {
			all = append(all, receipt{key: r.key, says: r.says})
		}
		return all
	}
	got := writer.through(end)
	if d := cmp.Diff(want, bare(writer.receipts), cmp.AllowUnexported(receipt{})); d != "" {
		t.Errorf("the socket that wrote (-want +got):\n%s", d)
	}
	if other.through(end); len(other.receipts) != 0 {
		t.Errorf("their other socket is told %v", other.receipts)
	}
	if ledger.through(end); len(ledger.receipts) != 0 {
		t.Errorf("a harness without a run is told %v", ledger.receipts)
	}
	heard := scouts.through(end)
	if n := len(scouts.receipts); n != len(want)+2 || scouts.receipts[1] != (receipt{want[1].key, "steered", scouts.receipts[1].after}) {
		t.Errorf("the run's harness is told %v", scouts.receipts)
	}
	for _, r := range scouts.receipts[:len(want)] { // right behind the words
		if e := read(t, heard[r.after-1]); str(e, "idempotency_key") != r.key {
			t.Errorf("%v comes behind %v", r, e)
		}
	}
	if replayed := c.scouts.from(since, ""); len(replayed.through(end)) > 0 && len(replayed.receipts) > 0 {
		t.Errorf("a replay brings %v", replayed.receipts)
	}
	// A steer is words: a run.steer with all a turn has at the run's harness, overheard at others, a line for all; late, a message to answer.
	for _, raw := range heard {
		e := read(t, raw)
		if str(e, "text") == "not that" && (str(e, "type") != steered || str(e, "mode") != "steer" || str(e, "from", "id") != c.owner.id ||
			!cmp.Equal(e["for"], any([]any{c.s1})) || at(e, "context", "lines") == nil || str(e, "room", "notes", c.s1) == "" || str(e, "message_id") != messageID(t, e)) {
			t.Errorf("a steer comes as %v", e)
		}
		if str(e, "text") == "too late" && (str(e, "type") != "message.new" || number(e, "seq") != late) {
			t.Errorf("a steer of a run that ended comes as %v", e)
		}
	}
	for _, raw := range got {
		if e := read(t, raw); str(e, "text") == "not that" && str(e, "type") != steered {
			t.Errorf("people are sent it as %v", e)
		}
	}
	lines := c.ledger.must(http.MethodGet, "/v1/spaces/"+c.room+"/context", nil)["lines"].([]any)
	if !slices.ContainsFunc(lines, func(l any) bool { return str(l.(J), "text") == "not that" && str(l.(J), "kind") == "said" }) {
		t.Errorf("a steer is no line: %v", lines)
	}
	writer.fails(protocol.InvalidEvent, steered, J{"run_id": run, "mode": "hurry", "text": "x"})
	writer.fails(protocol.InvalidEvent, steered, J{"run_id": run, "mode": "steer", "text": " "})
	writer.fails(protocol.NotFound, steered, J{"run_id": c.run(), "mode": "steer", "text": "x"})
	c.gus.connect("").fails(protocol.Forbidden, steered, J{"run_id": run, "mode": "steer", "text": "x"})
}

// What an agent passes is nobody's to see: no message, no line, no turn; its ack has the seq all the same.
//
// covers: PASS-2, PASS-3, PASS-4, PASS-5, PASS-7, PASS-8, HELD-7
func TestPassing(t *testing.T) {
	t.Parallel()
	c := newTown(t)
	since := c.owner.head()
	a := c.scouts.connect("").write(c.scouts.event("message.post", J{"space_id": c.room, "text": "NO_REPLY"}))
	if str(a, "frame") != "ack" || number(a, "seq") != since+1 {
		t.Fatalf("a pass is answered %v", a)
	}
	c.owner.write("message.post", J{"space_id": c.room, "text": "NO_REPLY"})
	shownTo := func(typ string) {
		t.Helper()
		end := c.fence()
		for name, p := range map[string]*party{"Arjun": c.owner, "Priya": c.priya, "Gus": c.gus, "Ledger": c.ledger, "Scout": c.scouts} {
			n := 0
			for _, raw := range append(p.from(since, "").through(end), p.log(since, "")...) {
				e := read(t, raw)
				if str(e, "type") == typ {
					n++
				}
				if str(e, "text") == "NO_REPLY" && str(e, "actor", "kind") != "person" && typ == "turn.passed" {
					t.Errorf("%s is sent %s", name, raw)
				}
			}
			if want := map[bool]int{true: 2}[p == c.scouts]; n != want { // on the socket and over HTTP
				t.Errorf("%s is sent %s %d times, want %d", name, typ, n, want)
			}
		}
	}
	shownTo("turn.passed")
	file := c.ledger.upload("found.txt", []byte("what was found"))
	said := c.ledger.write("message.post", J{"space_id": c.room, "text": "NO_REPLY", "upload_ids": []string{file.AttachmentID}})
	if e := read(t, c.owner.log(said-1, "")[0]); str(e, "type") != "message.post" || str(e, "actor", "harness_id") != c.ledger.id {
		t.Errorf("with a file it is %v", e)
	}
	c.owner.must(http.MethodDelete, "/v1/spaces/"+c.room+"/members/"+c.s1, nil)
	c.scouts.write("message.post", J{"text": "while it is free"})
	shownTo("message.held")
	lines := c.ledger.must(http.MethodGet, "/v1/spaces/"+c.room+"/context", nil)["lines"].([]any)
	if n := len(slices.DeleteFunc(lines, func(l any) bool { return !strings.Contains(str(l.(J), "text"), "NO_REPLY") })); n != 2 {
		t.Errorf("%d lines say it, and it was said by a person and with a file", n)
	}
}
