package workspace

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/chipschat/chips-aws/shared/protocol"
)

// What a person in the room may set, and nobody else.
// covers: SPEND-1, SPEND-2, SPEND-13, SPEND-14
func TestCeiling(t *testing.T) {
	f := newFixture(t)
	ceiling := func() float64 { return f.job().CeilingUSD }
	set := func(usd *float64) command { return opIn(f.r, &protocol.SpaceCeilingSet{CeilingUSD: usd}) }
	if got := ceiling(); got != 3 {
		t.Errorf("unset, it is %v", got)
	}
	for _, usd := range []float64{0.25, 100, 7.123456789} {
		if f.must(f.priya, set(&usd)); ceiling() != usd {
			t.Errorf("set to %v, it is %v", usd, ceiling())
		}
	}
	for _, usd := range []float64{0, -3, 0.249999999, 100.000000001, 1e9} {
		if why := f.refused(protocol.InvalidRequest, f.arjun, set(&usd)); why.Message != "usd is a number from 0.25 to 100, or null for 3" {
			t.Errorf("%v is refused by %q", usd, why.Message)
		}
	}
	guest, mel := f.person("Gus", protocol.Guest), f.person("Mel", protocol.Admin)
	f.must(f.arjun, event(f.r, &protocol.MemberAdded{ParticipantID: guest.ID}))
	f.refused(protocol.Forbidden, guest, set(nil))
	f.refused(protocol.Forbidden, mel, set(nil))
	f.refused(protocol.Forbidden, f.scout, set(nil))
	f.refused(protocol.Forbidden, f.arjun, event(f.r, &protocol.SpaceCeilingSet{}))
	if f.must(f.priya, set(nil)); ceiling() != 3 {
		t.Errorf("taken back, it is %v", ceiling())
	}
	f.must(f.arjun, event(f.r, &protocol.SpaceArchived{}))
	f.refused(protocol.RoomClosed, f.arjun, set(nil))
}

// While a room is locked no person changes it, whoever they are; the harness that opened it does.
// covers: SPEND-15, SPEND-16, SPEND-17
func TestLock(t *testing.T) {
	f := newFixture(t)
	opened := f.must(f.scout, event("", &protocol.SpaceOpened{Title: "Scout's", Key: "own", ParticipantIDs: []string{f.arjun.ID}}))
	own := opened[len(opened)-1].SpaceID
	set := func(room string, locked bool) command { return opIn(room, &protocol.SpaceLockSet{Locked: locked}) }
	changes := []protocol.Data{&protocol.SpaceRenamed{Title: "Else"}, &protocol.SpaceArchived{}, &protocol.SpaceDeleted{}}
	for _, room := range []string{own, f.r} {
		got := f.must(f.arjun, set(room, true))
		if d, ok := got[0].Data.(*protocol.SpaceLockSet); !ok || !d.Locked || got[0].SpaceID != room {
			t.Errorf("locked by %+v", got[0])
		}
		for _, change := range changes {
			f.refused(protocol.Locked, f.arjun, event(room, change))
		}
		f.refused(protocol.Forbidden, f.scout, set(room, false))
	}
	f.refused(protocol.Locked, f.priya, event(f.r, changes[0]))
	f.must(f.arjun, post(f.r, "words are no change"))
	f.refused(protocol.Forbidden, f.person("Mel", protocol.Member), set(f.r, false))
	f.must(f.scout, event(own, changes[0]))
	f.must(f.scout, event(own, &protocol.SpaceClosed{}))
	f.must(f.priya, set(f.r, false))
	for _, change := range changes {
		if f.must(f.arjun, event(f.r, change)); change.EventType() == "space.archived" {
			f.must(f.arjun, event(f.r, &protocol.SpaceUnarchived{}))
		}
	}
}

