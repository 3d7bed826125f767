package workspace

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/chipschat/chips-aws/shared/protocol"
)

func runID(n int) string {
	return protocol.NewID(protocol.PrefixRun, protocol.Time{}.AddDate(2025, 0, 0), [10]byte{byte(n >> 8), byte(n)})
}

func (f *fixture) start(h Caller, run int, space, parent string) string {
	f.t.Helper()
	c := event(space, &protocol.RunStarted{ParentRunID: parent})
	c.draft.RunID = runID(run)
	f.must(h, c)
	return c.draft.RunID
}

// covers: RUN-1, RUN-2, RUN-3, RUN-4, RUN-5, RUN-6
func TestRunStates(t *testing.T) {
	f := newFixture(t)
	run := f.start(f.scout, 1, f.r, "")
	if got := f.log[len(f.log)-1]; got.Actor.ID != f.s1 || got.Actor.HarnessID != f.scout.ID || got.SpaceID != f.r {
		t.Errorf("a run is its one agent's in the room: %+v", got.Envelope)
	}
	step := &protocol.StepLog{StepID: "stp_2", Status: "done", Summary: "Read the PO"}
	got := f.must(f.scout, onRun(run, step))
	if got[0].SpaceID != f.r || got[0].RunID != run || got[0].Actor.ID != f.s1 {
		t.Errorf("a step has its run's room and agent: %+v", got[0].Envelope)
	}
	f.must(f.scout, onRun(run, &protocol.StepStarted{StepID: "stp_3", Title: "Ask"}))

	f.refused(protocol.NotFound, f.scout, onRun(runID(99), step))
	f.refused(protocol.Forbidden, f.ledger, onRun(run, step))
	f.refused(protocol.InvalidEvent, f.scout, onRun("", step))
	f.refused(protocol.InvalidEvent, f.scout, onRun(run, step).as(f.s2))
	f.refused(protocol.InvalidEvent, f.scout, command{func() protocol.Event { e := onRun(run, step).draft; e.SpaceID = f.lone; return e }(), false})
	f.refused(protocol.InvalidEvent, f.scout, onRun(run, &protocol.StepLog{StepID: "stp_2"}))

	why := f.refused(protocol.InvalidEvent, f.scout, onRun(run, &protocol.RunResumed{}))
	if !strings.Contains(why.Message, "not paused") {
		t.Errorf("no reason: %q", why.Message)
	}
	f.must(f.scout, onRun(run, &protocol.RunPaused{}))
	why = f.refused(protocol.InvalidEvent, f.scout, onRun(run, &protocol.RunPaused{}))
	if !strings.Contains(why.Message, "paused") {
		t.Errorf("no reason: %q", why.Message)
	}
	f.must(f.scout, onRun(run, step)) // a paused run still says things
	f.must(f.scout, onRun(run, &protocol.RunResumed{}))
	f.must(f.scout, onRun(run, &protocol.RunCompleted{Summary: "Done."}))
	for _, late := range []protocol.Data{step, &protocol.RunPaused{}, &protocol.RunResumed{}, &protocol.RunCompleted{}, &protocol.RunFailed{},
		&protocol.RunCancelled{}, &protocol.StepStarted{StepID: "s", Title: "t"}, &protocol.MessagePost{Text: "late"}} {
		why := f.refused(protocol.InvalidEvent, f.scout, onRun(run, late))
		if !strings.Contains(why.Message, "completed") {
			t.Errorf("%s: no reason: %q", late.EventType(), why.Message)
		}
	}
	again := event(f.r, &protocol.RunStarted{})
	again.draft.RunID = run
	f.refused(protocol.InvalidEvent, f.scout, again)
	again.draft.RunID = "run_5"
	f.refused(protocol.InvalidEvent, f.scout, again)
	for i, end := range []protocol.Data{&protocol.RunFailed{Error: "no disk"}, &protocol.RunCancelled{}} {
		run := f.start(f.scout, 10+i, f.r, "")
		f.must(f.scout, onRun(run, end))
		f.refused(protocol.InvalidEvent, f.scout, onRun(run, step))
	}
}

