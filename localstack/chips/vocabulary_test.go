package main

import (
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/jsonschema-go/jsonschema"

	"github.com/chipschat/chips-aws/shared/protocol"
)

// Every type of event there is comes live, on a replay and over HTTP, to the same people, in the same bytes, with everything that an
// envelope has; only a harness is told messages in its own way.
//
// covers: TKT-2, SUB-13, SUB-14, DLV-1, DLV-21, ENV-1, ENV-2, ENV-3, ENV-5, ENV-6, ENV-9, ENV-12, ENV-13, ENV-14, HEV-1
func TestVocabulary(t *testing.T) {
	t.Parallel()
	c := newTown(t, "FORK_WAIT_MS=1", "NEW_AGENT_WAIT_MS=1")
	parties := map[string]*party{"Arjun": c.owner, "Priya": c.priya, "Gus": c.gus, "Ledger": c.ledger}
	start := c.owner.head()
	live := map[string]*stream{}
	for name, p := range parties {
		live[name] = p.from(start, "")
	}
	began := time.Now().Add(-time.Second)
	deleted, dense, end := everything(c)

	seen := map[string]bool{"hello": true, "message.new": false, "message.overheard": false}
	for name, p := range parties {
		got := live[name].through(end)
		for _, raw := range got {
			seen[str(read(t, raw), "type")] = true
			if name != "Ledger" { // in the view of before agents another's agent is a harness with an agent's id
				checkEvent(t, raw)
			}
		}
		checkEvent(t, live[name].hello)
		// A deleted room is served to nobody any more: all else of what was sent is there to be read, and nothing more.
		kept := slices.DeleteFunc(slices.Clone(got), func(raw jsontext.Value) bool { return str(read(t, raw), "space_id") == deleted })
		if len(kept) == len(got) && name != "Ledger" && name != "Gus" {
			t.Errorf("%s was sent nothing of the room that was deleted", name)
		}
		for _, how := range []string{"", `,"accepts":["events"]`} {
			same(t, name+" on a replay"+how, p.from(start, how).through(end), kept)
		}
		logged := p.log(start, "")
		if name != "Ledger" {
			for i, raw := range kept { // which is added at delivery
				kept[i] = jsontext.Value(strings.Replace(string(raw), `,"resolved_elsewhere":true`, "", 1))
			}
			same(t, name+" over HTTP", logged, kept)
			continue
		}
		sameButMessages(t, logged, kept)
	}
	for _, raw := range c.owner.log(0, "") {
		seen[str(read(t, raw), "type")] = true
		checkEvent(t, raw)
	}
	for _, raw := range c.scouts.log(0, "") { // what is its own harness's alone
		seen[str(read(t, raw), "type")] = true
		checkEvent(t, raw)
	}
	for _, typ := range protocol.Types {
		if !seen[typ] {
			t.Errorf("no %s was sent", typ)
		}
	}
	// seq is dense: one number for each event of the workspace, whoever is sent it. Ids rise with it, and the clock never goes back.
	var last J
	for i, raw := range c.owner.log(0, "") {
		e := read(t, raw)
		if n := number(e, "seq"); n != int64(i)+1 && n < dense {
			t.Fatalf("the event after seq %d has seq %d", i, n)
		}
		if str(e, "id") <= str(last, "id") || str(e, "ts") < str(last, "ts") {
			t.Errorf("%v comes after %v", e, last)
		}
		last = e
	}
	if ts, err := time.Parse(time.RFC3339, str(last, "ts")); err != nil || ts.Before(began) || ts.After(time.Now()) {
		t.Errorf("the last event is of %v, %v", ts, err)
	}
}

// same compares what was sent or read with what it should be, byte for byte.
func same(t *testing.T, what string, got, want []jsontext.Value) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s: %d events, want %d", what, len(got), len(want))
	}
	for i := range min(len(got), len(want)) {
		if string(got[i]) != string(want[i]) {
			t.Errorf("%s: event %d is\n%s\nwant\n%s", what, i, got[i], want[i])
			return
		}
	}
}

