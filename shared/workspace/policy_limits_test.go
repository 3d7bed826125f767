package workspace

import (
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/chipschat/chips-aws/shared/protocol"
)

// bound is a limit: what is just within it is taken, and what is just past it refused by its name and with the limit.
type bound struct {
	in, past command
	says     string
}

// holds checks limits; of what is refused nothing comes to be.
func (w *world) holds(by Caller, code protocol.Code, bounds map[string]bound) {
	w.t.Helper()
	for name, b := range bounds {
		if _, err := w.do(by, b.in); err != nil {
			w.t.Errorf("%s: within the limit: %v", name, err)
		}
		if why := w.refused(code, by, b.past); !strings.Contains(why.Message, b.says) {
			w.t.Errorf("%s: want words of %q, got %q", name, b.says, why.Message)
		}
	}
}

func bytesOf(n int) string { return strings.Repeat("b", n) }

// Every limit of a policy, of a harness or of the workspace, and what a rule may hold.
//
// covers: HEV-21, HEV-22, HEV-26, HEV-29, HEV-34
func TestPolicyLimits(t *testing.T) {
	f := newFixture(t)
	level := func(n int) command {
		return op(&protocol.HarnessPolicySet{HarnessID: f.scout.ID, Policy: protocol.Policy{Autonomy: n, Rules: []protocol.Rule{}}})
	}
	budget := func(usd float64) command {
		return op(&protocol.HarnessBudgetSet{HarnessID: f.scout.ID, LimitUSD: &usd})
	}
	capped := func(c CapDraft) command { return op(&c) }
	f.holds(f.arjun, protocol.InvalidRequest, map[string]bound{
		"the least level":   {level(0), level(-1), "autonomy is 0, 1, 2 or 3"},
		"the highest level": {level(3), level(4), "autonomy is 0, 1, 2 or 3"},
		"the least cap":     {capped(CapDraft{MaxAutonomy: ptr(0)}), capped(CapDraft{MaxAutonomy: ptr(-1)}), "max_autonomy is 0, 1, 2 or 3"},
		"the highest cap":   {capped(CapDraft{MaxAutonomy: ptr(3)}), capped(CapDraft{MaxAutonomy: ptr(4)}), "max_autonomy is 0, 1, 2 or 3"},
		"the least budget":  {budget(0), budget(-0.01), "limit_usd is a number from 0 to 1000000"},
		"the most of it":    {budget(1_000_000), budget(1_000_000.01), "limit_usd is a number from 0 to 1000000"},
	})
	f.holds(f.scout, protocol.InvalidRequest, map[string]bound{"words of a status": {
		op(&protocol.HarnessStatusSet{HarnessID: f.scout.ID, Status: "trouble", Message: bytesOf(1000)}),
		op(&protocol.HarnessStatusSet{HarnessID: f.scout.ID, Status: "trouble", Message: bytesOf(1001)}), "message is over 1000 bytes",
	}})

	long := func(reason int) (rules []protocol.Rule) { // 60 rules, and how long the last one's reason is
		for range 60 {
			rules = append(rules, protocol.Rule{Match: "x", Decision: "ask", Reason: bytesOf(775)})
		}
		rules[59].Reason = bytesOf(reason)
		return rules
	}
	raw, err := json.Marshal(long(0))
	if err != nil {
		t.Fatal(err)
	}
	// A field that is not there takes its name's bytes with it.
	left := 48<<10 - len(raw) - len(`,"reason":""`)
	words := func(n int, word string) []string { return slices.Repeat([]string{word}, n) }
	rule := func(change func(*protocol.Rule)) []protocol.Rule {
		r := protocol.Rule{Match: "x", Decision: "ask"}
		change(&r)
		return []protocol.Rule{r}
	}
	of := func(w protocol.When) []protocol.Rule { return rule(func(r *protocol.Rule) { r.When = &w }) }
	for name, x := range map[string]struct {
		in, past []protocol.Rule
		says     string
	}{
		"rules":     {slices.Repeat([]protocol.Rule{ask("x")}, 100), slices.Repeat([]protocol.Rule{ask("x")}, 101), "rules has 101 entries, more than the limit of 100"},
		"all bytes": {long(left), long(left + 1), "rules have 49153 bytes as JSON, more than the limit of 49152"},
		"match":     {[]protocol.Rule{ask(bytesOf(200))}, []protocol.Rule{ask(bytesOf(201))}, "rules[0].match is 1 to 200 bytes"},
		"no match":  {[]protocol.Rule{ask("*")}, []protocol.Rule{ask("x"), ask("")}, "rules[1].match is 1 to 200 bytes"},
		"reason": {
			rule(func(r *protocol.Rule) { r.Reason = bytesOf(1000) }), rule(func(r *protocol.Rule) { r.Reason = bytesOf(1001) }), "rules[0].reason is over 1000 bytes",
		},
		"approvers": {
			rule(func(r *protocol.Rule) { r.Approvers = words(50, "owner") }), rule(func(r *protocol.Rule) { r.Approvers = words(51, "owner") }),
			"rules[0].approvers has more than 50 entries",
		},
		"a label": {
			rule(func(r *protocol.Rule) { r.Approvers = []string{"role:" + bytesOf(320)} }), rule(func(r *protocol.Rule) { r.Approvers = []string{"role:" + bytesOf(321)} }),
			"rules[0].approvers:",
		},
		"no label": {
			rule(func(r *protocol.Rule) { r.Approvers = []string{"role:b", "admin", f.priya.ID, f.ledger.ID} }),
			rule(func(r *protocol.Rule) { r.Approvers = []string{"role:"} }), "rules[0].approvers:",
		},
		"an agent": {rule(func(r *protocol.Rule) { r.Approvers = []string{"owner"} }), rule(func(r *protocol.Rule) { r.Approvers = []string{f.s1} }), "rules[0].approvers:"},
		"money":    {of(protocol.When{MoneyUSDOver: ptr(1e6)}), of(protocol.When{MoneyUSDOver: ptr(1e6 + 0.01)}), "rules[0].when.money_usd_over is a number from 0 to 1000000"},
		"no money": {of(protocol.When{MoneyUSDOver: ptr(0.0)}), of(protocol.When{MoneyUSDOver: ptr(-0.01)}), "rules[0].when.money_usd_over is a number from 0 to 1000000"},
		"starts":   {of(protocol.When{StartsWith: words(50, "git")}), of(protocol.When{StartsWith: words(51, "git")}), "rules[0].when.starts_with has more than 50 entries"},
		"a start":  {of(protocol.When{StartsWith: words(1, bytesOf(200))}), of(protocol.When{StartsWith: words(1, bytesOf(201))}), "rules[0].when.starts_with: each is 1 to 200 bytes"},
		"no start": {of(protocol.When{StartsWith: words(1, "g")}), of(protocol.When{StartsWith: words(1, " ")}), "rules[0].when.starts_with: each is 1 to 200 bytes"},
		"risks": {
			of(protocol.When{Risk: []string{"external", "external_communication", "irreversible", "destructive", "financial", "credential", "privacy", "legal"}}),
			of(protocol.When{Risk: []string{"legal", "fire"}}), `rules[0].when.risk: "fire" is not one of external,`,
		},
	} {
		f.holds(f.arjun, protocol.InvalidRequest, map[string]bound{
			"a harness's " + name: {
				op(&protocol.HarnessPolicySet{HarnessID: f.scout.ID, Policy: protocol.Policy{Autonomy: 1, Rules: x.in}}),
				op(&protocol.HarnessPolicySet{HarnessID: f.scout.ID, Policy: protocol.Policy{Autonomy: 1, Rules: x.past}}), x.says,
			},
			"the cap's " + name: {capped(CapDraft{Rules: &x.in}), capped(CapDraft{Rules: &x.past}), x.says},
		})
	}
}

