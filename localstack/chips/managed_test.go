package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/chipschat/chips-aws/shared/client"
	"github.com/chipschat/chips-aws/shared/protocol"
)

// manages grants Scout all that is managed from Chips.
func (c *town) manages() {
	c.t.Helper()
	c.owner.must(http.MethodPut, "/v1/harnesses/"+c.scouts.id+"/capabilities",
		J{"capabilities": []string{"agents", "context_files", "models", "heartbeats", "jobs", "context_windows"}})
}

// frame reads what a socket is sent until a frame of a name has come.
func (s *stream) frame(name string) J {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), 20*time.Second)
	defer cancel()
	for {
		_, raw, err := s.Read(ctx)
		if err != nil {
			s.t.Fatalf("waiting for %s: %v", name, err)
		}
		if f := read(s.t, raw); str(f, "frame") == name {
			return f
		}
	}
}

// outcome waits for the answer to a change, in the log of who asked.
func (c *town) outcome(who *party, id string) (e J) {
	c.t.Helper()
	eventually(c.t, "the asker is told of "+id, func() bool {
		for _, raw := range who.log(0, "") {
			if e = read(c.t, raw); str(e, "type") == "managed.answered" && (str(e, "change_id") == id || str(e, "edit_id") == id) {
				return true
			}
		}
		return false
	})
	return e
}

func heartbeat(on bool, every int) J {
	return J{"on": on, "every": every, "choices": []int{10, 30}, "editable": true}
}

