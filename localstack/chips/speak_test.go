package main

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/chipschat/chips-aws/shared/protocol"
)

// told is one message as somebody was told of it.
type told map[string]J // by message id

// messages are the messages among what a stream was sent, by their text.
func (s *stream) messages(through int64) told {
	s.t.Helper()
	m := told{}
	for _, raw := range s.through(through) {
		if e := read(s.t, raw); strings.HasPrefix(str(e, "type"), "message.") {
			if m[str(e, "text")] != nil {
				s.t.Errorf("%q was sent twice", str(e, "text"))
			}
			m[str(e, "text")] = e
		}
	}
	return m
}

// messageID is the id that a message of an event goes by.
func messageID(t *testing.T, e J) string {
	t.Helper()
	ulid, ok := strings.CutPrefix(str(e, "id"), "evt_")
	if !ok {
		t.Fatalf("no event id: %v", e)
	}
	return "msg_" + ulid
}

// Who a message is for, and what each in the room is told of it: the people the post, whom it is for a turn, the others that it was said.
//
// covers: ADDR-1, ADDR-2, ADDR-3, ADDR-4, ADDR-6, ADDR-7, ADDR-10, ADDR-11, DLV-1, DLV-2, DLV-3, DLV-6, DLV-7, DLV-8, DLV-9, DLV-10
// covers: DLV-11, DLV-13, DLV-14, DLV-15, DLV-16, DLV-21
func TestWhoAMessageIsFor(t *testing.T) {
	t.Parallel()
	c := newTown(t)
	third, made := c.harness("Temp", "agents")
	c.move(made.AgentID, c.room)
	t1 := made.AgentID
	since := c.owner.head()
	streams := map[*party]*stream{}
	for _, p := range []*party{c.owner, c.gus, c.scouts, c.ledger, third} {
		streams[p] = p.from(since, "")
	}
	id := map[string]string{} // text -> message id
	say := func(who *party, text string, more J) {
		t.Helper()
		fields := J{"space_id": c.room, "text": text}
		maps.Copy(fields, more)
		a := who.connect("").write(who.event("message.post", fields))
		if a["frame"] != "ack" {
			t.Fatalf("%q is answered %v", text, a)
		}
		id[text] = messageID(t, read(t, c.owner.log(number(a, "seq")-1, "")[0]))
	}
	none, s1, l1 := []string{}, []string{c.s1}, []string{c.l1}
	want := []struct {
		who  *party
		text string
		more J
		to   []string
	}{
		{c.owner, "to nobody yet", nil, none},
		{c.ledger, "for the people", nil, none},
		{c.ledger, "and you, @scout", nil, s1},
		{c.scouts, "plain words", nil, none},
		{c.ledger, "in answer", J{"reply_to": "plain words"}, s1},
		{c.ledger, "by to", J{"to": []string{c.s1}}, s1},
		{c.ledger, "by its harness", J{"to": []string{c.scouts.id}}, s1},
		{c.ledger, "to one and @Temp", J{"to": []string{c.s1}}, []string{c.s1, t1}},
		{c.ledger, "an answer to a person", J{"reply_to": "to nobody yet"}, none},
		{c.ledger, "to @Ledger itself", nil, none},
		{c.scouts, "@Ledger, see", nil, l1},
		{c.owner, "@Ledger go on", nil, l1},
		{c.ledger, "went on", nil, none},
		{c.owner, "written on to it", nil, l1},
		{c.owner, "chosen", J{"to": []string{c.s1}}, s1},
		{c.owner, "its last words are another's", nil, none},
		{c.owner, "an answer", J{"reply_to": "plain words"}, s1},
		{c.owner, "for @Gus alone", nil, none},
		{c.gus, "everybody", J{"to": "all"}, []string{c.s1, c.l1, t1}},
		{c.gus, "@scout and @TEMP", nil, []string{c.s1, t1}},
	}
	for _, x := range want {
		if reply := str(x.more, "reply_to"); reply != "" {
			x.more["reply_to"] = id[reply]
		}
		say(x.who, x.text, x.more)
	}
	end := c.fence()
	heard := map[*party]told{}
	for p, s := range streams {
		heard[p] = s.messages(end)
	}
	agents := map[*party]string{c.scouts: c.s1, c.ledger: c.l1, third: t1}
	for _, x := range want {
		logged := heard[c.owner][x.text]
		if logged == nil || str(logged, "type") != "message.post" || cmp.Diff(x.to, stringsOf(logged["addressed_to"])) != "" {
			t.Errorf("%q is logged %v, want it for %v", x.text, logged, x.to)
			continue
		}
		if diff := cmp.Diff(logged, heard[c.gus][x.text]); diff != "" {
			t.Errorf("another person hears %q as %s", x.text, diff)
		}
		for p, agent := range agents {
			got := heard[p][x.text]
			typ := "message.overheard"
			if slices.Contains(x.to, agent) {
				typ = "message.new"
			} else if x.who == p {
				typ = "message.post"
			}
			if str(got, "type") != typ || str(got, "id") != str(logged, "id") || number(got, "seq") != number(logged, "seq") {
				t.Errorf("%s hears %q as %v, want a %s", agent, x.text, got, typ)
				continue
			}
			// A harness from before agents is itself in every field, and other agents keep their ids.
			seen := slices.Clone(x.to)
			for i, to := range seen {
				if p == c.ledger && to == c.l1 {
					seen[i] = c.ledger.id
				}
			}
			if diff := cmp.Diff(seen, stringsOf(got["addressed_to"])); diff != "" {
				t.Errorf("%s hears %q for %s", agent, x.text, diff)
			}
			if typ == "message.post" {
				for _, field := range []string{"text", "reply_to", "idempotency_key", "to"} {
					if p != c.ledger && cmp.Diff(logged[field], got[field]) != "" {
						t.Errorf("its own %q comes back with %s %v", x.text, field, got[field])
					}
				}
				continue
			}
			checkHeard(c, x.who, p, agent, logged, got, id[x.text])
		}
	}
	// One payload, whomever it is for: what a turn has more is its own.
	turn, over := maps.Clone(heard[c.scouts]["in answer"]), heard[third]["in answer"]
	for _, own := range []string{"type", "for", "context", "room"} {
		delete(turn, own)
	}
	over = maps.Clone(over)
	delete(over, "type")
	if diff := cmp.Diff(turn, over); diff != "" {
		t.Errorf("message.new and message.overheard differ: %s", diff)
	}
}

