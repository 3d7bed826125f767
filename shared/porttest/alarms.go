package porttest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/chipschat/chips-aws/shared/deadline"
)

// Alarms holds an adapter to what deadline.Alarms says. rung is where its alarms come out. It answers how late the latest was that had
// to be waited for. It takes two seconds, of the clock that the test has.
func Alarms(t *testing.T, alarms deadline.Alarms, rung <-chan deadline.Alarm) (latest time.Duration) {
	t.Helper()
	set := func(a deadline.Alarm) {
		t.Helper()
		if err := alarms.Set(t.Context(), a); err != nil {
			t.Fatalf("set %+v: %v", a, err)
		}
	}
	next := func() (deadline.Alarm, time.Time) {
		t.Helper()
		select {
		case a := <-rung:
			return a, time.Now()
		case <-time.After(10 * time.Second):
			t.Fatal("nothing rings")
			panic("unreachable")
		}
	}
	now := time.Now().UTC().Truncate(time.Millisecond)

	// What is due rings at once, as it was set.
	past := deadline.Alarm{WorkspaceID: "ws_1", Kind: "fork", ID: "evt_\"ü\\", Due: now.Add(-time.Hour)}
	set(past)
	if a, at := next(); a != past || at.Sub(now) > time.Second {
		t.Errorf("set %+v, rang %+v after %v", past, a, at.Sub(now))
	}

	// Several that are due later ring in their time: at most a second too soon, and none much too late. Setting one twice changes nothing.
	due := map[string]time.Time{}
	for i := range 5 {
		a := deadline.Alarm{WorkspaceID: "ws_1", Kind: "fork", ID: fmt.Sprint("evt_", i), Due: now.Add(1200*time.Millisecond + time.Duration(i)*150*time.Millisecond)}
		due[a.ID] = a.Due
		set(a)
		set(a)
	}
	for seen := map[string]bool{}; len(seen) < len(due); {
		a, at := next()
		if a.Due != due[a.ID] || a.Due.Sub(at) > time.Second {
			t.Errorf("%+v rings %v too soon", a, a.Due.Sub(at))
		}
		if !seen[a.ID] {
			latest = max(latest, at.Sub(a.Due))
		}
		seen[a.ID] = true
	}
	if latest > time.Second {
		t.Errorf("rings %v late", latest)
	}

	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := alarms.Set(ended, deadline.Alarm{WorkspaceID: "ws_1", Kind: "fork", ID: "evt_9", Due: now}); err == nil {
		t.Error("set though its time was over")
	}
	return latest
}
