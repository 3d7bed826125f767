package embedded_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chipschat/chips-aws/shared/embedded"
	"github.com/chipschat/chips-aws/shared/engine"
	"github.com/chipschat/chips-aws/shared/porttest"
)

func open(t testing.TB, dir string) *embedded.Table {
	t.Helper()
	table, err := embedded.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := table.Close(); err != nil {
			t.Error(err)
		}
	})
	return table
}

func TestTable(t *testing.T) {
	porttest.Table(t, func(t *testing.T) engine.Table { return open(t, t.TempDir()) })
}

// Connections and cursors go with the process; all else is there when it comes back.
func TestVolatileRows(t *testing.T) {
	dir := t.TempDir()
	table := open(t, dir)
	for _, pk := range []string{"T#1", "X#1", "F#1"} {
		if _, err := table.Put(t.Context(), engine.Row{PK: pk, SK: "-"}, engine.Absent); err != nil {
			t.Fatal(err)
		}
	}
	if err := table.Close(); err != nil {
		t.Fatal(err)
	}
	table = open(t, dir)
	for pk, want := range map[string]bool{"T#1": true, "X#1": false, "F#1": false} {
		if _, some, err := table.Get(t.Context(), pk, "-"); some != want || err != nil {
			t.Errorf("%s is there: %t (%v), want %t", pk, some, err, want)
		}
	}
}

func TestPurge(t *testing.T) {
	table := open(t, t.TempDir())
	now := time.Unix(1_790_000_000, 0)
	var want int
	var writers sync.WaitGroup // they share syncs
	for i := range 2500 {
		row := engine.Row{PK: "T#1", SK: fmt.Sprint(i), Due: now}
		switch i % 3 {
		case 0:
			row.Expires = now
			want++
		case 1:
			row.Expires = now.Add(time.Second)
		}
		if i%50 == 0 {
			row.PK = "X#1"
		}
		writers.Go(func() {
			if _, err := table.Put(t.Context(), row, engine.Always); err != nil {
				t.Error(err)
			}
		})
	}
	writers.Wait()
	if n, err := table.Purge(t.Context(), now); n != want || err != nil {
		t.Errorf("%d rows are purged (%v), want %d", n, err, want)
	}
	left := 0
	for _, pk := range []string{"T#1", "X#1"} {
		rows, err := table.Query(t.Context(), pk, "", 5000)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range rows {
			if r.Expires.Equal(now) {
				t.Errorf("row %s %s is still there", r.PK, r.SK)
			}
		}
		left += len(rows)
	}
	due := 0
	for shard := range engine.DueShards {
		rows, err := table.Due(t.Context(), shard, now, 5000)
		if err != nil {
			t.Fatal(err)
		}
		due += len(rows)
	}
	if left != 2500-want || due != left {
		t.Errorf("%d rows are left and %d due, want %d", left, due, 2500-want)
	}
}

// A purge looks at a bounded number of rows, and the next goes on from there, round and round.
func TestPurgeGoesOn(t *testing.T) {
	table := open(t, t.TempDir())
	now := time.Unix(1_790_000_000, 0)
	put := func(sk string, expires time.Time) {
		if _, err := table.Put(t.Context(), engine.Row{PK: "T#1", SK: sk, Expires: expires}, engine.Always); err != nil {
			t.Error(err)
		}
	}
	var writers sync.WaitGroup // they share syncs
	for i := range 10_000 {
		writers.Go(func() { put(fmt.Sprint("a", i), now.Add(time.Hour)) })
	}
	writers.Wait()
	put("b", now)
	for i, want := range []int{0, 1, 0} {
		if n, err := table.Purge(t.Context(), now); n != want || err != nil {
			t.Errorf("purge %d: %d rows (%v), want %d", i, n, err, want)
		}
	}
	put("a", now) // before all others
	if n, err := table.Purge(t.Context(), now); n != 1 || err != nil {
		t.Errorf("in another round: %d rows (%v), want 1", n, err)
	}
}

