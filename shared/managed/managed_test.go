package managed_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chipschat/chips-aws/shared/engine"
	"github.com/chipschat/chips-aws/shared/managed"
	"github.com/chipschat/chips-aws/shared/protocol"
)

// Each limit at the limit and one past it; what is refused is not written, and says why.
//
// covers: CF-2, CF-3, CF-4, CF-5, CF-7, CF-8, MOD-2, MOD-3, MOD-4, MOD-5, MOD-6, HB-4, HB-5, JOB-3, JOB-4, JOB-5, JOB-6, JOB-7, CW-2, CW-3, CW-4, CW-5
func TestLimits(t *testing.T) {
	w := local(t)
	with := func(copy J, name string, v any) J {
		out := J{}
		for k, old := range copy {
			out[k] = old
		}
		if out[name] = v; v == nil {
			delete(out, name)
		}
		return out
	}
	file := files(1, 4, "text")["files"].([]J)[0]
	window := J{"used": 1, "window": 2, "as_of": "2026-09-02T14:22:15Z", "compacts": true, "editable": true}
	for _, x := range []struct {
		path      string
		good, bad J
		says      string
	}{
		{"context", files(8, 1, "x"), files(9, 1, "x"), "8 files"},
		{"context", files(1, 65536, "x"), files(1, 65537, "x"), "65536"},
		{"context", J{"files": []J{with(file, "role", "memory")}}, J{"files": []J{with(file, "role", "mood")}}, "about_you"},
		{"context", J{"files": []J{}, "not_shown": []J{{"name": "A", "reason": "over 64 KB"}}, "read_note": "Then."}, J{"files": []J{}, "not_shown": []J{{"name": "A"}}}, "not_shown[0].reason"},
		{"context", J{"files": []J{}}, J{"files": []J{file, file}}, "files[1].name"},
		{"context", J{"files": []J{}}, J{"files": []J{with(file, "editable", nil)}}, "files[0].editable"},
		{"model", model(40), model(41), "40 models"},
		{"model", with(with(model(1), "own", false), "default", J{"label": "Same as J", "model": "m"}), with(model(1), "own", false), "default"},
		{"model", with(model(1), "followed_by", 3), with(model(1), "followed_by", -1), "followed_by"},
		{"heartbeat", heartbeat(12), heartbeat(13), "12 choices"},
		{"heartbeat", with(heartbeat(2), "every", 20), with(heartbeat(2), "every", 25), "every"},
		{"heartbeat", heartbeat(2), with(heartbeat(2), "choices", []int{20, 10}), "shortest"},
		{"jobs", J{"jobs": list(24, func(i int) any { return job(fmt.Sprint("j", i)) })}, J{"jobs": list(25, func(i int) any { return job(fmt.Sprint("j", i)) })}, "24 jobs"},
		{"jobs", J{"jobs": []J{with(job("j"), "kind", "skills")}}, J{"jobs": []J{with(job("j"), "kind", "party")}}, "jobs[0].kind"},
		{"jobs", J{"jobs": []J{job(strings.Repeat("j", 64))}}, J{"jobs": []J{job(strings.Repeat("j", 65))}}, "1 to 64"},
		{"context-window", with(window, "compacting", "queued"), with(window, "compacting", "soon"), "compacting"},
		{"context-window", with(window, "last", J{"at": "2026-09-02T14:22:15Z", "from": 9, "to": 1, "by": "asked"}), with(window, "last", J{"at": "2026-09-02T14:22:15Z", "from": 9, "to": 1, "by": "me"}), "last.by"},
		{"context-window", with(window, "last", J{"at": "9999-12-31T23:59:59Z", "from": 9, "to": 1, "by": "asked"}), with(window, "last", J{"at": "9999-12-31T23:59:59-23:59", "from": 9, "to": 1, "by": "asked"}), "last.at"},
		{"context-window", with(window, "long_turn", nested(64)), with(window, "long_turn", nested(65)), "long_turn is nested more than 64 deep"},
		{"context-window", with(window, "limit", J{"at": nil, "choices": []int{60}, "may_turn_off": true}), with(window, "limit", J{"at": 101, "choices": []int{60}, "may_turn_off": true}), "limit.at"},
	} {
		w.must(w.put(x.path, x.good))
		before := w.rows.writes.Load()
		w.refused(w.put(x.path, x.bad), before, x.says)
		w.must(w.put(x.path, x.good)) // as it is already
		if n := w.rows.writes.Load(); n != before {
			t.Errorf("%s: %d writes of a copy that did not change", x.path, n-before)
		}
	}
}

