package workspace

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/chipschat/chips-aws/shared/protocol"
)

func inquiryID(prefix string, n int) string {
	return protocol.NewID(prefix, protocol.Time{}.AddDate(2025, 0, 0), [10]byte{1, byte(n >> 8), byte(n)})
}

// wants has a run of Scout's ask for an approval, and answers its id and what was logged.
func (f *fixture) wants(run string, n int, a protocol.Action) (string, []protocol.Event) {
	f.t.Helper()
	id := inquiryID(protocol.PrefixApproval, n)
	if a.Summary == "" {
		a.Summary = "It acts"
	}
	return id, f.must(f.scout, onRun(run, &protocol.ApprovalRequested{ApprovalID: id, Action: a}))
}

func (f *fixture) policy(level int, rules ...protocol.Rule) {
	f.t.Helper()
	f.must(f.arjun, op(&protocol.HarnessPolicySet{HarnessID: f.scout.ID, Policy: protocol.Policy{Autonomy: level, Rules: rules}}))
}

func resolves(id, decision, remember string) command {
	return command{draft: Draft(&protocol.ApprovalResolved{ApprovalID: id, Decision: decision, Remember: remember})}
}

func answers(id, answer string) command {
	return command{draft: Draft(&protocol.QuestionAnswered{QuestionID: id, Answer: answer})}
}

// Who may answer: the approvers of the rule that asked, in the room or not, and the harness whose run asked; the first answer counts, and
// a second is told whose that was.
//
// covers: AUTH-4, AUTH-6, FIRST-3, HEV-29
func TestWhoMayResolve(t *testing.T) {
	f := newFixture(t)
	mel, gus, ada := f.person("Mel", protocol.Member), f.person("Gus", protocol.Guest), f.person("Ada", protocol.Admin)
	far, _, _ := f.harness(f.arjun, "Far")
	f.must(f.arjun, op(&PersonDraft{PersonID: mel.ID, Labels: &[]string{"finance"}}))
	run := f.start(f.scout, 1, f.r, "")
	n := 0
	for name, c := range map[string]struct {
		approvers []string
		may, not  []Caller
	}{
		"absent":    {nil, []Caller{f.arjun, ada, f.scout}, []Caller{f.priya, mel, gus, far, f.ledger}},
		"owner":     {[]string{"owner"}, []Caller{f.arjun, f.scout}, []Caller{f.priya, ada, mel, gus, far}},
		"admin":     {[]string{"admin"}, []Caller{f.arjun, ada, f.scout}, []Caller{f.priya, mel, gus, far, f.ledger}},
		"a label":   {[]string{"role:finance"}, []Caller{mel, f.scout}, []Caller{f.arjun, ada, f.priya, gus, far}},
		"a guest":   {[]string{gus.ID}, []Caller{gus}, []Caller{f.arjun, f.priya, mel, far}},
		"a harness": {[]string{far.ID}, []Caller{far}, []Caller{f.arjun, f.ledger, mel}},
	} {
		asks := ask("*")
		asks.Approvers = c.approvers
		f.policy(3, asks)
		for _, by := range c.may {
			n++
			id, logged := f.wants(run, n, protocol.Action{Kind: "email.send"})
			if len(logged) != 1 {
				t.Fatalf("%s: %v", name, types(logged))
			}
			for _, other := range c.not {
				f.refused(protocol.Forbidden, other, resolves(id, "approved", ""))
			}
			got := f.must(by, resolves(id, "denied", ""))
			if got[0].RunID != run || got[0].SpaceID != f.r || got[0].Actor.ID != by.ID {
				t.Errorf("%s: the answer is %+v", name, got[0].Envelope)
			}
			why := f.refused(protocol.InvalidEvent, c.may[0], resolves(id, "approved", ""))
			if !strings.Contains(why.Message, f.s.NameOf(by.ID)) || !strings.Contains(why.Message, by.ID) {
				t.Errorf("%s: it does not say who was first: %s", name, why.Message)
			}
			f.refused(protocol.Forbidden, c.not[0], resolves(id, "approved", ""))
		}
	}
	f.refused(protocol.NotFound, f.arjun, resolves(inquiryID(protocol.PrefixApproval, 9999), "approved", ""))
	id, _ := f.wants(run, 9000, protocol.Action{Kind: "x"})
	for name, c := range map[string]command{
		"another word": resolves(id, "perhaps", ""), "no id": resolves("", "approved", ""), "for a while": resolves(id, "approved", "a while"),
		"another run": func() command { c := resolves(id, "approved", ""); c.draft.RunID = runID(77); return c }(),
		"elsewhere":   func() command { c := resolves(id, "approved", ""); c.draft.SpaceID = f.lone; return c }(),
	} {
		if why := f.refused(protocol.InvalidEvent, f.arjun, c); why.Message == "" {
			t.Errorf("%s: no reason", name)
		}
	}
	for name, a := range map[string]protocol.Action{
		"no kind": {Summary: "x"}, "a glob": {Kind: "a*", Summary: "x"}, "no words": {Kind: "a"}, "less than nothing": {Kind: "a", Summary: "x", MoneyUSD: ptr(-1.0)},
		"an empty risk": {Kind: "a", Summary: "x", Risk: []string{""}},
	} {
		why := f.refused(protocol.InvalidEvent, f.scout, onRun(run, &protocol.ApprovalRequested{ApprovalID: inquiryID("apr", 9100), Action: a}))
		if !strings.HasPrefix(why.Message, "action.") {
			t.Errorf("%s: the field is not named: %s", name, why.Message)
		}
	}
	f.refused(protocol.InvalidEvent, f.scout, onRun(run, &protocol.ApprovalRequested{ApprovalID: id, Action: protocol.Action{Kind: "x", Summary: "x"}}))
	f.refused(protocol.Forbidden, f.ledger, onRun(run, &protocol.ApprovalRequested{ApprovalID: inquiryID("apr", 9101), Action: protocol.Action{Kind: "x", Summary: "x"}}))
}