// Who made a rule stays with it when the policy is written anew, off or on, and with none that is another by now; and a session holds no more
// rules than a policy.
//
// covers: HEV-31, HEV-32
func TestWhoMadeARule(t *testing.T) {
	f := newFixture(t)
	run := f.start(f.scout, 1, f.r, "")
	f.policy(1)
	id, _ := f.wants(run, 1, protocol.Action{Kind: "drive.write"})
	f.must(f.arjun, resolves(id, "approved", "always"))
	rules := func() []protocol.Rule { return f.s.Harnesses[f.scout.ID].Policy.Rules }
	kept := rules()[0]
	for name, x := range map[string]struct {
		rule protocol.Rule
		made bool
	}{
		"as it was": {kept, true}, "off": {off(kept), true},
		"of another kind": {func() protocol.Rule { r := kept; r.Match = "*"; return r }(), false},
		"by another":      {func() protocol.Rule { r := kept; r.MadeBy = f.priya.ID; return r }(), false},
	} {
		f.policy(1, kept)
		f.s.Harnesses[f.scout.ID].Policy.Rules = []protocol.Rule{kept}
		f.policy(1, x.rule)
		if got := rules()[0]; (got.MadeBy == f.arjun.ID && got.MadeAt != nil) != x.made || !x.made && (got.MadeBy != "" || got.MadeAt != nil) {
			t.Errorf("%s: made by %q at %v", name, got.MadeBy, got.MadeAt)
		}
	}
	f.policy(1)
	for i := range maxRules + 1 {
		id, got := f.wants(run, 100+i, protocol.Action{Kind: "docs." + bytesOf(i+1)})
		if len(got) != 1 {
			t.Fatalf("%d is decided: %v", i, types(got))
		}
		resolved := f.must(f.arjun, resolves(id, "approved", "session"))[0].Data.(*protocol.ApprovalResolved)
		if *resolved.Remembered != (i < maxRules) {
			t.Errorf("rule %d of a session is remembered: %v", i+1, *resolved.Remembered)
		}
	}
}

