package main

import (
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/chipschat/chips-aws/shared/protocol"
)

// starts starts a run of a harness in Room.
func (c *town) starts(p *party) string {
	c.t.Helper()
	run := c.run()
	p.write("run.started", J{"space_id": c.room, "run_id": run})
	return run
}

// asksScout has Ledger ask Scout something, which is no act of a person, and answers Scout's turn.
func (c *town) asksScout(text string) J {
	c.t.Helper()
	return c.ask(c.ledger, text, J{"to": []string{c.s1}})
}

// spent is what a note says of the job, up to the rules.
func (c *town) spent(turn J) string {
	c.t.Helper()
	note, rules := str(turn, "room", "notes", c.s1), str(turn, "room", "rules", c.s1)
	at := strings.Index(note, "This job has spent ")
	if at < 0 || !strings.HasSuffix(note, " "+rules) || strings.Index(note, "In this space: ") > at {
		c.t.Errorf("the note is %q", note)
		return ""
	}
	return strings.TrimSuffix(note[at:], " "+rules)
}

// What a job spends, as a turn, its note and GET say it, of every harness's reports since a person's last act; over a kill too.
//
// covers: SPEND-1, SPEND-3, SPEND-4, SPEND-5, SPEND-6, SPEND-7, SPEND-8, SPEND-9, SPEND-10, SPEND-12
func TestWhatAJobHasSpent(t *testing.T) {
	t.Parallel()
	c := newTown(t, `CHIPS_PRICES={"house-model":{"input_usd":2,"output_usd":10}}`)
	path := "/v1/spaces/" + c.room + "/spend"
	job := func(spent float64, since, uncounted int64) J {
		return J{"ceiling_usd": 3.0, "spent_usd": spent, "since_seq": float64(since), "uncounted_runs": float64(uncounted)}
	}
	since := c.owner.write("message.post", J{"space_id": c.room, "text": "begin, @Priya"})
	told := func(what string, turn J, want J, note string) {
		t.Helper()
		if d := cmp.Diff(any(want), at(turn, "context", "spend")); d != "" {
			t.Errorf("%s, the turn says (-want +got):\n%s", what, d)
		}
		if got := c.spent(turn); got != note {
			t.Errorf("%s, the note says %q, want %q", what, got, note)
		}
		for _, p := range []*party{c.priya, c.scouts} {
			if d := cmp.Diff(want, p.must(http.MethodGet, path, nil)); d != "" {
				t.Errorf("%s, GET says (-want +got):\n%s", what, d)
			}
		}
	}
	const limit = " of the $3.00 this space allows a job; at $3.00 Chips holds the agents until a person acts."
	told("at first", c.asksScout("one?"), job(0, since, 0), "This job has spent $0.00"+limit)
	run, other := c.starts(c.scouts), c.starts(c.ledger)
	c.scouts.write("usage.reported", J{"run_id": run, "cost_usd": 0.4, "input_tokens": 12})
	seq := c.ledger.write("usage.reported", J{"run_id": other, "model": "house-model", "input_tokens": 5000, "output_tokens": 1000})
	logged := read(t, c.owner.log(seq-1, c.room)[0])
	if logged["cost_usd"] != 0.02 || logged["priced"] != true || logged["model"] != "house-model" || str(logged, "actor", "id") != c.l1 {
		t.Errorf("priced, it is logged as %v", logged)
	}
	told("of two harnesses", c.asksScout("two?"), job(0.42, since, 0), "This job has spent $0.42"+limit)
	c.ledger.write("usage.reported", J{"run_id": other, "model": "unheard-of", "input_tokens": 5000})
	told("uncounted", c.asksScout("three?"), job(0.42, since, 1), "This job has spent $0.42"+limit+" 1 run reported no cost and is not counted.")
	c.scouts.write("usage.reported", J{"run_id": run})
	c.scouts.write("usage.reported", J{"run_id": run, "cost_usd": 1.975})
	told("below 80%", c.asksScout("four?"), job(2.395, since, 2), "This job has spent $2.40"+limit+" 2 runs reported no cost and are not counted.")
	c.scouts.write("usage.reported", J{"run_id": run, "cost_usd": 0.005})
	last := "This job has spent $2.40" + limit +
		" 2 runs reported no cost and are not counted. Most of it is spent: finish the step you are on, and say what is left."
	told("from 80%", c.asksScout("five?"), job(2.4, since, 2), last)
	c.restart(syscall.SIGKILL)
	told("after a kill", c.asksScout("six?"), job(2.4, since, 2), last)

	act := c.priya.write("message.post", J{"space_id": c.room, "text": "mine, @Arjun"})
	told("after a person's act", c.asksScout("seven?"), job(0, act, 0), "This job has spent $0.00"+limit)
	c.priya.must(http.MethodPost, "/v1/spaces/"+c.room+"/spend-ceiling", J{"usd": 7.5})
	more := job(0, c.owner.head(), 0)
	more["ceiling_usd"] = 7.5
	told("with another ceiling", c.asksScout("eight?"), more, "This job has spent $0.00"+strings.ReplaceAll(limit, "$3.00", "$7.50"))
	for name, bad := range map[string]J{
		"a cost below 0": {"cost_usd": -0.1}, "a cost over the most": {"cost_usd": 1_000_001}, "a cost of words": {"cost_usd": "1"},
		"half a token": {"input_tokens": 0.5}, "tokens below 0": {"output_tokens": -1},
	} {
		bad["run_id"] = run
		if a := c.scouts.connect("").write(c.scouts.event("usage.reported", bad)); str(a, "code") != string(protocol.InvalidEvent) {
			t.Errorf("%s is answered %v", name, a)
		}
	}
	c.gus.must(http.MethodGet, path, nil)
	vera := c.person("Wes", "member")
	vera.fails(protocol.Forbidden, http.MethodGet, path, nil)
}