// What policy allows or denies is resolved at once, by Chips, in the same commit; the request says why.
//
// covers: HEV-23, HEV-28, HEV-30
func TestPolicyResolvesAtOnce(t *testing.T) {
	f := newFixture(t)
	run := f.start(f.scout, 1, f.r, "")
	no := deny("email.send")
	no.Reason = "No mail."
	f.policy(2, no)
	for i, c := range []struct{ kind, decision, says, reason string }{{"email.send", "denied", "deny", "No mail."}, {"drive.read", "approved", "allow", ""}} {
		id, got := f.wants(run, i, protocol.Action{Kind: c.kind})
		asked, resolved := got[0].Data.(*protocol.ApprovalRequested), got[1].Data.(*protocol.ApprovalResolved)
		if asked.Verdict.Decision != c.says || asked.Reason != c.reason || asked.Approvers != nil || asked.Verdict.Policy != "harness" {
			t.Errorf("%s is asked as %+v, %+v", c.kind, asked, asked.Verdict)
		}
		if d := cmp.Diff(&protocol.ApprovalResolved{ApprovalID: id, Decision: c.decision, Reason: "policy"}, resolved); d != "" || got[1].Actor != protocol.System || got[1].RunID != run {
			t.Errorf("%s is resolved by %+v: %s", c.kind, got[1].Envelope, d)
		}
		if why := f.refused(protocol.InvalidEvent, f.scout, resolves(id, "approved", "")); !strings.Contains(why.Message, "Chips") {
			t.Errorf("it does not say who was first: %s", why.Message)
		}
	}
}