// sameButMessages compares what a harness reads over HTTP with what it was sent: a message of somebody else's is a message.post in the
// one and what it is to the harness in the other, under one id.
func sameButMessages(t *testing.T, logged, sent []jsontext.Value) {
	t.Helper()
	if len(logged) != len(sent) {
		t.Fatalf("%d events over HTTP, %d on the socket", len(logged), len(sent))
	}
	told := map[string]int{}
	for i := range logged {
		l, s := read(t, logged[i]), read(t, sent[i])
		typ := str(s, "type")
		said := str(l, "type") == "message.post" || str(l, "type") == "run.steer"
		if !said || typ == str(l, "type") {
			same(t, "a harness over HTTP", logged[i:i+1], sent[i:i+1])
			continue
		}
		told[typ]++
		for _, field := range []string{"id", "ts", "seq", "space_id", "workspace_id", "text"} {
			if at(l, field) != at(s, field) {
				t.Errorf("%s is %v in the log and %v on the socket", field, at(l, field), at(s, field))
			}
		}
		if at(s, "context") != nil && typ == "message.overheard" {
			t.Errorf("overheard with context: %s", sent[i])
		}
	}
	if told["message.new"] == 0 || told["message.overheard"] == 0 {
		t.Errorf("a harness was told %v", told)
	}
}

// checkEvent holds an event to the schema of its type, and its envelope to the documents.
func checkEvent(t *testing.T, raw jsontext.Value) {
	t.Helper()
	e := read(t, raw)
	typ := str(e, "type")
	known, err := schemas()
	if err != nil {
		t.Fatal(err)
	}
	if known[typ] == nil {
		t.Fatalf("an unknown type: %s", raw)
	}
	if err := known[typ].Validate(e); err != nil {
		t.Errorf("%s: %v", raw, err)
	}
	if (number(e, "seq") > 0) == (typ == "hello") {
		t.Errorf("the seq of %s", raw)
	}
	kind, id := str(e, "actor", "kind"), str(e, "actor", "id")
	prefix := map[string]string{"person": "usr_", "agent": "agt_", "harness": "hrn_", "system": "system"}[kind]
	if !strings.HasPrefix(id, prefix) || prefix == "" || (kind == "system") != (id == "system") {
		t.Errorf("the actor of %s", raw)
	}
	if (str(e, "actor", "harness_id") != "") != (kind == "agent") {
		t.Errorf("the actor's harness of %s", raw)
	}
}

// schemas are the checked in schemas of all types.
var schemas = sync.OnceValues(func() (map[string]*jsonschema.Resolved, error) {
	read := map[string]*jsonschema.Resolved{}
	for _, typ := range protocol.Types {
		raw, err := os.ReadFile("../../shared/protocol/schemas/" + typ + ".json")
		if err != nil {
			return nil, err
		}
		var s jsonschema.Schema
		if err := json.Unmarshal(raw, &s); err != nil {
			return nil, err
		}
		if read[typ], err = s.Resolve(nil); err != nil {
			return nil, err
		}
	}
	return read, nil
})

// message is the id of the message that was posted at a seq.
func (c *town) message(seq int64) string {
	c.t.Helper()
	for _, raw := range c.owner.log(seq-1, c.room) {
		if e := read(c.t, raw); number(e, "seq") == seq {
			return "msg_" + strings.TrimPrefix(str(e, "id"), "evt_")
		}
	}
	c.t.Fatalf("there is no event %d in the room", seq)
	return ""
}

