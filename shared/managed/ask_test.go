package managed_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/chipschat/chips-aws/shared/embedded"
	"github.com/chipschat/chips-aws/shared/managed"
	"github.com/chipschat/chips-aws/shared/protocol"
	"github.com/chipschat/chips-aws/shared/workspace"
)

// sockets are those of a harness that accept some words, and keep what they are sent; deaf they are listed and take nothing.
type sockets struct {
	accepts string
	deaf    bool
	sent    []string
}

func (s *sockets) Listens(_ context.Context, _, _, word string) (bool, error) {
	return strings.Contains(s.accepts+" ", word+" "), nil
}

func (s *sockets) Away(ctx context.Context, ws, holder, word string) (bool, error) {
	listens, err := s.Listens(ctx, ws, holder, word)
	return !listens, err
}

func (s *sockets) Tell(_ context.Context, _, _, word string, frame []byte) (int, error) {
	if listens, _ := s.Listens(context.Background(), "", "", word); !listens || s.deaf {
		return 0, nil
	}
	s.sent = append(s.sent, string(frame))
	return 1, nil
}

// asking is a world with sockets that listen for everything.
func asking(t *testing.T) (*world, *sockets) {
	t.Helper()
	table, err := embedded.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = table.Close() })
	s := &sockets{accepts: "context models heartbeats context_windows jobs"}
	return newWorld(t, table, s), s
}

// asks asks for a change of what fullest has of a name; path has a job's id for {job}.
func (w *world) asks(name, path string, wish J) (managed.Asked, error) {
	subject, kind, of := w.agent, name, ""
	switch name {
	case "shared":
		subject, kind = w.harness, "context"
	case "jobs":
		subject = w.harness
		of, _, _ = strings.Cut(path, "/")
		path = "{job}/changes"
	}
	return w.service.Ask(context.Background(), w.arjun, subject, kind, path, of, encode(w.t, wish))
}

