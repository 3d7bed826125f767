package httpapi

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/chipschat/chips-aws/shared/protocol"
	"github.com/chipschat/chips-aws/shared/workspace"
)

// Who may do what of the workspace (contract U-92), over its routes.
// covers: REF-6
func TestRightsOfTheWorkspace(t *testing.T) {
	w := newWorld(t)
	j := w.priya.must("POST", "/v1/harnesses", J{"display_name": "Hers"})
	hers := agentHarness{w.by(str(j, "token")), str(j, "harness_id"), str(j, "space_id"), str(j, "agent_id"), str(j, "token"), str(j, "token_id")}
	mel, zoe := w.addPerson("Mel", "member"), w.addPerson("Zoe", "member")
	hr, ws := "/v1/harnesses/"+hers.id, "/v1/workspaces/"+w.ws
	callers := map[string]client{"O": w.arjun.client, "A": w.ada.client, "M": mel.client, "B": w.priya.client, "G": w.gus.client, "H": hers.client, "X": w.ledger.client}
	n := 0
	name := func() string { n++; return fmt.Sprint("Name ", n) }
	for _, c := range map[string]struct {
		may            string
		method, target string
		body           func() any
	}{
		"people":             {"OA", "POST", "/v1/people", func() any { return J{"name": name(), "role": "member"} }},
		"owners":             {"O", "POST", "/v1/people", func() any { return J{"name": name(), "role": "owner"} }},
		"harnesses":          {"OAMB", "POST", "/v1/harnesses", func() any { return J{"display_name": name()} }},
		"policy":             {"OA", "PUT", hr + "/policy", func() any { return J{"autonomy": 1} }},
		"budget":             {"OA", "PUT", hr + "/budget", func() any { return J{"limit_usd": 5} }},
		"cap":                {"OA", "PUT", ws + "/policy", func() any { return J{"max_autonomy": 3} }},
		"referee":            {"OA", "PUT", ws + "/exchange", func() any { return J{"stop": 16} }},
		"name":               {"OA", "PATCH", ws, func() any { return J{"name": name()} }},
		"tokens":             {"OAB", "POST", hr + "/tokens", nil},
		"declared":           {"OABH", "PUT", hr + "/capabilities", func() any { return J{"capabilities": []string{"restarts"}} }},
		"agent's name":       {"OAB", "PATCH", "/v1/agents/" + hers.agent, func() any { return J{"name": name()} }},
		"another's role":     {"OA", "PATCH", "/v1/people/" + zoe.id, func() any { return J{"role": "member"} }},
		"another's labels":   {"OA", "PATCH", "/v1/people/" + zoe.id, func() any { return J{"labels": []string{"finance"}} }},
		"another's devices":  {"OA", "POST", "/v1/people/" + zoe.id + "/pairing-codes", nil},
		"an owner's devices": {"O", "POST", "/v1/people/" + w.arjun.id + "/pairing-codes", nil},
	} {
		for who, by := range callers {
			var b any
			if c.body != nil {
				b = c.body()
			}
			if strings.Contains(c.may, who) {
				by.must(c.method, c.target, b)
			} else {
				by.refused(http.StatusForbidden, "forbidden", c.method, c.target, b)
			}
		}
	}
	w.gus.must("PATCH", "/v1/people/"+w.gus.id, J{"name": "Gus himself"})
	w.gus.must("POST", "/v1/people/"+w.gus.id+"/pairing-codes", nil)
	w.arjun.refused(http.StatusNotFound, "not_found", "POST", "/v1/people/usr_01JABCDEFGHJKMNPQRSTVWXYZ0/pairing-codes", nil)
	w.arjun.refused(http.StatusNotFound, "not_found", "POST", "/v1/harnesses/hrn_01JABCDEFGHJKMNPQRSTVWXYZ0/tokens", nil)
}

