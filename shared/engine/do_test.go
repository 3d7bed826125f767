package engine_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/chipschat/chips-aws/shared/engine"
	"github.com/chipschat/chips-aws/shared/protocol"
	"github.com/chipschat/chips-aws/shared/workspace"
)

// covers: WRT-5, WRT-6, WRT-7
func TestAcks(t *testing.T) {
	g := start(open(t), engine.Options{})
	do(t, g, rename("k0", "Acme"))
	ack := func(cmd workspace.Command) protocol.Ack { return do(t, g, cmd).Ack() }
	opened := protocol.Ack{IdempotencyKey: "k1", Seq: 2, SpaceID: "spc_1"}
	again := opened
	again.Duplicate = true
	differs := again
	differs.Differs = true
	rotated := openRoom("k1", "spc_1")
	rotated.By.Credential = "dev_2"
	other := openRoom("k1", "spc_9")
	other.By.ID = "usr_2"
	files := func() workspace.Command {
		replaces := map[string]string{}
		for _, id := range "abcdefgh" {
			replaces["att_"+string(id)] = "att_" + string(id-1)
		}
		return by("k5", "spc_1", &protocol.MessagePost{Replaces: replaces})
	}
	asAgent := openRoom("k1", "spc_1")
	asAgent.Draft.Actor = protocol.Actor{Kind: protocol.KindAgent, ID: "agt_1"}
	for _, c := range []struct {
		what string
		cmd  workspace.Command
		want protocol.Ack
	}{
		{"new", openRoom("k1", "spc_1"), opened},
		{"again", openRoom("k1", "spc_1"), again},
		{"again by another credential of the sender", rotated, again},
		{"again with another body", by("k1", "spc_1", &protocol.SpaceOpened{Title: "Other"}), differs},
		{"again for another room", openRoom("k1", "spc_2"), differs},
		{"again as another actor", asAgent, differs},
		{"the same key of somebody else", other, protocol.Ack{IdempotencyKey: "k1", Seq: 3, SpaceID: "spc_9"}},
		{"a message", post("k2", "Ship it."), protocol.Ack{IdempotencyKey: "k2", Seq: 4}},
		{"without a key", post("", "Ship it."), protocol.Ack{Seq: 5}},
		{"without a key again", post("", "Ship it."), protocol.Ack{Seq: 6}},
		{"files", files(), protocol.Ack{IdempotencyKey: "k5", Seq: 7}},
		{"the same files", files(), protocol.Ack{IdempotencyKey: "k5", Seq: 7, Duplicate: true}},
		{"nothing to do", rename("k3", "Acme"), protocol.Ack{IdempotencyKey: "k3", Seq: 7, Duplicate: true}},
		{"nothing to do, but it was this key's", rename("k0", "Acme"), protocol.Ack{IdempotencyKey: "k0", Seq: 1, Duplicate: true}},
	} {
		if diff := cmp.Diff(c.want, ack(c.cmd)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.what, diff)
		}
	}
	// Nothing to do has not used the key up.
	do(t, g, rename("k4", "Other"))
	if ack := ack(rename("k3", "Acme")); ack.Duplicate || ack.Seq != 9 {
		t.Errorf("the key that had nothing to do: %+v", ack)
	}
}

// The primary event of a decision is where its ack points, wherever it stands.
func TestPrimary(t *testing.T) {
	g := start(open(t), engine.Options{Decide: func(s *workspace.State, c workspace.Command) (workspace.Decision, *protocol.Error) {
		d, err := simple(s, c)
		first := d.Events[0]
		first.Type, first.Data = "message.post", &protocol.MessagePost{Text: "before"}
		return workspace.Decision{Events: append([]protocol.Event{first, first}, d.Events...), Primary: 2}, err
	}})
	out := do(t, g, openRoom("k1", "spc_1"))
	if diff := cmp.Diff(protocol.Ack{IdempotencyKey: "k1", Seq: 3, SpaceID: "spc_1"}, out.Ack()); diff != "" {
		t.Error(diff)
	}
	for i, e := range out.Events {
		if e.Seq != int64(i+1) || (e.IdempotencyKey == "k1") != (i == 2) {
			t.Errorf("event %d has seq %d and key %q", i, e.Seq, e.IdempotencyKey)
		}
	}
}

