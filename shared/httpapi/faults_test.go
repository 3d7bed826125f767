package httpapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/chipschat/chips-aws/shared/engine"
	"github.com/chipschat/chips-aws/shared/protocol"
	"github.com/chipschat/chips-aws/shared/workspace"
)

// broken is an engine whose writes and reads fail.
type broken struct {
	Engine
	fail func() error
}

func (b broken) Do(context.Context, string, workspace.Command) (engine.Outcome, error) {
	return engine.Outcome{}, b.fail()
}

func (b broken) Read(context.Context, string, func(*workspace.State) error) error { return b.fail() }

// What is nobody's fault is busy, what is ours is internal, and neither says more than that; the log does, once, by the request's id.
func TestFaults(t *testing.T) {
	for name, c := range map[string]struct {
		fail   func() error
		status int
		code   string
	}{
		"busy":      {func() error { return fmt.Errorf("append: %w", engine.ErrBusy) }, 503, "busy"},
		"throttled": {func() error { return fmt.Errorf("append: %w", engine.ErrThrottled) }, 503, "busy"},
		"time":      {func() error { return context.DeadlineExceeded }, 503, "busy"},
		"ours":      {func() error { return errors.New("disk of host 10.0.0.7 on fire") }, 500, "internal"},
		"refused":   {func() error { return protocol.Refuse(protocol.Internal, "a fault of Chips") }, 500, "internal"},
		"panic":     {func() error { panic("index out of range of host 10.0.0.7") }, 500, "internal"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.api.Engine = broken{w.api.Engine, c.fail}
			for _, call := range []struct{ method, target string }{{"POST", "/v1/events"}, {"GET", "/v1/events"}, {"PUT", "/v1/workspaces/" + w.ws + "/exchange"}} {
				before := len(w.logs.String())
				r := w.arjun.do(call.method, call.target, J{"type": "message.post", "space_id": w.room, "text": "x", "idempotency_key": "k"})
				if r.status != c.status || r.code() != c.code || strings.Contains(string(r.body), "10.0.0.7") || r.j["idempotency_key"] != nil {
					t.Errorf("%s: %v; want %d %s", call.target, r, c.status, c.code)
				}
				if retry := r.header.Get("Retry-After"); (retry == "1") != (c.status == 503) {
					t.Errorf("Retry-After %q with %d", retry, r.status)
				}
				logged := w.logs.String()[before:]
				if n := strings.Count(logged, `"level":"ERROR"`) + strings.Count(logged, `"level":"WARN"`); n != 1 || strings.Count(logged, r.header.Get("X-Request-Id")) != 2 {
					t.Errorf("logged %d times: %s", n, logged)
				}
			}
		})
	}
}

func TestRequestIDs(t *testing.T) {
	w := newWorld(t)
	seen := map[string]bool{}
	for given, kept := range map[string]bool{
		"req-1": true, "JKJaXmPLvHcESHA=": true, "1-5759e988-bd862e3fe1be46a994272793": true, "a:b_c.d": true, strings.Repeat("a", 128): true,
		"": false, strings.Repeat("a", 129): false, "a b": false, "a\"b": false, "é": false, "a\x00": false, "{}": false,
	} {
		for _, target := range []string{"/v1/health", "/v1/nope", "/v1/people"} {
			before := len(w.logs.String())
			r := httptest.NewRequest("GET", target, nil)
			r.Header["X-Request-Id"] = []string{given}
			got := serve(t, w.api, r, "").header.Get("X-Request-Id")
			if (got == given) != kept || got == "" || !kept && seen[got] {
				t.Errorf("given %q: %q", given, got)
			}
			seen[got] = true
			if logged := w.logs.String()[before:]; !strings.Contains(logged, `"request_id":"`+got+`"`) {
				t.Errorf("not in the log: %q: %s", got, logged)
			}
		}
	}
}

