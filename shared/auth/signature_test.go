package auth

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/dunglas/httpsfv"

	"github.com/chipschat/chips-aws/shared/engine"
	"github.com/chipschat/chips-aws/shared/protocol"
)

// covers: TKT-8
func TestSignatureTaken(t *testing.T) {
	w := newWorld(t)
	d, key := w.device(arjun, Phone, "")
	for what, b := range map[string]bend{
		"no body":               {},
		"a body":                {target: "/v1/spaces", body: `{"title":"Signed"}`},
		"a query":               {method: "GET", target: "/v1/events?since=0&limit=1"},
		"an empty query":        {method: "GET", target: "/v1/events?"},
		"a query with escapes":  {method: "POST", target: "/v1/uploads?filename=a%20b%2Fc%3D%C3%A9.txt", body: "x"},
		"escapes in small case": {method: "POST", target: "/v1/uploads?filename=a%2fb", body: "x"},
		"the same in normal form": {
			method: "POST", target: "/v1/uploads?filename=%7ea%2fb", query: "?filename=~a%2Fb", body: "x",
		},
		"a minute old":        {created: w.clock.now().Add(-60 * time.Second).Truncate(time.Second).Add(time.Second)},
		"a minute ahead":      {created: w.clock.now().Add(60 * time.Second).Truncate(time.Second)},
		"another label":       {label: "chips"},
		"a header beside":     {extra: []string{"content-type"}, header: map[string]string{"Content-Type": "application/json"}},
		"a header sent twice": {extra: []string{"x-two"}, header: map[string]string{"X-Two": "one, two"}},
		"a path with escapes": {target: "/v1/%7ea%20b", path: "/v1/~a%20b"},
		"an unknown param":    {params: `;tag="x";q=1.5;b`},
		"expires to come":     {params: ";expires=99999999999"},
		"a foreign one too":   {edit: func(r *http.Request) { addForeign(r.Header) }},
		"split headers": {edit: func(r *http.Request) {
			input := r.Header.Get("Signature-Input")
			r.Header["Signature-Input"] = []string{`cdn=("@authority");keyid="cdn"`, input}
		}},
		"another digest too": {body: "x", digest: "sha-512=:AAAA:, "},
		"a nonce of 255":     {nonce: strings.Repeat("n", 255)},
	} {
		r, body := w.signed(d, key, b)
		c, err := w.Authenticate(w.ctx, r, body)
		wantCaller(t, what, c, err, asPerson(arjun, d.ID))
	}
}

// addForeign puts a signature of somebody else's before the device's.
func addForeign(h http.Header) {
	h.Set("Signature-Input", `cdn=("@authority");created=1;keyid="some cdn", `+h.Get("Signature-Input"))
	h.Set("Signature", `cdn=:AAAA:, `+h.Get("Signature"))
}