// Ten reports of 30 cents: the eighth warns, the tenth pauses the room, in the commit of the report; then nothing more is told.
// covers: CEIL-1, CEIL-2, CEIL-3, CEIL-4, CEIL-5
func TestAtTheCeiling(t *testing.T) {
	f := newFixture(t)
	since := f.must(f.arjun, post(f.r, "go"))[0].Seq
	run := f.run(f.scout, f.r)
	f.must(f.ledger, onRun(f.run(f.ledger, f.r), &protocol.UsageReported{}))
	for i := 1; i <= 12; i++ {
		got := f.used(f.scout, run, 0.3)
		warning := func(threshold int, spent float64, action string) protocol.Data {
			return &protocol.BudgetWarning{
				Budget: protocol.Budget{LimitUSD: 3, SpentUSD: spent}, Threshold: threshold, Action: action, Scope: "job", SinceSeq: since,
			}
		}
		var want []protocol.Data
		switch i {
		case 8:
			want = []protocol.Data{warning(80, 2.4, "warn")}
		case 10:
			spend := &protocol.Spend{CeilingUSD: 3, SpentUSD: 3, SinceSeq: since, UncountedRuns: 1}
			want = []protocol.Data{&protocol.ExchangeSet{State: "paused", Why: "spend", Spend: spend}, warning(100, 3, "pause")}
		}
		var told []protocol.Data
		for _, e := range got[1:] {
			told = append(told, e.Data)
			if e.SpaceID != f.r || e.Actor != protocol.System {
				t.Errorf("%s is by %v in %q", e.Type, e.Actor, e.SpaceID)
			}
		}
		if d := cmp.Diff(want, told); d != "" {
			t.Errorf("after report %d (-want +got):\n%s", i, d)
		}
	}
	f.must(f.scout, func() command {
		c := event(f.r, &protocol.RunStarted{})
		c.draft.RunID = "run_01K4ZQPX000000000000000888"
		return c
	}())
	got := f.must(f.arjun, post(f.r, "on"))
	if f.job() != (protocol.Spend{CeilingUSD: 3, SinceSeq: got[0].Seq}) {
		t.Errorf("after a person's act it is %+v", f.job())
	}
	// One that jumps past both tells of the ceiling alone (contract A-24).
	if got := types(f.used(f.scout, run, 9)); !slices.Equal(got, []string{"usage.reported", "exchange.set", "budget.warning"}) {
		t.Errorf("past both comes %v", got)
	}
}

// At the ceiling what agents say to each other is held and the lead is handed nothing, until a person acts.
// covers: CEIL-6, CEIL-7, CEIL-9, CEIL-10
func TestPausedBySpend(t *testing.T) {
	for name, act := range map[string]func(f *fixture) command{
		"a message":   func(f *fixture) command { return post(f.r, "go on, @Priya") },
		"carrying on": func(f *fixture) command { return event(f.r, &protocol.ExchangeSet{State: Going}) },
		"a ceiling":   func(f *fixture) command { return opIn(f.r, &protocol.SpaceCeilingSet{CeilingUSD: ptr(5.0)}) },
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.must(f.arjun, opIn(f.r, &protocol.SpaceLeadSet{AgentID: &f.s1}))
			run := f.run(f.ledger, f.r)
			f.must(f.ledger, post(f.r, "F to J are in"))
			f.must(f.ledger, onRun(run, &protocol.RunPaused{}))
			f.used(f.ledger, run, 3)
			f.must(f.ledger, onRun(run, &protocol.RunCompleted{}))
			f.now = f.now.Add(time.Hour)
			if due, ok := f.leadDue(); ok {
				t.Errorf("the lead is handed words at %v", due)
			}
			if got := f.toScout("more?"); !got.Held || !slices.Equal(got.HeldFor, []string{f.s1}) {
				t.Errorf("an agent's message to an agent is %+v", got)
			}
			if got := f.must(f.ledger, post(f.r, "to the people"))[0].Data.(*protocol.MessagePost); got.Held {
				t.Errorf("words for the people are %+v", got)
			}
			if due, ok := f.leadDue(); ok {
				t.Errorf("the lead is handed words at %v", due)
			}
			got := f.must(f.priya, act(f))
			if !slices.Equal(types(got)[1:], []string{"message.handed"}) {
				t.Errorf("the act is %v", types(got))
			}
			if job := f.job(); job.SinceSeq != got[0].Seq || job.SpentUSD != 0 {
				t.Errorf("then the job is %+v", job)
			}
			if got := f.toScout("and now?"); got.Held {
				t.Errorf("then a message is %+v", got)
			}
			if got := types(f.used(f.scout, f.run(f.scout, f.r), 2.5)); !slices.Equal(got, []string{"usage.reported", "budget.warning"}) && name != "a ceiling" {
				t.Errorf("the whole ceiling is there, and 2.50 of it is %v", got)
			}
		})
	}
}

