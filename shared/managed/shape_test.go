package managed_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/chipschat/chips-aws/shared/managed"
)

const moment = "2026-09-02T14:22:15Z"

// fullest are copies that have every field the documents name, by the end of the path they are put at; "shared" is the harness's own set of
// files, and "runs" is no copy but a post of runs. musts are the fields of each that may not be left out, and free those that may be anything.
var fullest = map[string]struct {
	copy        J
	musts, free []string
}{
	"context": {
		J{"files": []any{J{
			"name": "SOUL.md", "title": "Soul", "about": "Who it is", "role": "identity", "text": "Be kind.", "hash": "h1", "editable": false,
			"why_read_only": "Built in.", "shared": "s1", "replaceable": true,
		}}, "not_shown": []any{J{"name": "BIG.md", "reason": "over 64 KB"}}, "read_note": "When it starts."},
		[]string{"files", "files[0].name", "files[0].title", "files[0].editable", "not_shown[0].name", "not_shown[0].reason"}, nil,
	},
	"shared": {
		J{"shared": []any{J{
			"id": "s1", "name": "TEAM.md", "title": "Team", "about": "Who we are", "role": "other", "text": "We.", "hash": "h2", "editable": true,
		}}, "not_shown": []any{J{"name": "BIG.md", "reason": "over 64 KB"}}, "new_agents_note": "New agents read it."},
		[]string{"shared", "shared[0].id", "shared[0].name", "shared[0].title", "shared[0].editable", "not_shown[0].name", "not_shown[0].reason"}, nil,
	},
	"model": {
		J{
			"model": "m1", "effort": "low", "own": true, "default": J{"label": "Same as J", "model": "m1", "effort": "low"}, "followed_by": 3.0,
			"choices":  []any{J{"id": "m1", "label": "M1", "effort_default": "low", "efforts": []any{J{"id": "low", "label": "Low"}}}},
			"editable": false, "why_read_only": "Paid for.",
		},
		[]string{
			"model", "own", "choices", "editable", "default.label", "default.model", "choices[0].id", "choices[0].label", "choices[0].efforts",
			"choices[0].efforts[0].id", "choices[0].efforts[0].label",
		}, nil,
	},
	"heartbeat": {
		J{"on": false, "every": 10.0, "choices": []any{10.0, 30.0}, "editable": false, "why_read_only": "Its clock is broken."},
		[]string{"on", "every", "choices", "editable"}, nil,
	},
	"context-window": {
		J{
			"used": 1.0, "window": 2.0, "model": "m1", "as_of": moment, "compacting": "queued", "last": J{"at": moment, "from": 9.0, "to": 1.0, "by": "asked"},
			"long_turn": J{"tokens": 7.0}, "compacts": false, "why_not": "It forgets.",
			"limit": J{"at": 80.0, "choices": []any{60.0, 80.0}, "default": 90.0, "may_turn_off": true}, "editable": false, "why_read_only": "So it is.",
		},
		[]string{
			"used", "window", "as_of", "compacts", "editable", "last.at", "last.from", "last.to", "last.by", "limit.choices", "limit.may_turn_off",
		}, []string{"long_turn"},
	},
	"jobs": {
		J{"jobs": []any{J{
			"job_id": "j1", "name": "Tidy", "about": "Tidies", "kind": "memory", "every": 60.0, "when": "At night", "next_at": moment, "for_agents": []any{"agt_1"},
			"on": true, "editable": false, "why_read_only": "So it is.", "choices": []any{60.0, 90.0},
		}}},
		[]string{"jobs", "jobs[0].job_id", "jobs[0].name", "jobs[0].about", "jobs[0].kind", "jobs[0].on", "jobs[0].editable"}, []string{"jobs[0].for_agents"},
	},
	"runs": {
		J{"runs": []any{J{
			"job_id": "j1", "run_id": "r1", "started_at": moment, "ended_at": moment, "outcome": "done", "quiet": true, "waited": 3.0, "error": "No disk",
			"agent_id": "agt_1", "cost_usd": 0.5, "tokens": J{"in": 1.0}, "model": "m1",
		}}},
		[]string{"runs", "runs[0].job_id", "runs[0].run_id", "runs[0].started_at", "runs[0].ended_at", "runs[0].outcome"},
		[]string{"runs[0].quiet", "runs[0].waited", "runs[0].tokens"},
	},
}