// What is asked goes to the sockets that listen for it, once and never again, and is not in the log; the copy that answers it and the state
// are seen together, and the asker alone is told.
//
// covers: MAN-1, MAN-2, MAN-3, MAN-4, MAN-6, MAN-7, MAN-8, MAN-9, MAN-11, MAN-12, MAN-13, HB-1, HB-3, HB-6, HB-7
func TestManagedChanges(t *testing.T) {
	t.Parallel()
	c := newTown(t)
	path := "/v1/agents/" + c.s1 + "/heartbeat"
	ask := func() error {
		return c.owner.Do(t.Context(), http.MethodPost, path+"/changes", J{"on": false, "every": 10}, nil)
	}
	c.scouts.fails(protocol.Forbidden, http.MethodPut, path, heartbeat(true, 30))
	c.owner.fails(protocol.NotFound, http.MethodGet, path, nil)
	if err := ask(); err == nil || !strings.Contains(err.Error(), "not granted heartbeats") {
		t.Errorf("what was not granted is answered %v", err)
	}
	c.manages()
	c.ledger.fails(protocol.NotFound, http.MethodPut, path, heartbeat(true, 30))
	c.scouts.must(http.MethodPut, path, heartbeat(true, 30))

	// Nobody listens: a person reads the copy, and nothing waits.
	deaf := c.scouts.live(`,"accepts":["models","jobs"]`)
	if v := c.priya.must(http.MethodGet, path, nil); v["away"] != true || at(v, "copy", "every") != 30.0 || v["change"] != nil {
		t.Errorf("away it reads %v", v)
	}
	c.owner.fails(protocol.InvalidRequest, http.MethodPost, path+"/changes", J{"on": false, "every": 10})
	if v := c.priya.must(http.MethodGet, path, nil); v["change"] != nil {
		t.Errorf("what went nowhere waits: %v", v)
	}

	start := c.owner.head()
	one, two := c.scouts.live(`,"accepts":["heartbeats"]`), c.scouts.live(`,"accepts":["heartbeats","models"]`)
	other := c.ledger.live(`,"accepts":["heartbeats"]`)
	id := str(c.priya.must(http.MethodPost, path+"/changes", J{"on": false, "every": 10}), "change_id")
	for _, s := range []*stream{one, two} {
		f := s.frame("heartbeat.change")
		if str(f, "change_id") != id || str(f, "agent_id") != c.s1 || f["on"] != false || f["every"] != 10.0 || str(f, "asked_by") != c.priya.id || str(f, "asked_at") == "" {
			t.Errorf("the harness is sent %v", f)
		}
	}
	if v := c.priya.must(http.MethodGet, path, nil); at(v, "change", "state") != "waiting" || v["away"] != false {
		t.Errorf("asked it reads %v", v)
	}
	// A copy without an answer, and answers to what nobody asked, answer nothing and are kept all the same (contract U-51).
	for _, more := range []J{{}, {"answers": "chg_01K4ZQPX00000000000000000B"}, {"refuses": J{"change_id": "chg_01K4ZQPX00000000000000000B"}}} {
		copy := heartbeat(true, 10)
		for k, v := range more {
			copy[k] = v
		}
		c.scouts.must(http.MethodPut, path, copy)
		if v := c.priya.must(http.MethodGet, path, nil); at(v, "change", "state") != "waiting" || at(v, "copy", "every") != 10.0 || at(v, "copy", "answers") != nil {
			t.Errorf("after %v it reads %v", more, v)
		}
	}
	answer := heartbeat(false, 10)
	answer["answers"] = id
	c.scouts.must(http.MethodPut, path, answer)
	if v := c.priya.must(http.MethodGet, path, nil); at(v, "change", "state") != "done" || at(v, "copy", "on") != false {
		t.Errorf("answered it reads %v", v)
	}
	if e := c.outcome(c.priya, id); str(e, "state") != "done" || str(e, "kind") != "heartbeats" || str(e, "agent_id") != c.s1 || str(e, "harness_id") != c.scouts.id {
		t.Errorf("Priya is told %v", e)
	}
	// A second answer is too late.
	refusal := heartbeat(false, 10)
	refusal["refuses"] = J{"change_id": id, "message": "no"}
	c.scouts.must(http.MethodPut, path, refusal)
	if v := c.priya.must(http.MethodGet, path, nil); at(v, "change", "state") != "done" {
		t.Errorf("answered twice it reads %v", v)
	}

	second := str(c.owner.must(http.MethodPost, path+"/changes", J{"on": true, "every": 10}), "change_id")
	third := str(c.priya.must(http.MethodPost, path+"/changes", J{"on": true, "every": 30}), "change_id")
	refusal["refuses"] = J{"change_id": second, "message": "The clock is broken."}
	c.scouts.must(http.MethodPut, path, refusal)
	if e := c.outcome(c.owner, second); str(e, "state") != "refused" || str(e, "message") != "The clock is broken." {
		t.Errorf("the owner is told %v", e)
	}
	if v := c.owner.must(http.MethodGet, path, nil); at(v, "change", "id") != third || at(v, "change", "state") != "waiting" {
		t.Errorf("the newest is not shown: %v", v)
	}
	// Whoever did not ask is told nothing, and nobody hears a frame again.
	end := c.fence()
	for name, p := range map[string]*party{"the owner": c.owner, "Gus": c.gus, "Scout": c.scouts} {
		for _, e := range of(t, p.log(start, ""), "managed.answered") {
			if str(e, "asked_by") != p.id {
				t.Errorf("%s reads %v", name, e)
			}
		}
	}
	again := c.scouts.from(start, `,"accepts":["heartbeats"]`)
	again.through(end) // an unknown frame would end the test
	deaf.through(end)
	other.through(end)

	// Who may not: guests, people elsewhere, harnesses.
	c.gus.fails(protocol.Forbidden, http.MethodGet, path, nil)
	c.gus.fails(protocol.Forbidden, http.MethodPost, path+"/changes", J{"on": true, "every": 10})
	c.scouts.fails(protocol.Forbidden, http.MethodPost, path+"/changes", J{"on": true, "every": 10})
	c.ledger.fails(protocol.NotFound, http.MethodGet, path, nil)
	vera, nora := c.person("Vera", "member"), c.person("Nora", "admin")
	vera.fails(protocol.Forbidden, http.MethodGet, path, nil)
	vera.fails(protocol.Forbidden, http.MethodPost, path+"/changes", J{"on": true, "every": 10})
	nora.must(http.MethodGet, path, nil) // she runs the workspace, and shares no room with it
	nora.fails(protocol.Forbidden, http.MethodPost, path+"/changes", J{"on": true, "every": 10})
	c.priya.fails(protocol.Forbidden, http.MethodPost, "/v1/harnesses/"+c.scouts.id+"/context/edits", J{"name": "A", "text": ""})
	c.owner.fails(protocol.InvalidRequest, http.MethodPost, path+"/changes", J{"on": true, "every": 11})
	closed := heartbeat(true, 30)
	closed["editable"], closed["why_read_only"] = false, "Built into Lathe."
	c.scouts.must(http.MethodPut, path, closed)
	if err := ask(); err == nil || !strings.Contains(err.Error(), "Built into Lathe.") {
		t.Errorf("what is read only is answered %v", err)
	}

	// The grant goes while a change waits: no answer is taken any more.
	c.owner.must(http.MethodPut, "/v1/harnesses/"+c.scouts.id+"/capabilities", J{"capabilities": []string{"agents"}})
	answer["answers"] = third
	c.scouts.fails(protocol.Forbidden, http.MethodPut, path, answer)
	c.owner.fails(protocol.NotFound, http.MethodGet, path, nil)
}