// An answer that is remembered decides the same from then on: for good in the harness's policy, or for as long as the run goes.
//
// covers: HEV-32, HEV-33
func TestRemember(t *testing.T) {
	f := newFixture(t)
	run := f.start(f.scout, 1, f.r, "")
	n := 0
	decides := func(name string, a protocol.Action, want string) string {
		t.Helper()
		n++
		id, got := f.wants(run, n, a)
		if said := got[0].Data.(*protocol.ApprovalRequested).Verdict.Decision; said != want {
			t.Errorf("%s: %s, want %s", name, said, want)
		}
		return id
	}
	answer := func(id, decision, remember string, want bool) []protocol.Event {
		t.Helper()
		got := f.must(f.arjun, resolves(id, decision, remember))
		if r := got[0].Data.(*protocol.ApprovalResolved).Remembered; r == nil || *r != want {
			t.Errorf("remembered: %v, want %v", r, want)
		}
		return got
	}
	kind := func(k string) protocol.Action { return protocol.Action{Kind: k} }
	shell := func(c string) protocol.Action { return protocol.Action{Kind: "shell.run", Command: c} }

	f.policy(3, deny("shell.rm"), ask("*"))
	got := answer(decides("before", kind("drive.write"), "ask"), "approved", "always", true)
	set, ok := got[1].Data.(*protocol.HarnessPolicySet)
	if !ok || set.Autonomy != 3 || got[1].Actor.ID != f.arjun.ID || got[1].SpaceID != "" {
		t.Fatalf("%+v", got[1])
	}
	at := protocol.At(f.now)
	want := []protocol.Rule{deny("shell.rm"), {Match: "drive.write", Decision: "allow", MadeBy: f.arjun.ID, MadeAt: &at}, ask("*")}
	if d := cmp.Diff(want, set.Rules); d != "" {
		t.Errorf("the rules: %s", d)
	}
	decides("after", kind("drive.write"), "allow")
	decides("that kind alone", kind("drive.writes"), "ask")
	matter := decides("what matters", protocol.Action{Kind: "drive.write", External: true}, "ask")
	if got := answer(matter, "approved", "always", false); len(got) != 1 {
		t.Errorf("a rule for what matters: %v", types(got))
	}
	answer(decides("a command", shell("make test && git status"), "ask"), "approved", "always", true)
	decides("the same", shell("make test && git status"), "allow")
	decides("more of it", shell("git status --short"), "allow")
	decides("another", shell("make clean"), "ask")
	hard := decides("one that is no start", shell(`bash -c "rm x"`), "ask")
	answer(hard, "approved", "always", false)
	answer(decides("never", kind("crm.write"), "ask"), "denied", "always", true)
	decides("not again", kind("crm.write"), "deny")

	answer(decides("this session", kind("docs.write"), "ask"), "approved", "session", true)
	decides("in the session", kind("docs.write"), "allow")
	lane := f.start(f.scout, 2, f.r, run)
	if _, got := f.wants(lane, 500, kind("docs.write")); len(got) != 2 {
		t.Error("a lane does not go by its run's rule")
	}
	if slices.ContainsFunc(f.s.Harnesses[f.scout.ID].Policy.Rules, func(r protocol.Rule) bool { return r.Match == "docs.write" }) {
		t.Error("a rule of the session is in the policy")
	}
	other := f.start(f.scout, 3, f.r, "")
	if _, got := f.wants(other, 501, kind("docs.write")); len(got) != 1 {
		t.Error("another run goes by it")
	}
	f.must(f.arjun, op(&protocol.HarnessPolicySet{HarnessID: f.scout.ID, Policy: protocol.Policy{Autonomy: 1, Rules: []protocol.Rule{deny("docs.*")}}}))
	decides("what is denied by now", kind("docs.write"), "deny")
	f.policy(1)
	f.must(f.scout, onRun(run, &protocol.RunCompleted{}))
	if _, got := f.wants(lane, 502, kind("docs.write")); len(got) != 1 {
		t.Error("the rule outlives the run it was made for")
	}
	run = other
	decides("in another", kind("docs.write"), "ask")

	// Where the workspace asks all the same a rule would decide nothing; and a harness's answer makes none.
	f.must(f.arjun, op(&CapDraft{MaxAutonomy: ptr(1)}))
	answer(decides("the cap", kind("cap.x"), "ask"), "approved", "always", false)
	answer(decides("the cap", kind("cap.x"), "ask"), "approved", "session", false)
	f.must(f.arjun, op(&CapDraft{MaxAutonomy: ptr(3)}))
	own := decides("its own", kind("own.x"), "ask")
	if got := f.must(f.scout, resolves(own, "approved", "always")); len(got) != 1 || *got[0].Data.(*protocol.ApprovalResolved).Remembered {
		t.Errorf("a harness's own answer made a rule: %v", types(got))
	}
	// A policy that is full takes no more.
	full := make([]protocol.Rule, maxRules)
	for i := range full {
		full[i] = deny("none")
	}
	f.policy(1, full...)
	answer(decides("full", kind("full.x"), "ask"), "approved", "always", false)
}

