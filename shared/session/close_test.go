package session_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chipschat/chips-aws/shared/engine"
	"github.com/chipschat/chips-aws/shared/session"
	"github.com/chipschat/chips-aws/shared/sweep"
)

// sweep does what is due, as the sweep function would.
func (w *world) sweep() error {
	return sweep.New(sweep.Config{
		Rows: w.config.Rows, Due: map[string]sweep.Handler{"X#": w.sessions.Overdue}, Now: time.Now, Log: w.config.Log,
	}).Run(context.Background())
}

// Taking back a credential closes its sockets at once, and those alone; so does the end of a person or a harness.
func TestClosingWhatWasTakenBack(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t)
	other := w.scout
	other.Credential = "tok_other"
	a, b, c := w.connect(w.scout).hello("").subscribe(-1), w.connect(other).hello(""), w.connect(w.ledger).hello("")
	if err := w.sessions.CloseCredential(ctx, w.ws, other.Credential); err != nil {
		t.Fatal(err)
	}
	if w.push.code(b.id) != 1008 || b.state().ID != "" || w.push.code(a.id) != 0 || w.push.code(c.id) != 0 {
		t.Errorf("closed with %d, %d, %d", w.push.code(a.id), w.push.code(b.id), w.push.code(c.id))
	}
	// A frame that was under way is not taken any more, though this process knew the connection.
	if reply := b.frame(`{"frame":"event","event":{"type":"message.post","space_id":"` + w.room + `","text":"x","idempotency_key":"k"}}`); reply.Close != 1008 || reply.Frame != nil {
		t.Errorf("a frame after it is answered %+v", reply)
	}
	if err := w.sessions.CloseHolder(ctx, w.ws, w.scout.ID); err != nil {
		t.Fatal(err)
	}
	if w.push.code(a.id) != 1008 || a.state().ID != "" || w.push.code(c.id) != 0 || c.state().ID == "" {
		t.Errorf("closed with %d, %d", w.push.code(a.id), w.push.code(c.id))
	}
}

// A socket that cannot be closed is sent nothing more, takes no frames, and is closed by the sweep.
func TestWhatCannotBeClosed(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t)
	c := w.connect(w.scout).hello("").subscribe(-1)
	w.push.onClose = func(string) error { return errUnknown }
	if err := w.sessions.CloseCredential(ctx, w.ws, w.scout.Credential); err != nil {
		t.Fatal(err)
	}
	row := c.state()
	if !row.Closing || row.Sub != nil || row.IsLive() || row.IsReplaying() {
		t.Errorf("the row is %+v", row)
	}
	if got, _ := w.sessions.Holders(ctx, w.ws); got[w.scout.ID] {
		t.Error("it counts as connected")
	}
	if reply := c.frame(`{"frame":"subscribe","workspace_id":"` + w.ws + `"}`); reply.Close != 1008 {
		t.Errorf("a frame is answered %+v", reply)
	}
	if err := w.sweep(); err != nil || c.state().ID == "" {
		t.Errorf("swept away though it is still open: %v", err)
	}
	w.push.onClose = nil
	if err := w.sweep(); err != nil || w.push.code(c.id) != 1008 || c.state().ID != "" {
		t.Errorf("swept: %v, closed with %d, row %+v", err, w.push.code(c.id), c.state())
	}
}

// A close that is refused for the moment is tried again at once. A socket that cannot be closed at all goes on writing no longer than a
// process takes it for granted that its credential stands.
func TestWhatCannotBeClosedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		w := newWorld(t)
		a, b := w.connect(w.scout).hello(""), w.connect(w.ledger).hello("")
		tries := 0
		w.push.onClose = func(string) error {
			if tries++; tries < 3 {
				return session.ErrThrottled
			}
			return nil
		}
		if err := w.sessions.CloseCredential(ctx, w.ws, w.scout.Credential); err != nil || w.push.code(a.id) != 1008 || a.state().ID != "" {
			t.Errorf("%v, closed with %d after %d tries", err, w.push.code(a.id), tries)
		}
		w.push.onClose = func(string) error { return errUnknown }
		other := session.New(w.config) // another process takes the credential back
		if err := other.CloseCredential(ctx, w.ws, w.ledger.Credential); err != nil {
			t.Fatal(err)
		}
		time.Sleep(15 * time.Second)
		post := `{"frame":"event","event":{"type":"message.post","space_id":"` + w.room + `","text":"x","idempotency_key":"k"}}`
		if reply := b.frame(post); reply.Close != 1008 || reply.Frame != nil {
			t.Errorf("fifteen seconds later a frame is answered %+v", reply)
		}
	})
}

// lateDue tells of what was due a while ago.
type lateDue struct {
	engine.Rows
	rows []engine.Row
}

func (r lateDue) Due(_ context.Context, shard int, _ time.Time, _ int) ([]engine.Row, error) {
	return slices.DeleteFunc(slices.Clone(r.rows), func(row engine.Row) bool { return engine.DueShard(row.PK, row.SK) != shard }), nil
}

// What is due may be told late: a connection that has gone on meanwhile stays.
func TestSweepLooksAgain(t *testing.T) {
	w := newWorld(t)
	c := w.connect(w.arjun).hello("").subscribe(-1)
	row, _, err := w.table.Get(context.Background(), "X#"+w.ws, c.id)
	if err != nil {
		t.Fatal(err)
	}
	w.config.Rows = lateDue{w.table, []engine.Row{row, {PK: "X#" + w.ws, SK: "gone"}}}
	w.sessions = session.New(w.config)
	if err := w.sweep(); err != nil || w.push.code(c.id) != 0 || c.state().ID == "" {
		t.Errorf("swept: %v, closed with %d", err, w.push.code(c.id))
	}
}

// A replay whose runner died is cut when it has made no progress for a while, and not before.
func TestSweepCutsAStalledReplay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.config.Replays = startFunc(func(context.Context, session.Job) error { return nil }) // it is lost
		w.sessions = session.New(w.config)
		c, fine := w.connect(w.arjun).hello(""), w.connect(w.priya).hello("").subscribe(-1)
		c.subscribe(0)
		time.Sleep(50 * time.Second)
		if err := w.sweep(); err != nil || w.push.code(c.id) != 0 {
			t.Fatalf("swept early: %v", err)
		}
		time.Sleep(11 * time.Second)
		if err := w.sweep(); err != nil {
			t.Fatal(err)
		}
		if w.push.code(c.id) != 1013 || c.state().ID != "" || w.push.code(fine.id) != 0 || fine.state().ID == "" {
			t.Errorf("closed with %d and %d", w.push.code(c.id), w.push.code(fine.id))
		}
	})
}