// Any page may call, since no cookie is a credential; a preflight asks for none.
func TestBrowsers(t *testing.T) {
	w := newWorld(t)
	pre := w.nobody.do("OPTIONS", "/v1/spaces/"+w.room, nil, "Origin", "https://app.example", "Access-Control-Request-Method", "PATCH")
	want := map[string]string{
		"Access-Control-Allow-Origin": "*", "Access-Control-Allow-Methods": "GET, PATCH, DELETE", "Access-Control-Max-Age": "600",
		"Access-Control-Allow-Headers": "authorization, content-type, content-digest, signature, signature-input",
	}
	for name, value := range want {
		if got := pre.header.Get(name); got != value {
			t.Errorf("preflight: %s: %q; want %q", name, got, value)
		}
	}
	if pre.status != http.StatusNoContent || len(pre.body) != 0 || pre.header.Get("X-Request-Id") == "" {
		t.Errorf("preflight: %v", pre)
	}
	for _, r := range []res{w.arjun.do("GET", "/v1/spaces", nil), w.nobody.do("GET", "/v1/spaces", nil), w.nobody.do("GET", "/v1/nope", nil)} {
		if got := r.header.Get("Access-Control-Allow-Origin"); got != "*" {
			t.Errorf("allowed to %q: %v", got, r)
		}
	}
	w.config.Origins = []string{"https://app.example", "https://other.example"}
	listed := client{t, New(w.config), ""}
	for origin, allowed := range map[string]string{"https://app.example": "https://app.example", "https://other.example": "https://other.example", "https://evil.example": "", "null": "", "": ""} {
		for _, method := range []string{"OPTIONS", "GET"} {
			r := listed.do(method, "/v1/health", nil, "Origin", origin)
			if got := r.header.Get("Access-Control-Allow-Origin"); got != allowed || r.header.Get("Vary") != "Origin" {
				t.Errorf("%s from %q is allowed to %q, Vary %q", method, origin, got, r.header.Get("Vary"))
			}
		}
	}
}