// The zone of the phone that was registered last is in the log; a zone that nobody knows is none.
func TestDevices(t *testing.T) {
	w := newWorld(t)
	code := func() string {
		return str(w.priya.must("POST", "/v1/people/"+w.priya.id+"/pairing-codes", nil), "pairing_code")
	}
	zone := func() string {
		last := "none"
		for _, e := range w.log(w.arjun.client, "") {
			if str(e, "type") == "person.updated" && str(e, "person_id") == w.priya.id {
				last = str(e, "time_zone")
			}
		}
		return last
	}
	at := func(want string) {
		t.Helper()
		if got := zone(); got != want {
			t.Errorf("the log says her zone is %q; want %q", got, want)
		}
	}
	r := w.pair(w.priya.pairing, "phone", "America/Los_Angeles")
	first := str(r.j, "device_id")
	if r.status != 200 || str(r.j, "time_zone") != "America/Los_Angeles" || str(r.j, "person_id") != w.priya.id {
		t.Fatalf("pairing: %v", r)
	}
	at("America/Los_Angeles")
	if r := w.pair(w.priya.pairing, "phone", nil); r.status != http.StatusUnauthorized {
		t.Errorf("the code again: %v", r)
	}
	computer := str(w.pair(code(), "computer", "Asia/Tokyo").j, "device_id")
	at("America/Los_Angeles")
	for _, unknown := range []any{"Mars/Olympus", "", "Local", nil} {
		r := w.pair(code(), "computer", unknown)
		if z, there := r.j["time_zone"]; r.status != 200 || !there || z != nil {
			t.Errorf("zone %v: %v; want time_zone null", unknown, r)
		}
	}
	w.priya.must("PATCH", "/v1/devices/"+first, J{"time_zone": "Europe/Berlin"})
	at("Europe/Berlin")
	w.priya.must("PATCH", "/v1/devices/"+computer, J{"time_zone": "Asia/Tokyo"})
	at("Europe/Berlin")
	second := str(w.pair(code(), "phone", "Asia/Kolkata").j, "device_id")
	at("Asia/Kolkata")
	w.arjun.must("PATCH", "/v1/devices/"+second, J{"time_zone": "Asia/Dubai"}) // an owner may
	at("Asia/Dubai")
	for _, by := range []client{w.gus.client, w.addPerson("Mel", "member").client} {
		by.refused(http.StatusNotFound, "not_found", "PATCH", "/v1/devices/"+second, J{"time_zone": "UTC"})
		by.refused(http.StatusNotFound, "not_found", "DELETE", "/v1/devices/"+second, nil)
	}
	w.priya.must("DELETE", "/v1/devices/"+second, nil)
	at("Europe/Berlin")
	w.priya.must("PATCH", "/v1/devices/"+first, J{"time_zone": nil})
	at("")
	w.priya.refused(http.StatusBadRequest, "invalid_request", "PATCH", "/v1/devices/"+first, J{})
	w.priya.refused(http.StatusNotFound, "not_found", "DELETE", "/v1/devices/"+second, nil)
}