// puts puts what fullest has of a name.
func (w *world) puts(name string, copy J) error {
	body := encode(w.t, copy)
	switch name {
	case "shared":
		return w.service.Put(context.Background(), w.scout, w.harness, "context", body)
	case "runs":
		return w.service.AddRuns(context.Background(), w.scout, w.harness, body)
	}
	return w.put(name, copy)
}

// reads is what is shown then.
func (w *world) reads(name string) (got J) {
	w.t.Helper()
	if name == "runs" {
		v, err := w.service.ReadJobs(context.Background(), w.arjun, w.harness, "", 500)
		w.must(err)
		w.must(json.Unmarshal(encode(w.t, J{"runs": v.Runs}), &got))
		return got
	}
	subject, path := w.agent, name
	if name == "shared" || name == "jobs" {
		subject = w.harness
	}
	if name == "shared" {
		path = "context"
	}
	v, err := w.service.Read(context.Background(), w.arjun, subject, path)
	w.must(err)
	w.must(json.Unmarshal(v.Copy, &got))
	return got
}

var steps = regexp.MustCompile(`[^.\[\]]+`)

// edited is a value of its own in which what stands at a place, as refusals name it, is another; nil leaves it out.
func edited(t *testing.T, from J, place string, v any) J {
	t.Helper()
	var out J
	if err := json.Unmarshal(encode(t, from), &out); err != nil {
		t.Fatal(err)
	}
	var in any = out
	all := steps.FindAllString(place, -1)
	for i, step := range all {
		last := i == len(all)-1
		switch at := in.(type) {
		case J:
			if !last {
				in = at[step]
			} else if at[step] = v; v == nil {
				delete(at, step)
			}
		case []any:
			n, err := strconv.Atoi(step)
			if err != nil || n >= len(at) {
				t.Fatalf("%s: nothing stands at %s", place, step)
			}
			if in = at[n]; last {
				at[n] = v
			}
		default:
			t.Fatalf("%s: nothing stands at %s", place, step)
		}
	}
	return out
}

// placesOf are all places of a value's fields and entries, as refusals name them.
func placesOf(at string, v any) (all []string) {
	switch v := v.(type) {
	case J:
		for name, x := range v {
			place := strings.TrimPrefix(at+"."+name, ".")
			all = append(append(all, place), placesOf(place, x)...)
		}
	case []any:
		for i, x := range v {
			place := fmt.Sprintf("%s[%d]", at, i)
			all = append(append(all, place), placesOf(place, x)...)
		}
	}
	slices.Sort(all)
	return all
}

// Every field of every kind is shown as it was put, and no other is. One that has to be there is missed by its name, one that does not may be
// left out, and one of another form is refused by its name; of what is refused nothing is written.
//
// covers: CF-2, CF-4, CF-8, CF-9, CF-10, MOD-2, MOD-4, MOD-5, MOD-6, HB-3, JOB-3, JOB-5, JOB-7, JOB-8, JOB-11, CW-2, CW-4, CW-5, MAN-11, MAN-13
func TestEveryField(t *testing.T) {
	for name, x := range fullest {
		t.Run(name, func(t *testing.T) {
			w := local(t)
			w.now = w.now.UTC()
			if name == "runs" {
				w.must(w.puts("jobs", fullest["jobs"].copy))
				x.copy = edited(t, edited(t, x.copy, "runs[0].started_at", w.now.Format("2006-01-02T15:04:05Z07:00")), "runs[0].ended_at", moment)
			}
			w.must(w.puts(name, edited(t, x.copy, "of_another_time", "x")))
			if d := gocmp.Diff(x.copy, w.reads(name)); d != "" {
				t.Errorf("it is shown otherwise (-want +got):\n%s", d)
			}
			for _, place := range placesOf("", x.copy) {
				entry, free := strings.HasSuffix(place, "]"), slices.ContainsFunc(x.free, func(f string) bool { return strings.HasPrefix(place, f) })
				before := w.rows.writes.Load()
				if err := w.puts(name, edited(t, x.copy, place, nil)); slices.Contains(x.musts, place) {
					w.refused(err, before, place+" is missing")
				} else if err != nil && !entry {
					t.Errorf("without %s it is refused: %v", place, err)
				}
				if free {
					continue
				}
				var other any = J{"no": "such"}
				if _, is := valueAt(x.copy, place).(J); is {
					other = "no such"
				}
				before = w.rows.writes.Load()
				w.refused(w.puts(name, edited(t, x.copy, place, other)), before, place+" ")
			}
		})
	}
}

