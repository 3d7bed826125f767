package workspace

import (
	"slices"

	"github.com/chipschat/chips-aws/shared/protocol"
)

// Limits of the words of runs and steps, in bytes.
const (
	maxStepID = 255
	maxWords  = 64 << 10
)

// runStarted takes a run that has begun already: its id is new, its agent is in its room.
func (d *deciding) runStarted() *protocol.Error {
	draft, ok := d.c.Draft.Data.(*protocol.RunStarted)
	if !ok {
		draft = &protocol.RunStarted{}
	}
	id := d.c.Draft.RunID
	if !protocol.ValidID(protocol.PrefixRun, id) {
		return d.bad("run_id is not run_ and a ULID")
	}
	if d.s.Runs[id] != nil {
		return d.bad("run_id is known already: a run starts once")
	}
	space := d.c.Draft.SpaceID
	if draft.ParentRunID != "" {
		parent, err := d.parent(draft.ParentRunID)
		if err != nil {
			return err
		}
		if space == "" {
			space = parent.Room
		}
		if space != parent.Room {
			return d.bad("space_id is not the room of parent_run_id's run")
		}
	}
	actor, err := d.starter(space)
	if err != nil {
		return err
	}
	if room := d.s.Rooms[space]; room != nil && room.Archived {
		return closed()
	}
	if err := d.runsLeft(space); err != nil {
		return err
	}
	d.answer(actor, space, &protocol.RunStarted{Title: draft.Title, ParentRunID: draft.ParentRunID, ForMessage: draft.ForMessage}).RunID = id
	return nil
}

// runsLeft refuses one more run where as many go as may: in a room, or of the harness outside of rooms.
func (d *deciding) runsLeft(space string) *protocol.Error {
	going := 0
	for _, run := range d.s.Runs {
		if !run.EndedRun() && run.Room == space && (space != "" || run.HarnessID == d.c.By.ID) {
			going++
		}
	}
	switch {
	case space != "" && going >= maxRoomRuns:
		return d.bad("%d runs are going in the room, lanes counted, which is the limit", maxRoomRuns)
	case space == "" && going >= maxBareRuns:
		return d.bad("%d runs of yours are going in no room, which is the limit", maxBareRuns)
	}
	return nil
}

// starter is whose run a new run is.
func (d *deciding) starter(space string) (protocol.Actor, *protocol.Error) {
	if space != "" {
		room, err := d.roomOf(space)
		if err != nil {
			return protocol.Actor{}, err
		}
		return d.actorIn(room)
	}
	switch actor := d.c.Draft.Actor; {
	case actor.Kind == protocol.KindAgent:
		a, err := d.ownAgent(actor.ID)
		if err != nil {
			return protocol.Actor{}, err
		}
		return agentActor(a), nil
	case actor.ID != "" && actor.ID != d.c.By.ID:
		return protocol.Actor{}, forbidden("actor is neither you nor an agent of yours")
	}
	if agents := d.s.AgentsOf(d.c.By.ID); len(agents) == 1 {
		return agentActor(agents[0]), nil
	}
	return d.sender(), nil
}

// parent is the run that a lane is opened under.
func (d *deciding) parent(id string) (*Run, *protocol.Error) {
	parent := d.s.Runs[id]
	if parent == nil {
		return nil, notFound("parent_run_id names no run")
	}
	if parent.HarnessID != d.c.By.ID {
		return nil, forbidden("parent_run_id is another harness's run")
	}
	if parent.EndedRun() {
		return nil, d.bad("parent_run_id's run is %s", parent.Status)
	}
	depth := 1
	for up := parent; up != nil && up.Parent != ""; up = d.s.Runs[up.Parent] {
		if depth++; depth >= maxLaneDepth {
			return nil, d.bad("lanes stand in one another %d deep at most", maxLaneDepth)
		}
	}
	return parent, nil
}

// ownRun is the draft's run, which has to be the sender's and still going, and which decides room and actor.
func (d *deciding) ownRun() (*Run, *protocol.Error) {
	run, err := d.knownRun()
	if err == nil && run.EndedRun() {
		err = d.ended(run)
	}
	return run, err
}

// ended refuses what comes after the end of a run.
func (d *deciding) ended(run *Run) *protocol.Error {
	return d.bad("the run is %s: nothing comes after its end", run.Status)
}

// knownRun is the draft's run, which has to be the sender's.
func (d *deciding) knownRun() (*Run, *protocol.Error) {
	id := d.c.Draft.RunID
	if id == "" {
		return nil, d.bad("run_id is missing")
	}
	run := d.s.Runs[id]
	switch {
	case run == nil:
		return nil, notFound("nobody started this run")
	case run.HarnessID != d.c.By.ID:
		return nil, forbidden("the run is another harness's")
	}
	if space := d.c.Draft.SpaceID; space != "" && space != run.Room {
		return nil, d.bad("space_id is not the run's room")
	}
	if actor := d.c.Draft.Actor.ID; actor != "" && actor != run.AgentID && actor != run.HarnessID {
		return nil, d.bad("actor is not whose run it is")
	}
	return run, nil
}