// The end of a run, whoever ends it and with its lanes, denies what still waits and closes its questions, before it.
//
// covers: FIRST-3, FIRST-4
func TestARunsEndClosesWhatItAsked(t *testing.T) {
	for name, end := range map[string]func(f *fixture, run string){
		"completed": func(f *fixture, run string) { f.must(f.scout, onRun(run, &protocol.RunCompleted{})) },
		"cancel":    func(f *fixture, run string) { f.must(f.priya, onRun(run, &protocol.RunCancel{})) },
		"archived":  func(f *fixture, _ string) { f.must(f.arjun, event(f.r, &protocol.SpaceArchived{})) },
		"deleted":   func(f *fixture, _ string) { f.must(f.arjun, event(f.r, &protocol.SpaceDeleted{})) },
		"removed":   func(f *fixture, _ string) { f.must(f.arjun, event(f.r, &protocol.MemberRemoved{ParticipantID: f.s1})) },
		"harness":   func(f *fixture, _ string) { f.must(f.arjun, op(&protocol.HarnessRemoved{HarnessID: f.scout.ID})) },
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.policy(1)
			run := f.start(f.scout, 1, f.r, "")
			asking := run
			if name != "completed" {
				asking = f.start(f.scout, 2, f.r, run)
			}
			apr, _ := f.wants(asking, 1, protocol.Action{Kind: "x"})
			qst := inquiryID(protocol.PrefixQuestion, 2)
			f.must(f.scout, onRun(asking, &protocol.QuestionAsked{QuestionID: qst, Text: "Blue or green?"}))
			before := len(f.log)
			end(f, run)
			got := f.log[before:]
			if !slices.Equal(types(got)[:2], []string{"approval.resolved", "question.closed"}) || got[0].Actor != protocol.System || got[0].RunID != asking {
				t.Fatalf("%v: %+v", types(got), got[0].Envelope)
			}
			if d := cmp.Diff(&protocol.ApprovalResolved{ApprovalID: apr, Decision: "denied", Reason: "run_ended"}, got[0].Data); d != "" {
				t.Error(d)
			}
			if d := cmp.Diff(&protocol.QuestionClosed{QuestionID: qst, Reason: "run_ended"}, got[1].Data); d != "" {
				t.Error(d)
			}
			if why := f.refused(protocol.InvalidEvent, f.arjun, resolves(apr, "approved", "")); !strings.Contains(why.Message, "Chips") {
				t.Errorf("it does not say who was first: %s", why.Message)
			}
			if name != "deleted" {
				f.refused(protocol.InvalidEvent, f.priya, answers(qst, "Blue"))
			}
			if n := len(f.s.Runs[asking].Waiting); n != 0 {
				t.Errorf("%d still wait", n)
			}
		})
	}
}

