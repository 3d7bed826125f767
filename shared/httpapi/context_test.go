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

// Words read as they read now, whatever came after the page that is asked for; what was deleted is gone and takes no place.
// covers: CTX-13, CTX-14, CTX-22
func TestReadContextAsItReadsNow(t *testing.T) {
	w := newWorld(t)
	write := func(by client, typ string, fields J) J {
		t.Helper()
		fields["type"], fields["idempotency_key"] = typ, fmt.Sprint("mark-", keys.Add(1))
		return by.must("POST", "/v1/events", fields)
	}
	ids := map[int64]string{}
	var seqs []int64
	for i := range 20 {
		seqs = append(seqs, w.say(w.priya.client, w.room, fmt.Sprint("line ", i)))
	}
	own := w.say(w.scout.client, w.room, "Scout's")
	for _, e := range w.log(w.arjun.client, "&space_id="+w.room) {
		ids[num(e, "seq")] = "msg_" + str(e, "id")[len("evt_"):]
	}
	page := func(by agentHarness, before int64) ([]string, J) {
		t.Helper()
		j := by.must("GET", fmt.Sprintf("/v1/spaces/%s/context?limit=3&before=%d", w.room, before), nil)
		return lines(j), j
	}
	write(w.priya.client, "message.edited", J{"message_id": ids[seqs[2]], "text": "line 2, once"})
	write(w.priya.client, "message.edited", J{"message_id": ids[seqs[2]], "text": "line 2, twice"})
	write(w.priya.client, "message.deleted", J{"message_id": ids[seqs[3]]})
	write(w.scout.client, "message.edited", J{"message_id": ids[own], "text": "Scout's, edited"})
	write(w.scout.client, "reaction.set", J{"message_id": ids[seqs[1]], "emoji": "❤️", "on": true})
	write(w.arjun.client, "pin.set", J{"message_id": ids[seqs[1]], "on": true})
	if got, j := page(w.scout, seqs[5]); !slices.Equal(got, []string{"line 1", "line 2, twice", "line 4"}) || num(j, "before") != seqs[1] || j["truncated"] != true {
		t.Errorf("a page of long ago: %v", j)
	}
	if got, _ := page(w.ledger, 1<<40); !slices.Equal(got, []string{"line 18", "line 19", "Scout's, edited"}) {
		t.Errorf("the newest: %v", got)
	}
	// What was logged stays as it was (contract U-85).
	for _, e := range w.log(w.arjun.client, "&space_id="+w.room) {
		if num(e, "seq") == seqs[3] && str(e, "text") != "line 3" {
			t.Errorf("the log says %v", e)
		}
	}
	for typ, fields := range map[string]J{
		"message.edited": {"message_id": ids[seqs[0]], "text": "not mine"}, "message.deleted": {"message_id": ids[seqs[0]]},
	} {
		fields["type"], fields["idempotency_key"] = typ, typ
		w.arjun.refused(403, "forbidden", "POST", "/v1/events", fields)
	}
	w.priya.refused(404, "not_found", "POST", "/v1/events", J{"type": "message.edited", "idempotency_key": "gone", "message_id": ids[seqs[3]], "text": "back"})
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
