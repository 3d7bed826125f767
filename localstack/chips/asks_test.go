package main

import (
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/chipschat/chips-aws/shared/protocol"
)

// askWait is how long rooms wait in these tests. What is answered in time has that long on a busy machine.
const askWait = 3 * time.Second

var askWaits = []string{"FORK_WAIT_MS=3000", "NEW_AGENT_WAIT_MS=3000"}

// asks is a town in which Scout makes copies and agents, and Q, a room where Scout is not and something was said.
type asks struct {
	*town
	q string
}

func newAsks(t *testing.T) *asks {
	t.Helper()
	c := &asks{town: newTown(t, askWaits...)}
	c.scouts.must(http.MethodPut, "/v1/harnesses/"+c.scouts.id+"/capabilities", J{"capabilities": []string{"agents", "forks", "new_agents"}})
	c.q = c.open(c.owner, "Q", c.priya.id)
	c.owner.write("message.post", J{"space_id": c.q, "text": "said in Q"})
	return c
}

func (c *asks) fork(room string) string {
	c.t.Helper()
	return str(c.owner.must(http.MethodPost, "/v1/spaces/"+room+"/forks", J{"agent_id": c.s1}), "ask_id")
}

func (c *asks) newAgent(room, name string) string {
	c.t.Helper()
	return str(c.owner.must(http.MethodPost, "/v1/spaces/"+room+"/agents", J{"harness_id": c.scouts.id, "name": name}), "ask_id")
}

func (c *asks) register(fields J) J {
	c.t.Helper()
	return c.scouts.must(http.MethodPost, "/v1/harnesses/"+c.scouts.id+"/agents", fields)
}

// of are the events of a type among those sent.
func of(t *testing.T, events []jsontext.Value, typ string) (found []J) {
	for _, raw := range events {
		if e := read(t, raw); str(e, "type") == typ {
			found = append(found, e)
		}
	}
	return found
}

// one is the only event of a type.
func one(t *testing.T, events []jsontext.Value, typ string) J {
	t.Helper()
	found := of(t, events, typ)
	if len(found) != 1 {
		t.Fatalf("%d events of type %s, want one", len(found), typ)
	}
	return found[0]
}

// texts are what the lines of a context say.
func texts(context any) (said []string) {
	c, _ := context.(J)
	lines, _ := c["lines"].([]any)
	for _, l := range lines {
		line, _ := l.(J)
		said = append(said, str(line, "text"))
	}
	return said
}