// covers: TKT-8
func TestSignatureRefused(t *testing.T) {
	w := newWorld(t)
	d, key := w.device(arjun, Phone, "")
	other, otherKey := w.device(priya, Phone, "")
	_, tokenID := w.token(scout)
	sub := func(header, old, new string) func(*http.Request) {
		return func(r *http.Request) {
			if !strings.Contains(r.Header.Get(header), old) {
				t.Fatalf("%s has no %q: %s", header, old, r.Header.Get(header))
			}
			r.Header.Set(header, strings.Replace(r.Header.Get(header), old, new, 1))
		}
	}
	for what, b := range map[string]bend{
		"method not covered":           {drop: "@method"},
		"path not covered":             {drop: "@path"},
		"query not covered":            {drop: "@query"},
		"body not covered":             {body: "x", drop: "content-digest"},
		"another path signed":          {path: "/v1/spaces"},
		"another query signed":         {method: "GET", target: "/v1/events?since=0", query: "?since=5"},
		"a query dropped":              {method: "GET", target: "/v1/events?since=0", query: "?"},
		"an encoded separator":         {method: "GET", target: "/v1/events?a=1%26b=2", query: "?a=1&b=2"},
		"more than a minute old":       {created: w.clock.now().Add(-61 * time.Second)},
		"more than a minute ahead":     {created: w.clock.now().Add(62 * time.Second)},
		"another alg":                  {alg: "hmac-sha256"},
		"unknown device":               {keyid: w.newID("dev")},
		"a token as keyid":             {keyid: tokenID},
		"another's keyid":              {keyid: other.ID},
		"expired":                      {params: ";expires=1"},
		"expires no number":            {params: `;expires="soon"`},
		"created twice, later old":     {params: ";created=1"},
		"a component twice":            {extra: []string{"@method"}},
		"the host covered":             {extra: []string{"@authority"}},
		"a header that is not sent":    {extra: []string{"x-none"}},
		"a component with a parameter": {extra: []string{"content-type;sf"}, header: map[string]string{"Content-Type": "text/plain"}},
		"a value with a line break":    {extra: []string{"x-bad"}, header: map[string]string{"X-Bad": "a\n\"@method\": GET"}},
		"a header named as the host":   {extra: []string{"@authority"}, header: map[string]string{"@authority": "chips.example"}},
		"a header's name in capitals":  {extra: []string{"Content-Type"}, header: map[string]string{"Content-Type": "text/plain"}},
		"a component that is a token":  {edit: sub("Signature-Input", `"@query"`, `query`)},
		"created a string":             {edit: sub("Signature-Input", "created=", `created="1";x=`)},
		"created a decimal":            {edit: sub("Signature-Input", "created=", `created=1.5;x=`)},
		"no created":                   {edit: sub("Signature-Input", "created=", "made=")},
		"no nonce":                     {edit: sub("Signature-Input", "nonce=", "once=")},
		"a nonce that is empty":        {nonce: "none"},
		"a nonce of 256":               {nonce: strings.Repeat("n", 256)},
		"no alg":                       {edit: sub("Signature-Input", "alg=", "algo=")},
		"no keyid":                     {edit: sub("Signature-Input", "keyid=", "key=")},
		"an item, no list":             {edit: func(r *http.Request) { r.Header.Set("Signature-Input", "sig1=1") }},
		"no structured field":          {edit: func(r *http.Request) { r.Header.Set("Signature-Input", "sig1=(") }},
		"too long":                     {params: `;x="` + strings.Repeat("x", 5000) + `"`},
		"no signature":                 {edit: func(r *http.Request) { r.Header.Del("Signature") }},
		"no input":                     {edit: func(r *http.Request) { r.Header.Del("Signature-Input") }},
		"another label":                {edit: sub("Signature", "sig1=", "sig2=")},
		"signature a string":           {edit: func(r *http.Request) { r.Header.Set("Signature", `sig1="x"`) }},
		"signature short":              {edit: func(r *http.Request) { r.Header.Set("Signature", `sig1=:AAAA:`) }},
		"signature a list":             {edit: func(r *http.Request) { r.Header.Set("Signature", `sig1=(:AAAA:)`) }},
		"digest of another":            {body: "x", edit: func(r *http.Request) { r.Header.Set("Content-Digest", "sha-256=:"+strings.Repeat("A", 43)+"=:") }},
		"digest missing":               {body: "x", edit: func(r *http.Request) { r.Header.Del("Content-Digest") }},
		"digest by sha-512":            {body: "x", edit: sub("Content-Digest", "sha-256", "sha-512")},
		"digest a string":              {body: "x", edit: func(r *http.Request) { r.Header.Set("Content-Digest", `sha-256="x"`) }},
		"another method":               {edit: func(r *http.Request) { r.Method = "DELETE" }},
		"another target":               {edit: func(r *http.Request) { r.URL.Path = "/v1/spaces" }},
		"a slash unescaped":            {target: "/v1/a%2Fb", path: "/v1/a/b"},
		"a covered header changed": {
			extra: []string{"content-type"}, header: map[string]string{"Content-Type": "application/json"},
			edit: func(r *http.Request) { r.Header.Set("Content-Type", "text/plain") },
		},
	} {
		r, body := w.signed(d, key, b)
		_, err := w.Authenticate(w.ctx, r, body)
		wantCode(t, what, err, protocol.Unauthorized)
	}
	r, body := w.signed(d, otherKey, bend{})
	_, err := w.Authenticate(w.ctx, r, body)
	wantCode(t, "another key", err, protocol.Unauthorized)
	r, _ = w.signed(d, key, bend{body: "signed"})
	_, err = w.Authenticate(w.ctx, r, []byte("sent"))
	wantCode(t, "another body", err, protocol.Unauthorized)
	r, _ = w.signed(d, key, bend{})
	_, err = w.Authenticate(w.ctx, r, []byte("added"))
	wantCode(t, "a body added", err, protocol.Unauthorized)
}

func TestSignatureWindow(t *testing.T) {
	w := newWorld(t)
	d, key := w.device(arjun, Phone, "")
	w.clock.at = w.clock.at.Truncate(time.Second)
	for _, c := range []struct {
		created, now time.Duration
		ok           bool
	}{
		{-60 * time.Second, 0, true}, {-60 * time.Second, time.Millisecond, false},
		{60 * time.Second, 0, true}, {61 * time.Second, time.Second - time.Millisecond, false},
	} {
		r, body := w.signed(d, key, bend{created: w.clock.at.Add(c.created)})
		w.clock.add(c.now)
		_, err := w.Authenticate(w.ctx, r, body)
		w.clock.add(-c.now)
		if c.ok {
			w.must(err)
			continue
		}
		wantCode(t, c.created.String(), err, protocol.Unauthorized)
	}
}

