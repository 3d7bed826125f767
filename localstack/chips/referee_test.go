package main

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/chipschat/chips-aws/shared/protocol"
)

// The referee as agents and people meet it: told from half the stop, told to stop, held, handed on.
//
// covers: REF-1, REF-2, REF-6, REF-7, REF-8, REF-9, REF-10, REF-18, REF-19, REF-21, REF-22, REF-23, REF-24, REF-25, REF-26
func TestReferee(t *testing.T) {
	t.Parallel()
	c := newTown(t)
	settings := "/v1/workspaces/" + c.workspace.WorkspaceID + "/exchange"
	if d := cmp.Diff(J{"stop": 16.0, "hold": 48.0, "circles": true}, c.priya.must(http.MethodGet, settings, nil)); d != "" {
		t.Errorf("unless set (-want +got):\n%s", d)
	}
	c.priya.fails(protocol.Forbidden, http.MethodPut, settings, J{"stop": 4})
	c.owner.fails(protocol.InvalidRequest, http.MethodPut, settings, J{"stop": 1})
	c.owner.must(http.MethodPut, settings, J{"stop": 4, "hold": 5, "circles": false})
	c.owner.write("message.post", J{"space_id": c.room, "text": "begin, @Scout"})

	s, l := c.scouts.from(c.owner.head(), ""), c.ledger.from(c.owner.head(), "")
	say := func(n int) (ack, heard J) {
		t.Helper()
		text := fmt.Sprint("@Ledger words ", n)
		ack = s.write(c.scouts.event("message.post", J{"space_id": c.room, "text": text}))
		if str(ack, "frame") != "ack" {
			t.Fatalf("message %d is answered %v", n, ack)
		}
		return ack, l.messages(number(ack, "seq"))[text]
	}
	for n := 1; n <= 5; n++ {
		ack, heard := say(n)
		if d := cmp.Diff(J{"count": float64(n), "allowance": 5.0, "left": float64(5 - n)}, ack["exchange"]); d != "" || ack["held"] != nil {
			t.Errorf("the ack of message %d is %v: %s", n, ack, d)
		}
		x, _ := heard["exchange"].(J)
		switch {
		case n < 2 && x != nil, n >= 2 && (x == nil || number(x, "count") != int64(n) || number(x, "stop") != 4 || number(x, "hold") != 5 || x["circle"] != false):
			t.Errorf("message %d comes with exchange %v", n, x)
		case n >= 4 && str(x, "note") != "Stop here: tell Arjun what is done and what is blocked, with no @ to another agent.":
			t.Errorf("at the stop the note is %q", str(x, "note"))
		}
	}
	ack, heard := say(6)
	if ack["held"] != true || number(ack, "exchange", "count") != 6 || number(ack, "exchange", "allowance") != 5 {
		t.Errorf("past the hold the ack is %v", ack)
	}
	if str(heard, "type") != "message.overheard" || heard["held"] != true || !cmp.Equal(heard["addressed_to"], any([]any{})) {
		t.Errorf("past the hold the message comes as %v", heard)
	}
	held := str(heard, "message_id")
	if v := c.owner.must(http.MethodGet, "/v1/spaces/"+c.room, nil); number(v, "exchange", "count") != 6 || str(v, "exchange", "state") != "going" {
		t.Errorf("the room's exchange is %v", v["exchange"])
	}
	act := c.priya.write("reaction.set", J{"message_id": held, "emoji": "👍", "on": true})
	var handed J
	for _, raw := range l.through(c.fence()) {
		if e := read(t, raw); e["handed"] == true {
			handed = e
		}
	}
	if str(handed, "type") != "message.new" || str(handed, "message_id") != held || number(handed, "seq") != act+1 || str(handed, "text") != "@Ledger words 6" || handed["lead"] != nil {
		t.Errorf("a person's act hands on %v", handed)
	}
	// A resume loses no turn, and brings none twice.
	again := 0
	for _, raw := range c.ledger.from(act-1, "").through(c.fence()) {
		if e := read(t, raw); e["handed"] == true {
			again++
		}
	}
	if again != 1 {
		t.Errorf("a replay hands it on %d times", again)
	}
	c.owner.must(http.MethodPut, settings, J{"stop": nil, "hold": nil})
	for n := 1; n <= 9; n++ {
		ack, heard := say(n)
		x, _ := heard["exchange"].(J)
		if _, has := at(ack, "exchange", "allowance").(float64); has || ack["held"] != nil || (x != nil) != (n >= 8) || x != nil && (x["stop"] != nil || x["hold"] != nil) {
			t.Errorf("with neither, message %d is acked %v and comes with %v", n, ack, x)
		}
	}
}

