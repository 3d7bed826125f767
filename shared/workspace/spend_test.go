package workspace

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/chipschat/chips-aws/shared/protocol"
)

// testPrices are what decisions of tests know: a million tokens of "priced" are 2 dollars in and 10 out.
var testPrices = Prices{"priced": {Input: 2 * nanosPerUSD, Output: 10 * nanosPerUSD}}

// run starts a run of a harness in a room, "" for none.
func (w *world) run(h Caller, space string) string {
	w.t.Helper()
	w.n++
	id := fmt.Sprintf("run_01K4ZQPX%018d", w.n)
	c := event(space, &protocol.RunStarted{})
	c.draft.RunID = id
	w.must(h, c)
	return id
}

// used reports what a run cost.
func (w *world) used(h Caller, run string, usd float64) []protocol.Event {
	w.t.Helper()
	return w.must(h, onRun(run, &protocol.UsageReported{CostUSD: &usd}))
}

func (f *fixture) job() protocol.Spend { return *f.s.Rooms[f.r].Spend() }

func (f *fixture) spend(what string, spent float64, since int64, uncounted int) {
	f.t.Helper()
	want := protocol.Spend{CeilingUSD: 3, SpentUSD: spent, SinceSeq: since, UncountedRuns: uncounted}
	if d := cmp.Diff(want, f.job()); d != "" {
		f.t.Errorf("%s (-want +got):\n%s", what, d)
	}
}

// A job begins with whatever a person does in the room, whatever it is, and with nothing else.
// covers: SPEND-3, CEIL-9, CEIL-10
func TestAJobBegins(t *testing.T) {
	f := newFixture(t)
	run := f.run(f.scout, f.r)
	_, said := f.say(f.scout, post(f.r, "hello"))
	mel := f.person("Mel", protocol.Member)
	for what, act := range map[string]command{
		"a message": post(f.r, "go"), "a reaction": event("", &protocol.ReactionSet{MessageID: said, Emoji: "👍", On: true}),
		"a pin": event("", &protocol.PinSet{MessageID: said, On: true}), "carrying on": event(f.r, &protocol.ExchangeSet{State: Going}),
		"a pause": event(f.r, &protocol.ExchangeSet{State: PausedState}), "a new name": event(f.r, &protocol.SpaceRenamed{Title: "Renamed"}),
		"somebody more": event(f.r, &protocol.MemberAdded{ParticipantID: mel.ID}), "a ceiling": opIn(f.r, &protocol.SpaceCeilingSet{}),
		"the lock": opIn(f.r, &protocol.SpaceLockSet{}), "a lead": opIn(f.r, &protocol.SpaceLeadSet{AgentID: &f.s1}),
	} {
		f.used(f.scout, run, 0.5)
		acted := f.must(f.arjun, act)
		f.spend("after "+what, 0, acted[0].Seq, 0)
	}
	since := f.job().SinceSeq
	f.used(f.scout, run, 0.5)
	for what, act := range map[string]struct {
		by Caller
		c  command
	}{
		"a harness's message": {f.ledger, post(f.r, "look")}, "its reaction": {f.scout, event("", &protocol.ReactionSet{MessageID: said, Emoji: "👍", On: true})},
		"its step": {f.scout, onRun(run, &protocol.StepStarted{StepID: "s", Title: "Reading"})}, "an act elsewhere": {f.arjun, post(f.lone, "go")},
		"an act in no room": {f.arjun, op(&PersonDraft{PersonID: mel.ID, Name: ptr("Melanie")})},
	} {
		f.must(act.by, act.c)
		f.spend("after "+what, 0.5, since, 0)
	}

	// With nobody's act the first job begins at the opening, and in a room of handed work with the brief.
	own := f.must(f.scout, event("", &protocol.SpaceOpened{Title: "Own", Key: "own"}))
	for _, e := range own {
		if e.Type == "space.opened" {
			if got := f.s.Rooms[e.SpaceID].Spend(); got.SinceSeq != e.Seq {
				t.Errorf("opened at %d, the job began at %d", e.Seq, got.SinceSeq)
			}
		}
	}
	free := f.register(f.scout, "free", "Free")
	handed := f.must(f.scout, event("", &protocol.SpaceOpened{Title: "Handed", AgentIDs: []string{free}, Brief: &protocol.Brief{Text: "Your work"}}).as(free))
	last := handed[len(handed)-1]
	if d, ok := last.Data.(*protocol.MessagePost); !ok || !d.Brief || f.s.Rooms[last.SpaceID].Spend().SinceSeq != last.Seq {
		t.Errorf("the brief is a %s at %d, and the job began at %d", last.Type, last.Seq, f.s.Rooms[last.SpaceID].Spend().SinceSeq)
	}
}