func TestNonce(t *testing.T) {
	w := newWorld(t)
	d, key := w.device(arjun, Phone, "")
	other, otherKey := w.device(arjun, Computer, "")
	try := func(dev Device, k ed25519.PrivateKey, b bend) error {
		r, body := w.signed(dev, k, b)
		_, err := w.Authenticate(w.ctx, r, body)
		return err
	}
	n := random()
	w.must(try(d, key, bend{nonce: n}))
	wantCode(t, "again", try(d, key, bend{nonce: n}), protocol.Unauthorized)
	w.must(try(other, otherKey, bend{nonce: n})) // another device's own
	w.clock.add(2 * time.Minute)
	wantCode(t, "after two minutes to the millisecond", try(d, key, bend{nonce: n}), protocol.Unauthorized)
	w.clock.add(time.Millisecond)
	w.must(try(d, key, bend{nonce: n}))
	wantCode(t, "and again", try(d, key, bend{nonce: n}), protocol.Unauthorized)

	// Only its device uses a nonce up.
	n = random()
	wantCode(t, "a forged use", try(d, otherKey, bend{nonce: n}), protocol.Unauthorized)
	w.must(try(d, key, bend{nonce: n}))

	// A captured request is refused for as long as its time would do.
	r, body := w.signed(d, key, bend{created: w.clock.now().Add(60 * time.Second)})
	_, err := w.Authenticate(w.ctx, r, body)
	w.must(err)
	for range 130 {
		_, err := w.Authenticate(w.ctx, r, body)
		wantCode(t, "a replay", err, protocol.Unauthorized)
		w.clock.add(time.Second)
	}

	// Two that find an expired one at the same time: the other is quicker.
	n = random()
	w.must(try(d, key, bend{nonce: n}))
	w.clock.add(3 * time.Minute)
	w.table.after = func(call string) error {
		if call == "get N" {
			w.table.after = nil
			w.must(try(d, key, bend{nonce: n}))
		}
		return nil
	}
	wantCode(t, "the slower", try(d, key, bend{nonce: n}), protocol.Unauthorized)

	// One whose row the table cleared out meanwhile, between the write and the look.
	n = random()
	w.must(try(d, key, bend{nonce: n}))
	w.clock.add(3 * time.Minute)
	w.table.before = func(call string) error {
		if call == "get N" {
			_, err := w.table.Rows.Delete(w.ctx, "N#"+d.ID, hashed(n), engine.Always)
			w.must(err)
		}
		return nil
	}
	w.must(try(d, key, bend{nonce: n}))
}

// A row that is broken is our fault and not the device's.
func TestBrokenCredential(t *testing.T) {
	w := newWorld(t)
	d, key := w.device(arjun, Phone, "")
	for _, body := range []string{`{"workspace":"ws","kind":"person","holder":"usr"}`, `{"public_key":"AAAA"}`, `{`} {
		_, err := w.table.Rows.Put(w.ctx, engine.Row{PK: credentialPK(d.ID), SK: only, Body: []byte(body)}, engine.Always)
		w.must(err)
		r, b := w.signed(d, key, bend{})
		_, err = w.Authenticate(w.ctx, r, b)
		var p *protocol.Error
		if err == nil || errors.As(err, &p) {
			t.Errorf("%s: %v", body, err)
		}
	}
}

// The path is compared in normal form, whether a gateway handed it on decoded or not.
func TestNormalPath(t *testing.T) {
	for _, c := range []struct{ url, want string }{
		{"/v1/spaces/spc_01/members", "/v1/spaces/spc_01/members"},
		{"/", "/"}, {"", "/"},
		{"/a%20b", "/a%20b"}, {"/a b", "/a%20b"},
		{"/%7Ea", "/~a"}, {"/~a", "/~a"},
		{"/a%2fb", "/a%2Fb"}, {"/a%2Fb", "/a%2Fb"},
		{"/a!b", "/a!b"}, {"/a%21b", "/a!b"}, {"/a:@b", "/a:@b"},
		{"/%c3%a9", "/%C3%A9"}, {"/é", "/%C3%A9"},
		{"/a%25b", "/a%25b"}, {"/a%3Fb", "/a%3Fb"},
		{"/v1/../x", "/v1/../x"},
	} {
		u := &url.URL{}
		if c.url != "" {
			var err error
			if u, err = url.Parse(strings.ReplaceAll(c.url, " ", "%20")); err != nil {
				t.Fatal(err)
			}
		}
		if got := normalPath(u.EscapedPath()); got != c.want {
			t.Errorf("%q: %q, want %q", c.url, got, c.want)
		}
		if strings.Contains(strings.ToLower(c.url), "%2f") {
			continue // decoded, it is another path
		}
		decoded := &url.URL{Path: u.Path}
		if got := normalPath(decoded.EscapedPath()); got != c.want {
			t.Errorf("%q decoded: %q, want %q", c.url, got, c.want)
		}
	}
}