// A device signs its requests, query and body included (contract U-1).
// covers: TKT-8
func TestSignedByADevice(t *testing.T) {
	w := newWorld(t)
	public, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	device := str(w.nobody.must("POST", "/v1/devices", J{
		"pairing_code": w.priya.pairing, "public_key": base64.RawURLEncoding.EncodeToString(public), "kind": "phone",
	}), "device_id")
	signed := func(method, target, body, query, covered string) res {
		r := httptest.NewRequest(method, target, strings.NewReader(body))
		sum := sha256.Sum256([]byte(covered))
		digest := "sha-256=:" + base64.StdEncoding.EncodeToString(sum[:]) + ":"
		names := `("@method" "@path" "@query")`
		base := fmt.Sprintf("\"@method\": %s\n\"@path\": %s\n\"@query\": ?%s\n", method, r.URL.EscapedPath(), query)
		if covered != "" {
			names = `("@method" "@path" "@query" "content-digest")`
			base += fmt.Sprintf("\"content-digest\": %s\n", digest)
			r.Header.Set("Content-Digest", digest)
		}
		names += fmt.Sprintf(`;created=%d;nonce="%s";keyid="%s";alg="ed25519"`, time.Now().Unix(), rand.Text(), device)
		sig := ed25519.Sign(key, []byte(base+`"@signature-params": `+names))
		r.Header.Set("Signature-Input", "sig1="+names)
		r.Header.Set("Signature", "sig1=:"+base64.StdEncoding.EncodeToString(sig)+":")
		return serve(t, w.api, r, "")
	}
	body := `{"title":"Signed"}`
	for name, c := range map[string]struct {
		method, target, body, query, covered string
		status                               int
	}{
		"a ticket":             {"POST", "/v1/socket-tickets", "", "", "", 200},
		"a body":               {"POST", "/v1/spaces", body, "", body, 200},
		"a query":              {"GET", "/v1/events?since=0&limit=1", "", "since=0&limit=1", "", 200},
		"another query":        {"GET", "/v1/events?since=5&limit=1", "", "since=0&limit=1", "", 401},
		"another body":         {"POST", "/v1/spaces", `{"title":"Forged"}`, "", body, 401},
		"a body not covered":   {"POST", "/v1/spaces", body, "", "", 401},
		"a body out of bounds": {"POST", "/v1/spaces", strings.Repeat(" ", maxBody) + body, "", body, 413},
	} {
		if r := signed(c.method, c.target, c.body, c.query, c.covered); r.status != c.status {
			t.Errorf("%s: %v; want %d", name, r, c.status)
		}
	}
}

// Whatever is taken back opens nothing from then on, and its sockets are closed (contract U-118).
func TestTakingBack(t *testing.T) {
	w := newWorld(t)
	closed := func(want ...string) {
		t.Helper()
		if diff := cmp.Diff(want, w.sessions.list); diff != "" {
			t.Errorf("closed: %s", diff)
		}
		w.sessions.list = nil
	}
	second := w.arjun.must("POST", "/v1/harnesses/"+w.scout.id+"/tokens", nil)
	other := w.by(str(second, "token"))
	other.must("GET", "/v1/participants", nil)
	w.priya.refused(http.StatusForbidden, "forbidden", "DELETE", "/v1/harnesses/"+w.scout.id+"/tokens/"+str(second, "token_id"), nil)
	w.arjun.refused(http.StatusNotFound, "not_found", "DELETE", "/v1/harnesses/"+w.ledger.id+"/tokens/"+str(second, "token_id"), nil)
	closed()
	w.arjun.must("DELETE", "/v1/harnesses/"+w.scout.id+"/tokens/"+str(second, "token_id"), nil)
	closed(str(second, "token_id"))
	other.refused(http.StatusUnauthorized, "unauthorized", "GET", "/v1/participants", nil)
	w.scout.must("GET", "/v1/participants", nil)

	device := str(w.pair(w.priya.pairing, "phone", nil).j, "device_id")
	w.priya.must("DELETE", "/v1/devices/"+device, nil)
	closed(device)

	hers := str(w.priya.must("POST", "/v1/harnesses", J{"display_name": "Hers"}), "harness_id")
	w.arjun.must("DELETE", "/v1/people/"+w.priya.id, nil)
	closed(w.priya.id)
	w.priya.refused(http.StatusUnauthorized, "unauthorized", "POST", "/v1/socket-tickets", nil)
	if j := w.arjun.must("GET", "/v1/harnesses/"+hers, nil); str(j, "owner_id") != w.arjun.id {
		t.Errorf("her harness: %v", j)
	}
	if p := find(w.arjun.must("GET", "/v1/participants", nil)["participants"], "participant_id", w.priya.id); p != nil {
		t.Errorf("she is still told of: %v", p)
	}
	if j := w.arjun.must("GET", "/v1/spaces/"+w.room, nil); slices.Contains(j["member_ids"].([]any), any(w.priya.id)) {
		t.Errorf("she is still in %v", j)
	}
	w.arjun.refused(http.StatusNotFound, "not_found", "POST", "/v1/people/"+w.priya.id+"/pairing-codes", nil)

	w.arjun.must("DELETE", "/v1/harnesses/"+w.scout.id, nil)
	closed(w.scout.id)
	w.scout.refused(http.StatusUnauthorized, "unauthorized", "POST", "/v1/socket-tickets", nil)
	a := find(w.arjun.must("GET", "/v1/participants", nil)["participants"], "participant_id", w.scout.agent)
	if a != nil && str(a, "state") != "archived" {
		t.Errorf("its agent: %v", a)
	}
	w.arjun.refused(http.StatusNotFound, "not_found", "GET", "/v1/harnesses/"+w.scout.id, nil)
}

