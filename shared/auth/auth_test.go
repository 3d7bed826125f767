package auth

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/chipschat/chips-aws/shared/protocol"
	"github.com/chipschat/chips-aws/shared/workspace"
)

func TestAdminToken(t *testing.T) {
	w := newWorld(t)
	c, err := w.bearer(adminTk)
	wantCaller(t, "the admin token", c, err, workspace.Caller{Kind: protocol.KindSystem, ID: protocol.SystemID, Credential: "admin"})
	for _, wrong := range []string{"x", adminTk[:len(adminTk)-1], adminTk + "x", strings.ToUpper(adminTk)} {
		_, err := w.bearer(wrong)
		wantCode(t, wrong, err, protocol.Unauthorized)
	}
	if n := len(w.table.calls); n != 0 {
		t.Errorf("the admin token cost %d calls of the table", n)
	}
	_, err = w.Upgrade(w.ctx, "Bearer "+adminTk, "", "")
	wantCode(t, "a socket by the admin token", err, protocol.Unauthorized)
	_, err = w.Upgrade(w.ctx, "", "", adminTk)
	wantCode(t, "?token= with the admin token", err, protocol.Unauthorized)
	_, _, err = w.IssueTicket(w.ctx, c)
	wantCode(t, "a ticket by the admin token", err, protocol.Forbidden)

	none := newWorld(t, func(c *Config) { c.AdminToken = "" })
	for _, h := range []string{"", "Bearer", "Bearer ", "Bearer  "} {
		r := httptest.NewRequest("GET", "/", nil)
		r.Header.Set("Authorization", h)
		_, err := none.Authenticate(none.ctx, r, nil)
		wantCode(t, "no admin token, "+h, err, protocol.Unauthorized)
	}
}

func TestAuthenticateByHeader(t *testing.T) {
	w := newWorld(t)
	token, id := w.token(scout)
	for header, ok := range map[string]bool{
		"Bearer " + token: true, "bearer " + token: true, "BEARER  " + token + " ": true,
		token: false, "Basic " + token: false, "Bearer": false, "Bearer " + token + ", Bearer " + token: false,
		"Bearer " + token[:len(token)-1]: false, "Bearer " + token + "A": false, "Bearer " + id: false,
		"Bearer " + id + "_" + random(): false, "Bearer " + strings.ToLower(token): false,
		"Bearer " + strings.Replace(token, "tok_", "dev_", 1): false, "Bearer " + strings.Replace(token, "tok_", "key_", 1): false,
	} {
		r := httptest.NewRequest("GET", "/v1/events", nil)
		r.Header.Set("Authorization", header)
		c, err := w.Authenticate(w.ctx, r, nil)
		u, uerr := w.Upgrade(w.ctx, header, "", "")
		if ok {
			// covers: TKT-3
			wantCaller(t, header, c, err, asHarness(scout, id))
			wantCaller(t, header, u, uerr, asHarness(scout, id))
			continue
		}
		wantCode(t, header, err, protocol.Unauthorized)
		wantCode(t, header, uerr, protocol.Unauthorized)
	}
	r := httptest.NewRequest("GET", "/v1/events", nil)
	_, err := w.Authenticate(w.ctx, r, nil)
	wantCode(t, "no credential", err, protocol.Unauthorized)
	r.Header.Add("Authorization", "Bearer "+token)
	r.Header.Add("Authorization", "Bearer "+token)
	_, err = w.Authenticate(w.ctx, r, nil)
	wantCode(t, "two headers", err, protocol.Unauthorized)
}

// A header that does not stand is not made up for by a signature that would.
func TestHeaderGoesFirst(t *testing.T) {
	w := newWorld(t)
	d, key := w.device(arjun, Phone, "")
	r, body := w.signed(d, key, bend{})
	r.Header.Set("Authorization", "Bearer nonsense")
	_, err := w.Authenticate(w.ctx, r, body)
	wantCode(t, "nonsense and a signature", err, protocol.Unauthorized)
}

func TestUpgrade(t *testing.T) {
	w := newWorld(t)
	token, id := w.token(scout)
	key, keyID := w.key(arjun)
	ticket := func(c workspace.Caller) string {
		s, _, err := w.IssueTicket(w.ctx, c)
		w.must(err)
		return s
	}

	c, err := w.Upgrade(w.ctx, "", ticket(asHarness(scout, id)), "")
	// covers: TKT-5
	wantCaller(t, "a ticket", c, err, asHarness(scout, id))
	c, err = w.Upgrade(w.ctx, "Bearer "+key, "", "")
	wantCaller(t, "a person's key", c, err, asPerson(arjun, keyID))

	other, otherID := w.token(ledger)
	tk := ticket(asHarness(scout, id))
	c, err = w.Upgrade(w.ctx, "Bearer "+other, tk, token)
	wantCaller(t, "the header goes first", c, err, asHarness(ledger, otherID))
	c, err = w.Upgrade(w.ctx, "", tk, other)
	wantCaller(t, "and leaves the ticket, which goes before the token", c, err, asHarness(scout, id))

	_, err = w.Upgrade(w.ctx, "", "", "")
	wantCode(t, "nothing", err, protocol.Unauthorized)
	_, err = w.Upgrade(w.ctx, "Bearer nonsense", ticket(asHarness(scout, id)), "")
	wantCode(t, "a bad header beside a good ticket", err, protocol.Unauthorized)
	_, err = w.Upgrade(w.ctx, "", "nonsense", token)
	wantCode(t, "a bad ticket beside a good token", err, protocol.Unauthorized)
}

func TestURLToken(t *testing.T) {
	w := newWorld(t)
	token, id := w.token(scout)
	for n := 1; n <= 3; n++ {
		c, err := w.Upgrade(w.ctx, "", "", token)
		// covers: TKT-10
		wantCaller(t, "?token=", c, err, asHarness(scout, id))
		// covers: TKT-11
		if got := strings.Count(w.log.String(), `"level":"WARN"`); got != n || strings.Count(w.log.String(), id) != n {
			t.Errorf("%d uses, %d warnings: %s", n, got, w.log)
		}
	}
	if strings.Contains(w.log.String(), token) {
		t.Errorf("the log holds the token: %s", w.log)
	}
	key, _ := w.key(arjun)
	_, err := w.Upgrade(w.ctx, "", "", key)
	wantCode(t, "a person's key in the URL", err, protocol.Unauthorized)
	_, err = w.Upgrade(w.ctx, "", "", "nonsense")
	wantCode(t, "nonsense in the URL", err, protocol.Unauthorized)

	off := newWorld(t, func(c *Config) { c.AcceptURLToken = false })
	token, _ = off.token(scout)
	_, err = off.Upgrade(off.ctx, "", "", token)
	// covers: TKT-12
	wantCode(t, "?token= switched off", err, protocol.Unauthorized)
	_, err = off.Upgrade(off.ctx, "Bearer "+token, "", "")
	off.must(err)
}