// Every limit on what is sent is named with its field.
func TestLimits(t *testing.T) {
	w := newWorld(t)
	long, longer := strings.Repeat("n", 81), strings.Repeat("t", 121)
	hr, ws := "/v1/harnesses/"+w.scout.id, "/v1/workspaces/"+w.ws
	for _, c := range []struct {
		by             client
		method, target string
		body           any
		field          string
	}{
		{w.admin, "POST", "/v1/workspaces", J{}, "owner.name"},
		{w.admin, "POST", "/v1/workspaces", J{"owner": J{"name": 7}}, "owner.name"},
		{w.admin, "POST", "/v1/workspaces", J{"owner": J{"name": long}}, "owner.name"},
		{w.admin, "POST", "/v1/workspaces", J{"name": long, "owner": J{"name": "O"}}, "name"},
		{w.arjun.client, "PATCH", ws, J{}, "name"},
		{w.arjun.client, "PATCH", ws, J{"name": ""}, "name"},
		{w.arjun.client, "PUT", ws + "/policy", J{"max_autonomy": 4}, "max_autonomy"},
		{w.arjun.client, "PUT", ws + "/policy", J{"max_autonomy": "1"}, "max_autonomy"},
		{w.arjun.client, "PUT", ws + "/policy", J{"rules": J{}}, "rules"},
		{w.arjun.client, "PUT", ws + "/policy", `{"rules":[{"match":1}]}`, "rules.0.match"},
		{w.arjun.client, "PUT", ws + "/exchange", J{"stop": 1}, "stop"},
		{w.arjun.client, "PUT", ws + "/exchange", J{"hold": 1001}, "hold"},
		{w.arjun.client, "PUT", ws + "/exchange", J{"hold": 2.5}, "hold"},
		{w.arjun.client, "PUT", ws + "/exchange", J{"circles": "yes"}, "circles"},
		{w.arjun.client, "POST", "/v1/people", J{"role": "member"}, "name"},
		{w.arjun.client, "POST", "/v1/people", J{"name": "Z"}, "role"},
		{w.arjun.client, "POST", "/v1/people", J{"name": "Z", "role": "king"}, "role"},
		{w.arjun.client, "POST", "/v1/people", J{"name": "a\nb", "role": "member"}, "name"},
		{w.arjun.client, "PATCH", "/v1/people/" + w.arjun.id, J{"role": "admin"}, "role"},
		{w.arjun.client, "PATCH", "/v1/people/" + w.priya.id, J{"labels": "x"}, "labels"},
		{w.nobody, "POST", "/v1/devices", J{"pairing_code": w.gus.pairing, "public_key": "AAAA", "kind": "phone"}, "public_key"},
		{w.nobody, "POST", "/v1/devices", J{"pairing_code": w.gus.pairing, "public_key": strings.Repeat("A", 43), "kind": "watch"}, "kind"},
		{w.nobody, "POST", "/v1/devices", J{"pairing_code": w.gus.pairing, "public_key": strings.Repeat("A", 43), "kind": "phone", "name": long}, "name"},
		{w.nobody, "POST", "/v1/devices", J{"pairing_code": 5}, "pairing_code"},
		{w.arjun.client, "POST", "/v1/harnesses", J{}, "display_name"},
		{w.arjun.client, "POST", "/v1/harnesses", J{"display_name": "\u3164"}, "display_name"},
		{w.arjun.client, "POST", "/v1/harnesses", J{"display_name": "H", "capabilities": []int{1}}, "capabilities.0"},
		{w.arjun.client, "PUT", hr + "/capabilities", J{}, "capabilities"},
		{w.arjun.client, "PUT", hr + "/capabilities", J{"capabilities": strings.Split(strings.Repeat("x,", 70), ",")}, "capabilities"},
		{w.arjun.client, "PUT", hr + "/policy", J{"rules": []any{}}, "autonomy"},
		{w.arjun.client, "PUT", hr + "/policy", J{"autonomy": -1}, "autonomy"},
		{w.arjun.client, "PUT", hr + "/budget", J{}, "limit_usd"},
		{w.arjun.client, "PUT", hr + "/budget", J{"limit_usd": -1}, "limit_usd"},
		{w.arjun.client, "PUT", hr + "/budget", J{"limit_usd": 1_000_001}, "limit_usd"},
		{w.arjun.client, "PUT", hr + "/budget", `{"limit_usd":"NaN"}`, "limit_usd"},
		{w.scout.client, "PUT", hr + "/status", J{"status": "splendid"}, "status"},
		{w.scout.client, "POST", hr + "/agents", J{}, "key is missing"},
		{w.scout.client, "POST", hr + "/agents", J{"name": "A"}, "key"},
		{w.scout.client, "POST", hr + "/agents", J{"key": strings.Repeat("k", 256), "name": "A"}, "key"},
		{w.scout.client, "POST", hr + "/agents", J{"key": "k"}, "name"},
		{w.scout.client, "POST", hr + "/agents", J{"key": "k", "name": "A", "state": "asleep"}, "state"},
		{w.arjun.client, "PATCH", "/v1/agents/" + w.scout.agent, J{}, "name"},
		{w.arjun.client, "POST", "/v1/agents/" + w.scout.agent + "/move", J{}, "space_id"},
		{w.arjun.client, "POST", "/v1/spaces", J{"title": longer}, "title"},
		{w.arjun.client, "POST", "/v1/spaces", J{"participant_ids": "x"}, "participant_ids"},
		{w.arjun.client, "PATCH", "/v1/spaces/" + w.room, J{}, "title"},
		{w.arjun.client, "PATCH", "/v1/spaces/" + w.room, J{"title": longer}, "title"},
		{w.arjun.client, "DELETE", "/v1/spaces/" + w.room, J{"delete_agents": 1}, "delete_agents"},
		{w.arjun.client, "POST", "/v1/spaces/" + w.room + "/members", J{}, "participant_id"},
	} {
		r := c.by.refused(http.StatusBadRequest, "invalid_request", c.method, c.target, c.body)
		if !strings.Contains(str(r.j, "message"), c.field) {
			t.Errorf("%s %s %v: %q does not name %s", c.method, c.target, c.body, str(r.j, "message"), c.field)
		}
	}
	w.arjun.refused(http.StatusRequestEntityTooLarge, "too_large", "POST", "/v1/events", `{"text":"`+strings.Repeat("x", maxBody)+`"}`)
	for _, keys := range [][]string{{""}, {strings.Repeat("k", 256)}, {"a", "b"}, {"\xff"}} {
		var headers []string
		for _, k := range keys {
			headers = append(headers, "Idempotency-Key", k)
		}
		if r := w.arjun.do("POST", "/v1/spaces", J{}, headers...); r.status != 400 || !strings.Contains(string(r.body), "Idempotency-Key") {
			t.Errorf("Idempotency-Key %q: %v", keys, r)
		}
	}
}

