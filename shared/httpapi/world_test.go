package httpapi

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/chipschat/chips-aws/shared/attachment"
	"github.com/chipschat/chips-aws/shared/auth"
	"github.com/chipschat/chips-aws/shared/embedded"
	"github.com/chipschat/chips-aws/shared/engine"
	"github.com/chipschat/chips-aws/shared/managed"
	"github.com/chipschat/chips-aws/shared/protocol"
	"github.com/chipschat/chips-aws/shared/session"
)

// What the API asks for is what the packages beside it have.
var (
	_ Engine   = (*engine.Engine)(nil)
	_ Sessions = (*session.Sessions)(nil)
)

const (
	adminToken = "admin-token-of-the-tests"
	publicURL  = "https://chips.example"
)

// J is a JSON object.
type J = map[string]any

// res is an HTTP answer.
type res struct {
	status int
	header http.Header
	j      J
	body   []byte
}

func (r res) String() string { return fmt.Sprintf("%d %.400s", r.status, r.body) }
func (r res) code() string   { return str(r.j, "code") }

func str(j J, field string) string {
	s, _ := j[field].(string)
	return s
}

func num(j J, field string) int64 {
	n, _ := j[field].(float64)
	return int64(n)
}

// client calls the API by one credential, "" for none.
type client struct {
	t       testing.TB
	handler http.Handler
	token   string
}

func (c client) do(method, target string, body any, headers ...string) res {
	c.t.Helper()
	var raw []byte
	switch b := body.(type) {
	case nil:
	case string:
		raw = []byte(b)
	default:
		var err error
		if raw, err = json.Marshal(b); err != nil {
			c.t.Fatal(err)
		}
	}
	r := httptest.NewRequest(method, target, bytes.NewReader(raw))
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	return serve(c.t, c.handler, r, c.token)
}

// serve has a request answered, by a credential where there is one.
func serve(t testing.TB, handler http.Handler, r *http.Request, token string) res {
	t.Helper()
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	out := res{status: w.Code, header: w.Header(), body: w.Body.Bytes()}
	if len(out.body) > 0 {
		if err := json.Unmarshal(out.body, &out.j); err != nil {
			t.Errorf("%s %s answered what is no JSON object: %v: %s", r.Method, r.URL, err, out)
		}
	}
	return out
}

// must is do for what has to be taken.
func (c client) must(method, target string, body any, headers ...string) J {
	c.t.Helper()
	r := c.do(method, target, body, headers...)
	if r.status != http.StatusOK && r.status != http.StatusAccepted {
		c.t.Fatalf("%s %s: %v", method, target, r)
	}
	return r.j
}

// refused checks a refusal's code and status.
func (c client) refused(status int, code, method, target string, body any) res {
	c.t.Helper()
	r := c.do(method, target, body)
	if r.status != status || r.code() != code || str(r.j, "message") == "" {
		c.t.Errorf("%s %s %v: %v; want %d %s with a message", method, target, body, r, status, code)
	}
	return r
}

// closings notes whose sockets were closed, in order.
type closings struct {
	mu   sync.Mutex
	list []string
	told []string
	fail error
}

func (c *closings) CloseCredential(_ context.Context, _, credential string) error {
	return c.note(credential)
}
func (c *closings) CloseHolder(_ context.Context, _, id string) error { return c.note(id) }

func (c *closings) Listens(context.Context, string, string, string) (bool, error) { return true, nil }

func (c *closings) Away(context.Context, string, string, string) (bool, error) { return false, nil }

func (c *closings) Tell(_ context.Context, _, _, _ string, frame []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.told = append(c.told, string(frame))
	return 1, nil
}

func (c *closings) note(id string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fail != nil {
		return c.fail
	}
	c.list = append(c.list, id)
	return nil
}

// logBuffer keeps what is logged.
type logBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// person and agentHarness are credentials with what they are.
type person struct {
	client
	id, pairing string
}

type agentHarness struct {
	client
	id, space, agent, token, tokenID string
}

// world is one workspace on the real engine, table and auth.
type world struct {
	t        testing.TB
	api      *api
	config   Config
	sessions *closings
	logs     *logBuffer

	nobody, admin          client
	ws                     string
	arjun, ada, priya, gus person
	scout, ledger          agentHarness
	// room holds Arjun, Priya, Gus, Scout's agent and Ledger's.
	room string
}

// hearing hears 4.2 seconds of whatever there is to hear.
type hearing struct{}

func (hearing) Hear(context.Context, string, protocol.Attachment) (attachment.Heard, error) {
	return attachment.Heard{DurationMS: 4200}, nil
}

// bare is the API before any workspace.
func bare(t testing.TB) *world {
	t.Helper()
	table, err := embedded.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = table.Close() })
	w := &world{t: t, sessions: &closings{}, logs: &logBuffer{}}
	log := slog.New(slog.NewJSONHandler(w.logs, nil))
	blobs, err := embedded.OpenBlobs(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	eng := engine.New(table, engine.Options{Now: time.Now})
	credentials := auth.New(auth.Config{Rows: table, AdminToken: adminToken, PersonKeys: true, Now: time.Now, Log: log})
	files := attachment.New(attachment.Config{
		Rows: table, Log: eng, Blobs: blobs, Credentials: credentials, URL: func(context.Context) (string, error) { return publicURL, nil },
		Listener: hearing{}, Now: time.Now, Logger: log,
	})
	w.config = Config{
		Engine: files.Engine(eng), Auth: credentials, Sessions: w.sessions, Files: files, Log: log, Now: time.Now, Version: "1.2.3",
	}
	w.config.Managed = managed.New(managed.Config{Rows: table, Log: w.config.Engine.(managed.Log), Sockets: w.sessions, Now: time.Now, Logger: log})
	w.api = New(w.config).(*api)
	w.nobody, w.admin = w.by(""), w.by(adminToken)
	return w
}