// A change that a copy does not offer, or whose fields are past a limit, is refused by the field's name or in the harness's words; nothing
// waits and no socket is sent anything. What the copy offers is sent as it was asked.
//
// covers: MAN-6, MAN-11, CF-11, CF-12, CF-13, MOD-7, MOD-8, HB-7, JOB-15, CW-7, CW-9
func TestWhatMayBeAsked(t *testing.T) {
	closed := func(copy J) J {
		out := J{"why_read_only": "Built in."}
		for k, v := range copy {
			out[k] = v
		}
		out["editable"] = false
		return out
	}
	file := func(name string, more J) J {
		f := J{"name": name, "title": "", "hash": "h", "editable": true}
		for k, v := range more {
			f[k] = v
		}
		return f
	}
	files := J{"files": []J{
		file("A", nil), file("READ", J{"editable": false, "why_read_only": "Built in."}), file("SHARED", J{"shared": "s1", "hash": nil, "editable": false, "replaceable": true}),
		file("KEPT", J{"shared": "s1", "hash": nil, "editable": false}), file("NEW", J{"hash": nil}),
	}}
	shared := J{"shared": []J{file("TEAM", J{"id": "s1"})}}
	model := J{"model": "m1", "own": true, "editable": true, "choices": []J{{"id": "m1", "label": "", "efforts": []J{{"id": "low", "label": ""}}}, {"id": "m2", "label": "", "efforts": []J{}}}}
	back := J{"default": J{"label": "", "model": "m1"}}
	for k, v := range model {
		back[k] = v
	}
	beat := J{"on": true, "every": 30, "choices": []int{10, 30}, "editable": true}
	window := func(limit any, compacts bool) J {
		return J{"used": 1, "window": 2, "as_of": moment, "compacts": compacts, "why_not": "It forgets.", "editable": true, "limit": limit}
	}
	limit := func(off bool) J { return J{"at": 80, "choices": []int{60, 80}, "may_turn_off": off} }
	jobs := J{"jobs": []J{
		{"job_id": "j1", "name": "J", "about": "", "kind": "other", "every": 60, "choices": []int{60, 90}, "on": true, "editable": true},
		{"job_id": "j2", "name": "K", "about": "", "kind": "other", "when": "At night", "on": true, "editable": true},
		{"job_id": "j3", "name": "L", "about": "", "kind": "other", "on": true, "editable": false, "why_read_only": "Built in."},
	}}
	edit := func(name string, text, base any) J { return J{"name": name, "text": text, "base_hash": base} }
	for i, x := range []struct {
		name     string
		copy     J
		path     string
		wish     J
		refusal  string
		of, more J // what the frame says beside the wish
	}{
		{"context", files, "edits", edit("A", "x", "h"), "", J{"frame": "context.edit"}, nil},
		{"context", files, "edits", edit("A", bytesOf(managed.MaxText), bytesOf(255)), "", nil, nil},
		{"context", files, "edits", edit("A", bytesOf(managed.MaxText+1), "h"), "text has 65537 bytes: it takes 0 to 65536", nil, nil},
		{"context", files, "edits", edit("A", "x", bytesOf(256)), "base_hash has 256 bytes: it takes 0 to 255", nil, nil},
		{"context", files, "edits", J{"name": "A", "base_hash": "h"}, "text is missing", nil, nil},
		{"context", files, "edits", J{"text": "x", "base_hash": "h"}, "name is missing", nil, nil},
		{"context", files, "edits", edit("NO", "x", "h"), "name is no file", nil, nil},
		{"context", files, "edits", edit("TEAM", "x", "h"), "name is no file", nil, nil},
		{"context", files, "edits", edit("A", "x", nil), "base_hash is missing", nil, nil},
		{"context", files, "edits", edit("READ", "x", "h"), "cannot be changed: Built in.", nil, nil},
		{"context", files, "edits", edit("SHARED", "x", nil), "", J{"base_hash": nil}, nil},
		{"context", files, "edits", edit("SHARED", "x", "h"), "cannot be changed", nil, nil},
		{"context", files, "edits", edit("KEPT", "x", nil), "cannot be changed", nil, nil},
		{"context", files, "edits", edit("NEW", "x", nil), "", nil, nil},
		{"shared", shared, "edits", edit("TEAM", "x", "h"), "", J{"frame": "context.edit"}, nil},
		{"shared", shared, "edits", edit("TEAM", "x", nil), "base_hash is missing", nil, nil},
		{"shared", shared, "edits", edit("A", "x", "h"), "name is no file", nil, nil},
		{"model", back, "changes", J{"model": "m1", "effort": "low"}, "", J{"frame": "model.change"}, nil},
		{"model", back, "changes", J{"model": "m2", "effort": nil}, "", nil, nil},
		{"model", back, "changes", J{"model": "m2", "effort": "low"}, "effort is one of", nil, nil},
		{"model", back, "changes", J{"model": "m3"}, "model is one of choices", nil, nil},
		{"model", back, "changes", J{"model": bytesOf(256)}, "model has 256 bytes: it takes 1 to 255", nil, nil},
		{"model", back, "changes", J{"model": "m1", "effort": bytesOf(256)}, "effort has 256 bytes: it takes 1 to 255", nil, nil},
		{"model", back, "changes", J{}, "", J{"model": nil, "effort": nil}, nil},
		{"model", back, "changes", J{"effort": "low"}, "effort is null", nil, nil},
		{"model", model, "changes", J{}, "no default", nil, nil},
		{"model", closed(back), "changes", J{}, "cannot be changed: Built in.", nil, nil},
		{"heartbeat", beat, "changes", J{"on": false, "every": 10}, "", J{"frame": "heartbeat.change"}, nil},
		{"heartbeat", beat, "changes", J{"on": false, "every": 20}, "every is one of choices", nil, nil},
		{"heartbeat", beat, "changes", J{"on": false, "every": 0}, "every is a whole number from 1 to 527040", nil, nil},
		{"heartbeat", beat, "changes", J{"on": false}, "every is missing", nil, nil},
		{"heartbeat", beat, "changes", J{"every": 10}, "on is missing", nil, nil},
		{"heartbeat", closed(beat), "changes", J{"on": false, "every": 10}, "cannot be changed: Built in.", nil, nil},
		{"context-window", window(limit(true), true), "changes", J{"at": 60}, "", J{"frame": "context_window.change"}, nil},
		{"context-window", window(limit(true), true), "changes", J{}, "", J{"at": nil}, nil},
		{"context-window", window(limit(false), true), "changes", J{"at": nil}, "at cannot be null", nil, nil},
		{"context-window", window(limit(true), true), "changes", J{"at": 70}, "at is one of choices", nil, nil},
		{"context-window", window(limit(true), true), "changes", J{"at": 101}, "at is a whole number from 0 to 100", nil, nil},
		{"context-window", window(nil, true), "changes", J{"at": 60}, "at cannot be set", nil, nil},
		{"context-window", closed(window(limit(true), true)), "changes", J{"at": 60}, "cannot be changed: Built in.", nil, nil},
		{"context-window", window(nil, true), "compact", J{}, "", J{"frame": "context_window.compact"}, nil},
		{"context-window", window(nil, false), "compact", J{}, "does not compact: It forgets.", nil, nil},
		{"context-window", closed(window(nil, true)), "compact", J{}, "cannot be changed: Built in.", nil, nil},
		{"jobs", jobs, "j1/changes", J{"on": false, "every": 90}, "", J{"frame": "job.change", "job_id": "j1"}, nil},
		{"jobs", jobs, "j1/changes", J{"on": false}, "", J{"every": "absent"}, nil},
		{"jobs", jobs, "j1/changes", J{"on": false, "every": 61}, "every is one of choices", nil, nil},
		{"jobs", jobs, "j2/changes", J{"on": false, "every": 60}, "every is one of choices", nil, nil},
		{"jobs", jobs, "j1/changes", J{"every": 90}, "on is missing", nil, nil},
		{"jobs", jobs, "j3/changes", J{"on": false}, "cannot be changed: Built in.", nil, nil},
		{"jobs", jobs, "j4/changes", J{"on": false}, "no such job", nil, nil},
	} {
		t.Run(fmt.Sprint(i, " ", x.name, " ", x.path), func(t *testing.T) {
			w, s := asking(t)
			if _, err := w.asks(x.name, x.path, x.wish); err == nil {
				t.Error("it is asked before there is a copy")
			}
			w.must(w.puts(x.name, x.copy))
			before := w.rows.writes.Load()
			asked, err := w.asks(x.name, x.path, x.wish)
			if x.refusal != "" {
				e, ok := errors.AsType[*protocol.Error](err)
				if !ok || e.Code != protocol.InvalidRequest && e.Code != protocol.NotFound || !strings.Contains(e.Message, x.refusal) {
					t.Errorf("it is refused with %v, want words of %q", err, x.refusal)
				}
				if n := w.rows.writes.Load() - before; n != 0 || len(s.sent) != 0 {
					t.Errorf("%d writes and the frames %v of what is refused", n, s.sent)
				}
				return
			}
			w.must(err)
			if len(s.sent) != 1 {
				t.Fatalf("the harness is sent %v", s.sent)
			}
			var got J
			w.must(json.Unmarshal([]byte(s.sent[0]), &got))
			want := J{"asked_by": w.arjun.ID, "agent_id": w.agent, "asked_at": got["asked_at"]}
			if x.name == "shared" || x.name == "jobs" {
				want["agent_id"] = "absent"
			}
			for _, more := range []J{x.wish, x.of} {
				for k, v := range more {
					want[k] = v
				}
			}
			for k, v := range want {
				if n, is := v.(int); is {
					v = float64(n)
				}
				have, there := got[k]
				if v == "absent" && there || v != "absent" && (have != v || !there) {
					t.Errorf("%s is %.80v, want %.80v", k, have, v)
				}
			}
			if id := asked.EditID + asked.ChangeID; id == "" || got["edit_id"] != nil && got["edit_id"] != id || got["change_id"] != nil && got["change_id"] != id {
				t.Errorf("it is answered %+v and sent %v", asked, got)
			}
		})
	}
}