// The ceiling and the lock of a room are people's in it; the lock is against people alone.
//
// covers: SPEND-2, SPEND-13, SPEND-14, SPEND-15, SPEND-16, SPEND-17
func TestCeilingAndLock(t *testing.T) {
	t.Parallel()
	c := newTown(t)
	room := "/v1/spaces/" + c.room
	vera := c.person("Vera", "member")
	for _, usd := range []any{0.25, 100.0, 7.5} {
		if got := c.priya.must(http.MethodPost, room+"/spend-ceiling", J{"usd": usd}); cmp.Diff(J{"ceiling_usd": usd}, got) != "" {
			t.Errorf("a ceiling of %v is answered %v", usd, got)
		}
		if got := c.owner.must(http.MethodGet, room, nil)["ceiling_usd"]; got != usd {
			t.Errorf("the room shows %v, want %v", got, usd)
		}
	}
	for _, in := range []J{{"usd": 0.24}, {"usd": 100.01}, {"usd": -1}, {"usd": "5"}, {}} {
		c.owner.fails(protocol.InvalidRequest, http.MethodPost, room+"/spend-ceiling", in)
	}
	for _, p := range []*party{c.scouts, c.ledger, c.gus, vera} {
		c.refusesSettings(p, room)
	}
	if got := c.owner.must(http.MethodPost, room+"/spend-ceiling", J{"usd": nil}); got["ceiling_usd"] != 3.0 {
		t.Errorf("the default is answered %v", got)
	}

	own := str(c.scouts.must(http.MethodPost, "/v1/spaces", J{"title": "Scout's", "key": "own", "participant_ids": []string{c.owner.id}}), "space_id")
	since := c.owner.head()
	for _, id := range []string{own, c.room} {
		at := "/v1/spaces/" + id
		if got := c.owner.must(http.MethodPost, at+"/lock", J{"locked": true}); cmp.Diff(J{"locked": true}, got) != "" {
			t.Errorf("the lock is answered %v", got)
		}
		if e := read(t, c.owner.log(since, id)[0]); str(e, "type") != "space.lock_set" || e["locked"] != true || str(e, "actor", "id") != c.owner.id {
			t.Errorf("it is logged as %v", e)
		}
		c.owner.fails(protocol.Locked, http.MethodPatch, at, J{"title": "Else"})
		c.owner.fails(protocol.Locked, http.MethodPost, at+"/archive", nil)
		c.owner.fails(protocol.Locked, http.MethodDelete, at, nil)
		if e := c.owner.connect("").write(c.owner.event("space.renamed", J{"space_id": id, "title": "Else"})); str(e, "code") != "locked" {
			t.Errorf("on a socket a rename is answered %v", e)
		}
		if c.owner.must(http.MethodGet, at, nil)["locked"] != true {
			t.Error("the room shows no lock")
		}
	}
	c.scouts.write("space.renamed", J{"space_id": own, "title": "Renamed by Scout"})
	c.scouts.write("space.closed", J{"space_id": own})
	c.priya.must(http.MethodPost, room+"/lock", J{"locked": false})
	c.owner.must(http.MethodPatch, room, J{"title": "Else"})
}

// refusesSettings checks that somebody may set neither the ceiling nor the lock of a room.
func (c *town) refusesSettings(p *party, room string) {
	c.t.Helper()
	p.fails(protocol.Forbidden, http.MethodPost, room+"/spend-ceiling", J{"usd": 50})
	p.fails(protocol.Forbidden, http.MethodPost, room+"/lock", J{"locked": true})
}