// Every limit of what a run asks: of an action, of a question, and of how many may wait in a room or of a harness in none.
func TestAskLimits(t *testing.T) {
	f := newFixture(t)
	f.policy(3)
	run, other, bare, theirs := f.start(f.scout, 1, f.r, ""), f.start(f.ledger, 2, f.r, ""), f.start(f.scout, 3, "", ""), f.start(f.ledger, 4, "", "")
	n := 0
	acts := func(change func(*protocol.Action)) command {
		n++
		a := protocol.Action{Kind: "x", Summary: "It acts"}
		change(&a)
		return onRun(run, &protocol.ApprovalRequested{ApprovalID: inquiryID(protocol.PrefixApproval, n), Action: a})
	}
	asks := func(run string, options ...string) command {
		n++
		return onRun(run, &protocol.QuestionAsked{QuestionID: inquiryID(protocol.PrefixQuestion, n), Text: "Blue?", Options: options})
	}
	kind := func(k string) command { return acts(func(a *protocol.Action) { a.Kind = k }) }
	summary := func(s string) command { return acts(func(a *protocol.Action) { a.Summary = s }) }
	line := func(l int) command { return acts(func(a *protocol.Action) { a.Command = bytesOf(l) }) }
	money := func(usd float64) command { return acts(func(a *protocol.Action) { a.MoneyUSD = &usd }) }
	risks := func(words ...string) command { return acts(func(a *protocol.Action) { a.Risk = words }) }
	f.holds(f.scout, protocol.InvalidEvent, map[string]bound{
		"kind":        {kind(bytesOf(200)), kind(bytesOf(201)), "action.kind is 1 to 200 bytes"},
		"no kind":     {kind("b"), kind(""), "action.kind is 1 to 200 bytes"},
		"a glob":      {kind("b"), kind("b?"), "action.kind is 1 to 200 bytes, without * and ?"},
		"summary":     {summary(bytesOf(16 << 10)), summary(bytesOf(16<<10 + 1)), "action.summary is 1 to 16384 bytes"},
		"no summary":  {summary("b"), summary(" "), "action.summary is 1 to 16384 bytes"},
		"command":     {line(16 << 10), line(16<<10 + 1), "action.command is over 16384 bytes"},
		"money":       {money(1e6), money(1e6 + 0.01), "action.money_usd is a number from 0 to 1000000"},
		"no money":    {money(0), money(-0.01), "action.money_usd is a number from 0 to 1000000"},
		"risks":       {risks(slices.Repeat([]string{"b"}, 50)...), risks(slices.Repeat([]string{"b"}, 51)...), "action.risk has more than 50 entries"},
		"a risk":      {risks(bytesOf(200)), risks(bytesOf(201)), "action.risk: each is 1 to 200 bytes"},
		"no risk":     {risks("b"), risks("b", ""), "action.risk: each is 1 to 200 bytes"},
		"options":     {asks(run, slices.Repeat([]string{"b"}, 50)...), asks(run, slices.Repeat([]string{"b"}, 51)...), "options has more than 50 entries"},
		"an option":   {asks(run, bytesOf(1000)), asks(run, "b", bytesOf(1001)), "options[1] is 1 to 1000 bytes"},
		"less of one": {asks(run, "b"), asks(run, " "), "options[0] is 1 to 1000 bytes"},
	})
	for f.s != nil && len(f.s.Runs[run].Waiting) < maxInquiries-1 {
		f.must(f.scout, asks(run))
	}
	f.must(f.ledger, asks(other)) // the last of the room
	full := "100 approvals and questions wait already"
	for _, by := range []struct {
		who Caller
		c   command
	}{{f.scout, asks(run)}, {f.ledger, asks(other)}} {
		if why := f.refused(protocol.InvalidEvent, by.who, by.c); !strings.Contains(why.Message, full) {
			t.Errorf("want words of %q, got %q", full, why.Message)
		}
	}
	for range maxInquiries {
		f.must(f.scout, asks(bare))
	}
	if why := f.refused(protocol.InvalidEvent, f.scout, asks(bare)); !strings.Contains(why.Message, full) {
		t.Errorf("want words of %q, got %q", full, why.Message)
	}
	f.must(f.ledger, asks(theirs)) // another harness has its own
	id := f.s.Runs[run].Waiting[0]
	if protocol.PrefixOf(id) == protocol.PrefixQuestion {
		f.must(f.arjun, answers(id, "Blue"))
	} else {
		f.must(f.arjun, resolves(id, "denied", ""))
	}
	f.must(f.scout, asks(run)) // what is answered makes room
}