// A harness's own budget: from when it was set, in rooms and out; told of once a setting; nothing is held for it (contract U-137).
// covers: CEIL-13
func TestOwnBudget(t *testing.T) {
	f := newFixture(t)
	set := func(limit *float64) {
		f.must(f.arjun, op(&protocol.HarnessBudgetSet{HarnessID: f.scout.ID, LimitUSD: limit}))
	}
	run, bare := f.run(f.scout, f.r), f.run(f.scout, "")
	f.used(f.scout, bare, 50)
	check := func(run string, usd float64, threshold int, spent float64) {
		t.Helper()
		f.must(f.priya, post(f.r, "a new job, so that it is no matter"))
		var want []protocol.Data
		if threshold > 0 {
			want = append(want, &protocol.BudgetWarning{
				HarnessID: f.scout.ID, Budget: protocol.Budget{LimitUSD: *f.s.Harnesses[f.scout.ID].LimitUSD, SpentUSD: spent},
				Threshold: threshold, Action: "warn", Scope: "harness",
			})
		}
		var told []protocol.Data
		for _, e := range f.used(f.scout, run, usd)[1:] {
			if e.SpaceID != "" || e.Actor != protocol.System {
				t.Errorf("%s is by %v in %q", e.Type, e.Actor, e.SpaceID)
			}
			told = append(told, e.Data)
		}
		if d := cmp.Diff(want, told); d != "" {
			t.Errorf("%v more (-want +got):\n%s", usd, d)
		}
	}
	set(ptr(4.0))
	check(bare, 2, 0, 0)
	check(run, 1.2, 80, 3.2)
	check(run, 0.5, 0, 0)
	check(bare, 0.3, 100, 4)
	check(bare, 40, 0, 0)
	if got := f.toLedger("on we go"); got.Held {
		t.Error("a message is held for a harness's budget")
	}
	set(ptr(4.0)) // once more: counted from here
	check(bare, 5, 100, 5)
	set(ptr(0.0))
	check(bare, 0, 0, 0)
	check(bare, 0.000000001, 100, 0.000000001)
	check(bare, 1, 0, 0)
	set(nil)
	check(bare, 100, 0, 0)
}

// Whatever is reported and done in whichever order, a job's sum is exact, and it is told of each threshold once at most: by a model in
// fractions.
func TestJobsByAModel(t *testing.T) {
	for seed := range uint64(30) {
		r := rand.New(rand.NewPCG(seed, 3))
		f := newFixture(t)
		runs := []string{f.run(f.scout, f.r), f.run(f.ledger, f.r)}
		f.must(f.arjun, post(f.r, "go"))
		spent, ceiling, told := new(big.Rat), big.NewRat(3, 1), 0
		for range 60 {
			if r.IntN(8) == 0 {
				usd := float64(1+r.IntN(12)) / 4
				f.must(f.priya, opIn(f.r, &protocol.SpaceCeilingSet{CeilingUSD: &usd}))
				spent, ceiling, told = new(big.Rat), new(big.Rat).SetFloat64(usd), 0
				continue
			}
			written := fmt.Sprintf("%d.%0*d", r.IntN(2)*r.IntN(2), 1+r.IntN(9), r.IntN(10))
			cost, _ := new(big.Rat).SetString(written)
			usd, _ := cost.Float64()
			spent.Add(spent, cost)
			want := 0
			for _, percent := range []int64{80, 100} {
				if spent.Cmp(new(big.Rat).Mul(ceiling, big.NewRat(percent, 100))) >= 0 && told < int(percent) {
					want = int(percent)
				}
			}
			told = max(told, want)
			i := r.IntN(2)
			got, paused := 0, false
			for _, e := range f.used([]Caller{f.scout, f.ledger}[i], runs[i], usd)[1:] {
				switch d := e.Data.(type) {
				case *protocol.BudgetWarning:
					got += d.Threshold
				case *protocol.ExchangeSet:
					paused = true
				}
			}
			sum, _ := spent.Float64()
			if got != want || paused != (want == 100) || f.job().SpentUSD != sum {
				t.Fatalf("seed %d: %s more is %v of %v: told %d, paused %v, want %d; %+v", seed, written, spent, ceiling, got, paused, want, f.job())
			}
			if (f.s.Rooms[f.r].Talk.Paused != "") != (told == 100) {
				t.Fatalf("seed %d: at %v of %v the room is %q", seed, spent, ceiling, f.s.Rooms[f.r].Talk.Paused)
			}
		}
	}
}
