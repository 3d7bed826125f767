package httpapi

import (
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// tried is one route with a call that has to be taken.
type tried struct {
	method, pattern string
	by              func(*world) client
	// target fills in the pattern's ids; body is sent.
	target func(*world) string
	body   func(*world) any
	// check looks at the answer.
	check func(t *testing.T, w *world, j J)
}

func path(p string) func(*world) string { return func(*world) string { return p } }
func body(b any) func(*world) any       { return func(*world) any { return b } }
func arjun(w *world) client             { return w.arjun.client }
func scout(w *world) client             { return w.scout.client }
func has(fields ...string) func(*testing.T, *world, J) {
	return func(t *testing.T, _ *world, j J) {
		for _, f := range fields {
			if _, ok := j[f]; !ok {
				t.Errorf("the answer has no %s: %v", f, j)
			}
		}
	}
}

// allRoutes is a call of every route. The order matters to nobody: each has a world of its own.
var allRoutes = []tried{
	{"GET", "/v1/health", func(w *world) client { return w.nobody }, path("/v1/health"), nil, func(t *testing.T, _ *world, j J) {
		if str(j, "status") != "ok" || str(j, "version") != "1.2.3" {
			t.Errorf("health answers %v", j)
		}
	}},
	{"POST", "/v1/workspaces", func(w *world) client { return w.admin }, path("/v1/workspaces"), body(J{"owner": J{"name": "Olga"}}),
		has("workspace_id", "person_id", "key", "pairing_code")},
	{"PATCH", "/v1/workspaces/{ws}", arjun, func(w *world) string { return "/v1/workspaces/" + w.ws }, body(J{"name": "Acme 2"}), func(t *testing.T, w *world, j J) {
		if str(j, "name") != "Acme 2" || str(j, "workspace_id") != w.ws {
			t.Errorf("renamed: %v", j)
		}
	}},
	{"PUT", "/v1/workspaces/{ws}/policy", arjun, func(w *world) string { return "/v1/workspaces/" + w.ws + "/policy" }, body(J{"max_autonomy": 1}), func(t *testing.T, _ *world, j J) {
		if num(j, "max_autonomy") != 1 || j["rules"] == nil {
			t.Errorf("cap: %v", j)
		}
	}},
	{"GET", "/v1/workspaces/{ws}/exchange", scout, func(w *world) string { return "/v1/workspaces/" + w.ws + "/exchange" }, nil, func(t *testing.T, _ *world, j J) {
		if num(j, "stop") != 16 || num(j, "hold") != 48 || j["circles"] != true {
			t.Errorf("exchange settings: %v", j)
		}
	}},
	{"PUT", "/v1/workspaces/{ws}/exchange", arjun, func(w *world) string { return "/v1/workspaces/" + w.ws + "/exchange" }, body(J{"stop": nil, "hold": 50}), func(t *testing.T, _ *world, j J) {
		stop, there := j["stop"]
		if !there || stop != nil || num(j, "hold") != 50 || j["circles"] != true {
			t.Errorf("exchange settings: %v; want stop null, hold 50, circles as before", j)
		}
	}},
	{"POST", "/v1/people", arjun, path("/v1/people"), body(J{"name": "Zoe", "role": "member"}), has("person_id", "pairing_code", "key")},
	{"PATCH", "/v1/people/{usr}", arjun, func(w *world) string { return "/v1/people/" + w.priya.id }, body(J{"name": "Priyanka", "labels": []string{"finance"}}), func(t *testing.T, _ *world, j J) {
		if str(j, "name") != "Priyanka" || str(j, "role") != "member" || len(j["labels"].([]any)) != 1 {
			t.Errorf("person: %v", j)
		}
	}},
	{"DELETE", "/v1/people/{usr}", arjun, func(w *world) string { return "/v1/people/" + w.priya.id }, nil, has("person_id")},
	{"POST", "/v1/people/{usr}/pairing-codes", arjun, func(w *world) string { return "/v1/people/" + w.priya.id + "/pairing-codes" }, nil, has("pairing_code")},
	{"POST", "/v1/devices", func(w *world) client { return w.nobody }, path("/v1/devices"), func(w *world) any {
		return J{"pairing_code": w.gus.pairing, "public_key": strings.Repeat("A", 43), "kind": "computer"}
	}, func(t *testing.T, w *world, j J) {
		ws, _ := j["workspace"].(J)
		if str(j, "person_id") != w.gus.id || str(j, "device_id") == "" || str(ws, "id") != w.ws || str(ws, "name") != "Acme" {
			t.Errorf("device: %v", j)
		}
	}},
	{"PATCH", "/v1/devices/{dev}", arjun, func(w *world) string {
		return "/v1/devices/" + str(w.pair(w.arjun.pairing, "phone", nil).j, "device_id")
	},
		body(J{"time_zone": "Asia/Tokyo"}), func(t *testing.T, _ *world, j J) {
			if str(j, "time_zone") != "Asia/Tokyo" {
				t.Errorf("device: %v", j)
			}
		}},
	{"DELETE", "/v1/devices/{dev}", arjun, func(w *world) string {
		return "/v1/devices/" + str(w.pair(w.arjun.pairing, "phone", nil).j, "device_id")
	}, nil, has("device_id")},
	{"POST", "/v1/harnesses", arjun, path("/v1/harnesses"), body(J{"display_name": "Newt", "capabilities": []string{"agents", "models"}}),
		has("harness_id", "token", "token_id", "space_id", "agent_id")},
	{"GET", "/v1/harnesses/{hrn}", arjun, func(w *world) string { return "/v1/harnesses/" + w.scout.id }, nil, func(t *testing.T, w *world, j J) {
		if str(j, "harness_id") != w.scout.id || str(j, "display_name") != "Scout" || str(j, "owner_id") != w.arjun.id || str(j, "status") != "ok" {
			t.Errorf("harness: %v", j)
		}
	}},
	{"DELETE", "/v1/harnesses/{hrn}", arjun, func(w *world) string { return "/v1/harnesses/" + w.scout.id }, nil, has("harness_id")},
	{"POST", "/v1/harnesses/{hrn}/tokens", arjun, func(w *world) string { return "/v1/harnesses/" + w.scout.id + "/tokens" }, nil, has("token", "token_id")},
	{"DELETE", "/v1/harnesses/{hrn}/tokens/{tok}", arjun, func(w *world) string { return "/v1/harnesses/" + w.scout.id + "/tokens/" + w.scout.tokenID }, nil, has("token_id")},
	{"PUT", "/v1/harnesses/{hrn}/capabilities", scout, func(w *world) string { return "/v1/harnesses/" + w.scout.id + "/capabilities" }, body(J{"capabilities": []string{"agents", "forks"}}), func(t *testing.T, _ *world, j J) {
		if l, _ := j["capabilities"].([]any); len(l) != 2 || l[1] != "forks" {
			t.Errorf("harness: %v", j)
		}
	}},
	{"PUT", "/v1/harnesses/{hrn}/policy", arjun, func(w *world) string { return "/v1/harnesses/" + w.scout.id + "/policy" },
		body(J{"autonomy": 1, "rules": []any{J{"match": "payment.*", "decision": "deny"}}}), func(t *testing.T, _ *world, j J) {
			p, _ := j["policy"].(J)
			if num(p, "autonomy") != 1 || len(p["rules"].([]any)) != 1 || num(j, "autonomy") != 1 {
				t.Errorf("harness: %v", j)
			}
		}},
	{"PUT", "/v1/harnesses/{hrn}/budget", arjun, func(w *world) string { return "/v1/harnesses/" + w.scout.id + "/budget" }, body(J{"limit_usd": 5}), func(t *testing.T, _ *world, j J) {
		if num(j, "limit_usd") != 5 {
			t.Errorf("harness: %v", j)
		}
	}},
	{"PUT", "/v1/harnesses/{hrn}/status", scout, func(w *world) string { return "/v1/harnesses/" + w.scout.id + "/status" }, body(J{"status": "trouble", "message": "no disk"}), func(t *testing.T, _ *world, j J) {
		if str(j, "status") != "trouble" || str(j, "message") != "no disk" {
			t.Errorf("harness: %v", j)
		}
	}},
	{"POST", "/v1/harnesses/{hrn}/restart", arjun, func(w *world) string {
		w.scout.must("PUT", "/v1/harnesses/"+w.scout.id+"/capabilities", J{"capabilities": []string{"agents", "restarts"}})
		return "/v1/harnesses/" + w.scout.id + "/restart"
	}, nil, func(t *testing.T, w *world, j J) {
		if str(j, "status") != "restarting" || len(w.sessions.told) != 1 {
			t.Errorf("restart: %v, told %v", j, w.sessions.told)
		}
	}},
	{"POST", "/v1/harnesses/{hrn}/agents", scout, func(w *world) string { return "/v1/harnesses/" + w.scout.id + "/agents" }, body(J{"key": "k2", "name": "Scout"}), func(t *testing.T, _ *world, j J) {
		room, there := j["room"]
		if str(j, "name") != "Scout 2" || str(j, "handle") != "@Scout2" || str(j, "key") != "k2" || j["lead"] != false || str(j, "state") != "active" || !there || room != nil {
			t.Errorf("agent: %v", j)
		}
	}},
	{"GET", "/v1/harnesses/{hrn}/agents", scout, func(w *world) string { return "/v1/harnesses/" + w.scout.id + "/agents" }, nil, func(t *testing.T, w *world, j J) {
		a := find(j["agents"], "agent_id", w.scout.agent)
		if str(a, "key") != w.scout.space || str(a, "room") != w.room {
			t.Errorf("agents: %v", j)
		}
	}},
	{"PATCH", "/v1/agents/{agt}", arjun, func(w *world) string { return "/v1/agents/" + w.scout.agent }, body(J{"name": "Eye"}), func(t *testing.T, w *world, j J) {
		if str(j, "name") != "Eye" || str(j, "name_by") != w.arjun.id || j["key"] != nil {
			t.Errorf("agent: %v", j)
		}
	}},
	{"POST", "/v1/spaces/{spc}/forks", arjun, func(w *world) string { return "/v1/spaces/" + w.open(w.arjun, "Q") + "/forks" }, func(w *world) any {
		w.declares("forks")
		return J{"agent_id": w.scout.agent}
	}, has("ask_id")},
	{"POST", "/v1/spaces/{spc}/agents", arjun, func(w *world) string { return "/v1/spaces/" + w.open(w.arjun, "Q") + "/agents" }, func(w *world) any {
		w.declares("new_agents")
		return J{"harness_id": w.scout.id}
	}, has("ask_id")},
	{"POST", "/v1/agents/{agt}/move", arjun, func(w *world) string { return "/v1/agents/" + w.scout.agent + "/move" }, func(w *world) any { return J{"space_id": w.open(w.arjun, "Q")} }, func(t *testing.T, w *world, j J) {
		if str(j, "title") != "Q" || !slices.Contains(j["member_ids"].([]any), any(w.scout.agent)) || num(j, "seq") == 0 {
			t.Errorf("room: %v", j)
		}
	}},
	{"GET", "/v1/participants", arjun, path("/v1/participants"), nil, has("participants")},
	{"GET", "/v1/spaces", arjun, path("/v1/spaces"), nil, has("spaces")},
	{"POST", "/v1/spaces", arjun, path("/v1/spaces"), body(J{}), func(t *testing.T, w *world, j J) {
		if str(j, "title") != "New room" || str(j, "state") != "open" || j["duplicate"] != false || num(j, "seq") == 0 || str(j, "opened_by") != w.arjun.id {
			t.Errorf("room: %v", j)
		}
	}},
	{"GET", "/v1/spaces/{spc}", arjun, func(w *world) string { return "/v1/spaces/" + w.room }, nil, has("space_id", "title", "state", "opened_by", "opened_at", "member_ids", "lead", "locked", "ceiling_usd", "exchange", "last_seq")},
	{"GET", "/v1/spaces/{spc}/context", scout, func(w *world) string { return "/v1/spaces/" + w.room + "/context" }, nil, has("lines", "since_seq", "truncated", "before")},
	{"PATCH", "/v1/spaces/{spc}", arjun, func(w *world) string { return "/v1/spaces/" + w.room }, body(J{"title": "Room S"}), func(t *testing.T, _ *world, j J) {
		if str(j, "title") != "Room S" {
			t.Errorf("room: %v", j)
		}
	}},
	{"DELETE", "/v1/spaces/{spc}", arjun, func(w *world) string { return "/v1/spaces/" + w.room }, nil, has("seq", "duplicate")},
	{"POST", "/v1/spaces/{spc}/archive", arjun, func(w *world) string { return "/v1/spaces/" + w.room + "/archive" }, nil, func(t *testing.T, _ *world, j J) {
		if str(j, "state") != "archived" {
			t.Errorf("room: %v", j)
		}
	}},
	{"POST", "/v1/spaces/{spc}/unarchive", arjun, func(w *world) string {
		w.arjun.must("POST", "/v1/spaces/"+w.room+"/archive", nil)
		return "/v1/spaces/" + w.room + "/unarchive"
	}, nil, func(t *testing.T, _ *world, j J) {
		if str(j, "state") != "open" {
			t.Errorf("room: %v", j)
		}
	}},
	{"POST", "/v1/agents/{agt}/attach", scout, func(w *world) string {
		return "/v1/agents/" + str(w.scout.must("POST", "/v1/harnesses/"+w.scout.id+"/agents", J{"key": "second", "name": "Second"}), "agent_id") + "/attach"
	}, func(w *world) any { return J{"space_id": w.room, "replacing": w.scout.id} }, has("seq", "space_id", "member_ids")},
	{"POST", "/v1/harnesses/{hrn}/spaces", arjun, func(w *world) string {
		w.scout.must("PUT", "/v1/harnesses/"+w.scout.id+"/capabilities", J{"capabilities": []string{"agents", "new_spaces"}})
		return "/v1/harnesses/" + w.scout.id + "/spaces"
	}, body(J{"text": "Plan it.", "title": "Plans"}), func(t *testing.T, w *world, j J) {
		if str(j, "title") != "Plans" || !slices.Contains(j["member_ids"].([]any), any(w.scout.id)) {
			t.Errorf("room: %v", j)
		}
	}},
	{"POST", "/v1/spaces/{spc}/claim", scout, func(w *world) string {
		w.scout.must("PUT", "/v1/harnesses/"+w.scout.id+"/capabilities", J{"capabilities": []string{"agents", "new_spaces"}})
		return "/v1/spaces/" + str(w.arjun.must("POST", "/v1/harnesses/"+w.scout.id+"/spaces", J{"text": "Plan it."}), "space_id") + "/claim"
	}, body(J{"key": "plan", "name": "Planner"}), func(t *testing.T, w *world, j J) {
		if str(j, "key") != "plan" || str(j, "name") != "Planner" || str(j, "room") == "" || str(j, "agent_id") == "" {
			t.Errorf("agent: %v", j)
		}
	}},
	{"POST", "/v1/spaces/{spc}/lead", arjun, func(w *world) string { return "/v1/spaces/" + w.room + "/lead" }, body(J{"agent_id": nil}), func(t *testing.T, _ *world, j J) {
		if lead, ok := j["lead"]; !ok || lead != nil {
			t.Errorf("lead: %v", j)
		}
	}},
	{"GET", "/v1/spaces/{spc}/spend", scout, func(w *world) string { return "/v1/spaces/" + w.room + "/spend" }, nil, has("ceiling_usd", "spent_usd", "since_seq", "uncounted_runs")},
	{"POST", "/v1/spaces/{spc}/spend-ceiling", arjun, func(w *world) string { return "/v1/spaces/" + w.room + "/spend-ceiling" }, body(J{"usd": 0.25}), func(t *testing.T, w *world, j J) {
		if want := (J{"ceiling_usd": 0.25}); !reflect.DeepEqual(j, want) {
			t.Errorf("ceiling: %v", j)
		}
	}},
	{"POST", "/v1/spaces/{spc}/lock", arjun, func(w *world) string { return "/v1/spaces/" + w.room + "/lock" }, body(J{"locked": true}), func(t *testing.T, w *world, j J) {
		if want := (J{"locked": true}); !reflect.DeepEqual(j, want) || w.arjun.must("GET", "/v1/spaces/"+w.room, nil)["locked"] != true {
			t.Errorf("lock: %v", j)
		}
	}},
	{"POST", "/v1/spaces/{spc}/members", arjun, func(w *world) string { return "/v1/spaces/" + w.room + "/members" }, func(w *world) any { return J{"participant_id": w.ada.id} }, func(t *testing.T, w *world, j J) {
		if !slices.Contains(j["member_ids"].([]any), any(w.ada.id)) {
			t.Errorf("room: %v", j)
		}
	}},
	{"DELETE", "/v1/spaces/{spc}/members/{participant}", arjun, func(w *world) string { return "/v1/spaces/" + w.room + "/members/" + w.priya.id }, nil, func(t *testing.T, w *world, j J) {
		if slices.Contains(j["member_ids"].([]any), any(w.priya.id)) {
			t.Errorf("room: %v", j)
		}
	}},
	{"GET", "/v1/spaces/{spc}/files", scout, func(w *world) string { return "/v1/spaces/" + w.room + "/files" }, nil, has("files")},
	{"POST", "/v1/uploads", scout, path("/v1/uploads"), body(J{"filename": "a.txt", "byte_size": 1}), has("attachment_id", "put_url", "put_url_expires_at")},
	{"PUT", "/v1/uploads/{att}/bytes", func(w *world) client { return w.nobody }, func(w *world) string {
		_, target := w.begin(w.priya.client, "a.json", 2)
		return target
	}, nil, nil},
	{"POST", "/v1/uploads/{att}/done", arjun, func(w *world) string {
		id, target := w.begin(w.arjun.client, "a.json", 2)
		w.nobody.do("PUT", target, "{}")
		return "/v1/uploads/" + id + "/done"
	}, nil, has("attachment_id", "filename", "mime_type", "byte_size", "sha256")},
	{"GET", "/v1/attachments/{att}/url", arjun, func(w *world) string {
		return "/v1/attachments/" + w.upload(w.arjun.client, "a.json", "{}") + "/url"
	}, nil, has("url", "url_expires_at")},
	{"GET", "/v1/attachments/{att}", func(w *world) client { return w.nobody }, func(w *world) string {
		return w.urlOf(w.arjun.client, w.upload(w.arjun.client, "a.json", `{"a":1}`))
	}, nil, has("a")},
	{"GET", "/v1/events", arjun, path("/v1/events"), nil, has("events", "last_seq")},
	{"POST", "/v1/events", arjun, path("/v1/events"), func(w *world) any {
		return J{"type": "message.post", "space_id": w.room, "text": "hello", "idempotency_key": "k"}
	}, func(t *testing.T, _ *world, j J) {
		if str(j, "idempotency_key") != "k" || num(j, "seq") == 0 || j["duplicate"] != false || j["frame"] != nil {
			t.Errorf("ack: %v", j)
		}
	}},
	{"POST", "/v1/socket-tickets", scout, path("/v1/socket-tickets"), nil, func(t *testing.T, _ *world, j J) {
		if str(j, "ticket") == "" || num(j, "expires_in") != 30 {
			t.Errorf("ticket: %v", j)
		}
	}},
}

// Every route there is is tried by what it is for, without a credential, by the wrong kinds of caller, and with a body that is none.
// covers: TKT-4
func TestRoutes(t *testing.T) {
	for _, r := range bare(t).api.routes {
		if !slices.ContainsFunc(allRoutes, func(c tried) bool { return c.method == r.method && c.pattern == r.pattern }) {
			t.Errorf("%s %s is not tried", r.method, r.pattern)
		}
	}
	for _, c := range allRoutes {
		t.Run(c.method+" "+c.pattern, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			i := slices.IndexFunc(w.api.routes, func(r route) bool { return c.method == r.method && c.pattern == r.pattern })
			if i < 0 {
				t.Fatal("there is no such route")
			}
			target := c.target(w)
			var b any
			if c.body != nil {
				b = c.body(w)
			}
			c.refusals(t, w, w.api.routes[i].who, target, b)
			if c.check == nil { // it takes what is no JSON
				if r := c.by(w).do(c.method, target, "{}"); r.status != http.StatusNoContent {
					t.Errorf("%v", r)
				}
				return
			}
			c.check(t, w, c.by(w).must(c.method, target, b))
		})
	}
}