// Nobody answers: the asker is told that it was missed, once and in time, also where the server was down meanwhile; an answer after that
// changes the copy and nothing else.
//
// covers: MAN-10
func TestManagedChangesAreMissed(t *testing.T) {
	t.Parallel()
	for _, killed := range []bool{false, true} {
		t.Run(fmt.Sprint("killed ", killed), func(t *testing.T) {
			t.Parallel()
			const wait = 2 * time.Second
			c := newTown(t, "CHIPS_MANAGED_WAIT_MS=2000")
			c.manages()
			path := "/v1/agents/" + c.s1 + "/heartbeat"
			c.scouts.must(http.MethodPut, path, heartbeat(true, 30))
			c.scouts.live(`,"accepts":["heartbeats"]`)
			asked := time.Now()
			id := str(c.priya.must(http.MethodPost, path+"/changes", J{"on": false, "every": 10}), "change_id")
			if killed {
				c.kill()
				c.restart(syscall.SIGKILL)
			}
			e := c.outcome(c.priya, id)
			ts, err := time.Parse(time.RFC3339, str(e, "ts"))
			if late := ts.Sub(asked); err != nil || str(e, "state") != "missed" || late < wait-time.Millisecond || late > wait+4*time.Second {
				t.Errorf("told %v after %v", e, late)
			}
			copy := heartbeat(false, 10)
			copy["answers"] = id
			c.scouts.must(http.MethodPut, path, copy)
			if v := c.priya.must(http.MethodGet, path, nil); at(v, "change", "state") != "missed" || at(v, "copy", "on") != false {
				t.Errorf("answered late it reads %v", v)
			}
			if n := len(of(t, c.priya.log(0, ""), "managed.answered")); n != 1 {
				t.Errorf("told %d times", n)
			}
		})
	}
}

