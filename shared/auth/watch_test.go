package auth

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	_ "time/tzdata"

	"github.com/chipschat/chips-aws/shared/embedded"
	"github.com/chipschat/chips-aws/shared/engine"
	"github.com/chipschat/chips-aws/shared/protocol"
	"github.com/chipschat/chips-aws/shared/workspace"
)

// watched counts what is asked of a table, keeps all that was written, and lets a test step in.
type watched struct {
	engine.Rows
	mu    sync.Mutex
	calls []string
	kept  bytes.Buffer
	// before and after run around each call, named as in calls; an error of theirs is the call's answer.
	before, after func(call string) error
}

func (w *watched) call(op, pk string, do func() error) error {
	name := op + " " + pk[:1]
	w.mu.Lock()
	w.calls = append(w.calls, name)
	before, after := w.before, w.after
	w.mu.Unlock()
	if before != nil {
		if err := before(name); err != nil {
			return err
		}
	}
	err := do()
	if after != nil {
		if lost := after(name); lost != nil {
			return lost
		}
	}
	return err
}

func (w *watched) Get(ctx context.Context, pk, sk string) (r engine.Row, ok bool, err error) {
	err = w.call("get", pk, func() (e error) { r, ok, e = w.Rows.Get(ctx, pk, sk); return })
	return r, ok, err
}

func (w *watched) Put(ctx context.Context, r engine.Row, c engine.Cond) (rev int64, err error) {
	w.mu.Lock()
	fmt.Fprintf(&w.kept, "%s %s %s\n", r.PK, r.SK, r.Body)
	w.mu.Unlock()
	err = w.call("put", r.PK, func() (e error) { rev, e = w.Rows.Put(ctx, r, c); return })
	return rev, err
}

func (w *watched) Delete(ctx context.Context, pk, sk string, c engine.Cond) (r engine.Row, err error) {
	err = w.call("delete", pk, func() (e error) { r, e = w.Rows.Delete(ctx, pk, sk, c); return })
	return r, err
}

func (w *watched) Query(ctx context.Context, pk, after string, limit int) (rows []engine.Row, err error) {
	err = w.call("query", pk, func() (e error) { rows, e = w.Rows.Query(ctx, pk, after, limit); return })
	return rows, err
}

// during runs do and answers what it asked of the table.
func (w *watched) during(do func()) string {
	w.mu.Lock()
	w.calls = nil
	w.mu.Unlock()
	do()
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.Join(w.calls, ", ")
}

// world is a Service with all that a test wants to get at.
type world struct {
	*Service
	t     testing.TB
	ctx   context.Context
	table *watched
	log   *logBuffer
	clock *clock
}

type logBuffer struct {
	mu sync.Mutex
	bytes.Buffer
}

func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Buffer.Write(p)
}

type clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *clock) now() time.Time { c.mu.Lock(); defer c.mu.Unlock(); return c.at }
func (c *clock) add(d time.Duration) {
	c.mu.Lock()
	c.at = c.at.Add(d)
	c.mu.Unlock()
}

const (
	ws      = "ws_01K8Z0000000000000000000WS"
	arjun   = "usr_01K8Z000000000000000000ARJ"
	priya   = "usr_01K8Z000000000000000000PRY"
	scout   = "hrn_01K8Z0000000000000000000SC"
	ledger  = "hrn_01K8Z0000000000000000000ED"
	adminTk = "the operator's own token"
)