// A call that dies half-way is finished by calling again.
func TestTakingBackAgain(t *testing.T) {
	w := newWorld(t)
	device := str(w.pair(w.priya.pairing, "phone", nil).j, "device_id")
	for target, closes := range map[string]string{
		"/v1/people/" + w.gus.id:                                       w.gus.id,
		"/v1/harnesses/" + w.scout.id:                                  w.scout.id,
		"/v1/devices/" + device:                                        device,
		"/v1/harnesses/" + w.ledger.id + "/tokens/" + w.ledger.tokenID: w.ledger.tokenID,
	} {
		w.sessions.fail = errors.New("the gateway is away")
		if r := w.arjun.do("DELETE", target, nil); r.status != http.StatusInternalServerError {
			t.Errorf("%s while nothing can be closed: %v", target, r)
		}
		w.sessions.fail, w.sessions.list = nil, nil
		w.arjun.refused(http.StatusNotFound, "not_found", "DELETE", target, nil)
		if !slices.Equal(w.sessions.list, []string{closes}) {
			t.Errorf("%s again closed %v", target, w.sessions.list)
		}
	}
	// From the event on the fold refuses whoever still has a credential that stands.
	zoe := w.addPerson("Zoe", "member")
	by := workspace.Caller{Workspace: w.ws, Kind: protocol.KindPerson, ID: w.arjun.id}
	_, err := w.api.Engine.Do(t.Context(), w.ws, workspace.Command{By: by, Draft: workspace.Draft(&protocol.PersonRemoved{PersonID: zoe.id}), Operation: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, target := range []string{"/v1/participants", "/v1/events", "/v1/spaces"} {
		zoe.refused(http.StatusUnauthorized, "unauthorized", "GET", target, nil)
	}
	// The rules decide before anything is taken back.
	w.sessions.list = nil
	w.priya.refused(http.StatusForbidden, "forbidden", "DELETE", "/v1/people/"+w.ada.id, nil)
	w.ada.refused(http.StatusForbidden, "forbidden", "DELETE", "/v1/people/"+w.arjun.id, nil)
	w.arjun.refused(http.StatusBadRequest, "invalid_request", "DELETE", "/v1/people/"+w.arjun.id, nil)
	w.ada.must("GET", "/v1/participants", nil)
	w.arjun.must("GET", "/v1/participants", nil)
	if w.sessions.list != nil {
		t.Errorf("closed %v", w.sessions.list)
	}
}

// A write under a key that was used for it already answers from what was written, without secrets, and writes nothing.
// covers: WRT-6
func TestRepeats(t *testing.T) {
	w := newWorld(t)
	secrets := []string{"token", "key", "pairing_code"}
	for name, c := range map[string]struct {
		by             client
		method, target string
		body           any
	}{
		"workspace":    {w.admin, "POST", "/v1/workspaces", J{"owner": J{"name": "Olga"}}},
		"person":       {w.arjun.client, "POST", "/v1/people", J{"name": "Zoe", "role": "member"}},
		"harness":      {w.arjun.client, "POST", "/v1/harnesses", J{"display_name": "Newt"}},
		"space":        {w.arjun.client, "POST", "/v1/spaces", J{"title": "Once"}},
		"member":       {w.arjun.client, "POST", "/v1/spaces/" + w.room + "/members", J{"participant_id": w.ada.id}},
		"not a member": {w.arjun.client, "DELETE", "/v1/spaces/" + w.room + "/members/" + w.gus.id, nil},
		"archive":      {w.arjun.client, "POST", "/v1/spaces/" + w.open(w.arjun, "Z") + "/archive", nil},
		"delete":       {w.arjun.client, "DELETE", "/v1/spaces/" + w.open(w.arjun, "Y"), nil},
		"agent":        {w.scout.client, "POST", "/v1/harnesses/" + w.scout.id + "/agents", J{"key": "k2", "name": "Two"}},
		"ceiling":      {w.arjun.client, "POST", "/v1/spaces/" + w.room + "/spend-ceiling", J{"usd": 7}},
		"lock":         {w.arjun.client, "POST", "/v1/spaces/" + w.room + "/lock", J{"locked": true}},
		"removal":      {w.arjun.client, "DELETE", "/v1/people/" + w.addPerson("Mel", "member").id, nil},
	} {
		key := "key-" + rand.Text()
		first := c.by.must(c.method, c.target, c.body, "Idempotency-Key", key)
		var before int64
		if c.by != w.admin {
			before = num(w.arjun.must("GET", "/v1/events?since=1000000", nil), "last_seq")
		}
		again := c.by.must(c.method, c.target, c.body, "Idempotency-Key", key)
		if again["duplicate"] != true || first["duplicate"] == true {
			t.Errorf("%s: first %v, again %v", name, first, again)
		}
		for field, v := range first {
			if !slices.Contains(secrets, field) && field != "token_id" && field != "duplicate" && !cmp.Equal(v, again[field]) {
				t.Errorf("%s: %s was %v, again %v", name, field, v, again[field])
			}
		}
		for _, s := range secrets {
			if again[s] != nil && (name != "workspace" || s != "pairing_code") && name != "agent" {
				t.Errorf("%s: again with %s", name, s)
			}
		}
		if c.by != w.admin {
			if after := num(w.arjun.must("GET", "/v1/events?since=1000000", nil), "last_seq"); after != before {
				t.Errorf("%s: the log went from %d to %d", name, before, after)
			}
		}
	}
	// Without a key each is a new one; under a key of another request it is refused.
	a, b := w.arjun.must("POST", "/v1/spaces", J{}), w.arjun.must("POST", "/v1/spaces", J{})
	if str(a, "space_id") == str(b, "space_id") {
		t.Error("two rooms without a key are one")
	}
	w.arjun.must("POST", "/v1/people", J{"name": "Kim", "role": "member"}, "Idempotency-Key", "mine")
	for _, target := range []string{"/v1/harnesses", "/v1/spaces"} {
		if r := w.arjun.do("POST", target, J{"display_name": "K", "title": "K"}, "Idempotency-Key", "mine"); r.status != 400 || r.code() != "invalid_request" {
			t.Errorf("%s under another's key: %v", target, r)
		}
	}
	// The owner of a workspace whose first answer was lost is let in by the repeat's code.
	w.admin.must("POST", "/v1/workspaces", J{"owner": J{"name": "Pat"}}, "Idempotency-Key", "lost")
	j := w.admin.must("POST", "/v1/workspaces", J{"owner": J{"name": "Pat"}}, "Idempotency-Key", "lost")
	if r := w.pair(str(j, "pairing_code"), "phone", nil); str(r.j, "person_id") != str(j, "person_id") {
		t.Errorf("pairing by the repeat's code: %v", r)
	}
}

// No secret is ever in the log.
func TestSecretsAreNotLogged(t *testing.T) {
	w := newWorld(t)
	ticket := str(w.scout.must("POST", "/v1/socket-tickets", nil), "ticket")
	code := str(w.priya.must("POST", "/v1/people/"+w.priya.id+"/pairing-codes", nil), "pairing_code")
	w.pair(code, "phone", nil)
	w.nobody.do("GET", "/v1/events?token="+w.scout.token+"&ticket="+ticket, nil)
	w.arjun.do("POST", "/v1/spaces", "{"+w.scout.token)
	w.say(w.arjun.client, w.room, "words that nobody else reads")
	for _, secret := range []string{adminToken, w.arjun.token, w.scout.token, ticket, code, w.gus.pairing, "words that nobody else reads"} {
		if strings.Contains(w.logs.String(), secret) {
			t.Errorf("the log says %s", secret)
		}
	}
}