// A question is for the people of its room, guests too, and its first answer counts.
//
// covers: FIRST-4
func TestQuestions(t *testing.T) {
	f := newFixture(t)
	gus, mel := f.person("Gus", protocol.Guest), f.person("Mel", protocol.Member)
	f.add(f.arjun, f.r, gus.ID)
	run, bare := f.start(f.scout, 1, f.r, ""), f.start(f.scout, 2, "", "")
	ask := func(run string, n int) string {
		id := inquiryID(protocol.PrefixQuestion, n)
		c := onRun(run, &protocol.QuestionAsked{QuestionID: id, Text: "Blue or green?", Options: []string{"Blue", "Green"}})
		if got := f.must(f.scout, c); len(got) != 1 || got[0].RunID != run {
			t.Errorf("asked as %+v", got)
		}
		return id
	}
	id := ask(run, 1)
	f.refused(protocol.Forbidden, mel, answers(id, "Blue"))
	f.refused(protocol.Forbidden, f.scout, answers(id, "Blue"))
	f.refused(protocol.InvalidEvent, gus, answers(id, " "))
	if got := f.must(gus, answers(id, "Neither")); got[0].SpaceID != f.r || got[0].RunID != run {
		t.Errorf("answered as %+v", got[0].Envelope)
	}
	if why := f.refused(protocol.InvalidEvent, f.arjun, answers(id, "Green")); !strings.Contains(why.Message, "Gus") {
		t.Errorf("it does not say who was first: %s", why.Message)
	}
	f.refused(protocol.NotFound, f.arjun, answers(inquiryID(protocol.PrefixQuestion, 99), "Blue"))
	id = ask(bare, 3)
	f.refused(protocol.NotFound, f.priya, answers(id, "Blue"))
	f.must(f.arjun, answers(id, "Blue"))
	f.refused(protocol.InvalidEvent, f.scout, onRun(run, &protocol.QuestionAsked{QuestionID: id, Text: "Again?"}))
	f.refused(protocol.InvalidEvent, f.scout, onRun(run, &protocol.QuestionAsked{QuestionID: inquiryID("qst", 4)}))
	f.refused(protocol.InvalidEvent, f.scout, onRun(run, &protocol.QuestionAsked{QuestionID: inquiryID("qst", 4), Text: "x", Options: []string{""}}))
}

// A question, and an approval that waits for somebody, begin the count of an exchange anew; one that policy decides at once does not.
//
// covers: REF-4, REF-5
func TestAskingBeginsTheCountAnew(t *testing.T) {
	f := newFixture(t)
	run := f.start(f.scout, 1, f.r, "")
	f.policy(2)
	talk := func() {
		for range 3 {
			f.must(f.scout, post(f.r, "@Ledger and so on"))
		}
		if n := f.s.Rooms[f.r].Talk.Count; n < 3 {
			t.Fatalf("they said %d", n)
		}
	}
	talk()
	f.wants(run, 1, protocol.Action{Kind: "x"})
	if n := f.s.Rooms[f.r].Talk.Count; n < 3 {
		t.Errorf("what policy allows begins anew: %d", n)
	}
	f.wants(run, 2, protocol.Action{Kind: "x", External: true})
	if n := f.s.Rooms[f.r].Talk.Count; n != 0 {
		t.Errorf("after an approval that waits they said %d", n)
	}
	talk()
	f.must(f.scout, onRun(run, &protocol.QuestionAsked{QuestionID: inquiryID("qst", 3), Text: "Blue?"}))
	if n := f.s.Rooms[f.r].Talk.Count; n != 0 {
		t.Errorf("after a question they said %d", n)
	}
}

// The newest thousand that wait no longer are known, of each kind, and all that wait.
func TestWhatIsRememberedOfInquiries(t *testing.T) {
	f := newFixture(t)
	f.policy(2)
	run := f.start(f.scout, 1, f.r, "")
	open, _ := f.wants(run, 0, protocol.Action{Kind: "x", External: true})
	q := inquiryID("qst", 0)
	f.must(f.scout, onRun(run, &protocol.QuestionAsked{QuestionID: q, Text: "Blue?"}))
	f.must(f.arjun, answers(q, "Blue"))
	for i := 1; i <= RememberedInquiries+5; i++ {
		f.wants(run, i, protocol.Action{Kind: "x"})
	}
	if n := len(f.s.Inquiries); n != RememberedInquiries+2 {
		t.Errorf("%d are known", n)
	}
	f.refused(protocol.NotFound, f.scout, resolves(inquiryID("apr", 5), "approved", ""))
	f.refused(protocol.InvalidEvent, f.scout, resolves(inquiryID("apr", 6), "approved", ""))
	f.refused(protocol.InvalidEvent, f.arjun, answers(q, "Green"))
	f.must(f.arjun, resolves(open, "approved", ""))
}
