package main

import (
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/chipschat/chips-aws/shared/client"
	"github.com/chipschat/chips-aws/shared/protocol"
)

// J is a JSON object.
type J = map[string]any

// party is somebody with a credential.
type party struct {
	client.API
	t         *testing.T
	w         *world
	id, token string
	keys      int
}

func (w *world) party(id, token string) *party {
	return &party{API: as(w.url, token), t: w.t, w: w, id: id, token: token}
}

// must does a request that has to be answered well.
func (p *party) must(method, path string, in any) J {
	p.t.Helper()
	var out J
	if err := p.Do(p.t.Context(), method, path, in, &out); err != nil {
		p.t.Fatalf("%s %s: %v", method, path, err)
	}
	return out
}

// fails does a request that has to be refused.
func (p *party) fails(code protocol.Code, method, path string, in any) {
	p.t.Helper()
	err := p.Do(p.t.Context(), method, path, in, nil)
	if refusal, ok := errors.AsType[*protocol.Error](err); !ok || refusal.Code != code {
		p.t.Errorf("%s %s %v is answered %v, want %s", method, path, in, err, code)
	}
}

// event is an event of a type with fields and a key of its own.
func (p *party) event(typ string, fields J) J {
	p.keys++
	e := J{"type": typ, "idempotency_key": fmt.Sprintf("%s-%d", p.id, p.keys)}
	for name, v := range fields {
		e[name] = v
	}
	return e
}

// write writes an event over HTTP and answers its seq.
func (p *party) write(typ string, fields J) int64 {
	p.t.Helper()
	return number(p.must(http.MethodPost, "/v1/events", p.event(typ, fields)), "seq")
}

// log reads all that the party may see of the log above a seq, of one room or (space "") of all.
func (p *party) log(since int64, space string) (events []jsontext.Value) {
	p.t.Helper()
	for {
		page, err := p.Events(p.t.Context(), client.EventsQuery{Since: since, SpaceID: space, Limit: 500})
		if err != nil {
			p.t.Fatal(err)
		}
		events = append(events, page.Events...)
		if page.LastSeq <= since {
			return events
		}
		since = page.LastSeq
	}
}

// head is the seq of the newest event.
func (p *party) head() int64 {
	p.t.Helper()
	page, err := p.Events(p.t.Context(), client.EventsQuery{Since: 1 << 50})
	if err != nil {
		p.t.Fatal(err)
	}
	return page.LastSeq
}

// town is a workspace with people and harnesses in a room.
//
// Arjun owns it, Priya is a member, Gus a guest. Scout has declared agents, Ledger has not. All of them are in Room, Scout by its
// agent S1 and Ledger by L1, which were moved there from the rooms that the harnesses were given. X is a room of Arjun and Priya.
type town struct {
	*world
	owner, priya, gus, scouts, ledger *party
	s1, l1, x                         string
	fences, runs                      int
}

func newTown(t *testing.T, env ...string) *town {
	t.Helper()
	w := newWorld(t, env...)
	c := &town{world: w, s1: w.scout.AgentID, owner: w.party(w.workspace.PersonID, w.workspace.Key), scouts: w.party(w.scout.HarnessID, w.scout.Token)}
	c.scouts.must(http.MethodPut, "/v1/harnesses/"+c.scouts.id+"/capabilities", J{"capabilities": []string{"agents"}})
	c.priya, c.gus = c.person("Priya", "member"), c.person("Gus", "guest")
	var ledger client.Harness
	c.ledger, ledger = c.harness("Ledger")
	c.l1 = ledger.AgentID
	c.room, c.x = c.open(c.owner, "Room", c.priya.id, c.gus.id), c.open(c.owner, "X", c.priya.id)
	c.move(c.s1, c.room)
	c.move(c.l1, c.room)
	return c
}

func (c *town) person(name, role string) *party {
	c.t.Helper()
	made := c.owner.must(http.MethodPost, "/v1/people", J{"name": name, "role": role})
	return c.party(str(made, "person_id"), str(made, "key"))
}

func (c *town) harness(name string, capabilities ...string) (*party, client.Harness) {
	c.t.Helper()
	made, err := c.owner.AddHarness(c.t.Context(), name, capabilities...)
	if err != nil {
		c.t.Fatal(err)
	}
	return c.party(made.HarnessID, made.Token), made
}

// open has somebody open a room with others.
func (c *town) open(by *party, title string, others ...string) string {
	c.t.Helper()
	return str(by.must(http.MethodPost, "/v1/spaces", J{"title": title, "participant_ids": others}), "space_id")
}

// move has Arjun move an agent.
func (c *town) move(agent, space string) {
	c.t.Helper()
	c.owner.must(http.MethodPost, "/v1/agents/"+agent+"/move", J{"space_id": space})
}

// run is a new id of a run.
func (c *town) run() string {
	c.runs++
	return protocol.NewID(protocol.PrefixRun, time.Now(), [10]byte{byte(c.runs)})
}

// newID is a new id of an approval or a question.
func (c *town) newID(prefix string) string {
	c.runs++
	return protocol.NewID(prefix, time.Now(), [10]byte{byte(c.runs >> 8), byte(c.runs)})
}

// wants has a harness's run ask for an approval, and answers its id.
func (c *town) wants(by *party, run string, action J) string {
	c.t.Helper()
	id := c.newID(protocol.PrefixApproval)
	a := J{"summary": "It acts"}
	for name, v := range action {
		a[name] = v
	}
	by.write("approval.requested", J{"run_id": run, "approval_id": id, "action": a})
	return id
}

// asks has a harness's run ask people a question, and answers its id.
func (c *town) asks(by *party, run string) string {
	c.t.Helper()
	id := c.newID(protocol.PrefixQuestion)
	by.write("question.asked", J{"run_id": run, "question_id": id, "text": "Blue or green?"})
	return id
}

// fence writes an event that everybody is sent and answers its seq: what was to come before it has come by then.
func (c *town) fence() int64 {
	c.t.Helper()
	c.fences++
	c.owner.must(http.MethodPatch, "/v1/workspaces/"+c.workspace.WorkspaceID, J{"name": fmt.Sprint("Acme ", c.fences)})
	return c.owner.head()
}

// read is an event as an object.
func read(t *testing.T, raw jsontext.Value) (j J) {
	t.Helper()
	if err := json.Unmarshal(raw, &j); err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return j
}

// str is the text of a field, at a path of names; "" where there is none.
func str(j J, path ...string) string {
	s, _ := at(j, path...).(string)
	return s
}

// number is the whole number of a field; 0 where there is none.
func number(j J, path ...string) int64 {
	n, _ := at(j, path...).(float64)
	return int64(n)
}

// at is the value at a path of names, nil for none.
func at(j J, path ...string) any {
	var v any = j
	for _, name := range path {
		inner, ok := v.(J)
		if !ok {
			return nil
		}
		v = inner[name]
	}
	return v
}