// A person asks for a copy and for a new agent in a room where the harness is not. The harness is sent the ask, makes what it was asked for,
// and that joins in the name of who asked. Its first turn has what any agent's has that a person adds.
//
// covers: FORK-1, FORK-2, FORK-3, FORK-4, FORK-5, NEWA-1, NEWA-2, NEWA-3, NEWA-4, NEWA-5, NEWA-6, NEWA-7, NEWA-10, NEWA-11
func TestAsks(t *testing.T) {
	t.Parallel()
	c := newAsks(t)
	harness, ledger, owner := c.scouts.live(""), c.ledger.live(""), c.owner.live("")

	fork := c.fork(c.q)
	end := c.fence()
	asked := one(t, harness.through(end), "agent.fork")
	if str(asked, "id") != fork || str(asked, "space_id") != c.q || str(asked, "agent_id") != c.s1 || str(asked, "harness_id") != c.scouts.id ||
		str(asked, "by") != c.owner.id || str(asked, "actor", "id") != c.owner.id {
		t.Errorf("asked for a copy by %v", asked)
	}
	one(t, owner.through(end), "agent.fork")
	copied := c.register(J{"key": "copy", "name": "Copy", "forked_from": c.s1, "space_id": c.q})
	if str(copied, "room") != c.q || at(copied, "why_free") != nil {
		t.Errorf("the copy is registered as %v", copied)
	}
	end = c.fence()
	for who, events := range map[string][]jsontext.Value{"the harness": harness.through(end), "the owner": owner.through(end)} {
		joined := one(t, events, "agent.attached")
		if str(joined, "fork_of") != fork || str(joined, "agent_id") != str(copied, "agent_id") || str(joined, "space_id") != c.q ||
			str(joined, "by") != c.owner.id || str(joined, "actor", "id") != "system" {
			t.Errorf("%s is sent %v", who, joined)
		}
		if facts := one(t, events, "agent.registered"); str(facts, "forked_from") != c.s1 || at(facts, "key") != nil && who != "the harness" {
			t.Errorf("%s is sent %v", who, facts)
		}
		if who == "the harness" { // it comes to the room only by what follows
			continue
		}
		if added := one(t, events, "member.added"); str(added, "by") != c.owner.id {
			t.Errorf("%s is sent %v", who, added)
		}
	}

	ask := c.newAgent(c.q, "")
	asked = one(t, harness.through(c.fence()), "agent.asked")
	if str(asked, "id") != ask || str(asked, "space_id") != c.q || str(asked, "harness_id") != c.scouts.id || str(asked, "by") != c.owner.id ||
		str(asked, "name") != "Scout 2" {
		t.Errorf("asked for an agent by %v", asked)
	}
	made := c.register(J{"key": "made", "name": str(asked, "name"), "made_for": ask, "space_id": c.q})
	if str(made, "room") != c.q || str(made, "name") != "Scout 2" {
		t.Errorf("the new agent is registered as %v", made)
	}
	byHand := c.register(J{"key": "hand", "name": "Hand"})
	c.owner.must(http.MethodPost, "/v1/spaces/"+c.q+"/members", J{"participant_id": str(byHand, "agent_id")})
	c.owner.write("message.post", J{"space_id": c.q, "text": "@Scout2 @Hand start"})
	told := harness.through(c.fence())
	joins := of(t, told, "agent.attached")
	if len(joins) != 2 || str(joins[0], "made_for") != ask || !slices.Contains(texts(joins[0]["catch_up"]), "said in Q") || !slices.Contains(texts(joins[1]["catch_up"]), "said in Q") {
		t.Errorf("they join by %v", joins)
	}
	turn := one(t, told, "message.new")
	if both, _ := turn["for"].([]any); len(both) != 2 || turn["context"] == nil {
		t.Errorf("the first turn is %v", turn)
	}
	for _, agent := range []J{made, byHand} {
		if note := str(turn, "room", "notes", str(agent, "agent_id")); !strings.Contains(note, "You joined this space") || !strings.Contains(note, "added by Arjun") {
			t.Errorf("the note of %v says %q", agent, note)
		}
	}

	for _, x := range []struct {
		by   *party
		path string
		in   J
		code protocol.Code
	}{
		{c.priya, "/agents", J{"harness_id": c.scouts.id}, protocol.Forbidden},
		{c.priya, "/forks", J{"agent_id": c.s1}, ""}, // she is in Room, where it is
		{c.gus, "/forks", J{"agent_id": c.s1}, protocol.Forbidden},
		{c.scouts, "/forks", J{"agent_id": c.s1}, protocol.Forbidden},
		{c.owner, "/forks", J{"agent_id": c.l1}, protocol.InvalidRequest},
		{c.owner, "/agents", J{"harness_id": c.ledger.id}, protocol.InvalidRequest},
		{c.owner, "/forks", J{}, protocol.InvalidRequest},
		{c.owner, "/agents", J{}, protocol.InvalidRequest},
	} {
		if x.code == "" {
			x.by.must(http.MethodPost, "/v1/spaces/"+c.q+x.path, x.in)
		} else {
			x.by.fails(x.code, http.MethodPost, "/v1/spaces/"+c.q+x.path, x.in)
		}
	}
	all := ledger.through(c.fence())
	if n := len(of(t, all, "agent.fork")) + len(of(t, all, "agent.asked")); n != 0 {
		t.Errorf("Ledger is sent %d asks", n)
	}
}