// runActor is whose word an event on a run is: its agent's.
func (d *deciding) runActor(run *Run) protocol.Actor {
	if run.AgentID == run.HarnessID {
		return protocol.Actor{Kind: protocol.KindHarness, ID: run.HarnessID}
	}
	return protocol.Actor{Kind: protocol.KindAgent, ID: run.AgentID, HarnessID: run.HarnessID}
}

// onRun writes an event on the sender's run.
func (d *deciding) onRun(run *Run, data protocol.Data) {
	d.answer(d.runActor(run), run.Room, data).RunID = run.ID
}

func (d *deciding) runPaused() *protocol.Error {
	run, err := d.ownRun()
	if err != nil {
		return err
	}
	if run.Status != Running {
		return d.bad("the run is not running: it is %s", run.Status)
	}
	d.onRun(run, &protocol.RunPaused{})
	return nil
}

func (d *deciding) runResumed() *protocol.Error {
	run, err := d.ownRun()
	if err != nil {
		return err
	}
	if run.Status != Paused {
		return d.bad("the run is not paused: it is %s", run.Status)
	}
	d.onRun(run, &protocol.RunResumed{})
	return nil
}

func (d *deciding) runEnded() *protocol.Error {
	run, err := d.ownRun()
	if err != nil {
		return err
	}
	d.closeInquiries(run.ID)
	d.onRun(run, d.c.Draft.Data)
	return nil
}

// step takes what a run is on, and what became of it.
func (d *deciding) step() *protocol.Error {
	switch data := d.c.Draft.Data.(type) {
	case *protocol.StepStarted:
		if data.StepID == "" || data.Title == "" {
			return d.bad("step_id and title are needed")
		}
		if len(data.StepID) > maxStepID || len(data.Title) > maxWords {
			return d.bad("step_id is over %d bytes or title over %d", maxStepID, maxWords)
		}
	case *protocol.StepLog:
		if data.StepID == "" || data.Status == "" {
			return d.bad("step_id and status are needed")
		}
		if len(data.StepID) > maxStepID || len(data.Status) > maxStepID || len(data.Summary) > maxWords {
			return d.bad("step_id or status is over %d bytes or summary over %d", maxStepID, maxWords)
		}
	}
	run, err := d.ownRun()
	if err != nil {
		return err
	}
	d.onRun(run, d.c.Draft.Data)
	return nil
}

// runCancel is a person's word that ends a run and its lanes, in the same write.
func (d *deciding) runCancel() *protocol.Error {
	if err := d.needMember(); err != nil {
		return err
	}
	id := d.c.Draft.RunID
	if id == "" {
		return d.bad("run_id is missing")
	}
	run := d.s.Runs[id]
	if run == nil || run.Room == "" || !d.s.InRoom(d.s.Rooms[run.Room], d.c.By.ID) {
		return notFound("you see no such run")
	}
	if space := d.c.Draft.SpaceID; space != "" && space != run.Room {
		return d.bad("space_id is not the run's room")
	}
	if run.EndedRun() {
		return d.bad("the run is %s already", run.Status)
	}
	lanes := d.lanes(run)
	d.closeInquiries(append(lanes, run.ID)...)
	d.answer(d.sender(), run.Room, &protocol.RunCancel{Lanes: lanes, Reason: "asked"}).RunID = run.ID
	return nil
}

// cancelRuns writes a run.cancel for each run that goes in a room, of one agent or (agent "") of all, while they are still there.
func (d *deciding) cancelRuns(room, agent, reason string) {
	for _, run := range d.topRuns(room, agent) {
		lanes := d.lanes(run)
		d.closeInquiries(append(lanes, run.ID)...)
		d.emit(protocol.System, room, &protocol.RunCancel{Lanes: lanes, Reason: reason}).RunID = run.ID
	}
}

// topRuns are the runs going in a room that stand under no other run going there of the same agent, oldest first.
func (d *deciding) topRuns(room, agent string) []*Run {
	goes := func(run *Run) bool {
		return !run.EndedRun() && run.Room == room && (agent == "" || run.AgentID == agent)
	}
	var runs []*Run
	for _, run := range d.s.Runs {
		if !goes(run) {
			continue
		}
		up := d.s.Runs[run.Parent]
		for up != nil && !goes(up) {
			up = d.s.Runs[up.Parent]
		}
		if up == nil {
			runs = append(runs, run)
		}
	}
	slices.SortFunc(runs, func(a, b *Run) int { return int(a.Seq - b.Seq) })
	return runs
}

// lanes are the ids of the runs going below a run, oldest first.
func (d *deciding) lanes(top *Run) []string {
	later := []*Run{}
	for _, run := range d.s.Runs {
		if run.Seq > top.Seq {
			later = append(later, run)
		}
	}
	slices.SortFunc(later, func(a, b *Run) int { return int(a.Seq - b.Seq) })
	below := map[string]bool{top.ID: true}
	ids := []string{}
	for _, run := range later { // a lane starts after the run it stands under
		if !below[run.Parent] {
			continue
		}
		below[run.ID] = true
		if !run.EndedRun() {
			ids = append(ids, run.ID)
		}
	}
	return ids
}