func TestRefused(t *testing.T) {
	table := open(t, t.TempDir())
	for what, a := range map[string]engine.Append{
		"no workspace":        {Commit: engine.Commit{First: 1, Events: [][]byte{{}}}},
		"a NUL":               {Commit: engine.Commit{Workspace: "ws\x00", First: 1, Events: [][]byte{{}}}},
		"no slot":             {Commit: engine.Commit{Workspace: "ws_1", Events: [][]byte{{}}}},
		"no events":           {Commit: engine.Commit{Workspace: "ws_1", First: 1}},
		"a primary of none":   {Commit: engine.Commit{Workspace: "ws_1", First: 1, Events: [][]byte{{}}, Primary: 1}},
		"a claim of no key":   {Commit: engine.Commit{Workspace: "ws_1", First: 1, Events: [][]byte{{}}}, Claim: &engine.Claim{Workspace: "ws_1", Sender: "usr_1"}},
		"a claim of another":  {Commit: engine.Commit{Workspace: "ws_1", First: 1, Events: [][]byte{{}}}, Claim: &engine.Claim{Workspace: "ws_2", Sender: "usr_1", Key: "k"}},
		"a space with a NUL":  {Commit: engine.Commit{Workspace: "ws_1", First: 1, Events: [][]byte{{}}, Space: "s\x00"}},
		"a hole":              {Commit: engine.Commit{Workspace: "ws_1", First: 2, Events: [][]byte{{}}}},
		"an endless id":       {Commit: engine.Commit{Workspace: strings.Repeat("w", 3000), First: 1, Events: [][]byte{{}}}},
		"two workspaces at a": {Commit: engine.Commit{Workspace: "ws_1", First: 1, Events: [][]byte{{}}}},
	} {
		appends := []engine.Append{a}
		if what == "two workspaces at a" {
			appends = append(appends, engine.Append{Commit: engine.Commit{Workspace: "ws_2", First: 1, Events: [][]byte{{}}}})
		}
		r, err := table.Append(t.Context(), appends)
		if err == nil && (len(r) != 1 || r[0].Written) {
			t.Errorf("%s: %+v, want it refused", what, r)
		}
		if what != "a hole" && err == nil {
			t.Errorf("%s: no error", what)
		}
	}
	for what, row := range map[string]engine.Row{
		"no pk": {SK: "1"}, "no sk": {PK: "T#1"}, "a NUL": {PK: "T#1", SK: "\x00"},
		"a large body": {PK: "T#1", SK: "1", Body: make([]byte, 350<<10+1)}, "a large volatile body": {PK: "X#1", SK: "1", Body: make([]byte, 350<<10+1)},
	} {
		if _, err := table.Put(t.Context(), row, engine.Always); err == nil {
			t.Errorf("%s: no error", what)
		}
	}
}

// A file that was cut or overwritten is an error that says so, and nothing else ends.
func TestDamagedFile(t *testing.T) {
	dir := t.TempDir()
	table := open(t, dir)
	for seq := range int64(500) {
		c := aMessage("ws_1", seq+1)
		c.Commit.Events = [][]byte{bytes.Repeat([]byte{'x'}, 2000)}
		if _, err := table.Append(t.Context(), []engine.Append{c}); err != nil {
			t.Fatal(err)
		}
	}
	if err := table.Close(); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(filepath.Join(dir, "chips.db"))
	if err != nil {
		t.Fatal(err)
	}
	for what, damage := range map[string]func([]byte) []byte{
		"cut in half":      func(b []byte) []byte { return b[:len(b)/2] },
		"three pages left": func(b []byte) []byte { return b[:3*4096] },
		"another file":     func(b []byte) []byte { return bytes.Repeat([]byte("hello"), 5000) },
		"zeroes": func(b []byte) []byte {
			clear(b[2*4096:])
			return b
		},
		"noise": func(b []byte) []byte {
			for i := 2 * 4096; i < len(b); i += 97 {
				b[i] ^= 0x55
			}
			return b
		},
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "chips.db"), damage(bytes.Clone(whole)), 0o600); err != nil {
			t.Fatal(err)
		}
		table, err := embedded.Open(dir)
		if err == nil {
			_, err = table.Commits(t.Context(), "ws_1", 1, 1000)
			_, werr := table.Append(t.Context(), []engine.Append{aMessage("ws_1", 501)})
			if err = errors.Join(err, werr); err == nil {
				t.Errorf("%s: no error", what)
			}
			_ = table.Close()
		}
		t.Logf("%s: %v", what, err)
	}
}

func TestClosed(t *testing.T) {
	table := open(t, t.TempDir())
	done, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := table.Append(done, []engine.Append{aMessage("ws_1", 1)}); !errors.Is(err, context.Canceled) {
		t.Errorf("append with a context that is done: %v", err)
	}
	if _, _, err := table.Head(done, "ws_1"); !errors.Is(err, context.Canceled) {
		t.Errorf("head with a context that is done: %v", err)
	}
	// Writers that are at it while the table closes are answered, one way or the other.
	var wg sync.WaitGroup
	var written atomic.Int64
	first := make(chan struct{}, 8)
	for w := range 8 {
		wg.Go(func() {
			for seq := int64(1); ; seq++ {
				_, err := table.Append(t.Context(), []engine.Append{aMessage(fmt.Sprint("ws_", w), seq)})
				if seq == 1 {
					first <- struct{}{}
				}
				if err != nil {
					if !errors.Is(err, embedded.ErrClosed) {
						t.Errorf("append: %v, want ErrClosed", err)
					}
					return
				}
				written.Add(1)
			}
		})
	}
	for range 8 {
		<-first
	}
	if err := table.Close(); err != nil {
		t.Error(err)
	}
	wg.Wait()
	if written.Load() < 8 {
		t.Errorf("%d appends were answered, want 8 at least", written.Load())
	}
	if _, _, err := table.Head(t.Context(), "ws_1"); !errors.Is(err, embedded.ErrClosed) {
		t.Errorf("head: %v, want ErrClosed", err)
	}
}