func TestRefusalLeavesTheKey(t *testing.T) {
	g := start(open(t), engine.Options{})
	do(t, g, rename("k1", "closed"))
	for range 2 {
		refused(t, g, openRoom("k2", "spc_1"))
	}
	do(t, g, rename("k3", "Acme"))
	if out := do(t, g, openRoom("k2", "spc_1")); out.Duplicate || out.Commit.First != 3 {
		t.Errorf("once its cause was gone: %+v", out.Ack())
	}
}

// A refusal is decided on what others have committed by then, and so is that there is nothing to do.
func TestRefusalAtTheHead(t *testing.T) {
	table := open(t)
	g, other := start(table, engine.Options{}), start(table, engine.Options{})
	do(t, g, rename("k1", "closed"))
	do(t, other, rename("k2", "Acme"))
	do(t, g, openRoom("k3", "spc_1"))
	do(t, other, rename("k4", "closed"))
	if out := do(t, g, rename("k5", "Acme")); out.NothingToDo() {
		t.Error("nothing to do, by a state that is past")
	}
}

// A key is known for ever: beyond what is remembered by its claim, by a warm engine as by a cold one.
// covers: WRT-6
func TestOldKeys(t *testing.T) {
	table := open(t)
	g := start(table, engine.Options{Keys: 3})
	do(t, g, openRoom("open", "spc_1"))
	for i := range 20 {
		do(t, g, post(fmt.Sprint(i), "Ship it."))
	}
	do(t, g, rename("name", "closed"))
	for i, g := range []*engine.Engine{g, start(table, engine.Options{}), start(table, engine.Options{Keys: 3})} {
		for _, c := range []struct {
			cmd workspace.Command
			seq int64
		}{{post("4", "Ship it."), 6}, {openRoom("open", "spc_1"), 1}, {rename("name", "closed"), 22}} { // taken, refused, nothing to do
			if ack := do(t, g, c.cmd).Ack(); !ack.Duplicate || ack.Differs || ack.Seq != c.seq {
				t.Errorf("engine %d: %s %q: %+v", i, c.cmd.Draft.Type, c.cmd.Draft.IdempotencyKey, ack)
			}
		}
	}
	if log := logOf(t, table, "ws_1"); len(log) != 22 {
		t.Errorf("%d commits", len(log))
	}
}

// A claim whose commit never came does not stand in the way, and moves up, so that the log after it is read once.
func TestClaimWithoutCommit(t *testing.T) {
	table := watch(t)
	g := start(table, engine.Options{Keys: 2})
	do(t, g, openRoom("open", "spc_1"))
	table.append = func(ctx context.Context, appends []engine.Append) ([]engine.Result, error) {
		lost := appends[0]
		lost.Commit.First = 1 // its claim is put, and no commit
		_, _ = table.Table.Append(ctx, []engine.Append{lost})
		return nil, errors.New("down")
	}
	if _, err := g.Do(t.Context(), "ws_1", post("k", "Ship it.")); err == nil || errors.As(err, new(*protocol.Error)) {
		t.Fatalf("with the table down: %v", err)
	}
	table.append = nil
	for i := range 10 {
		do(t, g, post(fmt.Sprint(i), "Ship it."))
	}
	if ack := do(t, g, post("k", "Ship it.")).Ack(); ack.Duplicate || ack.Seq != 12 {
		t.Errorf("the key whose attempt died: %+v", ack)
	}
	claim, ok, err := table.ReadClaim(t.Context(), "ws_1", "usr_1", "k")
	if err != nil || !ok || claim.After != 11 {
		t.Errorf("its claim: %+v, %v, %v, want it moved up to 11", claim, ok, err)
	}
}

