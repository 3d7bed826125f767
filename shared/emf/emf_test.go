package emf_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/chipschat/chips-aws/shared/embedded"
	"github.com/chipschat/chips-aws/shared/emf"
	"github.com/chipschat/chips-aws/shared/engine"
	"github.com/chipschat/chips-aws/shared/porttest"
	"github.com/chipschat/chips-aws/shared/session"
)

type handler func(ctx context.Context) error

func (h handler) Invoke(ctx context.Context, _ []byte) ([]byte, error) { return nil, h(ctx) }

// rig is a meter and a clock that only the test moves.
type rig struct {
	*emf.Meter
	out bytes.Buffer
	at  time.Time
}

func newRig() *rig {
	r := &rig{at: time.UnixMilli(1_764_500_000_000)}
	r.Meter = emf.New(&r.out, "Chips/chips", func() time.Time { return r.at })
	return r
}

// invocation is what one writes.
func (r *rig) invocation(do func()) string {
	r.out.Reset()
	_, _ = r.Each(handler(func(context.Context) error { do(); return nil })).Invoke(context.Background(), nil)
	return r.out.String()
}

const head = `{"_aws":{"Timestamp":1764500000000,"CloudWatchMetrics":[{"Namespace":"Chips/chips","Dimensions":[[]],"Metrics":[`

func TestALineIsAllOfAnInvocation(t *testing.T) {
	r := newRig()
	got := r.invocation(func() {
		r.Lag(emf.DeliveryLag)("ws_fast", 3*time.Millisecond)
		r.Lag(emf.DeliveryLag)("ws_slow", 250*time.Millisecond)
		r.Lag(emf.DeliveryLag)("ws_other", 4*time.Millisecond)
		_ = emf.Run(r.Meter, emf.Replays, func(context.Context, int) error { return errors.New("oh") })(context.Background(), 1)
	})
	want := head + `{"Name":"DeliveryLag","Unit":"Milliseconds"},{"Name":"Replays"}]}]},"workspace_id":"ws_slow","DeliveryLag":250,"Replays":1}` + "\n"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got := r.invocation(func() {}); got != "" {
		t.Errorf("nothing was counted, and it writes %s", got)
	}
}

func TestWithoutANamespaceNothingIsWritten(t *testing.T) {
	var out bytes.Buffer
	m := emf.New(&out, "", time.Now)
	_, _ = m.Each(handler(func(context.Context) error { m.Lag(emf.DeliveryLag)("ws_a", time.Second); return nil })).Invoke(context.Background(), nil)
	if out.Len() > 0 {
		t.Error(out.String())
	}
}

func TestALineIsWrittenHoweverItEnds(t *testing.T) {
	r := newRig()
	func() {
		defer func() { _ = recover() }()
		_, _ = r.Each(handler(func(context.Context) error {
			r.Lag(emf.DeliveryLag)("ws_a", time.Second)
			panic("oh")
		})).Invoke(context.Background(), nil)
	}()
	if !strings.Contains(r.out.String(), `"DeliveryLag":1000`) {
		t.Errorf("after a panic: %q", r.out.String())
	}
}

func TestNearTimeout(t *testing.T) {
	for _, c := range []struct {
		used, of time.Duration
		near     bool
	}{
		{23 * time.Second, 29 * time.Second, false},
		{24 * time.Second, 29 * time.Second, true},
		{29 * time.Second, 29 * time.Second, true},
		{59 * time.Second, time.Minute, true},
		{14 * time.Minute, 15 * time.Minute, false}, // a replay's
	} {
		r := newRig()
		ctx, cancel := context.WithDeadline(context.Background(), r.at.Add(c.of))
		_, _ = r.Each(handler(func(context.Context) error { r.at = r.at.Add(c.used); return nil })).Invoke(ctx, nil)
		cancel()
		if strings.Contains(r.out.String(), `"NearTimeout":1`) != c.near {
			t.Errorf("%v of %v: %q", c.used, c.of, r.out.String())
		}
	}
}

type push struct{ err error }

