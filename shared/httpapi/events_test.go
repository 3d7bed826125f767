package httpapi

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// pages reads a question page by page, as a client that goes on from last_seq, and holds each page to what it has to be.
func (w *world) pages(by client, query string) (events []J, n int) {
	w.t.Helper()
	since := int64(0)
	for n = 1; ; n++ {
		r := by.do("GET", fmt.Sprintf("/v1/events?since=%d%s", since, query), nil)
		if r.status != http.StatusOK {
			w.t.Fatalf("page %d: %v", n, r)
		}
		if len(r.body) > 5<<20 {
			w.t.Errorf("page %d has %d bytes", n, len(r.body))
		}
		last := num(r.j, "last_seq")
		for _, e := range r.j["events"].([]any) {
			seq := num(e.(J), "seq")
			if seq <= since || seq > last || len(events) > 0 && seq <= num(events[len(events)-1], "seq") {
				w.t.Fatalf("page %d from %d to %d has seq %d, out of order or place", n, since, last, seq)
			}
			events = append(events, e.(J))
		}
		if last < since || last == since && len(r.j["events"].([]any)) > 0 {
			w.t.Fatalf("page %d: last_seq %d after since %d", n, last, since)
		}
		if last == since {
			return events, n
		}
		since = last
	}
}

func seqs(events []J) []int64 {
	var list []int64
	for _, e := range events {
		list = append(list, num(e, "seq"))
	}
	return list
}