// What is taken by a warm engine costs no read; a refusal costs one where all keys are remembered.
func TestReads(t *testing.T) {
	table := watch(t)
	g := start(table, engine.Options{})
	do(t, g, openRoom("k0", "spc_1"))
	table.counted()
	do(t, g, post("k1", "Ship it."))
	if diff := cmp.Diff(map[string]int{"Append": 1}, table.counted()); diff != "" {
		t.Errorf("taken (-want +got):\n%s", diff)
	}
	refused(t, g, openRoom("k2", "spc_1"))
	if diff := cmp.Diff(map[string]int{"Head": 1}, table.counted()); diff != "" {
		t.Errorf("refused (-want +got):\n%s", diff)
	}
	do(t, g, openRoom("k0", "spc_1"))
	if diff := cmp.Diff(map[string]int{"Commits": 1}, table.counted()); diff != "" {
		t.Errorf("duplicate (-want +got):\n%s", diff)
	}
}

func TestCommit(t *testing.T) {
	table := open(t)
	g := start(table, engine.Options{Decide: func(s *workspace.State, c workspace.Command) (workspace.Decision, *protocol.Error) {
		d, err := simple(s, c)
		if c.Draft.Type == "message.post" { // said in two rooms, twice in one of them
			e := d.Events[0]
			e.SpaceID = "spc_2"
			d.Events = append(d.Events, d.Events[0], e)
		}
		return d, err
	}})
	do(t, g, openRoom("k1", "spc_1"))
	do(t, g, openRoom("k2", "spc_2"))
	cmd := post("k3", "Ship it.")
	cmd.Connection = "conn_1"
	do(t, g, cmd)
	do(t, g, post("", "Ship it."))
	log := logOf(t, table, "ws_1")
	if c := log[0]; c.Prev != nil || c.Space != "" {
		t.Errorf("a commit without a line: %+v", c)
	}
	c := log[2]
	if c.Sender != "usr_1" || c.Key != "k3" || c.Connection != "conn_1" || c.Credential != "dev_1" || !c.TS.Equal(now) {
		t.Errorf("commit by nobody: %+v", c)
	}
	if diff := cmp.Diff(map[string]int64{"spc_1": 0, "spc_2": 0}, c.Prev); diff != "" || c.Space != "spc_1" {
		t.Errorf("first lines, under %s: %s", c.Space, diff)
	}
	if diff := cmp.Diff(map[string]int64{"spc_1": 4, "spc_2": 5}, log[3].Prev); diff != "" {
		t.Errorf("next lines: %s", diff)
	}
	if c := log[3]; c.Sender != "" || c.Key != "" {
		t.Errorf("without a key: %+v", c)
	}
}

func TestTimeNeverGoesBack(t *testing.T) {
	table := open(t)
	clock := now
	g := start(table, engine.Options{Now: func() time.Time { return clock }})
	for i, d := range []time.Duration{0, -time.Hour, 1500 * time.Microsecond, 3 * time.Millisecond, 2 * time.Millisecond} {
		clock = now.Add(d)
		do(t, g, post(fmt.Sprint(i), "Ship it."))
	}
	var got []time.Duration
	for _, c := range logOf(t, table, "ws_1") {
		got = append(got, c.TS.Sub(now))
	}
	if diff := cmp.Diff([]time.Duration{0, 0, time.Millisecond, 3 * time.Millisecond, 3 * time.Millisecond}, got); diff != "" {
		t.Error(diff)
	}
}

// A decision that fits no commit is a fault of ours, and so is one that panics: no answer to the key, nothing written.
func TestFaultsOfRules(t *testing.T) {
	table := open(t)
	g := start(table, engine.Options{Decide: func(s *workspace.State, c workspace.Command) (workspace.Decision, *protocol.Error) {
		d, err := simple(s, c)
		switch c.Draft.IdempotencyKey {
		case "many":
			d.Events = slices.Repeat(d.Events, workspace.MaxEvents+1)
		case "primary":
			d.Primary = 1
		case "panic":
			panic("rules")
		case "fits":
			d.Events = slices.Repeat(d.Events, workspace.MaxEvents)
		}
		return d, err
	}})
	for _, cmd := range []workspace.Command{
		post("many", "x"), post("primary", "x"), post("panic", "x"), post("large", strings.Repeat("x", 256<<10)),
	} {
		_, err := g.Do(t.Context(), "ws_1", cmd)
		if err == nil || errors.As(err, new(*protocol.Error)) || errors.Is(err, engine.ErrBusy) {
			t.Errorf("%s: %v", cmd.Draft.IdempotencyKey, err)
		}
	}
	do(t, g, post("fits", "x"))
	if log := logOf(t, table, "ws_1"); len(log) != 1 || len(log[0].Events) != workspace.MaxEvents {
		t.Errorf("%d commits", len(log))
	}
}