// Copies of half a megabyte are read whole, the one or the other, while they are written side by side; nothing of those before is left.
//
// covers: MAN-13
func TestLargeCopiesAreWhole(t *testing.T) {
	w := local(t)
	random := func(seed int) string { // what does not compress
		var b strings.Builder
		x := uint32(seed)*2654435761 + 1
		for b.Len() < 65536 {
			x ^= x << 13
			x ^= x >> 17
			x ^= x << 5
			b.WriteByte(byte(33 + x%90))
		}
		return b.String()
	}
	fills := []string{random(1), random(2), random(3)}
	w.must(w.put("context", files(8, 65536, fills[0])))
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for _, fill := range fills {
		wg.Go(func() {
			for range 6 {
				if err := w.put("context", files(8, 65536, fill)); err != nil && !errors.Is(err, engine.ErrBusy) {
					t.Error(err)
				}
			}
		})
	}
	var reads sync.WaitGroup
	reads.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			v, err := w.service.Read(context.Background(), w.scout, w.agent, "context")
			if err != nil {
				t.Error(err)
				return
			}
			var copy struct {
				Files []struct{ Text string }
			}
			if err := json.Unmarshal(v.Copy, &copy); err != nil || len(copy.Files) != 8 {
				t.Errorf("%d files, %v", len(copy.Files), err)
				return
			}
			for _, f := range copy.Files {
				if f.Text != copy.Files[0].Text || len(f.Text) != 65536 {
					t.Error("half of one copy and half of another")
					return
				}
			}
		}
	})
	wg.Wait()
	close(stop)
	reads.Wait()
	w.must(w.put("context", files(8, 65536, fills[1])))
	w.now = w.now.Add(time.Hour)
	w.must(w.put("context", files(8, 65536, fills[2])))
	w.must(w.put("context", files(1, 1, "x")))
	rows, err := w.rows.Query(t.Context(), managed.Rows+w.ws+"#"+w.agent, "", 100)
	if err != nil || len(rows) != 1 {
		t.Errorf("%d rows are left, %v", len(rows), err)
	}
}