func (p push) Post(context.Context, string, []byte) error               { return p.err }
func (p push) Close(context.Context, string, int, string, []byte) error { return p.err }

func TestPushes(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{
		{nil, `"Deliveries":1,"PushesGone":0,"PushesThrottled":0}`},
		{session.ErrGone, `"Deliveries":0,"PushesGone":1,"PushesThrottled":0}`},
		{fmt.Errorf("oh: %w", session.ErrThrottled), `"Deliveries":0,"PushesGone":0,"PushesThrottled":1}`},
		{session.ErrTooLarge, `"Deliveries":0,"PushesGone":0,"PushesThrottled":0}`},
		{context.DeadlineExceeded, `"Deliveries":0,"LostPushes":1,"PushesGone":0,"PushesThrottled":0}`},
	} {
		r := newRig()
		p := r.Push(push{c.err})
		line := r.invocation(func() {
			if err := p.Post(context.Background(), "c", nil); !errors.Is(err, c.err) {
				t.Errorf("%v became %v", c.err, err)
			}
		})
		if !strings.HasSuffix(line, "},"+c.want+"\n") {
			t.Errorf("%v: %s", c.err, line)
		}
		if line := r.invocation(func() { _ = p.Close(context.Background(), "c", 1000, "", nil) }); line != "" {
			t.Errorf("a close is no delivery: %s", line)
		}
	}
}

// The table of the suite behind a meter is the same table.
func TestTableIsTheTable(t *testing.T) {
	porttest.Table(t, func(t *testing.T) engine.Table {
		table, err := embedded.Open(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = table.Close() })
		return newRig().Table(table)
	})
}

func TestAppendsAndConflicts(t *testing.T) {
	inner, err := embedded.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = inner.Close() })
	r := newRig()
	table, ctx := r.Table(inner), context.Background()
	put := func(nonce byte) string {
		c := engine.Commit{Workspace: "ws_a", First: 1, TS: r.at, Events: [][]byte{[]byte(`{}`)}, Nonce: [10]byte{nonce}}
		return r.invocation(func() {
			if _, err := table.Append(ctx, []engine.Append{{Commit: c, Replaces: -1}}); err != nil {
				t.Fatal(err)
			}
		})
	}
	for i, c := range []struct {
		nonce byte
		want  string
	}{
		{1, `"workspace_id":"ws_a","Appends":1,"Conflicts":0}`},
		{2, `"workspace_id":"ws_a","Appends":0,"Conflicts":1}`},
		{1, `"workspace_id":"ws_a","Appends":0,"Conflicts":0}`}, // its own, of which the answer was lost
	} {
		if line := put(c.nonce); !strings.HasSuffix(line, "},"+c.want+"\n") {
			t.Errorf("%d: %s", i, line)
		}
	}
}

func TestTableFaults(t *testing.T) {
	inner, err := embedded.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	r, ctx := newRig(), context.Background()
	table := r.Table(inner)
	if line := r.invocation(func() { _, _ = table.Put(ctx, engine.Row{PK: "A#", SK: "-", Body: []byte("x")}, engine.IfRev(7)) }); line != "" {
		t.Errorf("a condition that does not hold: %s", line)
	}
	_ = inner.Close() // all that is asked of it fails from here on
	line := r.invocation(func() {
		_, err1 := table.Put(ctx, engine.Row{PK: "A#", SK: "-", Body: []byte("x")}, engine.Always)
		_, _, err2 := table.Head(ctx, "ws_a")
		if err1 == nil || err2 == nil {
			t.Errorf("a closed table answers: %v, %v", err1, err2)
		}
	})
	if !strings.HasSuffix(line, "},"+`"TableFaults":2}`+"\n") {
		t.Errorf("two faults: %s", line)
	}
	gone, cancel := context.WithCancel(ctx)
	cancel()
	if line := r.invocation(func() { _, _, _ = table.Head(gone, "ws_a") }); line != "" {
		t.Errorf("nobody waits, and it is the table's fault: %s", line)
	}
}