// A page is cut by bytes, so that a Lambda may answer it (BR-29, contract U-148).
func TestPagesOfLongPosts(t *testing.T) {
	w := newWorld(t)
	text := strings.Repeat("x", 64<<10)
	want := w.sayOften(w.arjun.client, w.room, text, 120)
	events, n := w.pages(w.priya.client, "&limit=500&space_id="+w.room)
	var got []int64
	for _, e := range events {
		if str(e, "type") == "message.post" {
			got = append(got, num(e, "seq"))
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the posts, page by page: %s", diff)
	}
	if n < 3 {
		t.Errorf("120 posts of 64 KB came on %d pages", n)
	}
	first := w.priya.must("GET", "/v1/events?limit=500&space_id="+w.room, nil)
	list := first["events"].([]any)
	if last := num(list[len(list)-1].(J), "seq"); last != num(first, "last_seq") {
		t.Errorf("a page cut by bytes ends at %d and says %d", last, num(first, "last_seq"))
	}
	newest := w.priya.must("GET", fmt.Sprintf("/v1/events?before=%d&space_id=%s", want[119], w.room), nil)
	list = newest["events"].([]any)
	if last := num(list[len(list)-1].(J), "seq"); last != want[118] || num(newest, "first_seq") != num(list[0].(J), "seq") || len(list) > 70 {
		t.Errorf("the newest before %d: %d events up to %d, first_seq %d", want[119], len(list), last, num(newest, "first_seq"))
	}
}

// The limit counts what is answered, the work is bounded before that: a page may be empty with more behind it (BR-30).
// covers: SUB-12
func TestEmptyPagesAreNotTheEnd(t *testing.T) {
	w := newWorld(t)
	x := w.open(w.priya, "X")
	before := num(w.priya.must("GET", "/v1/events", nil), "last_seq")
	w.sayOften(w.priya.client, x, "elsewhere", 600)
	one := w.say(w.arjun.client, w.room, "here")
	w.sayOften(w.priya.client, x, "elsewhere", 600)
	for _, limits := range []scanLimits{w.api.scan, {calls: 1, commits: 50, bytes: 1 << 20}} {
		w.api.scan = limits
		for _, query := range []string{"&limit=100", "&limit=100&space_id=" + w.room} {
			events, n := w.pages(w.ledger.client, query)
			var got []int64
			for _, e := range events {
				if str(e, "space_id") == x {
					t.Fatalf("an event of a room that Ledger is not in: %v", e)
				}
				if num(e, "seq") > before {
					got = append(got, num(e, "seq"))
				}
			}
			if len(got) != 1 || got[0] != one {
				t.Errorf("%s with %+v: %v; want %d alone", query, limits, got, one)
			}
			if most := 1300/limits.commits + 3; n > most {
				t.Errorf("%s with %+v took %d pages, more than %d", query, limits, n, most)
			}
		}
	}
	w.api.scan = scanLimits{calls: 1, commits: 50, bytes: 1 << 20}
	if j := w.ledger.must("GET", fmt.Sprintf("/v1/events?since=%d", before), nil); len(j["events"].([]any)) != 0 || num(j, "last_seq") != before+50 {
		t.Errorf("a page of nothing: %v; want last_seq %d", j, before+50)
	}
}

// However a log is paged, up or down, each event that is shown comes once and in order.
func TestPagingIsAllOfIt(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	w := newWorld(t)
	rooms := []string{w.room, w.open(w.arjun, "Q", w.priya.id), w.open(w.priya, "X")}
	for i := range 400 {
		switch room := rooms[rng.IntN(len(rooms))]; rng.IntN(4) {
		case 0:
			w.arjun.must("PATCH", "/v1/workspaces/"+w.ws, J{"name": fmt.Sprint("Name ", i)})
		case 1:
			w.arjun.must("POST", "/v1/harnesses", J{"display_name": fmt.Sprint("H ", i)}) // four events in one commit
		default:
			w.say(w.priya.client, room, strings.Repeat("word ", rng.IntN(50)+1))
		}
	}
	all := w.api.scan
	for _, by := range []client{w.arjun.client, w.priya.client, w.gus.client, w.scout.client, w.ledger.client} {
		for _, query := range []string{"", "&space_id=" + w.room} {
			w.api.scan = all
			want, _ := w.pages(by, query)
			if len(want) == 0 || query != "" && slices.ContainsFunc(want, func(e J) bool { return str(e, "space_id") != w.room }) {
				t.Fatalf("%q is answered %d events, not all of the room", query, len(want))
			}
			for range 4 {
				w.api.scan = scanLimits{calls: 1 + rng.IntN(3), commits: 1 + rng.IntN(60), bytes: 200 + rng.IntN(3000)}
				limit := 1 + rng.IntN(40)
				got, _ := w.pages(by, fmt.Sprintf("%s&limit=%d", query, limit))
				if diff := cmp.Diff(want, got); diff != "" {
					t.Fatalf("%+v, limit %d: %s", w.api.scan, limit, diff)
				}
				if query != "" {
					if diff := cmp.Diff(seqs(want), w.down(by, query, limit)); diff != "" {
						t.Fatalf("downwards, %+v, limit %d: %s", w.api.scan, limit, diff)
					}
				}
			}
		}
	}
}

// down reads a room from its newest event down, as a client that goes on from first_seq, and answers the seqs rising.
func (w *world) down(by client, query string, limit int) (found []int64) {
	w.t.Helper()
	for before := int64(1 << 40); ; {
		j := by.must("GET", fmt.Sprintf("/v1/events?before=%d&limit=%d%s", before, limit, query), nil)
		var page []int64
		for _, e := range j["events"].([]any) {
			page = append(page, num(e.(J), "seq"))
		}
		if len(page) > limit {
			w.t.Fatalf("%d events with limit %d", len(page), limit)
		}
		found = append(page, found...)
		first := num(j, "first_seq")
		if first == 0 {
			return found
		}
		if first >= before {
			w.t.Fatalf("first_seq %d with before %d: no step down", first, before)
		}
		before = first
	}
}

func TestEventsOfARoom(t *testing.T) {
	w := newWorld(t)
	for i := range 5 {
		w.say(w.arjun.client, w.room, fmt.Sprint("words ", i))
	}
	x := w.open(w.priya, "X")
	get := func(query string) J {
		t.Helper()
		return w.arjun.must("GET", "/v1/events?"+query, nil)
	}
	head := num(get("limit=1&since=999999"), "last_seq")
	if got := num(get("since=999999"), "last_seq"); got != head || head == 0 {
		t.Errorf("past the head: last_seq %d", got)
	}
	events := w.log(w.arjun.client, "&space_id="+w.room)
	if got := types(events); !strings.HasPrefix(got, "space.opened") || strings.Count(got, "message.post") != 5 || strings.Contains(got, "person.added") {
		t.Errorf("events of the room: %s", got)
	}
	newest := get("before=999999&limit=2&space_id=" + w.room)
	list := newest["events"].([]any)
	if len(list) != 2 || str(list[0].(J), "text") != "words 3" || str(list[1].(J), "text") != "words 4" || num(newest, "last_seq") != head {
		t.Errorf("the newest two: %v", newest)
	}
	for _, bad := range []string{"limit=0", "limit=-1", "limit=x", "limit=501", "limit=", "limit=1.5", "limit=99999999999999999999"} {
		if n := len(get(bad)["events"].([]any)); n < 20 {
			t.Errorf("%s: %d events; a bad limit is the maximum", bad, n)
		}
	}
	for _, bad := range []string{"since=-1", "since=x", "since=", "since=1.5", "since=1&since=2", "since=99999999999999999999", "before=5", "before=x&space_id=" + w.room, "since=%zz", "a;b=1"} {
		w.arjun.refused(http.StatusBadRequest, "invalid_request", "GET", "/v1/events?"+bad, nil)
	}
	for _, hidden := range []string{x, "", "x", w.arjun.id, "spc_01JABCDEFGHJKMNPQRSTVWXYZ0"} {
		w.arjun.refused(http.StatusForbidden, "forbidden", "GET", "/v1/events?space_id="+hidden, nil)
	}
}

// A room that is lost is served no more: out of it is forbidden, deleted around one is not_found.
// covers: SUB-12
func TestEventsOfALostRoom(t *testing.T) {
	w := newWorld(t)
	w.say(w.arjun.client, w.room, "before")
	w.priya.must("GET", "/v1/events?space_id="+w.room, nil)
	w.arjun.must("DELETE", "/v1/spaces/"+w.room+"/members/"+w.priya.id, nil)
	for _, target := range []string{"/v1/events?space_id=" + w.room, "/v1/spaces/" + w.room} {
		w.priya.refused(http.StatusForbidden, "forbidden", "GET", target, nil)
	}
	for _, e := range w.log(w.priya.client, "") {
		if str(e, "space_id") == w.room {
			t.Errorf("out of the room, shown %v", e)
		}
	}
	w.arjun.must("DELETE", "/v1/spaces/"+w.room, nil)
	for _, by := range []client{w.arjun.client, w.gus.client, w.scout.client} {
		for _, target := range []string{"/v1/events?space_id=" + w.room, "/v1/spaces/" + w.room} {
			by.refused(http.StatusNotFound, "not_found", "GET", target, nil)
		}
	}
	w.priya.refused(http.StatusForbidden, "forbidden", "GET", "/v1/spaces/"+w.room, nil)
	for _, e := range w.log(w.arjun.client, "") {
		if str(e, "space_id") == w.room {
			t.Errorf("of a deleted room, shown %v", e)
		}
	}
}

// GET /v1/events shows what was logged, not what a socket is sent; before agents an own agent reads as the harness.
// covers: SUB-14, AGT-15, AGT-16
func TestEventsAreAsLogged(t *testing.T) {
	w := newWorld(t)
	seq := w.say(w.ledger.client, w.room, "@Scout look")
	own := w.say(w.scout.client, w.room, "looking")
	for _, c := range []struct {
		by                  client
		ledger, scout, kind string
	}{
		{w.arjun.client, w.ledger.agent, w.scout.agent, "agent"},
		{w.scout.client, w.ledger.agent, w.scout.agent, "agent"},
		{w.ledger.client, w.ledger.id, w.scout.agent, "harness"},
	} {
		for _, e := range w.log(c.by, "&space_id="+w.room) {
			actor, _ := e["actor"].(J)
			switch num(e, "seq") {
			case seq:
				to, _ := e["addressed_to"].([]any)
				if str(e, "type") != "message.post" || str(e, "text") != "@Scout look" || str(actor, "id") != c.ledger || str(actor, "kind") != c.kind || len(to) != 1 || to[0] != w.scout.agent {
					t.Errorf("the post reads %v", e)
				}
			case own:
				if str(e, "type") != "message.post" || str(actor, "id") != c.scout || str(actor, "kind") != c.kind {
					t.Errorf("Scout's post reads %v", e)
				}
			}
		}
	}
	if got := types(w.log(w.ledger.client, "")); strings.Contains(got, "agent.attached") {
		t.Errorf("before agents one is shown %s", got)
	}
}

func TestLimitOfAPage(t *testing.T) {
	for given, want := range map[string]int{"1": 1, "499": 499, "500": 500, "501": 500, "1000000": 500, "0": 500, "-1": 500, "": 500, "many": 500, "99999999999999999999": 500} {
		if got := (query{"limit": given}).limit(); got != want {
			t.Errorf("limit=%s is %d; want %d", given, got, want)
		}
	}
}

func FuzzEventsQuery(f *testing.F) {
	w := newWorld(f)
	for _, seed := range []string{"", "since=0&limit=100", "before=9&space_id=" + w.room, "since=9223372036854775807", "space_id=%00", "limit=%ff&&&=", "since=1&since=1", "a;b", "before=0&space_id=" + w.room, "before=18446744073709551615&space_id=" + w.room} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, query string) {
		for _, target := range []string{"/v1/events", "/v1/participants", "/v1/spaces"} {
			r, err := http.NewRequest("GET", target, nil)
			if err != nil {
				t.Fatal(err)
			}
			r.URL.RawQuery = query
			out := serve(t, w.api, r, w.arjun.token)
			if out.status != 200 && out.status != 400 && out.status != 403 {
				t.Errorf("%s?%q: %v", target, query, out)
			}
		}
	})
}