// Runs are replaced, kept for ninety days, the newest first and by pages, and go with their job.
//
// covers: JOB-9, JOB-10, JOB-11, JOB-12, JOB-13, JOB-14
func TestRuns(t *testing.T) {
	w := local(t)
	run := func(job, id string, ago time.Duration) J {
		at := w.now.Add(-ago).UTC().Format(time.RFC3339)
		return J{"job_id": job, "run_id": id, "started_at": at, "ended_at": at, "outcome": "done"}
	}
	post := func(runs ...any) error {
		return w.service.AddRuns(context.Background(), w.scout, w.harness, encode(t, J{"runs": runs}))
	}
	ids := func(after string, limit int) (got []string, next string) {
		v, err := w.service.ReadJobs(context.Background(), w.arjun, w.harness, after, limit)
		w.must(err)
		for _, raw := range v.Runs {
			var r struct {
				ID string `json:"run_id"`
			}
			w.must(json.Unmarshal(raw, &r))
			got = append(got, r.ID)
		}
		return got, v.NextAfter
	}
	want := func(what, want string) {
		t.Helper()
		if got, _ := ids("", 500); strings.Join(got, " ") != want {
			t.Errorf("%s: %v, want %s", what, got, want)
		}
	}
	w.must(w.put("jobs", J{"jobs": []J{job("a"), job("b")}}))
	before := w.rows.writes.Load()
	w.refused(post(list(201, func(i int) any { return run("a", fmt.Sprint(i), time.Hour) })...), before, "200 runs")
	bad := run("a", "r", time.Hour)
	bad["outcome"] = "vanished"
	w.refused(post(run("a", "x", time.Hour), bad), before, "outcome")
	w.refused(post(run("a", "x", time.Hour), run("c", "x", time.Hour)), before, "runs[1].job_id")
	w.must(post(list(200, func(i int) any { return run("a", fmt.Sprint(i), time.Duration(i+1)*time.Hour) })...))
	var all []string
	for next := ""; ; {
		page, after := ids(next, 90)
		all = append(all, page...)
		if next = after; next == "" {
			break
		}
	}
	if len(all) != 200 || all[0] != "0" || all[199] != "199" {
		t.Errorf("by pages: %d runs, %v", len(all), all)
	}

	w.must(w.put("jobs", J{"jobs": []J{job("b")}}))
	want("a job is left out", "")
	w.must(w.put("jobs", J{"jobs": []J{job("a"), job("b")}}))
	want("it comes back", "")
	w.must(post(run("a", "r", 2*time.Hour), run("b", "r", time.Hour), run("b", "s", 3*time.Hour)))
	want("two jobs", "r r s")
	w.must(post(run("b", "s", time.Minute)))
	want("a run is posted again, with another start", "s r r")
	failed := run("b", "s", time.Minute)
	failed["outcome"], failed["error"] = "failed", "No disk"
	w.must(post(failed))
	v, err := w.service.ReadJobs(t.Context(), w.arjun, w.harness, "", 1)
	if err != nil || len(v.Runs) != 1 || !strings.Contains(string(v.Runs[0]), "No disk") || !strings.Contains(string(v.Runs[0]), `"failed"`) {
		t.Errorf("a run is posted again, with another outcome: %s, %v", v.Runs, err)
	}
	const kept = 90 * 24 * time.Hour
	w.now = w.now.Truncate(time.Second)
	w.must(post(run("b", "old", kept+time.Second), run("b", "young", kept-2*time.Second)))
	want("one is too old", "s r r young")
	w.now = w.now.Add(time.Second)
	want("at its last", "s r r young")
	w.now = w.now.Add(time.Second)
	want("the other too", "s r r")
	rows, err := w.rows.Query(t.Context(), managed.RunRows+w.ws+"#"+w.harness, "", 1000)
	w.must(err)
	for _, row := range rows {
		var r struct {
			At time.Time `json:"started_at"`
		}
		if row.SK[0] == 't' && (json.Unmarshal(row.Body, &r) != nil || !row.Expires.Equal(r.At.Add(kept))) {
			t.Errorf("a run of %v expires at %v", r.At, row.Expires)
		}
	}
}

// A newer compaction is said in the agent's room once, and none of a first copy.
//
// covers: CW-6
func TestCompactedLine(t *testing.T) {
	w := local(t)
	window := func(last string) J {
		c := J{"used": 1, "window": 2, "as_of": "2026-09-02T14:22:15Z", "compacts": true, "editable": true}
		if last != "" {
			c["last"] = J{"at": last, "from": 180000, "to": 20000, "by": "itself"}
		}
		return c
	}
	for _, x := range []struct {
		last  string
		lines int
	}{
		{"2026-09-02T14:00:00Z", 0}, {"2026-09-02T14:00:01Z", 1}, {"2026-09-02T14:00:01Z", 1}, {"", 1}, {"2026-09-02T14:00:00Z", 1}, {"2026-09-02T14:00:02Z", 2},
	} {
		w.must(w.put("context-window", window(x.last)))
		n := 0
		commits, err := w.engine.Commits(t.Context(), w.ws, 1, 1000)
		w.must(err)
		for _, c := range commits {
			events, err := c.Decode()
			w.must(err)
			for _, e := range events {
				if d, ok := e.Data.(*protocol.RoomSays); ok && d.Kind == protocol.LineCompacted && e.SpaceID != "" && strings.HasSuffix(d.Text, " compacted its context, from 180000 tokens to 20000.") {
					n++
				}
			}
		}
		if n != x.lines {
			t.Errorf("after a compaction at %q: %d lines, want %d", x.last, n, x.lines)
		}
	}
}