// A field in another case is another field (BR-25), and an event's faults have the codes they have on a socket.
// covers: WRT-3, WRT-6, AUTH-2, AUTH-3, AUTH-7, AUTH-8
func TestEventsOverHTTP(t *testing.T) {
	w := newWorld(t)
	x := w.open(w.priya, "X")
	post := func(fields string) string { return `{"type":"message.post","space_id":"` + w.room + `"` + fields + `}` }
	w.ledger.refused(400, "invalid_frame", "POST", "/v1/events", post(`,"text":"x","Idempotency_Key":"k0"`))
	w.ledger.refused(400, "invalid_frame", "POST", "/v1/events", post(`,"text":"x","idempotency_key":"k0","idempotency_key":"k1"`))
	j := w.ledger.must("POST", "/v1/events", post(`,"text":"x","idempotency_key":"k1","IDEMPOTENCY_KEY":"k2","Space_ID":"`+x+`"`))
	if str(j, "idempotency_key") != "k1" {
		t.Errorf("ack: %v", j)
	}
	if n := strings.Count(types(w.log(w.priya.client, "&space_id="+x)), "message.post"); n != 0 {
		t.Errorf("%d posts in X", n)
	}
	again := w.ledger.must("POST", "/v1/events", post(`,"text":"x","idempotency_key":"k1"`))
	if again["duplicate"] != true || num(again, "seq") != num(j, "seq") {
		t.Errorf("again: %v; first %v", again, j)
	}
	w.ledger.refused(400, "invalid_event", "POST", "/v1/events", post(`,"text":7,"idempotency_key":"k3"`))
	w.ledger.refused(400, "invalid_event", "POST", "/v1/events", `{"type":"no.such","idempotency_key":"k3"}`)
	w.ledger.refused(403, "forbidden", "POST", "/v1/events", `{"type":"message.post","space_id":"`+x+`","text":"x","idempotency_key":"k3"}`)
	w.ledger.refused(403, "forbidden", "POST", "/v1/events", `{"type":"space.archived","space_id":"`+w.room+`","idempotency_key":"k3"}`)
	w.priya.refused(403, "forbidden", "POST", "/v1/events", `{"type":"step.log","space_id":"`+w.room+`","step_id":"s","status":"done","summary":"x","idempotency_key":"k3"}`)
	w.arjun.refused(403, "forbidden", "POST", "/v1/events", J{"type": "person.added", "person_id": "usr_1", "name": "N", "role": "owner", "idempotency_key": "k3"})
	opened := w.arjun.must("POST", "/v1/events", J{"type": "space.opened", "title": "By event", "idempotency_key": "k4"})
	if !protocol.ValidID(protocol.PrefixSpace, str(opened, "space_id")) {
		t.Errorf("ack of an opened room: %v", opened)
	}
}

// Whatever is sent as a body is taken or refused; none is a fault of ours.
func FuzzBodies(f *testing.F) {
	w := newWorld(f)
	for _, seed := range []string{
		"", "{", `{"type":"message.post","text":"x","idempotency_key":"k"}`, `{"rules":[{"match":"*","decision":"ask","when":{"risk":["legal"]}}]}`,
		`{"stop":null,"hold":1e999}`, `{"name":"\ud800"}`, `{"participant_ids":["usr_1",""]}`, strings.Repeat("[", 20000), strings.Repeat(`{"a":`, 20000),
		`{"title":"\u0000","name":"\u202e","labels":[""],"role":"owner","autonomy":9e9,"limit_usd":-0}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, body string) {
		for _, c := range []struct{ method, target string }{
			{"POST", "/v1/events"}, {"POST", "/v1/spaces"}, {"PATCH", "/v1/people/" + w.priya.id}, {"PUT", "/v1/workspaces/" + w.ws + "/exchange"},
			{"PUT", "/v1/workspaces/" + w.ws + "/policy"}, {"PUT", "/v1/harnesses/" + w.scout.id + "/budget"}, {"POST", "/v1/devices"},
		} {
			r := httptest.NewRequest(c.method, c.target, strings.NewReader(body))
			if out := serve(t, w.api, r, w.arjun.token); out.status >= 500 || out.status != 200 && out.code() == "" {
				t.Errorf("%s %s %q: %v", c.method, c.target, body, out)
			}
		}
	})
}