func (w *world) by(token string) client { return client{w.t, w.api, token} }

// newWorld is a workspace with people, harnesses and a room.
func newWorld(t testing.TB) *world {
	t.Helper()
	w := bare(t)
	j := w.admin.must("POST", "/v1/workspaces", J{"name": "Acme", "owner": J{"name": "Arjun"}})
	w.ws = str(j, "workspace_id")
	w.arjun = w.person(j)
	w.ada, w.priya, w.gus = w.addPerson("Ada", "admin"), w.addPerson("Priya", "member"), w.addPerson("Gus", "guest")
	w.scout, w.ledger = w.addHarness("Scout", "agents"), w.addHarness("Ledger")
	j = w.arjun.must("POST", "/v1/spaces", J{"title": "Room R", "participant_ids": []string{w.priya.id, w.gus.id}})
	w.room = str(j, "space_id")
	w.arjun.must("POST", "/v1/agents/"+w.scout.agent+"/move", J{"space_id": w.room})
	w.arjun.must("POST", "/v1/agents/"+w.ledger.agent+"/move", J{"space_id": w.room})
	return w
}

func (w *world) person(j J) person {
	return person{w.by(str(j, "key")), str(j, "person_id"), str(j, "pairing_code")}
}

func (w *world) addPerson(name, role string) person {
	w.t.Helper()
	return w.person(w.arjun.must("POST", "/v1/people", J{"name": name, "role": role}))
}

func (w *world) addHarness(name string, capabilities ...string) agentHarness {
	w.t.Helper()
	j := w.arjun.must("POST", "/v1/harnesses", J{"display_name": name, "capabilities": capabilities})
	return agentHarness{w.by(str(j, "token")), str(j, "harness_id"), str(j, "space_id"), str(j, "agent_id"), str(j, "token"), str(j, "token_id")}
}

// declares has Scout say what it can do.
func (w *world) declares(capabilities ...string) {
	w.t.Helper()
	w.scout.must("PUT", "/v1/harnesses/"+w.scout.id+"/capabilities", J{"capabilities": capabilities})
}

func (w *world) open(by person, title string, people ...string) string {
	w.t.Helper()
	return str(by.must("POST", "/v1/spaces", J{"title": title, "participant_ids": people}), "space_id")
}

var keys atomic.Int64

// say posts words in a room and answers their seq.
func (w *world) say(by client, room, text string) int64 {
	w.t.Helper()
	ev := J{"type": "message.post", "space_id": room, "text": text, "idempotency_key": fmt.Sprint("say-", keys.Add(1))}
	return num(by.must("POST", "/v1/events", ev), "seq")
}

// sayOften posts words n times, side by side, and answers the seqs in rising order.
func (w *world) sayOften(by client, room, text string, n int) []int64 {
	w.t.Helper()
	list := make([]int64, n)
	var wg sync.WaitGroup
	for part := range 16 {
		wg.Go(func() {
			for i := part; i < n; i += 16 {
				ev := J{"type": "message.post", "space_id": room, "text": text, "idempotency_key": fmt.Sprint("say-", keys.Add(1))}
				r := by.do("POST", "/v1/events", ev)
				for r.code() == "busy" { // lost to the others too often: the same again
					r = by.do("POST", "/v1/events", ev)
				}
				if list[i] = num(r.j, "seq"); list[i] == 0 {
					w.t.Errorf("a post: %v", r)
				}
			}
		})
	}
	wg.Wait()
	slices.Sort(list)
	return list
}

// pair registers a device and answers its id.
func (w *world) pair(code, kind string, zone any) res {
	w.t.Helper()
	public, _, err := ed25519.GenerateKey(nil)
	if err != nil {
		w.t.Fatal(err)
	}
	body := J{"pairing_code": code, "public_key": base64.RawURLEncoding.EncodeToString(public), "kind": kind, "name": "A device"}
	if zone != nil {
		body["time_zone"] = zone
	}
	return w.nobody.do("POST", "/v1/devices", body)
}

// log is what a caller reads of the log, whole.
func (w *world) log(by client, query string) (events []J) {
	w.t.Helper()
	for since := int64(0); ; {
		j := by.must("GET", fmt.Sprintf("/v1/events?since=%d%s", since, query), nil)
		for _, e := range j["events"].([]any) {
			events = append(events, e.(J))
		}
		if last := num(j, "last_seq"); last > since {
			since = last
			continue
		}
		return events
	}
}

// types are the types of events, in order.
func types(events []J) string {
	var names []string
	for _, e := range events {
		names = append(names, str(e, "type"))
	}
	return strings.Join(names, " ")
}

// find is the entry of a list whose field has a value.
func find(list any, field, value string) J {
	entries, _ := list.([]any)
	for _, e := range entries {
		if j, ok := e.(J); ok && str(j, field) == value {
			return j
		}
	}
	return nil
}
