package auth

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/chipschat/chips-aws/shared/engine"
	"github.com/chipschat/chips-aws/shared/protocol"
)

func TestTokensOfAHarness(t *testing.T) {
	w := newWorld(t)
	first, firstID := w.token(scout)
	w.clock.add(5e6)
	second, secondID := w.token(scout)
	_, otherID := w.token(ledger)
	if first == second || !protocol.ValidID(protocol.PrefixToken, firstID) {
		t.Errorf("tokens %s and %s", firstID, secondID)
	}
	list, err := w.Tokens(w.ctx, ws, scout)
	if err != nil || len(list) != 2 || list[0].ID != firstID || list[1].ID != secondID {
		t.Errorf("list: %v, %v", list, err)
	}
	for what, id := range map[string]string{"another's": otherID, "an unknown": w.newID("tok"), "no id": "nonsense", "": ""} {
		wantCode(t, what, w.RevokeToken(w.ctx, ws, scout, id), protocol.NotFound)
	}
	wantCode(t, "from another workspace", w.RevokeToken(w.ctx, "ws_other", scout, firstID), protocol.NotFound)

	w.must(w.RevokeToken(w.ctx, ws, scout, firstID))
	_, err = w.bearer(first)
	wantCode(t, "a token taken back", err, protocol.Unauthorized)
	wantCode(t, "taken back twice", w.RevokeToken(w.ctx, ws, scout, firstID), protocol.NotFound)
	c, err := w.bearer(second)
	wantCaller(t, "the other token", c, err, asHarness(scout, secondID))
	if list, err := w.Tokens(w.ctx, ws, scout); err != nil || len(list) != 1 || list[0].ID != secondID {
		t.Errorf("list after: %v, %v", list, err)
	}
}

func TestStands(t *testing.T) {
	w := newWorld(t)
	_, id := w.token(scout)
	_, keyID := w.key(arjun)
	d, _ := w.device(arjun, Phone, "")
	for _, want := range []struct {
		id     string
		holder string
	}{{id, scout}, {keyID, arjun}, {d.ID, arjun}} {
		c, ok, err := w.Stands(w.ctx, want.id)
		if err != nil || !ok || c.ID != want.holder || c.Workspace != ws || c.Credential != want.id {
			t.Errorf("%s: %+v %v %v", want.id, c, ok, err)
		}
	}
	w.must(w.RevokeToken(w.ctx, ws, scout, id))
	for _, gone := range []string{id, "", "admin", "nonsense", w.newID("usr"), w.newID("dev")} {
		if _, ok, err := w.Stands(w.ctx, gone); ok || err != nil {
			t.Errorf("%q stands: %v %v", gone, ok, err)
		}
	}
	off := New(Config{Rows: w.table, Now: w.clock.now, Log: w.Service.log})
	if _, ok, err := off.Stands(w.ctx, keyID); ok || err != nil {
		t.Errorf("a person's key stands where they are off: %v", err)
	}
}

func TestPersonKeys(t *testing.T) {
	w := newWorld(t)
	key, id := w.key(arjun)
	c, err := w.bearer(key)
	wantCaller(t, "a key", c, err, asPerson(arjun, id))

	off := New(Config{Rows: w.table, Now: w.clock.now, Log: w.Service.log})
	if key, id, err := off.IssueKey(w.ctx, ws, arjun); key != "" || id != "" || err != nil {
		t.Errorf("a key where they are off: %q %v", id, err)
	}
	w.Service = off
	_, err = w.bearer(key)
	wantCode(t, "a key made while they were on", err, protocol.Unauthorized)
}

