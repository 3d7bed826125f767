package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/chipschat/chips-aws/shared/client"
	"github.com/chipschat/chips-aws/shared/protocol"
)

// Faults that users of systems like this one reported.

// addressed has Ledger say something in the room and answers whom it is for by the log.
func (c *town) addressed(text string) []string {
	c.t.Helper()
	seq := c.ledger.write("message.post", J{"space_id": c.room, "text": text})
	return stringsOf(read(c.t, c.owner.log(seq-1, c.room)[0])["addressed_to"])
}

// A name in code or in a quotation calls nobody; one in a text without spaces does. Names of every script stay as they were given, and
// whoever has a handle is reached by it.
//
// covers: ADDR-1, ADDR-2, ADDR-6, ADDR-8
func TestMentionsAsPeopleWriteThem(t *testing.T) {
	t.Parallel()
	c := newTown(t)
	live := c.scouts.live("")
	s1 := []string{c.s1}
	said := map[string][]string{
		"`@Scout`": {}, "see `x @Scout y`": {}, "```\n@Scout go\n```": {}, "```\n@Scout go": {}, "`a` @Scout `b`": s1,
		"    @Scout in an indented block": {}, "> @Scout was quoted": {}, "mail scout@Scout.example": {}, "a.@Scout b": {}, "@Scoutx": {},
		"请，@Scout，看一下": s1, "请@Scout看一下": s1, "@Scoutさん、お願い": s1, "@ＳＣＯＵＴ": {}, "(@scout)": s1,
	}
	for text, want := range said {
		if got := c.addressed(text); cmp.Diff(want, got) != "" {
			t.Errorf("%q is for %v, want %v", text, got, want)
		}
	}
	heard := live.messages(c.fence())
	for text, want := range said {
		typ := map[bool]string{true: "message.new", false: "message.overheard"}[len(want) > 0]
		if got := str(heard[text], "type"); got != typ {
			t.Errorf("%q is heard as %q", text, got)
		}
	}

	names := []string{"की", "का", "C++", "C#", "हिन्दी", "สวัสดี", "O'Brien (lead), \"you\""}
	ids, handles := map[string]string{}, map[string]string{}
	for _, name := range names {
		made := c.scouts.must(http.MethodPost, "/v1/harnesses/"+c.scouts.id+"/agents", J{"key": name, "name": name})
		if str(made, "name") != name {
			t.Errorf("%q was registered as %q", name, str(made, "name"))
		}
		ids[name], handles[name] = str(made, "agent_id"), str(made, "handle")
		c.owner.must(http.MethodPost, "/v1/spaces/"+c.room+"/members", J{"participant_id": ids[name]})
	}
	for name, want := range map[string]string{"की": "@की", "का": "@का", "C++": "", "C#": "", "हिन्दी": "@हिन्दी", "สวัสดี": "@สวัสดี"} {
		if handles[name] != want {
			t.Errorf("the handle of %q is %q", name, handles[name])
		}
	}
	for name, handle := range handles {
		if handle != "" {
			if got := c.addressed(handle); cmp.Diff([]string{ids[name]}, got) != "" {
				t.Errorf("%q is for %v, and it is the handle of %q", handle, got, name)
			}
		}
	}
	for _, bad := range []string{"Scout\u200b", "Sco\nut", "\u3164\u3164", "\u202etuocS", "\u2800", "", "  ", strings.Repeat("x", 81)} {
		c.scouts.fails(protocol.InvalidRequest, http.MethodPost, "/v1/harnesses/"+c.scouts.id+"/agents", J{"key": "bad", "name": bad})
		c.owner.fails(protocol.InvalidRequest, http.MethodPost, "/v1/people", J{"name": bad, "role": "member"})
	}
}

// Field names are read to the letter: what is checked is what is written.
//
// covers: WRT-3, AUTH-7, AUTH-8, SUB-2
func TestFieldNamesInAnotherCase(t *testing.T) {
	t.Parallel()
	c := newTown(t)
	s := c.ledger.connect("")
	since := c.owner.head()
	post := `"type":"message.post","space_id":"` + c.room + `","text":"x"`
	answer := func(key, event string) J {
		s.send(`{"frame":"event","event":{` + event + `}}`)
		for s.answers[key] == nil {
			s.pump()
		}
		return read(t, s.answers[key])
	}
	if a := answer("", post+`,"Idempotency_Key":"k0"`); a["code"] != "invalid_frame" {
		t.Errorf("a key in another case is answered %v", a)
	}
	if a := answer("k1", post+`,"idempotency_key":"k1","IDEMPOTENCY_KEY":"k2"`); a["frame"] != "ack" {
		t.Errorf("beside one in another case the key is answered %v", a)
	}
	a := answer("k3", post+`,"Space_ID":"`+c.x+`","TEXT":"y","Actor":{"kind":"agent","id":"`+c.s1+`"},"idempotency_key":"k3"`)
	if a["frame"] != "ack" {
		t.Errorf("a room in another case is answered %v", a)
	}
	for _, raw := range c.owner.log(since, "") {
		if e := read(t, raw); str(e, "space_id") != c.room || str(e, "text") != "x" || str(e, "actor", "id") != c.l1 {
			t.Errorf("written as %s", raw)
		}
	}
	if n := len(c.owner.log(since, c.room)); n != 2 {
		t.Errorf("%d events", n)
	}
	r := c.ledger.connect("")
	r.subscribe(fmt.Sprintf(`,"since":%d,"SINCE":0`, since))
	if got := r.through(since + 2); len(got) != 2 {
		t.Errorf("%d events replayed", len(got))
	}
}