// At 80 hundredths every harness in the room is warned; at the ceiling the room is paused, and who is in it is told: agents' messages to
// agents are held until a person acts. Runs are begun and go on all the while.
//
// covers: CEIL-1, CEIL-2, CEIL-3, CEIL-4, CEIL-5, CEIL-6, CEIL-9, CEIL-10
func TestTheCeiling(t *testing.T) {
	t.Parallel()
	c := newTown(t)
	since := c.owner.write("message.post", J{"space_id": c.room, "text": "begin, @Priya"})
	run := c.starts(c.scouts)
	outside, _ := c.harness("Outsider")
	start := c.owner.head()
	parties := []*party{c.owner, c.scouts, c.ledger, outside}
	for range 11 { // BR-37: ten times 0.3 are 3
		c.scouts.write("usage.reported", J{"run_id": run, "cost_usd": 0.3})
	}
	held := c.ledger.write("message.post", J{"space_id": c.room, "text": "more?", "to": []string{c.s1}})
	c.starts(c.scouts) // no run is refused
	act := c.owner.write("exchange.set", J{"space_id": c.room, "state": "going"})
	free := c.ledger.write("message.post", J{"space_id": c.room, "text": "and now?", "to": []string{c.s1}})
	end := c.fence()
	for i, p := range parties {
		var money []J
		turns := map[int64]J{}
		for _, raw := range p.from(start, "").through(end) {
			switch e := read(t, raw); str(e, "type") {
			case "budget.warning", "exchange.set":
				money = append(money, e)
			case "message.new", "message.overheard":
				turns[number(e, "seq")] = e
			}
		}
		if p == outside {
			if len(money) > 0 {
				t.Errorf("a harness outside is sent %v", money)
			}
			continue
		}
		if len(money) != 4 {
			t.Fatalf("party %d is sent %v", i, money)
		}
		system := J{"kind": "system", "id": "system"}
		for n, want := range []J{
			{"type": "budget.warning", "budget": J{"limit_usd": 3.0, "spent_usd": 2.4}, "threshold": 80.0, "action": "warn", "scope": "job", "since_seq": float64(since)},
			{"type": "exchange.set", "state": "paused", "why": "spend", "spend": J{"ceiling_usd": 3.0, "spent_usd": 3.0, "since_seq": float64(since), "uncounted_runs": 0.0}},
			{"type": "budget.warning", "budget": J{"limit_usd": 3.0, "spent_usd": 3.0}, "threshold": 100.0, "action": "pause", "scope": "job", "since_seq": float64(since)},
		} {
			want["space_id"], want["actor"] = c.room, system
			got := J{}
			for name, v := range money[n] {
				if !slices.Contains([]string{"v", "id", "ts", "workspace_id", "seq"}, name) {
					got[name] = v
				}
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("party %d (-want +got):\n%s", i, d)
			}
		}
		if number(money[2], "seq") != number(money[1], "seq")+1 {
			t.Error("something stands between the pause and its warning")
		}
		if p == c.scouts {
			if e := turns[held]; str(e, "type") != "message.overheard" || e["held"] != true {
				t.Errorf("past the ceiling Scout is told %v", e)
			}
			if e := turns[act+1]; str(e, "type") != "message.new" || e["handed"] != true {
				t.Errorf("with the act Scout is handed %v", e)
			}
			if e := turns[free]; str(e, "type") != "message.new" || number(e, "context", "spend", "since_seq") != act || at(e, "context", "spend", "spent_usd") != 0.0 {
				t.Errorf("then Scout is told %v", e)
			}
		}
	}
}

// A harness's own budget is told of to the harness and its owner, and in hello; nothing is held for it.
//
// covers: CEIL-13, HEV-34
func TestOwnBudget(t *testing.T) {
	t.Parallel()
	c := newTown(t)
	c.owner.must(http.MethodPut, "/v1/harnesses/"+c.scouts.id+"/budget", J{"limit_usd": 1})
	start := c.owner.head()
	bare := c.run()
	c.scouts.write("run.started", J{"run_id": bare})
	run := c.starts(c.scouts)
	for range 4 {
		c.scouts.write("usage.reported", J{"run_id": bare, "cost_usd": 0.15})
		c.scouts.write("usage.reported", J{"run_id": run, "cost_usd": 0.15})
	}
	if got := read(t, c.scouts.connect("").hello)["budget"]; cmp.Diff(any(J{"limit_usd": 1.0, "spent_usd": 1.2}), got) != "" {
		t.Errorf("hello says %v", got)
	}
	if turn := c.asksScout("on?"); str(turn, "type") != "message.new" {
		t.Errorf("Scout is told %v", turn)
	}
	end := c.fence()
	for _, p := range []*party{c.owner, c.scouts, c.priya, c.ledger} {
		var got []any
		for _, raw := range p.from(start, "").through(end) {
			if e := read(t, raw); str(e, "type") == "budget.warning" {
				got = append(got, J{"threshold": e["threshold"], "action": e["action"], "scope": e["scope"], "harness": e["harness_id"], "budget": e["budget"], "room": e["space_id"]})
			}
		}
		var want []any
		if p == c.owner || p == c.scouts {
			for threshold, spent := range map[float64]float64{80: 0.9, 100: 1.05} {
				want = append(want, J{"threshold": threshold, "action": "warn", "scope": "harness", "harness": c.scouts.id, "budget": J{"limit_usd": 1.0, "spent_usd": spent}, "room": nil})
			}
			slices.SortFunc(want, func(a, b any) int { return int(number(a.(J), "threshold") - number(b.(J), "threshold")) })
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s is told (-want +got):\n%s", p.id, d)
		}
	}
}