func TestRemoveHolder(t *testing.T) {
	w := newWorld(t)
	key, keyID := w.key(arjun)
	d, private := w.device(arjun, Phone, "")
	other, otherID := w.key(priya)
	code := w.code(arjun)
	ticket, _, err := w.IssueTicket(w.ctx, asPerson(arjun, keyID))
	w.must(err)
	tokens := map[string]string{}
	for range 2*page + 1 { // more than one page
		token, id := w.token(scout)
		tokens[id] = token
	}

	ids, err := w.RemoveHolder(w.ctx, ws, arjun)
	w.must(err)
	again, err := w.RemoveHolder(w.ctx, ws, arjun)
	w.must(err)
	want := []string{d.ID, keyID}
	if !slices.Equal(ids, want) || !slices.Equal(again, want) {
		t.Errorf("ids %v and again %v, want %v", ids, again, want)
	}
	_, err = w.bearer(key)
	wantCode(t, "the key", err, protocol.Unauthorized)
	r, body := w.signed(d, private, bend{})
	_, err = w.Authenticate(w.ctx, r, body)
	wantCode(t, "the device", err, protocol.Unauthorized)
	_, err = w.SpendTicket(w.ctx, ticket)
	wantCode(t, "a ticket got before", err, protocol.Unauthorized)
	_, err = w.PairDevice(w.ctx, Pairing{Code: code, PublicKey: publicKey(t), Kind: Phone})
	wantCode(t, "a code got before", err, protocol.NotFound)
	_, _, err = w.IssueKey(w.ctx, ws, arjun)
	wantCode(t, "a key after", err, protocol.NotFound)
	c, err := w.bearer(other)
	wantCaller(t, "another person's key", c, err, asPerson(priya, otherID))

	ids, err = w.RemoveHolder(w.ctx, ws, scout)
	w.must(err)
	if len(ids) != len(tokens) {
		t.Errorf("%d ids of %d", len(ids), len(tokens))
	}
	for id, token := range tokens {
		if _, err := w.bearer(token); err == nil || !slices.Contains(ids, id) {
			t.Fatalf("%s stands, or is not among the ids", id)
		}
	}
}

// However a removal and an issue are interleaved, nothing stands in the end.
func TestRemovalMeetsIssue(t *testing.T) {
	for step := 0; ; step++ {
		w := newWorld(t)
		n, removedAt := 0, false
		w.table.before = func(string) error {
			if n == step && !removedAt {
				removedAt = true
				_, err := w.RemoveHolder(w.ctx, ws, scout)
				w.must(err)
			}
			n++
			return nil
		}
		token, _, err := w.IssueToken(w.ctx, ws, scout)
		w.table.before = nil
		if !removedAt {
			if step < 3 {
				t.Fatalf("issuing took %d steps: the test sees too few", step)
			}
			return
		}
		if err == nil {
			if _, err = w.bearer(token); err == nil {
				t.Errorf("removed before step %d: the token stands", step)
			}
		}
		var p *protocol.Error
		if !errors.As(err, &p) {
			t.Errorf("removed before step %d: %v", step, err)
		}
	}
}

// Only hashes are at rest, in keys and in bodies.
func TestNoSecretAtRest(t *testing.T) {
	w := newWorld(t)
	token, _ := w.token(scout)
	key, keyID := w.key(arjun)
	ticket, _, err := w.IssueTicket(w.ctx, asPerson(arjun, keyID))
	w.must(err)
	code := w.code(arjun)
	kept := w.table.kept.String()
	if !strings.Contains(kept, scout) {
		t.Fatal("the test sees nothing of what is kept")
	}
	for what, secret := range map[string]string{
		"token": token[idLen+1:], "key": key[idLen+1:], "ticket": ticket, "code": code, "code without hyphen": strings.Replace(code, "-", "", 1),
	} {
		if strings.Contains(kept, secret) {
			t.Errorf("the %s is at rest:\n%s", what, kept)
		}
	}
}