// What counts: each report by its own seq, every harness's together, at the price that Chips writes where there is one.
// covers: SPEND-4, SPEND-8, SPEND-10
func TestWhatAJobSpends(t *testing.T) {
	f := newFixture(t)
	since := f.must(f.arjun, post(f.r, "go"))[0].Seq
	run, other, bare := f.run(f.scout, f.r), f.run(f.ledger, f.r), f.run(f.scout, "")
	f.used(f.scout, run, 0.1)
	f.used(f.ledger, other, 0.2)
	f.used(f.scout, bare, 5)
	f.spend("two harnesses", 0.3, since, 0)
	priced := f.must(f.scout, onRun(run, &protocol.UsageReported{Model: "priced", InputTokens: ptr[int64](100_000), OutputTokens: ptr[int64](5_001), Priced: true}))
	if d := priced[0].Data.(*protocol.UsageReported); d.CostUSD == nil || *d.CostUSD != 0.25001 || !d.Priced {
		t.Errorf("priced, it is %+v", d)
	}
	f.spend("with a price", 0.55001, since, 0)
	own := f.must(f.scout, onRun(run, &protocol.UsageReported{Model: "priced", InputTokens: ptr[int64](1), CostUSD: ptr(0.0), Priced: true}))
	if d := own[0].Data.(*protocol.UsageReported); *d.CostUSD != 0 || d.Priced {
		t.Errorf("at a cost of its own, it is %+v", d)
	}
	unknown := &protocol.UsageReported{Model: "unheard of", InputTokens: ptr[int64](1000)}
	if d := f.must(f.scout, onRun(run, unknown))[0].Data.(*protocol.UsageReported); d.CostUSD != nil || d.Priced {
		t.Errorf("unpriced, it is %+v", d)
	}
	f.must(f.scout, onRun(run, &protocol.UsageReported{}))
	f.spend("a run that nobody could price, twice", 0.55001, since, 1)
	f.must(f.ledger, onRun(other, unknown))
	f.used(f.ledger, other, 0.1)
	f.spend("another, which goes on at a cost", 0.65001, since, 2)
	since = f.must(f.arjun, post(f.r, "again"))[0].Seq
	f.used(f.ledger, other, 0.1)
	f.spend("the same run in the next job", 0.1, since, 0)
	f.must(f.ledger, onRun(other, unknown))
	f.spend("and what of it is uncounted there", 0.1, since, 1)
}

// A run that Chips ended still takes what it used up, and nothing else, wherever its harness is by then; one that its harness ended does not.
// covers: RUN-3, SPEND-4
func TestUsageAfterTheEnd(t *testing.T) {
	f := newFixture(t)
	usage := &protocol.UsageReported{CostUSD: ptr(0.25)}
	ended := f.run(f.scout, f.r)
	f.must(f.scout, onRun(ended, &protocol.RunCompleted{}))
	f.refused(protocol.InvalidEvent, f.scout, onRun(ended, usage))
	run := f.run(f.scout, f.r)
	lane := event("", &protocol.RunStarted{ParentRunID: run})
	lane.draft.RunID = "run_01K4ZQPX000000000000000777"
	f.must(f.scout, lane)
	since := f.must(f.priya, onRun(run, &protocol.RunCancel{}))[0].Seq
	f.used(f.scout, run, 0.25)
	f.used(f.scout, lane.draft.RunID, 0.5)
	f.spend("cancelled", 0.75, since, 0)
	f.refused(protocol.InvalidEvent, f.scout, onRun(run, &protocol.StepLog{StepID: "s", Status: "done"}))
	f.refused(protocol.InvalidEvent, f.scout, onRun(run, &protocol.RunCompleted{}))

	last := f.run(f.scout, f.r)
	for _, e := range f.must(f.arjun, event(f.r, &protocol.MemberRemoved{ParticipantID: f.s1})) {
		if e.Type == "member.removed" {
			since = e.Seq
		}
	}
	f.must(f.arjun, event(f.lone, &protocol.MemberAdded{ParticipantID: f.s1}))
	if got := f.used(f.scout, last, 0.25)[0]; got.SpaceID != f.r {
		t.Errorf("it is logged in %q", got.SpaceID)
	}
	f.spend("taken out", 0.25, since, 0)
	f.refused(protocol.Forbidden, f.ledger, onRun(last, usage))
	f.refused(protocol.NotFound, f.scout, onRun("run_01K4ZQPX000000000000000999", usage))
	f.refused(protocol.Forbidden, f.arjun, onRun(last, usage))
	f.must(f.arjun, event(f.r, &protocol.SpaceDeleted{}))
	f.used(f.scout, last, 100) // it has no audience, and pauses nobody
}