func valueAt(in any, place string) any {
	for _, step := range steps.FindAllString(place, -1) {
		switch at := in.(type) {
		case J:
			in = at[step]
		case []any:
			n, _ := strconv.Atoi(step)
			in = at[n]
		}
	}
	return in
}

func bytesOf(n int) any { return strings.Repeat("b", n) }

func entries(n int, entry any) any { return slices.Repeat([]any{entry}, n) }

// Every limit of every kind: what is just within it is taken, what is just past it is refused by its name and with the limit, and not written.
//
// covers: CF-3, CF-5, CF-7, MOD-3, HB-4, HB-5, JOB-4, JOB-6, JOB-10, JOB-12, CW-3, CW-4
func TestLimitsToTheLetter(t *testing.T) {
	const words, short, minutes, tokens = 4096, 255, 366 * 24 * 60, 1 << 53
	type limit struct {
		place    string
		in, past any
		says     string
		// named is what the refusal names, "" for the place.
		named string
	}
	text := func(place string, least, most int) []limit {
		all := []limit{{place, bytesOf(most), bytesOf(most + 1), strconv.Itoa(most), ""}}
		if least == 1 {
			return append(all, limit{place, "b", "", "takes 1 to", ""})
		}
		return append(all, limit{place, "", bytesOf(most + 1), "takes 0 to", ""})
	}
	whole := func(place string, least, most int) []limit {
		return []limit{
			{place, most, most + 2, fmt.Sprint("to ", most), ""}, {place, least, least - 1, fmt.Sprint("from ", least), ""}, {place, least, float64(least) + 0.5, "whole", ""},
		}
	}
	oneOf := func(place string, words ...string) (all []limit) {
		for _, word := range words {
			all = append(all, limit{place, word, word + "s", word, ""})
		}
		return all
	}
	some := func(n int, entry func(int) any) any { return list(n, entry) }
	notShown := slices.Concat([]limit{{"not_shown", entries(1000, J{"name": "N", "reason": ""}), entries(1001, J{"name": "N", "reason": ""}), "1000 files", ""}},
		text("not_shown[0].name", 1, short), text("not_shown[0].reason", 0, words))
	file := func(set string) []limit {
		in := set + "[0]."
		return slices.Concat(text(in+"name", 1, short), text(in+"title", 0, short), text(in+"about", 0, words), text(in+"text", 0, managed.MaxText), text(in+"hash", 0, short),
			text(in+"why_read_only", 0, words), oneOf(in+"role", "identity", "instructions", "about_you", "memory", "other"), notShown)
	}
	named := func(i int) any { return J{"name": fmt.Sprint("F", i), "id": "s", "title": "", "editable": true} }
	run := len(encode(t, edited(t, fullest["runs"].copy, "runs[0].tokens", "")["runs"].([]any)[0]))
	for name, limits := range map[string][]limit{
		"context": slices.Concat(file("files"), text("files[0].shared", 1, short), text("read_note", 0, words),
			[]limit{{"files", some(8, named), some(9, named), "8 files", ""}}),
		"shared": slices.Concat(file("shared"), text("shared[0].id", 1, short), text("new_agents_note", 0, words),
			[]limit{{"shared", some(8, named), some(9, named), "8 files", ""}}),
		"model": slices.Concat(text("model", 1, short), text("effort", 1, short), text("why_read_only", 0, words), whole("followed_by", 0, tokens),
			text("default.label", 0, short), text("default.model", 1, short), text("default.effort", 1, short),
			text("choices[0].id", 1, short), text("choices[0].label", 0, short), text("choices[0].effort_default", 1, short),
			text("choices[0].efforts[0].id", 1, short), text("choices[0].efforts[0].label", 0, short),
			[]limit{
				{"choices", entries(40, J{"id": "m", "label": "", "efforts": []any{}}), entries(41, J{"id": "m", "label": "", "efforts": []any{}}), "40 models", ""},
				{"choices[0].efforts", entries(40, J{"id": "e", "label": ""}), entries(41, J{"id": "e", "label": ""}), "40 efforts", ""},
			}),
		"heartbeat": slices.Concat(text("why_read_only", 0, words), []limit{
			{"every", 10, 11, "choices", ""}, {"every", 30, 0, "from 1", ""}, {"every", 10, minutes + 1, fmt.Sprint("to ", minutes), ""},
			{"choices[1]", minutes, minutes + 1, fmt.Sprint("to ", minutes), ""}, {"choices[1]", 11, 10, "shortest", "choices"}, {"choices", []any{1, 10}, []any{0, 10}, "from 1", "choices[0]"},
			{"choices", some(12, func(i int) any { return 10 + i }), some(13, func(i int) any { return 10 + i }), "12 choices", ""},
		}),
		"context-window": slices.Concat(whole("used", 0, tokens), whole("window", 0, tokens), text("model", 0, short), text("why_not", 0, words),
			text("why_read_only", 0, words), whole("last.from", 0, tokens), whole("last.to", 0, tokens), oneOf("last.by", "asked", "itself"),
			oneOf("compacting", "queued", "running"), whole("limit.at", 0, 100), whole("limit.choices[0]", 0, 100), whole("limit.default", 0, 100),
			[]limit{
				{"limit.choices", entries(101, 1), entries(102, 1), "101 choices", ""}, {"limit.at", nil, 101, "to 100", ""},
				{"as_of", moment, "2026-09-02", "is a time", ""}, {"last.at", "2026-09-02T14:22:15.5+02:00", "yesterday", "is a time", ""},
			}),
		"jobs": slices.Concat(text("jobs[0].name", 1, short), text("jobs[0].about", 0, words), text("jobs[0].when", 1, words), text("jobs[0].why_read_only", 0, words),
			whole("jobs[0].every", 1, minutes), whole("jobs[0].choices[0]", 1, minutes), oneOf("jobs[0].kind", "heartbeat", "memory", "skills", "other"),
			[]limit{
				{"jobs[0].job_id", bytesOf(64), bytesOf(65), "1 to 64", ""}, {"jobs[0].job_id", "a.B_9-", "", "1 to 64", ""}, {"jobs[0].job_id", "j", "j/1", "A-Z", ""},
				{"jobs[0].choices", entries(1000, 1), entries(1001, 1), "1000 choices", ""}, {"jobs[0].next_at", moment, "soon", "is a time", ""},
				{"jobs", some(24, func(i int) any { return job(fmt.Sprint(i)) }), some(25, func(i int) any { return job(fmt.Sprint(i)) }), "24 jobs", ""},
			}),
		"runs": slices.Concat(text("runs[0].run_id", 1, short), text("runs[0].error", 0, words), text("runs[0].agent_id", 1, short), text("runs[0].model", 0, short),
			oneOf("runs[0].outcome", "done", "failed", "stopped"), []limit{
				{"runs[0].cost_usd", 1_000_000, 1_000_000.01, "0 to 1000000", ""}, {"runs[0].cost_usd", 0, -0.01, "0 to 1000000", ""},
				{"runs[0].run_id", "r 1", "r\n1", "control", ""}, {"runs[0].started_at", moment, "now", "is a time", ""}, {"runs[0].ended_at", moment, 7, "is a time", ""},
				{"runs[0].tokens", bytesOf(16384 - run), bytesOf(16385 - run), "16384", "runs[0]"}, {"runs[0].job_id", "j1", "j2", "is no job", ""},
				{"runs", entries(200, fullest["runs"].copy["runs"].([]any)[0]), entries(201, fullest["runs"].copy["runs"].([]any)[0]), "200 runs", ""},
			}),
	} {
		t.Run(name, func(t *testing.T) {
			w := local(t)
			w.must(w.puts("jobs", fullest["jobs"].copy))
			for _, l := range limits {
				if err := w.puts(name, edited(t, fullest[name].copy, l.place, l.in)); err != nil {
					t.Errorf("%s: within the limit: %v", l.place, err)
				}
				before := w.rows.writes.Load()
				err := w.puts(name, edited(t, fullest[name].copy, l.place, l.past))
				w.refused(err, before, l.says)
				if named := cmp.Or(l.named, l.place); err != nil && !strings.Contains(err.Error(), named+" ") {
					t.Errorf("%s is not named: %v", named, err)
				}
			}
		})
	}
}