func (c tried) refusals(t *testing.T, w *world, who callers, target string, b any) {
	if c.body != nil {
		for _, broken := range []string{"{", "[1]", `"x"`, "nope", `{"a":1,"a":2}`, "{\"a\":\"\xff\"}", `{} {}`} {
			code := "invalid_request"
			if c.pattern == "/v1/events" {
				code = "invalid_frame"
			}
			c.by(w).refused(http.StatusBadRequest, code, c.method, target, broken)
		}
	}
	if who == anyone {
		return
	}
	w.nobody.refused(http.StatusUnauthorized, "unauthorized", c.method, target, b)
	w.by("wrong").refused(http.StatusUnauthorized, "unauthorized", c.method, target, b)
	if who != people && who != members {
		w.arjun.refused(http.StatusForbidden, "forbidden", c.method, target, b)
	}
	if who != harness && who != members {
		w.scout.refused(http.StatusForbidden, "forbidden", c.method, target, b)
	}
	if who != operator {
		w.admin.refused(http.StatusForbidden, "forbidden", c.method, target, b)
	}
}

// HEAD is GET without a body, wherever there is a GET.
func TestHead(t *testing.T) {
	w := newWorld(t)
	for _, target := range []string{"/v1/health", "/v1/events?since=0", "/v1/spaces/" + w.room} {
		get, head := w.arjun.do("GET", target, nil), w.arjun.do("HEAD", target, nil)
		if head.status != http.StatusOK || len(head.body) > 0 || head.header.Get("Content-Length") != get.header.Get("Content-Length") {
			t.Errorf("HEAD %s answers %v with %v; GET has %v", target, head, head.header, get.header)
		}
	}
	if r := w.nobody.do("HEAD", "/v1/events", nil); r.status != http.StatusUnauthorized || len(r.body) > 0 {
		t.Errorf("HEAD without a credential answers %v", r)
	}
	if r := w.arjun.do("HEAD", "/v1/people", nil); r.status != http.StatusMethodNotAllowed {
		t.Errorf("HEAD of a route that has no GET answers %v", r)
	}
}