// everything does all there is to do, once. It answers the room it deletes, the seq of the last event before that, and the last of all.
func everything(c *town) (deleted string, dense, end int64) {
	post, put, patch, del := http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete
	c.owner.must(put, "/v1/workspaces/"+c.workspace.WorkspaceID+"/policy", J{"max_autonomy": 2})
	c.owner.must(put, "/v1/workspaces/"+c.workspace.WorkspaceID+"/exchange", J{"stop": 10})
	vera := c.person("Vera", "member")
	vera.must(patch, "/v1/people/"+vera.id, J{"name": "Vera B"})
	c.owner.must(del, "/v1/people/"+vera.id, nil)

	temp, _ := c.harness("Temp", "agents")
	c.owner.must(put, "/v1/harnesses/"+temp.id+"/capabilities", J{"capabilities": []string{"agents", "forks", "new_agents", "models"}})
	temp.must(put, "/v1/harnesses/"+temp.id+"/status", J{"status": "trouble", "message": "no network"})
	c.owner.must(put, "/v1/harnesses/"+temp.id+"/policy", J{"autonomy": 1, "rules": []any{}})
	c.owner.must(put, "/v1/harnesses/"+temp.id+"/budget", J{"limit_usd": 25})
	agent := str(temp.must(post, "/v1/harnesses/"+temp.id+"/agents", J{"key": "k", "name": "Helper"}), "agent_id")
	c.owner.must(patch, "/v1/agents/"+agent, J{"name": "Aide"})
	c.owner.must(post, "/v1/spaces/"+c.room+"/members", J{"participant_id": agent})
	temp.connect(`,"accepts":["models"]`)
	model := J{"model": "m", "own": true, "editable": true, "choices": []J{{"id": "m", "label": "M", "efforts": []J{}}}}
	temp.must(put, "/v1/agents/"+agent+"/model", model)
	model["answers"] = str(c.owner.must(post, "/v1/agents/"+agent+"/model/changes", J{"model": "m", "effort": nil}), "change_id")
	temp.must(put, "/v1/agents/"+agent+"/model", model)
	c.move(agent, c.x)
	c.owner.must(del, "/v1/spaces/"+c.x+"/members/"+agent, nil)
	c.owner.must(post, "/v1/spaces/"+c.room+"/forks", J{"agent_id": agent})
	c.owner.must(post, "/v1/spaces/"+c.room+"/agents", J{"harness_id": temp.id})
	eventually(c.t, "the room says that neither was made", func() bool {
		n := 0
		for _, raw := range c.owner.log(0, c.room) {
			if str(read(c.t, raw), "type") == "room.line" {
				n++
			}
		}
		return n == 2
	})
	own := str(temp.must(post, "/v1/spaces", J{"title": "Temp's own", "key": "k"}), "space_id")
	temp.write("space.closed", J{"space_id": own})

	c.owner.write("message.post", J{"space_id": c.room, "text": "@Ledger look"})
	c.scouts.write("message.post", J{"space_id": c.room, "text": "<looked> & \u2028 found"})
	mine := c.message(c.ledger.write("message.post", J{"space_id": c.room, "text": "mine"}))
	c.ledger.write("message.edited", J{"message_id": mine, "text": "mine, edited"})
	c.ledger.write("reaction.set", J{"message_id": mine, "emoji": "👍", "on": true})
	c.gus.write("reaction.set", J{"message_id": mine, "emoji": "👍", "on": true})
	c.owner.write("pin.set", J{"message_id": mine, "on": true})
	c.ledger.write("message.deleted", J{"message_id": mine})
	for _, last := range []string{"run.completed", "run.failed", "run.cancelled", "run.cancel"} {
		run := c.run()
		c.ledger.write("run.started", J{"space_id": c.room, "run_id": run, "title": "Work"})
		c.ledger.write("run.started", J{"run_id": c.run(), "parent_run_id": run})
		c.ledger.write("step.started", J{"run_id": run, "step_id": "s", "title": "Reading"})
		c.ledger.write("step.log", J{"run_id": run, "step_id": "s", "status": "done", "summary": "Read it"})
		c.owner.write("approval.resolved", J{"approval_id": c.wants(c.ledger, run, J{"kind": "email.send", "external": true}), "decision": "approved"})
		c.gus.write("question.answered", J{"question_id": c.asks(c.ledger, run), "answer": "Blue"})
		c.wants(c.ledger, run, J{"kind": "email.send", "external": true})
		c.asks(c.ledger, run)
		c.ledger.write("run.paused", J{"run_id": run})
		c.ledger.write("run.resumed", J{"run_id": run})
		if last == "run.cancel" {
			c.owner.write(last, J{"run_id": run})
		} else {
			c.ledger.write(last, J{"run_id": run})
		}
	}
	c.owner.must(post, "/v1/spaces/"+c.room+"/spend-ceiling", J{"usd": 2})
	c.owner.must(post, "/v1/spaces/"+c.x+"/lock", J{"locked": true})
	c.owner.must(post, "/v1/spaces/"+c.x+"/lock", J{"locked": false})
	spends := c.run()
	c.ledger.write("run.started", J{"space_id": c.room, "run_id": spends})
	c.ledger.write("usage.reported", J{"run_id": spends, "model": "claude-sonnet-5", "input_tokens": 500_000, "output_tokens": 70_000})
	c.owner.must(patch, "/v1/spaces/"+c.x, J{"title": "X, renamed"})
	c.owner.must(post, "/v1/spaces/"+c.x+"/archive", nil)
	c.owner.must(post, "/v1/spaces/"+c.x+"/unarchive", nil)
	c.owner.must(del, "/v1/harnesses/"+temp.id, nil)

	dense = c.owner.head()
	turns(c)
	deleted = c.open(c.owner, "Short", c.priya.id)
	c.owner.write("message.post", J{"space_id": deleted, "text": "gone soon"})
	c.owner.must(del, "/v1/spaces/"+deleted, nil)
	return deleted, dense, c.fence()
}

