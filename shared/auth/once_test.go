package auth

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/chipschat/chips-aws/shared/engine"
	"github.com/chipschat/chips-aws/shared/protocol"
)

func TestTicket(t *testing.T) {
	w := newWorld(t)
	_, tokenID := w.token(scout)
	_, keyID := w.key(arjun)
	d, _ := w.device(arjun, Phone, "")
	for _, c := range []struct{ id, holder string }{{tokenID, scout}, {keyID, arjun}, {d.ID, arjun}} {
		caller, _, err := w.Stands(w.ctx, c.id)
		w.must(err)
		ticket, seconds, err := w.IssueTicket(w.ctx, caller)
		// covers: TKT-4
		if err != nil || seconds != 30 {
			t.Errorf("%s: %d seconds, %v", c.id, seconds, err)
		}
		w.clock.add(30 * time.Second)
		got, err := w.SpendTicket(w.ctx, ticket)
		// covers: TKT-5
		wantCaller(t, "at its last moment, "+c.id, got, err, caller)
		_, err = w.SpendTicket(w.ctx, ticket)
		// covers: TKT-6
		wantCode(t, "a second time", err, protocol.Unauthorized)

		late, _, err := w.IssueTicket(w.ctx, caller)
		w.must(err)
		w.clock.add(30*time.Second + time.Millisecond)
		_, err = w.SpendTicket(w.ctx, late)
		// covers: TKT-7
		wantCode(t, "past its time", err, protocol.Unauthorized)
	}
	for _, wrong := range []string{"", "nonsense", random(), random() + "="} {
		_, err := w.SpendTicket(w.ctx, wrong)
		wantCode(t, "ticket "+wrong, err, protocol.Unauthorized)
	}

	ticket, _, err := w.IssueTicket(w.ctx, asHarness(scout, tokenID))
	w.must(err)
	w.must(w.RevokeToken(w.ctx, ws, scout, tokenID))
	_, err = w.SpendTicket(w.ctx, ticket)
	wantCode(t, "of a token taken back", err, protocol.Unauthorized)

	short := newWorld(t, func(c *Config) { c.TicketTTL = 1500 * time.Millisecond })
	_, tokenID = short.token(scout)
	ticket, seconds, err := short.IssueTicket(short.ctx, asHarness(scout, tokenID))
	if err != nil || seconds != 1 {
		t.Errorf("of 1.5 s: %d, %v", seconds, err)
	}
	short.clock.add(2 * time.Second)
	_, err = short.SpendTicket(short.ctx, ticket)
	wantCode(t, "of 1.5 s after 2 s", err, protocol.Unauthorized)
}

// atOnce runs f twenty times at once and answers how many had no error; the others have to be refused with the code.
func atOnce(t *testing.T, code protocol.Code, f func(i int) error) int {
	t.Helper()
	var wg sync.WaitGroup
	errs := make([]error, 20)
	start := make(chan struct{})
	for i := range errs {
		wg.Go(func() {
			<-start
			errs[i] = f(i)
		})
	}
	close(start)
	wg.Wait()
	good := 0
	for _, err := range errs {
		if err == nil {
			good++
			continue
		}
		wantCode(t, "one of twenty", err, code)
	}
	return good
}

func TestTwentyAtOnce(t *testing.T) {
	w := newWorld(t)
	_, id := w.token(scout)
	d, key := w.device(arjun, Phone, "")
	for range 20 {
		ticket, _, err := w.IssueTicket(w.ctx, asHarness(scout, id))
		w.must(err)
		// covers: TKT-6
		if n := atOnce(t, protocol.Unauthorized, func(int) error { _, err := w.SpendTicket(w.ctx, ticket); return err }); n != 1 {
			t.Errorf("a ticket let %d in", n)
		}

		code := w.code(priya)
		before, err := w.Devices(w.ctx, ws, priya)
		w.must(err)
		public := publicKey(t)
		n := atOnce(t, protocol.Unauthorized, func(int) error {
			_, err := w.PairDevice(w.ctx, Pairing{Code: code, PublicKey: public, Kind: Computer})
			return err
		})
		after, err := w.Devices(w.ctx, ws, priya)
		if n != 1 || err != nil || len(after) != len(before)+1 {
			t.Errorf("a code paired %d and listed %d, %v", n, len(after)-len(before), err)
		}

		same := random()
		if n := atOnce(t, protocol.Unauthorized, func(int) error {
			r, body := w.signed(d, key, bend{nonce: same})
			_, err := w.Authenticate(w.ctx, r, body)
			return err
		}); n != 1 {
			t.Errorf("a nonce was taken %d times", n)
		}
	}
}

// A write whose answer was lost and that is tried again by the adapter finds its own row there.
func TestLostAnswers(t *testing.T) {
	w := newWorld(t)
	_, id := w.token(scout)
	d, key := w.device(arjun, Phone, "")
	lose := func(what string) {
		done := false
		w.table.after = func(call string) error {
			if call == what && !done {
				done = true
				return engine.ErrCondition
			}
			return nil
		}
	}
	lose("put T")
	ticket, _, err := w.IssueTicket(w.ctx, asHarness(scout, id))
	w.must(err)
	c, err := w.SpendTicket(w.ctx, ticket)
	wantCaller(t, "a ticket that was written twice", c, err, asHarness(scout, id))

	lose("put N")
	r, body := w.signed(d, key, bend{})
	c, err = w.Authenticate(w.ctx, r, body)
	wantCaller(t, "a nonce that was written twice", c, err, asPerson(arjun, d.ID))
	_, err = w.Authenticate(w.ctx, r, body)
	wantCode(t, "and again", err, protocol.Unauthorized)

	lose("put P")
	if _, err := w.IssuePairingCode(w.ctx, ws, arjun); err != nil {
		t.Errorf("a code that was written twice: %v", err)
	}

	// A device taken back while its zone is being set stays away.
	w.table.after = nil
	w.table.before = func(call string) error {
		if call == "put A" {
			w.table.before = nil
			_, err := w.RevokeDevice(w.ctx, ws, d.ID)
			w.must(err)
		}
		return nil
	}
	_, err = w.SetTimeZone(w.ctx, ws, d.ID, "Asia/Kolkata")
	wantCode(t, "setting the zone of a device taken back", err, protocol.NotFound)
	if _, ok, _ := w.Stands(w.ctx, d.ID); ok {
		t.Error("the device is back")
	}
}

// What is used once is not used twice because the outcome of its first use is unknown.
func TestUnknownOutcomeSpends(t *testing.T) {
	w := newWorld(t)
	_, id := w.token(scout)
	ticket, _, err := w.IssueTicket(w.ctx, asHarness(scout, id))
	w.must(err)
	timeout := errors.New("timeout")
	w.table.after = func(call string) error { return timeout }
	if _, err := w.SpendTicket(w.ctx, ticket); !errors.Is(err, timeout) {
		t.Errorf("an unknown outcome: %v", err)
	}
	w.table.after = nil
	_, err = w.SpendTicket(w.ctx, ticket)
	wantCode(t, "after it", err, protocol.Unauthorized)
}
