package workspace

import "github.com/chipschat/chips-aws/shared/protocol"

// What a room allows a job until a person sets another ceiling, and what they may set.
const (
	defaultCeiling Nanos = 3 * nanosPerUSD
	leastCeiling   Nanos = nanosPerUSD / 4
	mostCeiling    Nanos = 100 * nanosPerUSD
)

// What comes of reaching a threshold, and whose spend it is.
const (
	actionWarn   = "warn"
	actionPause  = "pause"
	scopeJob     = "job"
	scopeHarness = "harness"
)

// JobCeiling is what the room allows a job.
func (r *Room) JobCeiling() Nanos {
	if r.Ceiling == 0 {
		return defaultCeiling
	}
	return r.Ceiling
}

// MostlySpent says whether 80 hundredths of the ceiling are spent.
func (r *Room) MostlySpent() bool { return r.Job.Spent.reached(r.JobCeiling(), 80) }

// evolveCeiling folds a new ceiling.
func (r *Room) evolveCeiling(d *protocol.SpaceCeilingSet) {
	r.Ceiling = 0
	if d.CeilingUSD != nil {
		r.Ceiling, _ = NanosOf(*d.CeilingUSD)
	}
}

// passed is the threshold that a sum reaches as it grows to another, 0 for none: one that jumps past both reaches 100 alone (contract
// What is spent only grows, so each is reached once.
func passed(before, after, limit Nanos) int {
	for _, percent := range []int64{100, 80} {
		if after.reached(limit, percent) {
			if before.reached(limit, percent) {
				return 0
			}
			return int(percent)
		}
	}
	return 0
}

// weigh tells of the thresholds that a run's cost reaches: of the job in its room, where the agents are paused at the ceiling, and of the
// harness's own budget, for which nothing is held.
func (d *deciding) weigh(run *Run, cost Nanos) {
	if room := d.s.Rooms[run.Room]; room != nil && !room.Deleted {
		job := room.Job
		job.Spent = job.Spent.plus(cost)
		limit := room.JobCeiling()
		warning := &protocol.BudgetWarning{
			Budget:    protocol.Budget{LimitUSD: limit.Dollars(), SpentUSD: job.Spent.Dollars()},
			Threshold: passed(room.Job.Spent, job.Spent, limit), Action: actionWarn, Scope: scopeJob, SinceSeq: job.Since,
		}
		if warning.Threshold == 100 {
			d.emit(protocol.System, room.ID, &protocol.ExchangeSet{State: PausedState, Why: PausedBySpend, Spend: room.spend(job)})
			warning.Action = actionPause
		}
		if warning.Threshold > 0 {
			d.emit(protocol.System, room.ID, warning)
		}
	}
	h := d.s.Harnesses[run.HarnessID]
	if h == nil || h.LimitUSD == nil {
		return
	}
	limit, _ := NanosOf(*h.LimitUSD)
	spent := h.Spent.plus(cost)
	if threshold := passed(h.Spent, spent, limit); threshold > 0 {
		d.emit(protocol.System, "", &protocol.BudgetWarning{
			HarnessID: h.ID, Budget: protocol.Budget{LimitUSD: *h.LimitUSD, SpentUSD: spent.Dollars()},
			Threshold: threshold, Action: actionWarn, Scope: scopeHarness,
		})
	}
}

// spaceCeilingSet sets what a room allows a job, or puts it back to the default.
func (d *deciding) spaceCeilingSet() *protocol.Error {
	draft, ok := d.c.Draft.Data.(*protocol.SpaceCeilingSet)
	if !ok {
		return d.bad("usd is missing")
	}
	set := &protocol.SpaceCeilingSet{}
	if draft.CeilingUSD != nil {
		ceiling, ok := NanosOf(*draft.CeilingUSD)
		if !ok || ceiling < leastCeiling || ceiling > mostCeiling {
			return d.bad("usd is a number from %v to %v, or null for %v", leastCeiling.Dollars(), mostCeiling.Dollars(), defaultCeiling.Dollars())
		}
		usd := ceiling.Dollars()
		set.CeilingUSD = &usd
	}
	return d.setting(set)
}

// spaceLockSet locks a room's changes, or unlocks them.
func (d *deciding) spaceLockSet() *protocol.Error {
	draft, ok := d.c.Draft.Data.(*protocol.SpaceLockSet)
	if !ok {
		return d.bad("locked is missing")
	}
	return d.setting(&protocol.SpaceLockSet{Locked: draft.Locked})
}

// setting writes a setting of the draft's room, by a person in it who is more than a guest. One that is so already is written all the
// same: it is an act, with which a job begins.
func (d *deciding) setting(data protocol.Data) *protocol.Error {
	if err := d.needMember(); err != nil {
		return err
	}
	room, err := d.room()
	if err != nil {
		return err
	}
	if room.Archived {
		return closed()
	}
	d.answer(d.sender(), room.ID, data)
	return nil
}

// unlocked refuses people what changes a room while it is locked; a harness's own change of a room that it opened still lands.
func (d *deciding) unlocked(room *Room) *protocol.Error {
	if room.Locked && d.c.By.Kind == protocol.KindPerson {
		return protocol.Refuse(protocol.Locked, "the room's changes are locked: unlock them first")
	}
	return nil
}
