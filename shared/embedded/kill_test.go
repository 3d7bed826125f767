package embedded_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chipschat/chips-aws/shared/embedded"
	"github.com/chipschat/chips-aws/shared/engine"
)

// childDir tells a copy of this test to be the process that is killed.
const childDir = "CHIPS_TEST_EMBEDDED_DIR"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childDir); dir != "" {
		if err := writeForever(dir); err != nil {
			fmt.Println("error", err)
		}
		os.Exit(1)
	}
	if dir := os.Getenv(blobsDir); dir != "" {
		fmt.Println("error", storeForever(dir))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

const killWriters = 8

// writeForever appends to as many workspaces as there are writers, and says each time what was answered as written.
func writeForever(dir string) error {
	table, err := embedded.Open(dir)
	if err != nil {
		return err
	}
	var mu sync.Mutex
	var wg sync.WaitGroup
	for w := range killWriters {
		wg.Go(func() {
			ctx := context.Background()
			ws := fmt.Sprintf("ws_%d", w)
			head, some, err := table.Head(ctx, ws)
			seq := int64(1)
			if some {
				seq = head.Last() + 1
			}
			for ; err == nil; seq++ {
				var r []engine.Result
				if r, err = table.Append(ctx, []engine.Append{aMessage(ws, seq)}); err == nil && r[0].Written {
					_, err = table.Put(ctx, engine.Row{PK: "T#" + ws, SK: "-", Body: fmt.Append(nil, seq)}, engine.Always)
					mu.Lock()
					fmt.Println(ws, seq)
					mu.Unlock()
				}
			}
			fmt.Println("error", err)
		})
	}
	wg.Wait()
	return nil
}

// What was answered is there after the process was killed at once, again and again over the same file, and the log is dense.
func TestKilled(t *testing.T) {
	dir := t.TempDir()
	acked := map[string]int64{}
	for range 3 {
		child := exec.Command(os.Args[0])
		child.Env = append(os.Environ(), childDir+"="+dir)
		out, err := child.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		for n := 0; lines.Scan(); n++ {
			ws, seq, _ := strings.Cut(lines.Text(), " ")
			if ws == "error" {
				t.Errorf("the child: %s", seq)
				break
			}
			var at int64
			if _, err := fmt.Sscan(seq, &at); err != nil {
				t.Fatal(err)
			}
			acked[ws] = max(acked[ws], at)
			if n == 200 {
				_ = child.Process.Kill() // what it has said until it dies is still read
			}
		}
		_ = child.Wait()

		table, err := embedded.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		for ws, seq := range acked {
			checkLog(t, table, ws, seq)
		}
		if all, err := table.Workspaces(t.Context()); err != nil || len(all) != killWriters {
			t.Errorf("workspaces %v, %v; want %d", all, err, killWriters)
		}
		if err := table.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// checkLog finds a log dense, with all its claims and up to seq at least, and the row that was written beside it.
func checkLog(t *testing.T, table *embedded.Table, ws string, seq int64) {
	t.Helper()
	head, _, err := table.Head(t.Context(), ws)
	if err != nil || head.Last() < seq {
		t.Errorf("%s: the head is %d (%v), but %d was answered as written", ws, head.Last(), err, seq)
	}
	next := int64(1)
	for next <= head.Last() {
		page, err := table.Commits(t.Context(), ws, next, 100)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range page {
			if c.First != next {
				t.Fatalf("%s: a commit at %d, want %d", ws, c.First, next)
			}
			if _, some, err := table.ReadClaim(t.Context(), ws, c.Sender, c.Key); !some || err != nil {
				t.Errorf("%s: the commit at %d has no claim (%v)", ws, c.First, err)
			}
			next = c.Last() + 1
		}
	}
	row, _, err := table.Get(t.Context(), "T#"+ws, "-")
	var at int64
	if _, scan := fmt.Sscan(string(row.Body), &at); err != nil || scan != nil || at < seq {
		t.Errorf("%s: the row says %q (%v), but %d was answered as written", ws, row.Body, err, seq)
	}
}

func TestInUse(t *testing.T) {
	dir := t.TempDir()
	table := open(t, dir)
	began := time.Now()
	_, err := embedded.Open(dir)
	if !errors.Is(err, embedded.ErrInUse) || !strings.Contains(err.Error(), dir) {
		t.Errorf("open a second time: %v, want ErrInUse with the path", err)
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("it took %v to say so", took)
	}
	if err := table.Close(); err != nil {
		t.Fatal(err)
	}
	open(t, dir)
}