// A reaction that is there already and an unpinning of what is not pinned use their keys up as any write does: sent again, after it was set
// otherwise, they change nothing and are answered the same.
// covers: WRT-6, WRT-12, ENV-11
func TestReactionsUseTheirKeys(t *testing.T) {
	w := newWorld(t)
	message := w.post(w.arjun.client, w.room, nil, w.upload(w.arjun.client, "a.txt", "a"))
	for _, kind := range []string{"reaction.set", "pin.set"} {
		set := func(key string, on bool) J {
			ev := J{"type": kind, "space_id": w.room, "message_id": message, "on": on, "idempotency_key": kind + key}
			if kind == "reaction.set" {
				ev["emoji"] = "❤️"
			}
			return w.priya.must("POST", "/v1/events", ev)
		}
		already := set("1", false)
		if already["duplicate"] != false {
			t.Errorf("%s, off and never on: %v", kind, already)
		}
		on := set("2", true)
		for _, again := range []J{set("1", false), set("1", true)} {
			if again["duplicate"] != true || again["seq"] != already["seq"] {
				t.Errorf("%s again: %v, first %v", kind, again, already)
			}
		}
		if again := set("1", true); again["differs"] != true {
			t.Errorf("%s with another body: %v", kind, again)
		}
		log := w.priya.must("GET", fmt.Sprint("/v1/events?since=", num(on, "seq")), nil)
		if events := log["events"].([]any); len(events) != 0 {
			t.Errorf("%s again is in the log: %v", kind, events)
		}
	}
}
