package workspace

import (
	"unicode/utf8"

	"github.com/chipschat/chips-aws/shared/protocol"
)

// Job is the work of a room's agents since a person last did anything there, or a brief was handed into the room, else since its opening.
type Job struct {
	// Since is the seq where it began.
	Since int64 `json:"since,omitzero"`
	// Spent is what its usage reports cost together. A report counts by its own seq, whenever its run began.
	Spent Nanos `json:"spent,omitzero"`
	// Uncounted is how many runs reported in it what nobody could price. What such a run reported at a cost is spent all the same, or a
	// report without one would give money back.
	Uncounted int `json:"uncounted,omitzero"`
}

// begin starts a job.
func (r *Room) begin(e protocol.Event) { r.Job = Job{Since: e.Seq} }

// evolveUsage counts a report to the job of its run's room, and to its harness.
func (s *State) evolveUsage(run *Run, e protocol.Event, d *protocol.UsageReported) {
	room := s.Rooms[e.SpaceID]
	if d.CostUSD == nil {
		if room != nil && run.Unpriced <= room.Job.Since {
			room.Job.Uncounted++
		}
		run.Unpriced = e.Seq
		return
	}
	cost, ok := NanosOf(*d.CostUSD)
	if !ok {
		return
	}
	if room != nil {
		room.Job.Spent = room.Job.Spent.plus(cost)
	}
	if h := s.Harnesses[run.HarnessID]; h != nil {
		h.Spent = h.Spent.plus(cost)
	}
}

// Spend is what the room's job has spent by now.
func (r *Room) Spend() *protocol.Spend { return r.spend(r.Job) }

func (r *Room) spend(job Job) *protocol.Spend {
	return &protocol.Spend{
		CeilingUSD: r.JobCeiling().Dollars(), SpentUSD: job.Spent.Dollars(), SinceSeq: job.Since, UncountedRuns: job.Uncounted,
	}
}

// Limits of a usage report: bytes of a model's name, and tokens of a kind.
const (
	maxModel  = 255
	maxTokens = 1 << 53
)

// usageReported takes what a run used up, at the price that Chips has for it where the harness knows none, and weighs the room's job and
// the harness's budget with it.
func (d *deciding) usageReported() *protocol.Error {
	draft, ok := d.c.Draft.Data.(*protocol.UsageReported)
	if !ok {
		draft = &protocol.UsageReported{}
	}
	usage := *draft
	usage.Priced = false
	for name, tokens := range map[string]*int64{"input_tokens": draft.InputTokens, "output_tokens": draft.OutputTokens} {
		if tokens != nil && (*tokens < 0 || *tokens > maxTokens) {
			return d.bad("%s is a whole number from 0 to %d", name, maxTokens)
		}
	}
	if len(usage.Model) > maxModel || !utf8.ValidString(usage.Model) {
		return d.bad("model is over %d bytes", maxModel)
	}
	var cost Nanos
	if usage.CostUSD != nil {
		if cost, ok = NanosOf(*usage.CostUSD); !ok {
			return d.bad("cost_usd is a number from 0 to %d", MaxUSD)
		}
	} else if cost, ok = d.c.Prices.of(usage.Model, usage.InputTokens, usage.OutputTokens); ok {
		usd := cost.Dollars()
		usage.CostUSD, usage.Priced = &usd, true
	}
	run, err := d.knownRun()
	if err != nil {
		return err
	}
	if run.EndedRun() && !run.ByChips {
		return d.ended(run)
	}
	d.onRun(run, &usage)
	d.weigh(run, cost)
	return nil
}