func TestUnknownRoutesAndMethods(t *testing.T) {
	w := newWorld(t)
	for _, target := range []string{"/", "/v1", "/v1/", "/v1/nope", "/v1/health/", "//v1/health", "/v1/people/", "/v1/people//pairing-codes", "/V1/health", "/v1/spaces/a/b/c/d"} {
		w.arjun.refused(http.StatusNotFound, "not_found", "GET", target, nil)
		w.nobody.refused(http.StatusNotFound, "not_found", "OPTIONS", target, nil)
	}
	for target, allow := range map[string]string{"/v1/health": "GET", "/v1/events": "GET, POST", "/v1/people/" + w.priya.id: "PATCH, DELETE"} {
		r := w.nobody.refused(http.StatusMethodNotAllowed, "method_not_allowed", "PURGE", target, nil)
		if got := r.header.Get("Allow"); got != allow {
			t.Errorf("%s allows %q; want %q", target, got, allow)
		}
	}
}

// Ids in a path that are nobody's read as those one may not see. A room reads alike whether it is there or not.
func TestIDsInPaths(t *testing.T) {
	w := newWorld(t)
	other := str(w.admin.must("POST", "/v1/workspaces", J{"owner": J{"name": "Olga"}}), "workspace_id")
	for _, c := range []struct{ method, target string }{
		{"PATCH", "/v1/workspaces/" + other}, {"PATCH", "/v1/workspaces/x"},
		{"PATCH", "/v1/people/" + w.scout.id}, {"PATCH", "/v1/people/usr_1"}, {"DELETE", "/v1/people/%00%ff"},
		{"GET", "/v1/harnesses/hrn_01JABCDEFGHJKMNPQRSTVWXYZ0"}, {"GET", "/v1/harnesses/" + strings.Repeat("x", 4000)},
		{"DELETE", "/v1/devices/dev_01JABCDEFGHJKMNPQRSTVWXYZ0"}, {"PATCH", "/v1/agents/agt_01jabcdefghjkmnpqrstvwxyz0"},
		{"DELETE", "/v1/harnesses/" + w.scout.id + "/tokens/tok_01JABCDEFGHJKMNPQRSTVWXYZ0"},
	} {
		w.arjun.refused(http.StatusNotFound, "not_found", c.method, c.target, J{"name": "x", "time_zone": "UTC"})
	}
	hidden := w.arjun.refused(http.StatusForbidden, "forbidden", "GET", "/v1/spaces/spc_01JABCDEFGHJKMNPQRSTVWXYZ0", nil)
	for _, target := range []string{"/v1/spaces/" + w.open(w.priya, "Priya's"), "/v1/spaces/nonsense"} {
		r := w.arjun.refused(http.StatusForbidden, "forbidden", "GET", target, nil)
		if string(r.body) != string(hidden.body) {
			t.Errorf("%s: %v; a room that is not there reads %v", target, r, hidden)
		}
	}
}
