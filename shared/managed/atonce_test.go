package managed_test

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/chipschat/chips-aws/shared/deadline"
	"github.com/chipschat/chips-aws/shared/embedded"
	"github.com/chipschat/chips-aws/shared/engine"
	"github.com/chipschat/chips-aws/shared/managed"
	"github.com/chipschat/chips-aws/shared/protocol"
)

// nested are lists within each other.
func nested(deep int) (v any) {
	for range deep {
		v = []any{v}
	}
	return v
}

// watched has something happen before each row is written.
type watched struct {
	engine.Rows
	before func(engine.Row)
}

func (w *watched) Put(ctx context.Context, row engine.Row, cond engine.Cond) (int64, error) {
	w.before(row)
	return w.Rows.Put(ctx, row, cond)
}

// A run that is posted twice at once, with two starts, is there once: the second is posted, as a whole or as far as where it says where
// the run is, just before the first is written.
//
// covers: JOB-13
func TestRunsPostedAtOnce(t *testing.T) {
	for _, whole := range []bool{true, false} {
		t.Run(fmt.Sprint("as a whole ", whole), func(t *testing.T) {
			w := local(t)
			w.must(w.put("jobs", J{"jobs": []J{job("a")}}))
			post := func(start time.Duration) error {
				at := w.now.Add(start).UTC().Format(time.RFC3339)
				run := J{"job_id": "a", "run_id": "r", "started_at": at, "ended_at": at, "outcome": "done"}
				return w.service.AddRuns(context.Background(), w.scout, w.harness, encode(t, J{"runs": []J{run}}))
			}
			halfway, goOn, second := make(chan struct{}), make(chan struct{}), make(chan error, 1)
			var runs, places atomic.Int64
			w.rows.Rows = &watched{w.rows.Rows, func(row engine.Row) {
				switch {
				case row.PK[:2] != managed.RunRows:
				case row.SK[0] == 'i' && places.Add(1) == 2 && !whole:
					close(halfway)
					<-goOn
				case row.SK[0] == 't' && runs.Add(1) == 1:
					go func() { second <- post(-time.Hour) }()
					if whole {
						w.must(<-second)
					} else {
						<-halfway
					}
				}
			}}
			w.must(post(-2 * time.Hour))
			if !whole {
				close(goOn)
				w.must(<-second)
			}
			v, err := w.service.ReadJobs(t.Context(), w.arjun, w.harness, "", 10)
			if err != nil || len(v.Runs) != 1 {
				t.Errorf("%d runs, %v: %s", len(v.Runs), err, v.Runs)
			}
		})
	}
}

// alarms are those that were set.
type alarms struct{ set []deadline.Alarm }

func (a *alarms) Set(_ context.Context, alarm deadline.Alarm) error {
	a.set = append(a.set, alarm)
	return nil
}

// Sixteen changes may wait; one that was answered does not, and after a restart each of them rings at its own time.
//
// covers: MAN-10
func TestSixteenWait(t *testing.T) {
	table, err := embedded.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = table.Close() })
	rung := &alarms{}
	w := newWorld(t, table, listening{})
	w.service = managed.New(managed.Config{Rows: table, Log: w.engine, Sockets: listening{}, Alarms: rung, Now: func() time.Time { return w.now }})
	w.must(w.put("heartbeat", heartbeat(2)))
	ask := func() (string, error) {
		w.now = w.now.Add(time.Second)
		asked, err := w.service.Ask(t.Context(), w.arjun, w.agent, "heartbeat", "changes", "", encode(t, J{"on": true, "every": 10}))
		return asked.ChangeID, err
	}
	var ids []string
	for range 16 {
		id, err := ask()
		w.must(err)
		ids = append(ids, id)
	}
	if _, err := ask(); err == nil {
		t.Error("a seventeenth waits")
	}
	answer := heartbeat(2)
	answer["answers"] = ids[15]
	w.must(w.put("heartbeat", answer))
	id, err := ask()
	if err != nil {
		t.Fatalf("fifteen wait, and one more is answered %v", err)
	}
	ids[15] = id

	live := rung.set
	live = slices.Delete(live, 15, 16) // of the one that was answered
	rung.set = nil
	w.must(w.service.Rearm(t.Context()))
	if fmt.Sprint(rung.set) != fmt.Sprint(live) {
		t.Errorf("anew ring %v, want %v", rung.set, live)
	}
	// At the last of those times, each is told.
	w.now = rung.set[15].Due
	never := w.service.FireOr(func(context.Context, deadline.Alarm) error { return nil })
	w.must(never(t.Context(), rung.set[15]))
	told := map[string]int{}
	commits, err := w.engine.Commits(t.Context(), w.ws, 1, 1000)
	w.must(err)
	for _, c := range commits {
		events, err := c.Decode()
		w.must(err)
		for _, e := range events {
			if d, ok := e.Data.(*protocol.ManagedAnswered); ok && d.State == protocol.ChangeMissed {
				told[d.ChangeID]++
			}
		}
	}
	for _, id := range ids {
		if told[id] != 1 {
			raw, _ := json.Marshal(told)
			t.Fatalf("%s is told %d times: %s", id, told[id], raw)
		}
	}
}
