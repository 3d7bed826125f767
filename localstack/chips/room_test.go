package main

import (
	"encoding/base64"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/chipschat/chips-aws/shared/protocol"
)

// phone registers a phone of somebody's in a time zone.
func (c *town) phone(p *party, zone string) {
	c.t.Helper()
	code := str(p.must(http.MethodPost, "/v1/people/"+p.id+"/pairing-codes", J{}), "pairing_code")
	key := make([]byte, 32)
	copy(key, code)
	p.must(http.MethodPost, "/v1/devices", J{
		"pairing_code": code, "public_key": base64.RawURLEncoding.EncodeToString(key), "kind": "phone", "time_zone": zone,
	})
}

// ask says something as somebody in Room and answers the turn that Scout is given.
func (c *town) ask(by *party, text string, more J) J {
	c.t.Helper()
	s := c.scouts.from(c.owner.head(), "")
	fields := J{"space_id": c.room, "text": text}
	for name, v := range more {
		fields[name] = v
	}
	turn := s.messages(by.write("message.post", fields))[text]
	if str(turn, "type") != "message.new" {
		c.t.Fatalf("Scout is told %v of %q", turn, text)
	}
	return turn
}

// Who is in the room, and what each taker is told of it, on a socket.
//
// covers: ROOM-1, ROOM-2, ROOM-3, ROOM-4, ROOM-5, ROOM-6, ROOM-7, ROOM-8, ROOM-9, ROOM-10, ROOM-11, ROOM-12, ROOM-13, ROOM-14
// covers: ROOM-16, ROOM-18, NEWS-1, NEWS-2, NEWS-3, NEWS-4, NEWS-5
func TestTheRoomOfATurn(t *testing.T) {
	t.Parallel()
	c := newTown(t)
	c.phone(c.owner, "America/Los_Angeles")
	claw, made := c.harness("OpenClaw", "agents")
	c.move(made.AgentID, c.room)
	second := str(claw.must(http.MethodPost, "/v1/harnesses/"+claw.id+"/agents", J{"key": "two", "name": "OpenClaw"}), "agent_id")
	c.owner.must(http.MethodPost, "/v1/spaces/"+c.room+"/members", J{"participant_id": second})
	q := c.person("Q", "member")

	turn := c.ask(c.owner, "@Scout begin", nil)
	var members []string
	list, _ := at(turn, "room", "members").([]any)
	for _, m := range list {
		m := m.(J)
		members = append(members, strings.Join([]string{str(m, "kind"), str(m, "name"), str(m, "harness"), str(m, "handle"), str(m, "time_zone")}, "|"))
		if protocol.PrefixOf(str(m, "participant_id")) == "" {
			t.Errorf("a member has no id: %v", m)
		}
	}
	want := []string{
		"person|Arjun||@Arjun|America/Los_Angeles", "person|Gus||@Gus|", "person|Priya||@Priya|",
		"agent|Ledger||@Ledger|", "agent|OpenClaw||@OpenClaw|", "agent|OpenClaw 2|OpenClaw|@OpenClaw2|", "agent|Scout||@Scout|",
	}
	if d := cmp.Diff(want, members); d != "" {
		t.Errorf("members (-want +got):\n%s", d)
	}
	const line = "In this space: Arjun (person, @Arjun), Gus (person, @Gus), Priya (person, @Priya), Ledger (agent, @Ledger), " +
		"OpenClaw (agent, @OpenClaw), OpenClaw 2 (OpenClaw agent, @OpenClaw2), and you, Scout (agent, @Scout)."
	const unspent = "This job has spent $0.00 of the $3.00 this space allows a job; at $3.00 Chips holds the agents until a person acts. "
	const beside = "Everyone here reads what you write; only those you @-mention act on it. To hand work to an agent or ask it something, " +
		"@-mention it. If a message asks nothing of you now, as when it names a step that is yours later, answer NO_REPLY and nothing else: " +
		"the space shows nothing, and nobody needs to hear that you are ready or waiting."
	note, rules := str(turn, "room", "notes", c.s1), str(turn, "room", "rules", c.s1)
	if rules != beside {
		t.Errorf("the rules are %q", rules)
	}
	head, tail, ok := strings.Cut(note, " Arjun's time now: ")
	clock, end, closed := strings.Cut(tail, ", America/Los_Angeles). ")
	if !ok || !closed || head != line || end != unspent+beside {
		t.Errorf("the note is %q, want the room's line, the time, the spend and the rules", note)
	}
	words, stamp, _ := strings.Cut(clock, " (")
	when, err := time.Parse("2006-01-02T15:04-07:00", stamp)
	if err != nil || when.Format("3:04 pm, Monday 2 January 2006") != words || time.Since(when).Abs() > 2*time.Minute {
		t.Errorf("the time is %q, %q", words, stamp)
	}
	if notes, _ := at(turn, "room", "notes").(J); len(notes) != 1 {
		t.Errorf("one agent takes the turn, and there are notes %v", notes)
	}

	opens := func(turn J, agent, want string) {
		t.Helper()
		if note := str(turn, "room", "notes", agent); !strings.HasPrefix(note, want) {
			t.Errorf("the note of %q is %q, want it to open %q", str(turn, "text"), note, want)
		}
	}
	c.owner.must(http.MethodPost, "/v1/spaces/"+c.room+"/members", J{"participant_id": q.id})
	turn = c.ask(c.owner, "for you, by the composer", J{"to": []string{c.s1}})
	opens(turn, c.s1, "New since your last turn: Q (person), added by Arjun. Arjun sent this message to you without an @: it is yours to answer. In this space: ")
	if str(turn, "room", "rules", c.s1) != rules {
		t.Errorf("the rules changed to %q", str(turn, "room", "rules", c.s1))
	}
	opens(c.ask(c.priya, "all of you", J{"to": "all"}), c.s1,
		"Priya sent this message to every agent here, so each of you has it: answer it yourself, and don't pass it on with an @. In this space: ")

	s2 := str(c.scouts.must(http.MethodPost, "/v1/harnesses/"+c.scouts.id+"/agents", J{"key": "s2", "name": "Late"}), "agent_id")
	c.priya.must(http.MethodPost, "/v1/spaces/"+c.room+"/members", J{"participant_id": s2})
	opens(c.ask(c.owner, "@Late hello", nil), s2, "You joined this space less than a minute ago, added by Priya. In this space: ")
	turn = c.ask(c.owner, "@Late and @Scout", nil)
	opens(turn, s2, "In this space: ")
	opens(turn, c.s1, "New since your last turn: Late (Scout agent, @Late), added by Priya. In this space: ")

	c.move(c.s1, c.x)
	c.room = c.x
	turn = c.ask(c.owner, "alone now", nil)
	if rules := str(turn, "room", "rules", c.s1); rules != "Everyone here reads what you write." {
		t.Errorf("with no other agent the rules are %q", rules)
	}
	if note := str(turn, "room", "notes", c.s1); strings.Contains(note, "NO_REPLY") || !strings.HasSuffix(note, " Everyone here reads what you write.") {
		t.Errorf("with no other agent the note is %q", note)
	}
}
