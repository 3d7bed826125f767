package embedded_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/chipschat/chips-aws/shared/embedded"
	"github.com/chipschat/chips-aws/shared/engine"
)

// Every workspace's commits come in order and once, from one handler at a time, whoever wrote them.
func TestFeed(t *testing.T) {
	table := open(t, t.TempDir())
	const workspaces, each = 5, 60
	if _, err := table.Append(t.Context(), []engine.Append{aMessage("ws_before", 1)}); err != nil {
		t.Fatal(err)
	}
	feed := table.Feed()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var mu sync.Mutex
	busy, heads, left := map[string]bool{}, map[string]int64{}, workspaces
	var running sync.WaitGroup
	running.Go(func() {
		feed.Run(ctx, 3, func(_ context.Context, c embedded.Change) {
			mu.Lock()
			head, was := heads[c.Workspace], busy[c.Workspace]
			busy[c.Workspace] = true
			mu.Unlock()
			if was {
				t.Errorf("two handlers at once for %s", c.Workspace)
			}
			for _, commit := range c.Commits {
				if commit.Workspace != c.Workspace || commit.First != head+1 {
					t.Errorf("%s: a commit of %s at %d after %d", c.Workspace, commit.Workspace, commit.First, head)
				}
				head = commit.Last()
			}
			if head != c.Head {
				t.Errorf("%s: the commits end at %d, the head is %d", c.Workspace, head, c.Head)
			}
			got, _, err := table.Head(context.Background(), c.Workspace)
			if err != nil || got.Last() < c.Head {
				t.Errorf("%s: told of %d, the log is at %d (%v)", c.Workspace, c.Head, got.Last(), err)
			}
			// Busy until there is more to tell of, and has been for a while: nobody else is to be told meanwhile.
			for got.Last() < min(c.Head+3, each) && err == nil {
				got, _, err = table.Head(context.Background(), c.Workspace)
			}
			mu.Lock()
			defer mu.Unlock()
			heads[c.Workspace], busy[c.Workspace] = head, false
			if head == each {
				if left--; left == 0 {
					stop()
				}
			}
		})
	})
	for w := range workspaces {
		ws := fmt.Sprintf("ws_%d", w)
		for range 2 { // two writers that race: a failed append is in no feed
			running.Go(func() {
				for seq := int64(1); seq <= each; seq++ {
					if _, err := table.Append(context.Background(), []engine.Append{{Commit: aMessage(ws, seq).Commit}}); err != nil {
						t.Error(err)
						stop()
						return
					}
				}
			})
		}
	}
	running.Wait()
	if len(heads) != workspaces {
		t.Errorf("told of %v, want %d workspaces and none from before", heads, workspaces)
	}
}

// A reader that is far behind holds nobody up: it is told of the head, and of the newest commits as far as they are kept.
func TestFeedFarBehind(t *testing.T) {
	table := open(t, t.TempDir())
	feed := table.Feed()
	const size = 20
	for seq := int64(1); seq <= size; seq++ {
		c := engine.Commit{Workspace: "ws_1", First: seq, Events: [][]byte{make([]byte, 200<<10)}}
		if _, err := table.Append(t.Context(), []engine.Append{{Commit: c}}); err != nil {
			t.Fatal(err)
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	feed.Run(ctx, 1, func(_ context.Context, c embedded.Change) {
		stop()
		if c.Workspace != "ws_1" || c.Head != size {
			t.Errorf("told of %s at %d, want ws_1 at %d", c.Workspace, c.Head, size)
		}
		if n := len(c.Commits); n == 0 || n > 6 {
			t.Errorf("%d commits of 200 KB are kept, want 1 MB at most", n)
		}
		for i, commit := range c.Commits {
			if want := size - int64(len(c.Commits)-1-i); commit.First != want {
				t.Errorf("a commit at %d, want %d", commit.First, want)
			}
		}
	})
}