// A room may have a lead: its member and every note say so, and what is nobody's turn goes to it.
//
// covers: LEAD-1, LEAD-2, LEAD-4, LEAD-5, LEAD-6, LEAD-11, LEAD-12, LEAD-18
func TestTheLead(t *testing.T) {
	t.Parallel()
	c := newTown(t, "CHIPS_LEAD_IDLE_MS=50")
	c.owner.fails(protocol.InvalidRequest, http.MethodPost, "/v1/spaces/"+c.room+"/lead", J{"agent_id": c.priya.id})
	c.owner.fails(protocol.InvalidRequest, http.MethodPost, "/v1/spaces/"+c.room+"/lead", J{})
	c.gus.fails(protocol.Forbidden, http.MethodPost, "/v1/spaces/"+c.room+"/lead", J{"agent_id": c.s1})
	if got := c.priya.must(http.MethodPost, "/v1/spaces/"+c.room+"/lead", J{"agent_id": c.s1}); str(got, "lead") != c.s1 {
		t.Errorf("choosing it is answered %v", got)
	}
	s, l := c.scouts.from(c.owner.head(), ""), c.ledger.from(c.owner.head(), "")
	at1 := c.owner.write("message.post", J{"space_id": c.room, "text": "@Scout and @Ledger, begin"})
	for _, x := range []struct {
		s    *stream
		id   string
		want string
	}{
		{s, c.s1, "You lead here. A step one agent has handed to another needs no word from you until it comes back to you."},
		{l, c.ledger.id, "Scout leads here: it hands out the work, and what is nobody's turn goes to it."},
	} {
		e := x.s.messages(at1)["@Scout and @Ledger, begin"]
		note := str(e, "room", "notes", x.id)
		if !strings.Contains(note, x.want) {
			t.Errorf("the note is %q, want %q in it", note, x.want)
		}
		leads := 0
		for _, m := range at(e, "room", "members").([]any) {
			if m.(J)["lead"] == true {
				leads++
				if str(m.(J), "name") != "Scout" {
					t.Errorf("%v leads", m)
				}
			}
		}
		if leads != 1 {
			t.Errorf("%d lead", leads)
		}
	}
	said := c.ledger.write("message.post", J{"space_id": c.room, "text": "F to J are in"})
	var handed J
	for handed == nil {
		s.pump()
		for _, raw := range s.events {
			if e := read(t, raw); e["handed"] == true {
				handed = e
			}
		}
	}
	if str(handed, "type") != "message.new" || handed["lead"] != true || str(handed, "text") != "F to J are in" || number(handed, "seq") <= said {
		t.Errorf("the lead is handed %v", handed)
	}
	if note := str(handed, "room", "notes", c.s1); !strings.Contains(note, "Nobody has this turn: Ledger said it with no @. ") {
		t.Errorf("its note is %q", note)
	}
	line := read(t, c.priya.log(number(handed, "seq")-1, c.room)[0])
	if str(line, "type") != "message.handed" || str(line, "text") != "Scout took it as the lead: it was nobody's turn" {
		t.Errorf("the room says %v", line)
	}
}