// checkHeard looks at a message as a harness hears it.
func checkHeard(c *town, by, p *party, agent string, logged, got J, id string) {
	c.t.Helper()
	text := str(logged, "text")
	if str(got, "message_id") != id || cmp.Diff(logged["reply_to"], got["reply_to"]) != "" {
		c.t.Errorf("%q has message_id %v and reply_to %v", text, got["message_id"], got["reply_to"])
	}
	want := J{
		c.owner.id:  J{"id": c.owner.id, "kind": "person", "name": "Arjun", "role": "owner"},
		c.gus.id:    J{"id": c.gus.id, "kind": "person", "name": "Gus", "role": "guest"},
		c.ledger.id: J{"id": c.l1, "kind": map[bool]string{true: "harness", false: "agent"}[p == c.ledger], "name": "Ledger", "role": "member"},
		c.scouts.id: J{"id": c.s1, "kind": map[bool]string{true: "harness", false: "agent"}[p == c.ledger], "name": "Scout", "role": "member"},
	}[by.id]
	if diff := cmp.Diff(want, got["from"]); diff != "" {
		c.t.Errorf("%q is from %s", text, diff)
	}
	turn := str(got, "type") == "message.new"
	if !turn && (got["context"] != nil || got["room"] != nil) {
		c.t.Errorf("overheard %q has %v and %v", text, got["context"], got["room"])
	}
	if takes := stringsOf(got["for"]); turn && p != c.ledger && cmp.Diff([]string{agent}, takes) != "" || (!turn || p == c.ledger) && got["for"] != nil {
		c.t.Errorf("%q is for %v", text, got["for"])
	}
}

func stringsOf(list any) []string {
	out := []string{}
	items, _ := list.([]any)
	for _, s := range items {
		out = append(out, fmt.Sprint(s))
	}
	return out
}