// As many changes of a copy wait as may, and one more is refused; when one is answered there is room for the next. Where no socket takes the
// frame nothing waits, whatever was asked before.
//
// covers: MAN-6, MAN-12
func TestHowManyWait(t *testing.T) {
	w, s := asking(t)
	w.must(w.puts("heartbeat", fullest["heartbeat"].copy))
	w.must(w.put("heartbeat", J{"on": true, "every": 10, "choices": []int{10, 30}, "editable": true}))
	wish := J{"on": false, "every": 10}
	for range 15 {
		_, err := w.asks("heartbeat", "changes", wish)
		w.must(err)
	}
	s.deaf = true
	if _, err := w.asks("heartbeat", "changes", wish); err == nil || !strings.Contains(err.Error(), "away") {
		t.Errorf("what no socket took is answered %v", err)
	}
	s.deaf = false
	asked, err := w.asks("heartbeat", "changes", wish)
	w.must(err)
	before := w.rows.writes.Load()
	_, err = w.asks("heartbeat", "changes", wish)
	w.refused(err, before, "16 changes wait already")
	if len(s.sent) != 16 {
		t.Errorf("%d frames are sent", len(s.sent))
	}
	w.must(w.put("heartbeat", J{"on": true, "every": 10, "choices": []int{10, 30}, "editable": true, "answers": asked.ChangeID}))
	_, err = w.asks("heartbeat", "changes", wish)
	w.must(err)
	s.accepts = "models"
	if _, err := w.asks("heartbeat", "changes", wish); err == nil || !strings.Contains(err.Error(), "away") {
		t.Errorf("with no socket that listens it is answered %v", err)
	}
}