// What each request costs at the table.
func TestCost(t *testing.T) {
	w := newWorld(t)
	token, id := w.token(scout)
	d, key := w.device(arjun, Phone, "")
	ticket, _, err := w.IssueTicket(w.ctx, asHarness(scout, id))
	w.must(err)
	for _, c := range []struct {
		what, want string
		do         func() error
	}{
		{"a bearer", "get A", func() error { _, err := w.bearer(token); return err }},
		{"a signature", "get A, put N", func() error {
			r, body := w.signed(d, key, bend{body: "{}"})
			_, err := w.Authenticate(w.ctx, r, body)
			return err
		}},
		{"spending a ticket", "delete T, get A", func() error { _, err := w.SpendTicket(w.ctx, ticket); return err }},
		{"issuing a ticket", "put T", func() error { _, _, err := w.IssueTicket(w.ctx, asHarness(scout, id)); return err }},
		{"looking whether one stands", "get A", func() error { _, _, err := w.Stands(w.ctx, id); return err }},
		{"a ticket of another form", "", func() error { _, _ = w.SpendTicket(w.ctx, "nonsense"); return nil }},
		{"a token of another form", "", func() error { _, _ = w.bearer("nonsense"); return nil }},
		{"a code of another form", "", func() error {
			_, _ = w.PairDevice(w.ctx, Pairing{Code: "1234", PublicKey: publicKey(t), Kind: Phone})
			return nil
		}},
		{"looking whether nonsense stands", "", func() error { _, _, err := w.Stands(w.ctx, "tok_\x00"); return err }},
		{"an old signature", "", func() error {
			r, body := w.signed(d, key, bend{created: w.clock.now().Add(-2 * maxAge)})
			_, _ = w.Authenticate(w.ctx, r, body)
			return nil
		}},
	} {
		if got := w.table.during(func() { w.must(c.do()) }); got != c.want {
			t.Errorf("%s asks the table for %q, want %q", c.what, got, c.want)
		}
	}
}

// A table that fails says nothing about a credential: whatever call fails, the answer is neither unauthorized nor not found.
func TestFailingTableRevokesNobody(t *testing.T) {
	w := newWorld(t)
	token, id := w.token(scout)
	d, key := w.device(arjun, Phone, "")
	flows := map[string]func() error{
		"bearer": func() error { _, err := w.bearer(token); return err },
		"upgrade": func() error {
			_, err := w.Upgrade(w.ctx, "", "", token)
			return err
		},
		"signature": func() error {
			r, body := w.signed(d, key, bend{})
			_, err := w.Authenticate(w.ctx, r, body)
			return err
		},
		"ticket": func() error {
			ticket, _, err := w.IssueTicket(w.ctx, asHarness(scout, id))
			if err == nil {
				_, err = w.SpendTicket(w.ctx, ticket)
			}
			return err
		},
		"stands": func() error { _, _, err := w.Stands(w.ctx, id); return err },
		"token": func() error {
			_, tid, err := w.IssueToken(w.ctx, ws, scout)
			if err == nil {
				err = w.RevokeToken(w.ctx, ws, scout, tid)
			}
			return err
		},
		"pairing": func() error {
			code, err := w.IssuePairingCode(w.ctx, ws, arjun)
			if err == nil {
				_, err = w.PairDevice(w.ctx, Pairing{Code: code, PublicKey: publicKey(t), Kind: Phone})
			}
			return err
		},
		"zone":   func() error { _, err := w.SetTimeZone(w.ctx, ws, d.ID, "Asia/Kolkata"); return err },
		"phone":  func() error { _, err := w.PhoneZone(w.ctx, ws, arjun); return err },
		"tokens": func() error { _, err := w.Tokens(w.ctx, ws, scout); return err },
		"remove": func() error { _, err := w.RemoveHolder(w.ctx, ws, priya); return err },
	}
	for what, flow := range flows {
		for at := 0; ; at++ {
			n := 0
			w.table.before = func(string) error {
				n++
				if n == at+1 {
					return engine.ErrThrottled
				}
				return nil
			}
			err := flow()
			w.table.before = nil
			if n <= at {
				if at == 0 || err != nil {
					t.Errorf("%s: %d calls, then %v", what, n, err)
				}
				break
			}
			var p *protocol.Error
			if errors.As(err, &p) || !errors.Is(err, engine.ErrThrottled) {
				t.Errorf("%s, call %d throttled: %v", what, at+1, err)
			}
		}
	}
}