// A harness by the Go client: it listens, sends its copies, and answers or refuses what it is asked, in its words; and every kind's frame
// says what was asked.
//
// covers: MAN-5, CF-1, CF-6, CF-9, CF-10, CF-11, CF-12, CF-13, CF-14, MOD-1, MOD-7, MOD-8, JOB-1, JOB-2, JOB-8, JOB-15, JOB-16, CW-1, CW-7, CW-8, CW-9
func TestManagedByTheClient(t *testing.T) {
	t.Parallel()
	c := newTown(t)
	c.manages()
	agent, harness := "/v1/agents/"+c.s1, "/v1/harnesses/"+c.scouts.id
	copies := map[string]J{
		agent + "/context":        {"files": []J{{"name": "SOUL.md", "title": "Soul", "text": "Be kind.", "hash": "h1", "editable": true}, {"name": "TEAM.md", "title": "Team", "shared": "s1", "editable": false, "replaceable": true}}},
		harness + "/context":      {"shared": []J{{"id": "s1", "name": "TEAM.md", "title": "Team", "text": "We.", "hash": "h2", "editable": true}}, "new_agents_note": "New agents read it."},
		agent + "/model":          {"model": "m1", "own": true, "default": J{"label": "Same as J", "model": "m1"}, "editable": true, "choices": []J{{"id": "m1", "label": "M1", "efforts": []J{{"id": "low", "label": "Low"}}}}},
		agent + "/context-window": {"used": 1, "window": 2, "as_of": "2026-09-02T14:22:15Z", "compacts": true, "editable": true, "limit": J{"at": 80, "choices": []int{60, 80}, "may_turn_off": true}},
		harness + "/jobs":         {"jobs": []J{{"job_id": "j1", "name": "Tidy", "about": "Tidies", "kind": "memory", "every": 60, "choices": []int{60, 90}, "on": true, "editable": true}}},
	}
	var mu sync.Mutex
	heard := map[string]J{}
	cfg := client.Config{URL: c.url, Credential: client.Bearer(c.scouts.token)}
	for path, copy := range copies {
		words := map[string]string{"context": "context", "model": "models", "context-window": "context_windows", "jobs": "jobs"}
		cfg.Managed = append(cfg.Managed, client.Managed{
			Path: path, Accepts: words[path[strings.LastIndex(path, "/")+1:]],
			Copy: func(context.Context) (any, error) { return copy, nil },
			Change: func(_ context.Context, frame string, asked jsontext.Value) error {
				mu.Lock()
				defer mu.Unlock()
				var j J
				if err := json.Unmarshal(asked, &j); err != nil {
					return err
				}
				heard[str(j, "edit_id")+str(j, "change_id")] = j
				if base, is := j["base_hash"]; is && base == "old" {
					return &client.Refusal{Message: "Somebody was quicker.", Reason: "changed"}
				}
				return nil
			},
			OnError: func(err error) { t.Error(err) },
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan struct{})
	go func() { defer close(done); _ = client.New(cfg).Run(ctx) }()
	for path := range copies {
		eventually(t, "the copy of "+path+" is there", func() bool {
			v := c.owner.must(http.MethodGet, path, nil)
			return v["copy"] != nil && v["away"] == false
		})
	}
	for _, x := range []struct {
		path  string
		ask   J
		frame string
		want  J
		state string
	}{
		{agent + "/context/edits", J{"name": "SOUL.md", "text": "Be.", "base_hash": "h1"}, "context.edit", J{"agent_id": c.s1, "name": "SOUL.md", "text": "Be.", "base_hash": "h1"}, "done"},
		{agent + "/context/edits", J{"name": "SOUL.md", "text": "Be.", "base_hash": "old"}, "context.edit", J{"base_hash": "old"}, "refused"},
		{agent + "/context/edits", J{"name": "TEAM.md", "text": "Mine.", "base_hash": nil}, "context.edit", J{"agent_id": c.s1, "base_hash": nil}, "done"},
		{harness + "/context/edits", J{"name": "TEAM.md", "text": "Us.", "base_hash": "h2"}, "context.edit", J{"agent_id": "absent", "text": "Us."}, "done"},
		{agent + "/model/changes", J{"model": "m1", "effort": "low"}, "model.change", J{"agent_id": c.s1, "model": "m1", "effort": "low"}, "done"},
		{agent + "/model/changes", J{"model": nil, "effort": nil}, "model.change", J{"model": nil, "effort": nil}, "done"},
		{agent + "/context-window/changes", J{"at": 60}, "context_window.change", J{"agent_id": c.s1, "at": 60.0}, "done"},
		{agent + "/context-window/changes", J{"at": nil}, "context_window.change", J{"at": nil}, "done"},
		{agent + "/context-window/compact", nil, "context_window.compact", J{"agent_id": c.s1}, "done"},
		{harness + "/jobs/j1/changes", J{"on": false, "every": 90}, "job.change", J{"agent_id": "absent", "job_id": "j1", "on": false, "every": 90.0}, "done"},
		{harness + "/jobs/j1/changes", J{"on": false}, "job.change", J{"every": "absent"}, "done"},
	} {
		asked := c.owner.must(http.MethodPost, x.path, x.ask)
		id := str(asked, "edit_id") + str(asked, "change_id")
		e := c.outcome(c.owner, id)
		if str(e, "state") != x.state || x.state == "refused" && (str(e, "reason") != "changed" || str(e, "message") != "Somebody was quicker.") {
			t.Errorf("%s %v: %v", x.path, x.ask, e)
		}
		mu.Lock()
		got := heard[id]
		mu.Unlock()
		for name, want := range x.want {
			v, there := got[name]
			if want == "absent" && there || want != "absent" && (v != want || !there) {
				t.Errorf("%s %v: the frame is %v", x.path, x.ask, got)
			}
		}
		if str(got, "frame") != x.frame || str(got, "asked_by") != c.owner.id {
			t.Errorf("%s: the frame is %v", x.path, got)
		}
	}
	for _, x := range []struct {
		path string
		ask  J
		says string
	}{
		{agent + "/context/edits", J{"name": "NO.md", "text": "", "base_hash": "h"}, "name"},
		{agent + "/context/edits", J{"name": "SOUL.md", "text": "", "base_hash": nil}, "base_hash"},
		{agent + "/context/edits", J{"name": "SOUL.md", "text": strings.Repeat("x", 65537), "base_hash": "h1"}, "65536"},
		{agent + "/model/changes", J{"model": "m2", "effort": nil}, "model"},
		{agent + "/model/changes", J{"model": "m1", "effort": "high"}, "effort"},
		{agent + "/context-window/changes", J{"at": 70}, "at"},
		{harness + "/jobs/j1/changes", J{"on": true, "every": 61}, "every"},
	} {
		err := c.owner.Do(t.Context(), http.MethodPost, x.path, x.ask, nil)
		if e, ok := errors.AsType[*protocol.Error](err); !ok || e.Code != protocol.InvalidRequest || !strings.Contains(e.Message, x.says) {
			t.Errorf("%s %.100v: %v", x.path, x.ask, err)
		}
	}
	cancel()
	<-done
	if types := of(t, c.owner.log(0, ""), "context.edit"); slices.Contains(protocol.Types, "context.edit") || len(types) > 0 {
		t.Error("frames are in the log")
	}
}

// Two people change the same thing in the same instant: both are asked of the harness, each under an id of its own, and each asker is told
// their own outcome, once.
//
// covers: MAN-6, MAN-12
func TestTwoChangesAtOnce(t *testing.T) {
	t.Parallel()
	c := newTown(t)
	c.manages()
	path := "/v1/agents/" + c.s1 + "/heartbeat"
	c.scouts.must(http.MethodPut, path, heartbeat(true, 30))
	s := c.scouts.live(`,"accepts":["heartbeats"]`)
	askers := []*party{c.owner, c.priya}
	for round := range 10 {
		ids := make([]string, len(askers))
		errs := make([]error, len(askers))
		var wg sync.WaitGroup
		for i, by := range askers {
			wg.Go(func() {
				var v J
				errs[i] = by.Do(t.Context(), http.MethodPost, path+"/changes", J{"on": i == 0, "every": 10}, &v)
				ids[i] = str(v, "change_id")
			})
		}
		wg.Wait()
		if err := errors.Join(errs...); err != nil || ids[0] == ids[1] {
			t.Fatalf("round %d: %v, %v", round, ids, err)
		}
		asked := []string{str(s.frame("heartbeat.change"), "change_id"), str(s.frame("heartbeat.change"), "change_id")}
		if !slices.Contains(asked, ids[0]) || !slices.Contains(asked, ids[1]) {
			t.Fatalf("round %d: asked %v, the harness is sent %v", round, ids, asked)
		}
		done := heartbeat(true, 10)
		done["answers"] = ids[0]
		c.scouts.must(http.MethodPut, path, done)
		refused := heartbeat(true, 10)
		refused["refuses"] = J{"change_id": ids[1], "reason": "not both"}
		c.scouts.must(http.MethodPut, path, refused)
		for i, want := range []string{"done", "refused"} {
			if e := c.outcome(askers[i], ids[i]); str(e, "state") != want {
				t.Errorf("round %d: asker %d is told %v, want %s", round, i, e, want)
			}
			n := 0
			for _, raw := range askers[1-i].log(0, "") {
				if e := read(t, raw); str(e, "change_id") == ids[i] {
					n++
				}
			}
			if n != 0 {
				t.Errorf("round %d: the other asker is told %d times", round, n)
			}
		}
	}
}
