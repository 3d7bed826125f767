package engine_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/chipschat/chips-aws/shared/engine"
	"github.com/chipschat/chips-aws/shared/protocol"
	"github.com/chipschat/chips-aws/shared/workspace"
)

// world is a workspace by the real rules: Arjun its owner, Priya, and the harness Scout with its one agent in room.
type world struct {
	t                      *testing.T
	table                  engine.Table
	g                      *engine.Engine
	keys                   int
	arjun, priya, scout    workspace.Caller
	agent, room, elsewhere string
}

func ptr[T any](v T) *T { return &v }

func newWorld(t *testing.T) *world {
	w := &world{t: t, table: open(t)}
	w.g = start(w.table, engine.Options{Decide: workspace.Decide})
	system := workspace.Caller{Kind: protocol.KindSystem, ID: protocol.SystemID}
	person := func(id string) workspace.Caller {
		return workspace.Caller{Workspace: "ws_1", Kind: protocol.KindPerson, ID: id, Credential: "dev_" + id}
	}
	opened := w.must(system, operation(&workspace.NameDraft{Name: "Acme", OwnerName: "Arjun"}))
	w.arjun = person(opened.Events[1].Data.(*protocol.PersonAdded).PersonID)
	added := w.must(w.arjun, operation(&workspace.PersonDraft{Name: ptr("Priya"), Role: ptr(protocol.Member)}))
	w.priya = person(added.Events[0].Data.(*protocol.PersonAdded).PersonID)
	made := w.must(w.arjun, operation(&workspace.HarnessDraft{DisplayName: ptr("Scout")}))
	harness := made.Events[made.Commit.Primary].Data.(*protocol.HarnessAdded).HarnessID
	w.scout = workspace.Caller{Workspace: "ws_1", Kind: protocol.KindHarness, ID: harness, Credential: "tok_1"}
	w.room = w.openRoom("Launch", w.scout.ID)
	w.elsewhere = w.openRoom("Elsewhere")
	err := w.g.Read(t.Context(), "ws_1", func(s *workspace.State) error {
		w.agent = s.AgentsIn(s.Rooms[w.room], harness)[0].ID
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func operation(data protocol.Data) workspace.Command {
	return workspace.Command{Draft: workspace.Draft(data), Operation: true}
}

func in(space string, data protocol.Data) workspace.Command {
	return workspace.Command{Draft: workspace.DraftIn(space, data)}
}

func onRun(run string, data protocol.Data) workspace.Command {
	cmd := workspace.Command{Draft: workspace.Draft(data)}
	cmd.Draft.RunID = run
	return cmd
}

// must runs a command under a key of its own.
func (w *world) must(by workspace.Caller, cmd workspace.Command) engine.Outcome {
	w.t.Helper()
	w.keys++
	cmd.By, cmd.Draft.IdempotencyKey = by, fmt.Sprintf("key %d", w.keys)
	return do(w.t, w.g, cmd)
}

func (w *world) openRoom(title string, members ...string) string {
	w.t.Helper()
	return w.must(w.arjun, in("", &protocol.SpaceOpened{Title: title, ParticipantIDs: members})).Ack().SpaceID
}

func (w *world) run(n int) string {
	w.t.Helper()
	id := fmt.Sprintf("run_0000000000000000000000000%d", n)
	cmd := onRun(id, &protocol.RunStarted{Title: "Look"})
	cmd.Draft.SpaceID = w.room
	w.must(w.scout, cmd)
	return id
}

// For every rule that a repeat of its own event would now refuse, or have nothing to do by, the repeat is a duplicate that says
// what the first was told: by the engine that remembers it, and by one that has to look it up.
// covers: WRT-6, WRT-12, RUN-3
func TestRepeatIsDuplicate(t *testing.T) {
	type then struct {
		by  workspace.Caller
		cmd workspace.Command
	}
	for name, c := range map[string]struct {
		// setup answers who sends what, and what happens after it, if that is what a repeat meets.
		setup func(w *world) (workspace.Caller, workspace.Command, []then)
		// code is what a repeat under a new key gets, "" where there is nothing to do.
		code protocol.Code
	}{
		"the run is known": {func(w *world) (workspace.Caller, workspace.Command, []then) {
			cmd := onRun("run_00000000000000000000000009", &protocol.RunStarted{})
			cmd.Draft.SpaceID = w.room
			return w.scout, cmd, nil
		}, protocol.InvalidEvent},
		"the run is paused": {func(w *world) (workspace.Caller, workspace.Command, []then) {
			return w.scout, onRun(w.run(1), &protocol.RunPaused{}), nil
		}, protocol.InvalidEvent},
		"the run is resumed": {func(w *world) (workspace.Caller, workspace.Command, []then) {
			run := w.run(1)
			w.must(w.scout, onRun(run, &protocol.RunPaused{}))
			return w.scout, onRun(run, &protocol.RunResumed{}), nil
		}, protocol.InvalidEvent},
		"the run is completed": {func(w *world) (workspace.Caller, workspace.Command, []then) {
			return w.scout, onRun(w.run(1), &protocol.RunCompleted{Summary: "Done."}), nil
		}, protocol.InvalidEvent},
		"the run is failed": {func(w *world) (workspace.Caller, workspace.Command, []then) {
			return w.scout, onRun(w.run(1), &protocol.RunFailed{Error: "No."}), nil
		}, protocol.InvalidEvent},
		"the run is given up": {func(w *world) (workspace.Caller, workspace.Command, []then) {
			return w.scout, onRun(w.run(1), &protocol.RunCancelled{}), nil
		}, protocol.InvalidEvent},
		"the run is cancelled": {func(w *world) (workspace.Caller, workspace.Command, []then) {
			return w.arjun, onRun(w.run(1), &protocol.RunCancel{}), nil
		}, protocol.InvalidEvent},
		"a step of a run that is over": {func(w *world) (workspace.Caller, workspace.Command, []then) {
			run := w.run(1)
			step := onRun(run, &protocol.StepLog{StepID: "s1", Status: "done"})
			return w.scout, step, []then{{w.arjun, onRun(run, &protocol.RunCancel{})}}
		}, protocol.InvalidEvent},
		"the room is archived": {func(w *world) (workspace.Caller, workspace.Command, []then) {
			return w.arjun, in(w.room, &protocol.SpaceArchived{}), nil
		}, protocol.RoomClosed},
		"the room is unarchived": {func(w *world) (workspace.Caller, workspace.Command, []then) {
			w.must(w.arjun, in(w.room, &protocol.SpaceArchived{}))
			return w.arjun, in(w.room, &protocol.SpaceUnarchived{}), nil
		}, protocol.InvalidEvent},
		"the room is deleted": {func(w *world) (workspace.Caller, workspace.Command, []then) {
			return w.arjun, in(w.room, &protocol.SpaceDeleted{}), nil
		}, protocol.NotFound},
		"a message to a room that is archived": {func(w *world) (workspace.Caller, workspace.Command, []then) {
			return w.arjun, in(w.room, &protocol.MessagePost{Text: "Ship it."}), []then{{w.arjun, in(w.room, &protocol.SpaceArchived{})}}
		}, protocol.RoomClosed},
		"a message of an agent that was moved": {func(w *world) (workspace.Caller, workspace.Command, []then) {
			return w.scout, in(w.room, &protocol.MessagePost{Text: "Done."}),
				[]then{{w.arjun, in(w.room, &protocol.AgentMoved{AgentID: w.agent, ToSpaceID: w.elsewhere})}}
		}, protocol.Forbidden},
		"who was added is in": {func(w *world) (workspace.Caller, workspace.Command, []then) {
			return w.arjun, in(w.room, &protocol.MemberAdded{ParticipantID: w.priya.ID}), nil
		}, protocol.InvalidEvent},
		"who was taken out is out": {func(w *world) (workspace.Caller, workspace.Command, []then) {
			return w.arjun, in(w.room, &protocol.MemberRemoved{ParticipantID: w.agent}), nil
		}, protocol.NotFound},
		"who left may not": {func(w *world) (workspace.Caller, workspace.Command, []then) {
			w.must(w.arjun, in(w.room, &protocol.MemberAdded{ParticipantID: w.priya.ID}))
			return w.priya, in(w.room, &protocol.MemberRemoved{ParticipantID: w.priya.ID}), nil
		}, protocol.Forbidden},
		"the agent is there": {func(w *world) (workspace.Caller, workspace.Command, []then) {
			return w.arjun, in("", &protocol.AgentMoved{AgentID: w.agent, ToSpaceID: w.elsewhere}), nil
		}, protocol.InvalidEvent},
		"the person is gone": {func(w *world) (workspace.Caller, workspace.Command, []then) {
			return w.arjun, operation(&protocol.PersonRemoved{PersonID: w.priya.ID}), nil
		}, protocol.NotFound},
		"who sent it is gone": {func(w *world) (workspace.Caller, workspace.Command, []then) {
			return w.priya, in("", &protocol.SpaceOpened{}), []then{{w.arjun, operation(&protocol.PersonRemoved{PersonID: w.priya.ID})}}
		}, protocol.Forbidden},
		"the harness is gone": {func(w *world) (workspace.Caller, workspace.Command, []then) {
			return w.arjun, operation(&protocol.HarnessRemoved{HarnessID: w.scout.ID}), nil
		}, protocol.NotFound},
		"the workspace has the name": {func(w *world) (workspace.Caller, workspace.Command, []then) {
			return w.arjun, operation(&workspace.NameDraft{Name: "Other"}), nil
		}, ""},
		"the person has the name": {func(w *world) (workspace.Caller, workspace.Command, []then) {
			return w.arjun, operation(&workspace.PersonDraft{PersonID: w.priya.ID, Name: ptr("Pri")}), nil
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			by, cmd, after := c.setup(w)
			first := w.must(by, cmd)
			for _, a := range after {
				w.must(a.by, a.cmd)
			}
			w.checkRepeat(by, cmd, c.code)
			cmd.By, cmd.Draft.IdempotencyKey = by, first.Commit.Key
			want := first.Ack()
			want.Duplicate = true
			for who, g := range map[string]*engine.Engine{"warm": w.g, "cold": start(w.table, engine.Options{Decide: workspace.Decide, Keys: 1})} {
				if diff := cmp.Diff(want, do(t, g, cmd).Ack()); diff != "" {
					t.Errorf("%s (-want +got):\n%s", who, diff)
				}
			}
		})
	}
}

// checkRepeat sends a command again under a new key, which the rules have to have an answer to.
func (w *world) checkRepeat(by workspace.Caller, cmd workspace.Command, code protocol.Code) {
	w.t.Helper()
	cmd.By, cmd.Draft.IdempotencyKey = by, "another"
	out, err := w.g.Do(w.t.Context(), "ws_1", cmd)
	var refusal *protocol.Error
	if errors.As(err, &refusal) {
		if refusal.Code != code {
			w.t.Errorf("under a new key: %v, want %q", refusal, code)
		}
	} else if err != nil || !out.NothingToDo() || code != "" {
		w.t.Errorf("under a new key: %+v, %v, want %q", out.Ack(), err, code)
	}
}

// A room that is opened twice under one key is opened once, and both are told which it is.
// covers: WRT-6
func TestOpenedOnce(t *testing.T) {
	w := newWorld(t)
	first := w.must(w.arjun, in("", &protocol.SpaceOpened{Title: "Launch"}))
	again := in("", &protocol.SpaceOpened{Title: "Launch"})
	again.By, again.Draft.IdempotencyKey = w.arjun, first.Commit.Key
	if ack := do(t, w.g, again).Ack(); ack.SpaceID == "" || ack.SpaceID != first.Ack().SpaceID || !ack.Duplicate {
		t.Errorf("first %+v, then %+v", first.Ack(), ack)
	}
}