// Time that runs out while the outcome is unknown is no answer, and what it was about may be sent again.
// covers: WRT-12
func TestOutOfTime(t *testing.T) {
	for _, applied := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			table := watch(t)
			g := start(table, engine.Options{})
			do(t, g, openRoom("k1", "spc_1"))
			table.append = func(ctx context.Context, appends []engine.Append) ([]engine.Result, error) {
				if applied {
					_, _ = table.Table.Append(ctx, appends)
				}
				<-ctx.Done()
				return nil, ctx.Err()
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			began := time.Now()
			_, err := g.Do(ctx, "ws_1", post("k2", "Ship it."))
			if !errors.Is(err, engine.ErrBusy) || !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != time.Second {
				t.Errorf("%v after %v", err, time.Since(began))
			}
			synctest.Wait()
			table.append = nil
			if ack := do(t, g, post("k2", "Ship it.")).Ack(); ack.Duplicate != applied || ack.Seq != 2 {
				t.Errorf("sent again: %+v", ack)
			}
		})
	}
}

// Who loses every slot is told that nobody is at fault, after a bounded number of tries.
func TestLosesEverySlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := watch(t)
		other := start(table.Table, engine.Options{})
		lost := 0
		table.append = func(ctx context.Context, appends []engine.Append) ([]engine.Result, error) {
			lost++
			do(t, other, post("", "first"))
			return table.Table.Append(ctx, appends)
		}
		_, err := start(table, engine.Options{}).Do(t.Context(), "ws_1", post("k", "Ship it."))
		if !errors.Is(err, engine.ErrBusy) || lost != 8 {
			t.Errorf("%v after %d tries", err, lost)
		}
		table.append = nil
		if ack := do(t, start(table, engine.Options{}), post("k", "Ship it.")).Ack(); ack.Duplicate || ack.Seq != 9 {
			t.Errorf("sent again: %+v", ack)
		}
	})
}

func TestEvent(t *testing.T) {
	g := start(open(t), engine.Options{})
	do(t, g, openRoom("k1", "spc_1"))
	want := do(t, g, post("k2", "Ship it.")).Events[0]
	for _, id := range []string{want.ID, protocol.MessageID(want.ID)} {
		got, ok, err := g.Event(t.Context(), "ws_1", id)
		if diff := cmp.Diff(want, got); err != nil || !ok || diff != "" {
			t.Errorf("%s: %v, %v\n%s", id, ok, err, diff)
		}
	}
	for _, id := range []string{
		"", "usr_1", protocol.EventID(now, 2, [5]byte{}), protocol.EventID(now, 3, [5]byte{}), protocol.EventID(now, 0, [5]byte{}),
	} {
		if _, ok, err := g.Event(t.Context(), "ws_1", id); ok || err != nil {
			t.Errorf("%s: %v, %v", id, ok, err)
		}
	}
}

// What a reply names reaches the rules.
func TestCited(t *testing.T) {
	var cited map[string]protocol.Event
	g := start(open(t), engine.Options{Decide: func(s *workspace.State, c workspace.Command) (workspace.Decision, *protocol.Error) {
		cited = c.Cited
		return simple(s, c)
	}})
	said := do(t, g, post("k1", "Ship it.")).Events[0]
	id := protocol.MessageID(said.ID)
	do(t, g, by("k2", "spc_1", &protocol.MessagePost{Text: "Done.", ReplyTo: id}))
	if diff := cmp.Diff(map[string]protocol.Event{id: said}, cited); diff != "" {
		t.Error(diff)
	}
	do(t, g, by("k3", "spc_1", &protocol.MessagePost{Text: "Done.", ReplyTo: protocol.MessageID(protocol.EventID(now, 99, [5]byte{}))}))
	if len(cited) != 1 || cited[protocol.MessageID(protocol.EventID(now, 99, [5]byte{}))].Data != nil {
		t.Errorf("a message that is in no log: %v", cited)
	}
}