// fill writes many messages as fast as may be.
func (p *party) fill(space string, n int, text string) {
	p.t.Helper()
	ctx, stop := context.WithCancel(p.t.Context())
	defer stop()
	w := client.New(client.Config{URL: p.URL, Credential: p.Credential, WriteOnly: true, Pipelined: true, MaxUnanswered: n + 1})
	go func() { _ = w.Run(ctx) }()
	done := make(chan error, n)
	for range n {
		go func() {
			_, err := w.Post(ctx, client.Draft{SpaceID: space, Data: &protocol.MessagePost{Text: text}})
			done <- err
		}()
	}
	for range n {
		if err := <-done; err != nil {
			p.t.Fatal(err)
		}
	}
}

// A page of large events stays below what a Lambda may answer, and all of them come, once and in order.
//
// covers: SUB-14
func TestLargePages(t *testing.T) {
	t.Parallel()
	c := newTown(t)
	since := c.owner.head()
	c.scouts.fill(c.room, 120, strings.Repeat("x", 64<<10))
	head := c.owner.head()
	at, calls := since, 0
	var all []jsontext.Value
	for at < head {
		req, err := http.NewRequest(http.MethodGet, fmt.Sprintf("%s/v1/events?since=%d&limit=500", c.url, at), nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header = bearer(c.priya.token)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err != nil || len(body) > 4<<20+128<<10 {
			t.Fatalf("a page of %d bytes, %v", len(body), err)
		}
		var page client.EventsPage
		if err := json.Unmarshal(body, &page); err != nil {
			t.Fatal(err)
		}
		for _, raw := range page.Events {
			if at++; seqOf(t, raw) != at {
				t.Fatalf("seq %d after %d", seqOf(t, raw), at-1)
			}
		}
		all = append(all, page.Events...)
		if page.LastSeq != at {
			t.Fatalf("a page up to %d has last_seq %d", at, page.LastSeq)
		}
		if calls++; calls > 10 {
			t.Fatal("it never ends")
		}
	}
	if len(all) != 120 || calls < 2 {
		t.Errorf("%d events in %d calls", len(all), calls)
	}
	// And so they come over a socket, in frames that a client of any kind can read.
	for _, how := range []string{"", `,"accepts":["events"]`} {
		s := c.priya.connect(how)
		s.SetReadLimit(128 << 10)
		s.subscribe(fmt.Sprintf(`,"since":%d`, since))
		same(t, "over a socket", s.through(head), all)
	}
}

// A page that holds nothing is not the end: last_seq rises, and what is there is found.
//
// covers: SUB-12, SUB-14
func TestEmptyPages(t *testing.T) {
	t.Parallel()
	c := newTown(t)
	since := c.owner.head()
	c.owner.fill(c.x, 600, "elsewhere")
	one := c.owner.write("message.post", J{"space_id": c.room, "text": "here"})
	c.priya.fill(c.x, 600, "elsewhere")
	head := c.owner.head()
	for _, space := range []string{"", c.room} {
		at, calls := since, 0
		var found []int64
		for at < head {
			page, err := c.ledger.Events(t.Context(), client.EventsQuery{Since: at, SpaceID: space, Limit: 100})
			if err != nil {
				t.Fatal(err)
			}
			for _, raw := range page.Events {
				found = append(found, seqOf(t, raw))
			}
			if calls++; page.LastSeq <= at || calls > 30 {
				t.Fatalf("call %d goes from %d to %d", calls, at, page.LastSeq)
			}
			at = page.LastSeq
		}
		if at != head || cmp.Diff([]int64{one}, found) != "" {
			t.Errorf("found %v up to %d, want %d up to %d", found, at, one, head)
		}
	}
	if got := c.ledger.from(since, "").through(one); len(got) != 1 || seqOf(t, got[0]) != one {
		t.Errorf("over a socket came %d events", len(got))
	}
}
