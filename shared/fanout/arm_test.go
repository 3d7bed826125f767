package fanout_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/chipschat/chips-aws/shared/deadline"
	"github.com/chipschat/chips-aws/shared/engine"
	"github.com/chipschat/chips-aws/shared/fanout"
	"github.com/chipschat/chips-aws/shared/protocol"
	"github.com/chipschat/chips-aws/shared/workspace"
)

// alarms are the ids of what was set.
type alarms struct {
	ids []string
	err error
}

func (a *alarms) Set(_ context.Context, alarm deadline.Alarm) error {
	if a.err == nil {
		a.ids = append(a.ids, alarm.ID)
	}
	return a.err
}

// Every ring arms what its commits set, with nobody there too; a ring of no commits arms all. Where that fails the frames go out all the same,
// and the ring comes again.
func TestArms(t *testing.T) {
	h := newHouse(t)
	set := &alarms{}
	keeper := deadline.New(deadline.Config{Log: h.engine, Rows: h.table, Alarms: set, Now: time.Now, Logger: quiet})
	process := func() *fanout.Fanout {
		return fanout.New(fanout.Config{
			Log: h.engine, Connections: h.sessions, Rows: h.rows, Push: h, Deadlines: keeper, Now: time.Now, Logger: quiet,
		})
	}
	h.do(h.scout, workspace.Draft(&workspace.HarnessDraft{HarnessID: h.scout.ID, Capabilities: &[]string{"agents", "forks"}}))
	ask := func() (string, []engine.Commit) {
		out := h.do(h.arjun, workspace.DraftIn(h.room, &protocol.AgentFork{AgentID: h.s1}))
		return out.Events[0].ID, []engine.Commit{out.Commit}
	}
	first, commits := ask()
	h.rows.take()
	if err := process().Ring(t.Context(), h.ws, []engine.Commit{h.say(h.arjun, "hello").Commit}); err != nil || len(set.ids) != 0 {
		t.Fatalf("words set %v, %v", set.ids, err)
	}
	for range 2 { // a record that comes twice, once the range is through
		if err := process().Ring(t.Context(), h.ws, commits); err != nil {
			t.Fatal(err)
		}
	}
	second, _ := ask()
	if err := process().Ring(t.Context(), h.ws, nil); err != nil {
		t.Fatal(err)
	}
	if want := []string{first, first, first, second}; !slices.Equal(set.ids, want) {
		t.Errorf("set %v, want %v", set.ids, want)
	}

	id := h.listen(h.arjun)
	set.ids, set.err = nil, errors.New("no queue")
	third, commits := ask()
	one := process()
	if err := one.Ring(t.Context(), h.ws, commits); err == nil {
		t.Error("the ring is through without an alarm")
	}
	if got := h.heard(id); got != "agent.fork" {
		t.Errorf("Arjun is sent %q", got)
	}
	set.err = nil
	if err := one.Ring(t.Context(), h.ws, commits); err != nil || !slices.Equal(set.ids, []string{third}) {
		t.Errorf("rung again: set %v, %v", set.ids, err)
	}
	if got := h.heard(id); got != "" {
		t.Errorf("Arjun is sent %q once more", got)
	}
}