// missed are the lines of a room that say what was not made, by the ask, with how long after the ask each was said.
func (c *asks) missed(room string) map[string][]time.Duration {
	c.t.Helper()
	at := map[string]time.Time{}
	said := map[string][]time.Duration{}
	for _, raw := range c.owner.log(0, room) {
		e := read(c.t, raw)
		ts, err := time.Parse(time.RFC3339, str(e, "ts"))
		if err != nil {
			c.t.Fatal(err)
		}
		switch str(e, "type") {
		case "agent.fork", "agent.asked":
			at[str(e, "id")] = ts
		case "room.line":
			kind := map[bool]string{true: "fork_missed", false: "new_agent_missed"}[strings.Contains(str(e, "text"), "copy")]
			if str(e, "kind") != kind || str(e, "actor", "id") != "system" {
				c.t.Errorf("the room says %v", e)
			}
			said[str(e, "about")] = append(said[str(e, "about")], ts.Sub(at[str(e, "about")]))
		}
	}
	return said
}

// checkMissed waits until a room says of each ask, once, that it was missed, no sooner than it may and at most late after.
func (c *asks) checkMissed(room string, late time.Duration, asked ...string) {
	c.t.Helper()
	eventually(c.t, "the room says what was not made", func() bool { return len(c.missed(room)) == len(asked) })
	c.fence()
	said := c.missed(room)
	for _, id := range asked {
		if waits := said[id]; len(waits) != 1 || waits[0] < askWait || waits[0] > askWait+late {
			c.t.Errorf("the room says so %v after the ask, want once after %v", waits, askWait)
		}
		for _, waits := range said[id] {
			c.t.Logf("%v late", waits-askWait)
		}
	}
}

// Nobody answers: the room waits as long as it is set to and says so within a second. What comes then is free, and told why.
//
// covers: FORK-6, FORK-7, NEWA-4, NEWA-8, NEWA-9
func TestAsksAreMissed(t *testing.T) {
	t.Parallel()
	c := newAsks(t)
	fork, ask := c.fork(c.q), c.newAgent(c.q, "Late One")
	if asked := one(t, c.owner.log(0, c.q), "agent.asked"); str(asked, "name") != "Late One" {
		t.Errorf("asked for %v", asked)
	}
	c.checkMissed(c.q, time.Second, fork, ask)
	for range 2 {
		late := c.register(J{"key": "copy", "name": "Copy", "forked_from": c.s1, "space_id": c.q})
		if room, there := late["room"]; !there || room != nil || str(late, "why_free") != "fork_expired" {
			t.Errorf("a late copy is registered as %v", late)
		}
		late = c.register(J{"key": "new", "name": "Late One", "made_for": ask, "space_id": c.q})
		if room, there := late["room"]; !there || room != nil || str(late, "why_free") != "ask_expired" {
			t.Errorf("a late agent is registered as %v", late)
		}
	}
	elsewhere := c.register(J{"key": "k", "name": "K", "lead": false})
	c.owner.must(http.MethodPost, "/v1/spaces/"+c.x+"/members", J{"participant_id": str(elsewhere, "agent_id")})
	next := c.newAgent(c.q, "K")
	if there := c.register(J{"key": "k", "name": "K", "made_for": next, "space_id": c.q}); str(there, "room") != c.x || str(there, "why_free") != "agent_elsewhere" {
		t.Errorf("one that is elsewhere is registered as %v", there)
	}
	for _, bad := range []J{
		{"key": "z", "name": "Z", "made_for": next}, {"key": "z", "name": "Z", "space_id": c.q},
		{"key": "z", "name": "Z", "made_for": next, "forked_from": c.s1, "space_id": c.q},
	} {
		c.scouts.fails(protocol.InvalidRequest, http.MethodPost, "/v1/harnesses/"+c.scouts.id+"/agents", bad)
	}
}

// The server is killed with an ask open. What was due meanwhile is said soon after it is back, and what was not when it is due: once.
//
// covers: FORK-6, NEWA-8
func TestAsksOverAKill(t *testing.T) {
	t.Parallel()
	for name, down := range map[string]time.Duration{"killed at once": 0, "back when it was due": askWait + time.Second} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newAsks(t)
			fork, ask := c.fork(c.q), c.newAgent(c.q, "")
			asked := time.Now()
			c.kill()
			<-time.After(time.Until(asked.Add(down)))
			c.restart(syscall.SIGKILL)
			c.checkMissed(c.q, max(down-askWait, 0)+time.Second*2, fork, ask) // a busy machine takes its time to start
		})
	}
}