func newWorld(t testing.TB, change ...func(*Config)) *world {
	t.Helper()
	rows, err := embedded.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = rows.Close() })
	w := &world{
		t: t, ctx: t.Context(), table: &watched{Rows: rows}, log: &logBuffer{},
		clock: &clock{at: time.Date(2026, 9, 2, 14, 22, 15, 4e6, time.UTC)},
	}
	c := Config{
		Rows: w.table, AdminToken: adminTk, PersonKeys: true, AcceptURLToken: true, Now: w.clock.now,
		Log: slog.New(slog.NewJSONHandler(w.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	for _, f := range change {
		f(&c)
	}
	w.Service = New(c)
	return w
}

func (w *world) token(harness string) (token, id string) {
	w.t.Helper()
	token, id, err := w.IssueToken(w.ctx, ws, harness)
	w.must(err)
	return token, id
}

func (w *world) key(person string) (key, id string) {
	w.t.Helper()
	key, id, err := w.IssueKey(w.ctx, ws, person)
	w.must(err)
	return key, id
}

func (w *world) code(person string) string {
	w.t.Helper()
	code, err := w.IssuePairingCode(w.ctx, ws, person)
	w.must(err)
	return code
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// device pairs a device for a person.
func (w *world) device(person string, kind DeviceKind, zone string) (Device, ed25519.PrivateKey) {
	w.t.Helper()
	public, key, err := ed25519.GenerateKey(nil)
	w.must(err)
	d, err := w.PairDevice(w.ctx, Pairing{
		Code: w.code(person), PublicKey: base64.RawURLEncoding.EncodeToString(public), Kind: kind, TimeZone: zone,
	})
	w.must(err)
	return d, key
}

func (w *world) bearer(secret string) (workspace.Caller, error) {
	r := httptest.NewRequest("GET", "/v1/events", nil)
	r.Header.Set("Authorization", "Bearer "+secret)
	return w.Authenticate(w.ctx, r, nil)
}

// wantCode fails unless err is a *protocol.Error with the code.
func wantCode(t testing.TB, what string, err error, code protocol.Code) {
	t.Helper()
	var p *protocol.Error
	if !errors.As(err, &p) || p.Code != code {
		t.Errorf("%s: got %v, want %s", what, err, code)
	}
}

func wantCaller(t testing.TB, what string, got workspace.Caller, err error, want workspace.Caller) {
	t.Helper()
	if err != nil || got != want {
		t.Errorf("%s: got %+v, %v, want %+v", what, got, err, want)
	}
}

func asHarness(id, credential string) workspace.Caller {
	return workspace.Caller{Workspace: ws, Kind: protocol.KindHarness, ID: id, Credential: credential}
}

func asPerson(id, credential string) workspace.Caller {
	return workspace.Caller{Workspace: ws, Kind: protocol.KindPerson, ID: id, Credential: credential}
}

// bend is one signature as a client writes it by hand, with what a test bends about it. It shares no code with the package.
type bend struct {
	method, target, body string
	created              time.Time
	nonce, keyid, alg    string              // a nonce of "none" is sent empty
	params               string              // added to the parameters
	drop                 string              // a component left out
	extra                []string            // components added
	path, query          string              // signed instead of the target's
	label                string              // of the signature
	digest               string              // stands before sha-256 in Content-Digest
	header               map[string]string   // sent beside
	edit                 func(*http.Request) // after signing
}

func (w *world) signed(d Device, key ed25519.PrivateKey, b bend) (*http.Request, []byte) {
	w.t.Helper()
	or := func(s, other string) string {
		if s == "" {
			return other
		}
		return s
	}
	b.method, b.target = or(b.method, "POST"), or(b.target, "/v1/socket-tickets")
	b.nonce, b.keyid, b.alg, b.label = or(b.nonce, random()), or(b.keyid, d.ID), or(b.alg, "ed25519"), or(b.label, "sig1")
	if b.created.IsZero() {
		b.created = w.clock.now()
	}
	body := []byte(b.body)
	r := httptest.NewRequest(b.method, b.target, io.NopCloser(bytes.NewReader(body)))
	path, query, _ := strings.Cut(b.target, "?")
	values := map[string]string{"@method": b.method, "@path": or(b.path, path), "@query": or(b.query, "?"+query)}
	names := []string{"@method", "@path", "@query"}
	for n, v := range b.header {
		for one := range strings.SplitSeq(v, ", ") {
			r.Header.Add(n, one)
		}
		values[strings.ToLower(n)] = v
	}
	if len(body) > 0 {
		sum := sha256.Sum256(body)
		values["content-digest"] = b.digest + "sha-256=:" + base64.StdEncoding.EncodeToString(sum[:]) + ":"
		r.Header.Set("Content-Digest", values["content-digest"])
		names = append(names, "content-digest")
	}
	var quoted []string
	base := ""
	for _, n := range append(names, b.extra...) {
		if n != b.drop {
			name, params, _ := strings.Cut(n, ";") // as in content-type;bs
			id := strings.TrimSuffix(`"`+name+`";`+params, ";")
			quoted = append(quoted, id)
			base += id + ": " + values[strings.ToLower(name)] + "\n"
		}
	}
	if b.nonce == "none" {
		b.nonce = ""
	}
	params := fmt.Sprintf(`(%s);created=%d;nonce="%s";keyid="%s";alg="%s"%s`,
		strings.Join(quoted, " "), b.created.Unix(), b.nonce, b.keyid, b.alg, b.params)
	base += `"@signature-params": ` + params
	r.Header.Set("Signature-Input", b.label+"="+params)
	r.Header.Set("Signature", b.label+"=:"+base64.StdEncoding.EncodeToString(ed25519.Sign(key, []byte(base)))+":")
	if b.edit != nil {
		b.edit(r)
	}
	return r, body
}