// Handles are made from names, and the name of a harness is one for its one agent in a room.
//
// covers: ADDR-8, ADDR-9, DLV-12
func TestHandles(t *testing.T) {
	t.Parallel()
	c := newTown(t)
	c.owner.must(http.MethodPatch, "/v1/agents/"+c.s1, J{"name": "ASCII Art"})
	claw, made := c.harness("OpenClaw", "agents")
	c.move(made.AgentID, c.room)
	claw2, made2 := c.harness("Other", "agents")
	second := str(claw2.must(http.MethodPost, "/v1/harnesses/"+claw2.id+"/agents", J{"key": "k", "name": "OpenClaw"}), "agent_id")
	c.owner.must(http.MethodPost, "/v1/spaces/"+c.room+"/members", J{"participant_id": second})
	_ = made2

	handles := map[string]string{}
	for _, p := range c.owner.must(http.MethodGet, "/v1/participants", nil)["participants"].([]any) {
		handles[str(p.(J), "participant_id")] = str(p.(J), "name") + " " + str(p.(J), "handle")
	}
	for id, want := range map[string]string{c.s1: "ASCII Art @ASCIIArt", made.AgentID: "OpenClaw @OpenClaw", second: "OpenClaw 2 @OpenClaw2", c.owner.id: "Arjun @Arjun"} {
		if handles[id] != want {
			t.Errorf("%s is %q, want %q", id, handles[id], want)
		}
	}
	since := c.owner.head()
	for text, want := range map[string][]string{
		"@ASCIIArt draw":            {c.s1},
		"@asciiart draw":            {c.s1},
		"@ASCII Art":                {},
		"@Scout by its harness":     {c.s1}, // its one agent here
		"@OpenClaw hi":              {made.AgentID},
		"@OpenClaw2 hi":             {second},
		"@OpenClaw23 hi":            {},
		"@Other by its harness":     {second},
		"@OpenClaw, @OpenClaw2, hi": {made.AgentID, second},
		"mail to me@OpenClaw2.com":  {},
	} {
		seq := c.ledger.write("message.post", J{"space_id": c.room, "text": text})
		if got := stringsOf(read(t, c.owner.log(seq-1, c.room)[0])["addressed_to"]); cmp.Diff(want, got) != "" {
			t.Errorf("%q is for %v, want %v", text, got, want)
		}
	}
	// With a second agent in the room the harness's name is nobody's handle.
	two := str(c.scouts.must(http.MethodPost, "/v1/harnesses/"+c.scouts.id+"/agents", J{"key": "two", "name": "Two"}), "agent_id")
	c.owner.must(http.MethodPost, "/v1/spaces/"+c.room+"/members", J{"participant_id": two})
	seq := c.ledger.write("message.post", J{"space_id": c.room, "text": "@Scout which"})
	if got := stringsOf(read(t, c.owner.log(seq-1, c.room)[0])["addressed_to"]); len(got) != 0 {
		t.Errorf("the name of a harness with two agents here means %v", got)
	}
	if n := len(claw.log(since, c.room)); n < 11 {
		t.Errorf("%d messages", n)
	}

	// In a room with one harness every word of a person's is for it: in the room it was given, and in one with one agent of it.
	alone := c.open(c.owner, "Alone", c.priya.id)
	c.move(made.AgentID, alone)
	direct := c.directOf(c.scouts)
	live, clawLive := c.scouts.live(""), claw.live("")
	c.owner.write("message.post", J{"space_id": direct, "text": "to itself"})
	c.priya.write("message.post", J{"space_id": alone, "text": "no handle"})
	c.priya.write("message.post", J{"space_id": alone, "text": "@Arjun but to a person"})
	end := c.fence()
	if got := live.messages(end)["to itself"]; str(got, "type") != "message.new" || cmp.Diff([]string{c.scouts.id}, stringsOf(got["for"])) != "" {
		t.Errorf("in the room it was given the harness hears %v", got)
	}
	for text, got := range clawLive.messages(end) {
		if str(got, "type") != "message.new" || cmp.Diff([]string{made.AgentID}, stringsOf(got["addressed_to"])) != "" {
			t.Errorf("alone in a room the agent hears %q as %v", text, got)
		}
	}
	c.owner.fails(protocol.InvalidEvent, http.MethodPost, "/v1/events", c.owner.event("message.post", J{"space_id": direct, "text": "x", "to": []string{made.AgentID}}))
}
