package httpapi

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// lines are the words of an answer's lines, or their kinds where they have none.
func lines(j J) []string {
	list := []string{}
	for _, l := range j["lines"].([]any) {
		if text, said := l.(J)["text"].(string); said {
			list = append(list, text)
		} else {
			list = append(list, str(l.(J), "kind"))
		}
	}
	return list
}

// covers: CTX-31, CTX-32, CTX-33, CTX-34, CTX-35
func TestReadContext(t *testing.T) {
	w := newWorld(t)
	path := "/v1/spaces/" + w.room + "/context"
	if j := w.scout.must("GET", path+"?before=1", nil); len(j["lines"].([]any)) != 0 || j["truncated"] != false || num(j, "before") != 1 {
		t.Errorf("below all lines: %v", j)
	}
	var seqs []int64
	for i := range 230 {
		seqs = append(seqs, w.say(w.priya.client, w.room, fmt.Sprint("line ", i)))
		if i == 100 { // words elsewhere are between
			w.say(w.arjun.client, w.open(w.arjun, "X"), "elsewhere")
		}
	}
	words := func(from, to int) (list []string) {
		for i := from; i < to; i++ {
			list = append(list, fmt.Sprint("line ", i))
		}
		return list
	}
	for _, c := range []struct {
		query    string
		from, to int
	}{
		{"", 190, 230}, {"?limit=5", 225, 230}, {"?limit=200", 30, 230}, {"?limit=500", 30, 230}, {"?limit=x", 30, 230}, {"?limit=0", 30, 230},
		{fmt.Sprintf("?before=%d", seqs[100]), 60, 100}, {fmt.Sprintf("?before=%d&limit=3", seqs[229]), 226, 229},
		{fmt.Sprintf("?before=%d&limit=1", seqs[100]+2), 100, 101}, {"?before=999999&limit=1", 229, 230},
	} {
		j := w.scout.must("GET", path+c.query, nil)
		first := j["lines"].([]any)[0].(J)
		if got := lines(j); !slices.Equal(got, words(c.from, c.to)) || j["truncated"] != true || num(j, "before") != num(first, "seq") {
			t.Errorf("%s: %v, truncated %v, before %d", c.query, got, j["truncated"], num(j, "before"))
		}
	}

	// All of the room, by pages down to its first line; one that joined later reads the same.
	w.arjun.must("PATCH", "/v1/people/"+w.priya.id, J{"name": "Priya R"})
	w.say(w.priya.client, w.room, "renamed")
	late := w.addHarness("Late", "agents")
	w.arjun.must("POST", "/v1/agents/"+late.agent+"/move", J{"space_id": w.room})
	for _, by := range []agentHarness{w.scout, late} {
		var all []string
		before, pages := int64(1<<40), 0
		for truncated := true; truncated; pages++ {
			j := by.must("GET", fmt.Sprintf("%s?before=%d&limit=7", path, before), nil)
			all = append(lines(j), all...)
			before, truncated = num(j, "before"), j["truncated"].(bool)
			for _, l := range j["lines"].([]any) {
				if from, said := l.(J)["from"].(J); said && str(from, "name") != "Priya R" {
					t.Fatalf("the words are by %v", from)
				}
			}
		}
		want := slices.Concat([]string{"joined", "joined"}, words(0, 230), []string{"renamed", "renamed", "joined"})
		if !slices.Equal(all, want) {
			t.Errorf("page by page: %v", all)
		}
		if pages != (len(want)+6)/7 {
			t.Errorf("%d pages of 7 for %d lines", pages, len(want))
		}
	}

	// Before agents its own are the harness.
	w.say(w.ledger.client, w.room, "Ledger's words")
	if b := w.ledger.do("GET", path, nil).body; strings.Contains(string(b), w.ledger.agent) || !strings.Contains(string(b), w.ledger.id) {
		t.Errorf("Ledger reads its agent's id: %s", b)
	}

	if r := w.arjun.do("GET", path, nil); r.status != 403 || r.code() != "forbidden" {
		t.Errorf("a person: %v", r)
	}
	if r := w.scout.do("GET", path+"?before=x", nil); r.status != 400 {
		t.Errorf("before=x: %v", r)
	}
	w.arjun.must("POST", "/v1/agents/"+w.scout.agent+"/move", J{"space_id": w.open(w.arjun, "Y")})
	if r := w.scout.do("GET", path, nil); r.status != 403 || r.code() != "forbidden" {
		t.Errorf("a room it has left: %v", r)
	}
}

// An answer stays below what a Lambda may say, and is read on from.
func TestReadContextByBytes(t *testing.T) {
	w := newWorld(t)
	w.sayOften(w.priya.client, w.room, strings.Repeat("x", 64<<10), 100)
	n, before := 0, int64(1<<40)
	for truncated := true; truncated; {
		r := w.scout.do("GET", fmt.Sprintf("/v1/spaces/%s/context?limit=200&before=%d", w.room, before), nil)
		if len(r.body) > maxPageBytes+(64<<10) {
			t.Fatalf("an answer of %d bytes", len(r.body))
		}
		n += len(r.j["lines"].([]any))
		before, truncated = num(r.j, "before"), r.j["truncated"].(bool)
	}
	if n != 100+2 {
		t.Errorf("%d lines page by page", n)
	}
}