// The example of RFC 9421, B.2.6, by its own key.
func TestSignatureBaseOfRFC(t *testing.T) {
	const input = `sig-b26=("date" "@method" "@path" "@authority" "content-type" "content-length");created=1618884473;keyid="test-key-ed25519"`
	public, _ := base64.StdEncoding.DecodeString("JrQLj5P/89iXES9+vFgrIy29clF9CC/oPPsw3c5D0bs=")
	sig, _ := base64.StdEncoding.DecodeString("wqcAqbmYJ2ji2glfAMaRy4gruYYnx2nEFN2HN6jrnDnQCK1u02Gb04v9EDgwUPiu4A0w6vuQv5lIp5WPpBKRCw==")
	d, err := httpsfv.UnmarshalDictionary([]string{input})
	if err != nil {
		t.Fatal(err)
	}
	member, _ := d.Get("sig-b26")
	r := httptest.NewRequest("POST", "/foo?param=Value&Pet=dog", strings.NewReader(`{"hello": "world"}`))
	r.Header.Set("Date", "Tue, 20 Apr 2021 02:07:55 GMT")
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Content-Length", "18")
	base, err := signatureBase(member.(httpsfv.InnerList), func(name string) (string, bool) {
		if name == "@authority" {
			return "example.com", true
		}
		return component(r, r.URL.RawQuery, name)
	})
	if err != nil || !ed25519.Verify(public, base, sig) {
		t.Errorf("not the RFC's signature over %s, %v", base, err)
	}
	if q, _ := component(r, r.URL.RawQuery, "@query"); q != "?param=Value&Pet=dog" {
		t.Errorf("query %q", q)
	}
}

// What Sign signs is taken, and is to the letter what a client writes by hand.
func TestSign(t *testing.T) {
	w := newWorld(t)
	d, key := w.device(arjun, Phone, "")
	for _, c := range []struct{ method, target, body string }{
		{"POST", "/v1/socket-tickets", ""}, {"POST", "/v1/spaces", `{"title":"é"}`}, {"GET", "/v1/events?since=0&limit=1", ""},
	} {
		n := random()
		hand, _ := w.signed(d, key, bend{method: c.method, target: c.target, body: c.body, nonce: n})
		r := httptest.NewRequest(c.method, c.target, bytes.NewReader([]byte(c.body)))
		w.must(Sign(r, []byte(c.body), d.ID, key, w.clock.now(), n))
		for _, h := range []string{"Signature-Input", "Signature", "Content-Digest"} {
			if r.Header.Get(h) != hand.Header.Get(h) {
				t.Errorf("%s %s: %s\n%s, by hand\n%s", c.method, c.target, h, r.Header.Get(h), hand.Header.Get(h))
			}
		}
		got, err := w.Authenticate(w.ctx, r, []byte(c.body))
		wantCaller(t, c.target, got, err, asPerson(arjun, d.ID))
	}
	if err := Sign(httptest.NewRequest("GET", "/", nil), nil, d.ID, key, w.clock.now(), "é"); err == nil {
		t.Error("a nonce that no header can hold was signed")
	}
}

// Nothing but the device's own signature over this very request lets anybody in, and nothing makes the process fall.
func FuzzSignatureHeaders(f *testing.F) {
	w := newWorld(f)
	d, _ := w.device(arjun, Phone, "")
	_, wrong, err := ed25519.GenerateKey(nil)
	if err != nil {
		f.Fatal(err)
	}
	body := []byte(`{"title":"x"}`)
	r, _ := w.signed(d, wrong, bend{target: "/v1/spaces", body: string(body)})
	digest := r.Header.Get("Content-Digest")
	f.Add(r.Header.Get("Signature-Input"), r.Header.Get("Signature"), digest)
	f.Add(`sig1=("@method" "@path" "@query" "content-digest");created=1;nonce="";keyid="`+d.ID+`";alg="ed25519"`, `sig1=:AAAA:`, `sha-256=:AAAA:`)
	f.Add(`sig1=()`, `sig1`, `sha-256`)
	f.Add(`a=("x";sf;key="a" "y");keyid=@12, b=?1`, `a=:=:;b=%"x"`, `sha-256=(:AA==:);a`)
	f.Fuzz(func(t *testing.T, input, signature, digest string) {
		r := httptest.NewRequest("POST", "/v1/spaces", nil)
		r.Header["Signature-Input"], r.Header["Signature"], r.Header["Content-Digest"] = []string{input}, []string{signature}, []string{digest}
		if input == "" && signature == "" {
			return
		}
		_, err := w.Authenticate(t.Context(), r, body)
		wantCode(t, "a forged signature", err, protocol.Unauthorized)
	})
}