// turns has what agents and people say to turns under way, to each other and of messages.
func turns(c *town) {
	run := c.run()
	c.scouts.write("run.started", J{"space_id": c.room, "run_id": run})
	said := messageID(c.t, read(c.t, c.owner.log(c.owner.write("message.post", J{"space_id": c.room, "text": "@Ledger and all"})-1, "")[0]))
	c.scouts.write("message.heard", J{"run_id": run, "message_id": said})
	c.owner.write("run.steer", J{"run_id": run, "mode": "interrupt", "text": "not that"})
	c.scouts.write("run.completed", J{"run_id": run})
	c.scouts.write("message.post", J{"space_id": c.room, "text": "NO_REPLY"})
	c.owner.write("message.edited", J{"message_id": said, "text": "@Ledger and everybody"})
	c.priya.write("reaction.set", J{"message_id": said, "emoji": "👍", "on": true})
	c.owner.write("pin.set", J{"message_id": said, "on": true})
	c.owner.write("message.deleted", J{"message_id": said})
	c.owner.must(http.MethodPost, "/v1/spaces/"+c.room+"/lead", J{"agent_id": c.s1})
	c.owner.write("exchange.set", J{"space_id": c.room, "state": "paused"})
	c.ledger.write("message.post", J{"space_id": c.room, "text": "held", "to": []string{c.s1}})
	c.owner.write("exchange.set", J{"space_id": c.room, "state": "going"})
	s2 := str(c.scouts.must(http.MethodPost, "/v1/harnesses/"+c.scouts.id+"/agents", J{"key": "second", "name": "Second"}), "agent_id")
	c.scouts.must(http.MethodPost, "/v1/agents/"+s2+"/attach", J{"space_id": c.room, "replacing": c.s1})
	c.scouts.write("message.post", J{"actor": J{"kind": "agent", "id": c.s1}, "text": "held until it is in a room"})
	c.scouts.must(http.MethodPost, "/v1/agents/"+c.s1+"/attach", J{"space_id": c.room, "replacing": s2})
}