// covers: AUTH-2, AUTH-3, AUTH-10, HEL-12
func TestWhoWritesWhat(t *testing.T) {
	f := newFixture(t)
	run := f.start(f.scout, 1, f.r, "")
	for _, data := range []protocol.Data{&protocol.StepLog{StepID: "s", Status: "done"}, &protocol.StepStarted{StepID: "s", Title: "t"},
		&protocol.RunStarted{}, &protocol.RunPaused{}, &protocol.RunCompleted{}, &protocol.SpaceClosed{}} {
		c := onRun(run, data)
		c.draft.SpaceID = f.r
		f.refused(protocol.Forbidden, f.priya, c)
	}
	for _, data := range []protocol.Data{&protocol.RunCancel{}, &protocol.SpaceArchived{}, &protocol.SpaceUnarchived{}, &protocol.SpaceDeleted{},
		&protocol.MemberAdded{ParticipantID: f.s2}, &protocol.MemberRemoved{ParticipantID: f.l1}, &protocol.AgentMoved{AgentID: f.s1, ToSpaceID: f.lone}} {
		c := onRun(run, data)
		c.draft.SpaceID = f.r
		f.refused(protocol.Forbidden, f.scout, c)
	}
	for _, by := range []Caller{f.arjun, f.scout} {
		for _, typ := range []string{"hello", "message.new", "message.overheard", "agent.attached", "agent.released", "person.added", "harness.added",
			"workspace.opened", "exchange.settings_set", "harness.policy_set", "message.held"} {
			c := command{draft: protocol.Event{Envelope: protocol.Envelope{Type: typ}, Data: protocol.NewData(typ)}}
			f.refused(protocol.Forbidden, by, c)
		}
	}
	f.refused(protocol.Forbidden, person("usr_01K4ZQPX000000000000000009"), post(f.r, "who am I"))
	f.refused(protocol.Forbidden, harness("hrn_01K4ZQPX000000000000000009"), post(f.r, "who am I"))
}

func TestLanesEndWithTheirRun(t *testing.T) {
	f := newFixture(t)
	top := f.start(f.scout, 1, f.r, "")
	lane := f.start(f.scout, 2, "", top)
	below := f.start(f.scout, 3, f.r, lane)
	other := f.start(f.scout, 4, f.r, "")
	f.must(f.scout, onRun(lane, &protocol.RunCompleted{}))
	f.refused(protocol.InvalidEvent, f.scout, command{func() protocol.Event {
		e := DraftIn(f.r, &protocol.RunStarted{ParentRunID: lane})
		e.RunID = runID(5)
		return e
	}(), false})
	got := f.must(f.arjun, onRun(top, &protocol.RunCancel{}))
	want := &protocol.RunCancel{Lanes: []string{below}, Reason: "asked"}
	if diff := cmp.Diff(want, got[0].Data); diff != "" || got[0].SpaceID != f.r || got[0].Actor.ID != f.arjun.ID {
		t.Errorf("%+v %s", got[0].Envelope, diff)
	}
	f.refused(protocol.InvalidEvent, f.scout, onRun(below, &protocol.RunCompleted{}))
	f.refused(protocol.InvalidEvent, f.arjun, onRun(top, &protocol.RunCancel{}))
	f.must(f.scout, onRun(other, &protocol.StepLog{StepID: "s", Status: "done"}))
	f.refused(protocol.NotFound, f.person("Mel", protocol.Admin), onRun(other, &protocol.RunCancel{}))
}

func TestOnlySoManyEndedRunsAreRemembered(t *testing.T) {
	f := newFixture(t)
	for i := range RememberedRuns + 5 {
		run := f.start(f.scout, i, f.r, "")
		f.must(f.scout, onRun(run, &protocol.RunCompleted{}))
	}
	f.refused(protocol.NotFound, f.scout, onRun(runID(4), &protocol.RunCompleted{}))
	f.refused(protocol.InvalidEvent, f.scout, onRun(runID(5), &protocol.RunCompleted{}))
	if n := len(f.s.Runs); n != RememberedRuns {
		t.Errorf("%d runs are kept", n)
	}
}

func TestWhoMayWriteComesBeforeWhatIsWrongWithTheFields(t *testing.T) {
	f := newFixture(t)
	fault := protocol.Refuse(protocol.InvalidEvent, "summary is not a text")
	for _, c := range []struct {
		by   Caller
		typ  string
		want protocol.Code
	}{
		{f.priya, "step.log", protocol.Forbidden}, {f.scout, "step.log", protocol.InvalidEvent}, {f.scout, "space.archived", protocol.Forbidden},
		{f.priya, "hello", protocol.Forbidden}, {f.priya, "no.such.thing", protocol.InvalidEvent}, {f.priya, "", protocol.InvalidEvent},
	} {
		draft := protocol.Event{Envelope: protocol.Envelope{Type: c.typ}}
		if got := Unreadable(f.s, c.by, draft, fault); got.Code != c.want {
			t.Errorf("%s by a %s: %v, want %s", c.typ, c.by.Kind, got, c.want)
		}
	}
}