// Each limit of a report at the limit and one past it: a number that is no amount, and a count that is none, are refused by name.
//
// covers: SPEND-4
func TestUsageLimits(t *testing.T) {
	f := newFixture(t)
	run := f.run(f.scout, f.r)
	bounds := map[string]bound{}
	for name, x := range map[string]struct {
		in, past protocol.UsageReported
		says     string
	}{
		"the least cost": {protocol.UsageReported{CostUSD: ptr(0.0)}, protocol.UsageReported{CostUSD: ptr(-0.01)}, "cost_usd is a number from 0 to 1000000"},
		"the most of it": {protocol.UsageReported{CostUSD: ptr(1e6)}, protocol.UsageReported{CostUSD: ptr(1e6 + 0.01)}, "cost_usd is a number from 0 to 1000000"},
		"no tokens in":   {protocol.UsageReported{InputTokens: ptr[int64](0)}, protocol.UsageReported{InputTokens: ptr[int64](-1)}, "input_tokens is a whole number from 0 to 9007199254740992"},
		"tokens in":      {protocol.UsageReported{InputTokens: ptr[int64](maxTokens)}, protocol.UsageReported{InputTokens: ptr[int64](maxTokens + 1)}, "input_tokens is"},
		"no tokens out":  {protocol.UsageReported{OutputTokens: ptr[int64](0)}, protocol.UsageReported{OutputTokens: ptr[int64](-1)}, "output_tokens is a whole number from 0 to 9007199254740992"},
		"tokens out":     {protocol.UsageReported{OutputTokens: ptr[int64](maxTokens)}, protocol.UsageReported{OutputTokens: ptr[int64](maxTokens + 1)}, "output_tokens is"},
		"model":          {protocol.UsageReported{Model: bytesOf(255)}, protocol.UsageReported{Model: bytesOf(256)}, "model is over 255 bytes"},
	} {
		bounds[name] = bound{onRun(run, &x.in), onRun(run, &x.past), x.says}
	}
	f.holds(f.scout, protocol.InvalidEvent, bounds)
	if job := f.job(); job.SpentUSD != 1e6 {
		t.Errorf("then the job is %+v", job)
	}
}

// Over a million reports of any cost a sum is exact to the nano-dollar.
// covers: SPEND-4
func TestAMillionReports(t *testing.T) {
	f := newFixture(t)
	run, since := f.run(f.scout, f.r), f.must(f.arjun, post(f.r, "go"))[0].Seq
	r := rand.New(rand.NewPCG(1, 2))
	e := protocol.Event{Envelope: protocol.Envelope{Type: "usage.reported", SpaceID: f.r, RunID: run, Actor: agentActor(f.s.Agents[f.s1])}}
	sum := new(big.Int)
	for range 1_000_000 {
		nanos := r.Int64N(2_000_000_000) // up to two dollars, to the nano-dollar
		sum.Add(sum, big.NewInt(nanos))
		usd, _ := new(big.Rat).SetFrac64(nanos, nanosPerUSD).Float64()
		e.Seq, e.Data = f.s.Seq+1, &protocol.UsageReported{CostUSD: &usd}
		Evolve(f.s, e)
	}
	job := f.s.Rooms[f.r].Job
	if got := big.NewInt(int64(job.Spent)); job.Since != since || got.Cmp(sum) != 0 {
		t.Errorf("since %d, %v is spent, want %v since %d", job.Since, got, sum, since)
	}
}