// What a copy refuses is told in the harness's words, within their limits; one that says it wrongly is not taken at all.
//
// covers: MAN-8, MAN-9, MAN-10, CF-14
func TestAnswers(t *testing.T) {
	copy := func(more J) J {
		c := J{"files": []J{{"name": "A", "title": "", "hash": "h", "editable": true}}}
		for k, v := range more {
			c[k] = v
		}
		return c
	}
	for name, x := range map[string]struct {
		more    func(id string) J
		state   string
		refusal string
		late    time.Duration
	}{
		"answers":          {more: func(id string) J { return J{"answers": id} }, state: "done"},
		"at its last":      {more: func(id string) J { return J{"answers": id} }, state: "done", late: time.Minute - time.Millisecond},
		"too late":         {more: func(id string) J { return J{"answers": id} }, state: "missed", late: time.Minute},
		"refuses too late": {more: func(id string) J { return J{"refuses": J{"edit_id": id}} }, state: "missed", late: time.Minute},
		"refuses": {more: func(id string) J {
			return J{"refuses": J{"edit_id": id, "message": bytesOf(4096), "reason": bytesOf(255)}}
		}, state: "refused"},
		"without words":  {more: func(id string) J { return J{"refuses": J{"edit_id": id}} }, state: "refused"},
		"both ids":       {more: func(id string) J { return J{"refuses": J{"edit_id": id, "change_id": id}} }, refusal: "edit_id or a change_id"},
		"no id":          {more: func(string) J { return J{"refuses": J{"message": "no"}} }, refusal: "edit_id or a change_id"},
		"a long message": {more: func(id string) J { return J{"refuses": J{"edit_id": id, "message": bytesOf(4097)}} }, refusal: "4097 bytes of message and 0 of reason: 4096 and 255"},
		"a long reason":  {more: func(id string) J { return J{"refuses": J{"edit_id": id, "reason": bytesOf(256)}} }, refusal: "0 bytes of message and 256 of reason"},
	} {
		t.Run(name, func(t *testing.T) {
			w, _ := asking(t)
			w.now = w.now.Truncate(time.Millisecond)
			w.must(w.puts("context", copy(nil)))
			asked, err := w.asks("context", "edits", J{"name": "A", "text": "x", "base_hash": "h"})
			w.must(err)
			w.now = w.now.Add(x.late)
			before := w.rows.writes.Load()
			err = w.puts("context", copy(x.more(asked.EditID)))
			state, shown := x.state, x.state
			if x.refusal != "" {
				w.refused(err, before, x.refusal)
				shown = "waiting"
			} else {
				w.must(err)
			}
			v, err := w.service.Read(t.Context(), w.arjun, w.agent, "context")
			w.must(err)
			if v.Change == nil || v.Change.ID != asked.EditID || v.Change.State != shown {
				t.Errorf("it reads %+v, want %s", v.Change, shown)
			}
			if state == "refused" && name == "refuses" && (len(v.Change.Message) != 4096 || len(v.Change.Reason) != 255) {
				t.Errorf("it is refused in %d and %d bytes", len(v.Change.Message), len(v.Change.Reason))
			}
		})
	}
}

// What is not granted is neither taken nor shown nor asked, kind by kind.
//
// covers: MAN-1, CF-1, MOD-1, HB-1, JOB-1, CW-1
func TestGranted(t *testing.T) {
	for name, capability := range map[string]string{
		"context": "context_files", "shared": "context_files", "model": "models", "heartbeat": "heartbeats", "context-window": "context_windows", "jobs": "jobs",
	} {
		t.Run(name, func(t *testing.T) {
			w, s := asking(t)
			grant := func(words ...string) {
				words = append(words, "agents")
				draft := workspace.Draft(&workspace.HarnessDraft{HarnessID: w.harness, Capabilities: &words})
				_, err := w.engine.Do(t.Context(), w.ws, workspace.Command{By: w.arjun, Draft: draft, Operation: true})
				w.must(err)
			}
			subject, path := w.agent, name
			if name == "shared" || name == "jobs" {
				subject = w.harness
			}
			if name == "shared" {
				path = "context"
			}
			wish := map[string]J{
				"context": {"name": "SOUL.md", "text": "", "base_hash": "h1"}, "shared": {"name": "TEAM.md", "text": "", "base_hash": "h2"},
				"model": {"model": "m1"}, "heartbeat": {"on": true, "every": 10}, "context-window": {"at": 60}, "jobs": {"on": true},
			}[name]
			ask := map[string]string{"context": "edits", "shared": "edits", "jobs": "j1/changes"}[name]
			if ask == "" {
				ask = "changes"
			}
			all := []string{"context_files", "models", "heartbeats", "context_windows", "jobs"}
			var others []string
			for _, c := range all {
				if c != capability {
					others = append(others, c)
				}
			}
			copy := fullest[name].copy
			for _, place := range []string{"editable", "files[0].editable", "jobs[0].editable"} {
				if _, is := valueAt(copy, place).(bool); is {
					copy = edited(t, copy, place, true)
				}
			}
			grant(capability)
			w.must(w.puts(name, copy))
			_, err := w.asks(name, ask, wish)
			w.must(err)
			grant(others...)
			w.now = w.now.Add(10 * time.Second) // rights are read as of a moment ago
			before := w.rows.writes.Load()
			code := func(err error) protocol.Code {
				e, _ := errors.AsType[*protocol.Error](err)
				if e == nil {
					return ""
				}
				return e.Code
			}
			if got := code(w.puts(name, copy)); got != protocol.Forbidden {
				t.Errorf("a copy is answered %q", got)
			}
			_, err = w.service.Read(t.Context(), w.arjun, subject, path)
			if got := code(err); got != protocol.NotFound {
				t.Errorf("reading is answered %q", got)
			}
			_, err = w.asks(name, ask, wish)
			if got := code(err); got != protocol.InvalidRequest || !strings.Contains(err.Error(), capability) {
				t.Errorf("asking is answered %v", err)
			}
			if n := w.rows.writes.Load() - before; n != 0 || len(s.sent) != 1 {
				t.Errorf("%d writes, %d frames of what was not granted", n, len(s.sent))
			}
		})
	}
}
