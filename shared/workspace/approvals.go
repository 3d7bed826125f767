package workspace

import (
	"slices"
	"strings"

	"github.com/chipschat/chips-aws/shared/protocol"
)

// Limits of what an action says.
const (
	maxActionWords = 16 << 10
	maxRiskWords   = 50
)

// approvalRequested takes what a run wants to do. What policy allows or denies is resolved in the same commit; else it waits for somebody.
func (d *deciding) approvalRequested() *protocol.Error {
	draft, ok := d.c.Draft.Data.(*protocol.ApprovalRequested)
	if !ok || !protocol.ValidID(protocol.PrefixApproval, draft.ApprovalID) {
		return d.bad("approval_id is not apr_ and a ULID")
	}
	if err := d.checkAction(&draft.Action); err != nil {
		return err
	}
	run, err := d.inquires(draft.ApprovalID)
	if err != nil {
		return err
	}
	r := d.s.policiesOf(run).judge(&draft.Action)
	asked := &protocol.ApprovalRequested{ApprovalID: draft.ApprovalID, Action: draft.Action, Verdict: &r.Verdict, Reason: r.reason}
	if r.Decision == protocol.Ask {
		asked.Approvers = r.approvers
	}
	d.onRun(run, asked)
	if r.Decision != protocol.Ask {
		d.emit(protocol.System, run.Room, &protocol.ApprovalResolved{
			ApprovalID: draft.ApprovalID, Decision: resolution(r.Decision), Reason: protocol.ReasonPolicy,
		}).RunID = run.ID
	}
	return nil
}

func resolution(decision string) string {
	if decision == protocol.Allow {
		return protocol.Approved
	}
	return protocol.Denied
}

func (d *deciding) checkAction(a *protocol.Action) *protocol.Error {
	switch {
	case a.Kind == "" || len(a.Kind) > maxMatch || strings.ContainsAny(a.Kind, "*?"):
		return d.bad("action.kind is 1 to %d bytes, without * and ?", maxMatch)
	case strings.TrimSpace(a.Summary) == "" || len(a.Summary) > maxActionWords:
		return d.bad("action.summary is 1 to %d bytes", maxActionWords)
	case len(a.Command) > maxActionWords:
		return d.bad("action.command is over %d bytes", maxActionWords)
	case a.MoneyUSD != nil && !isAmount(*a.MoneyUSD):
		return d.bad("action.money_usd is a number from 0 to %d", MaxUSD)
	case len(a.Risk) > maxRiskWords:
		return d.bad("action.risk has more than %d entries", maxRiskWords)
	}
	for _, r := range a.Risk {
		if r == "" || len(r) > maxMatch {
			return d.bad("action.risk: each is 1 to %d bytes", maxMatch)
		}
	}
	return nil
}

func isAmount(usd float64) bool {
	_, ok := NanosOf(usd)
	return ok
}

// approvalResolved takes the first answer to an approval, by an approver or by the harness whose run asked.
func (d *deciding) approvalResolved() *protocol.Error {
	draft, ok := d.c.Draft.Data.(*protocol.ApprovalResolved)
	switch {
	case !ok || !protocol.ValidID(protocol.PrefixApproval, draft.ApprovalID):
		return d.bad("approval_id is not apr_ and a ULID")
	case draft.Decision != protocol.Approved && draft.Decision != protocol.Denied:
		return d.bad("decision is %q or %q", protocol.Approved, protocol.Denied)
	case draft.Remember != "" && draft.Remember != protocol.RememberAlways && draft.Remember != protocol.RememberSession:
		return d.bad("remember is %q or %q", protocol.RememberAlways, protocol.RememberSession)
	}
	q, err := d.inquiry(draft.ApprovalID)
	if err != nil {
		return err
	}
	if d.c.By.ID != q.HarnessID && !d.s.Approves(d.c.By.ID, q.HarnessID, q.Approvers) {
		return forbidden("the approval is not yours to resolve")
	}
	actor, err := d.answerer()
	if err != nil {
		return err
	}
	if q.Answer != "" {
		return d.bad("%s was first: it is %s", d.s.calls(q.By), q.Answer)
	}
	resolved := &protocol.ApprovalResolved{ApprovalID: draft.ApprovalID, Decision: draft.Decision, Remember: draft.Remember}
	var policy *protocol.HarnessPolicySet
	if draft.Remember != "" {
		policy = d.remember(q, resolved)
	}
	d.answer(actor, q.Room, resolved).RunID = q.RunID
	if policy != nil {
		d.emit(actor, "", policy)
	}
	return nil
}

// answerer is who answers: the sender, or the harness's agent that the draft names.
func (d *deciding) answerer() (protocol.Actor, *protocol.Error) {
	actor := d.c.Draft.Actor
	switch {
	case actor.ID == "" || actor.ID == d.c.By.ID:
		return d.sender(), nil
	case actor.Kind == protocol.KindAgent && d.c.By.Kind == protocol.KindHarness:
		a, err := d.ownAgent(actor.ID)
		if err != nil {
			return protocol.Actor{}, err
		}
		return agentActor(a), nil
	}
	return protocol.Actor{}, forbidden("actor is neither you nor an agent of yours")
}

// calls is how somebody is named to others.
func (s *State) calls(id string) string {
	if id == protocol.SystemID {
		return "Chips"
	}
	return protocol.QuotedName(s.NameOf(id)) + " (" + id + ")"
}

// remember makes a rule of a person's answer, for that exact kind and what its command starts with: the policy with it where the answer is for
// always. No rule is made where it would decide nothing, as the workspace asks all the same, nor for an action that matters.
func (d *deciding) remember(q *Inquiry, answer *protocol.ApprovalResolved) *protocol.HarnessPolicySet {
	remembered := false
	answer.Remembered = &remembered
	run, h := d.s.Runs[q.RunID], d.s.Harness(q.HarnessID)
	if q.Kept == nil || d.c.By.Kind != protocol.KindPerson || run == nil || h == nil {
		return nil
	}
	at := protocol.At(d.c.Now)
	rule := protocol.Rule{Match: q.Kept.Kind, Decision: protocol.Deny, MadeBy: d.c.By.ID, MadeAt: &at}
	if answer.Decision == protocol.Approved {
		rule.Decision = protocol.Allow
	}
	if starts, _ := startsOf(q.Kept.Command); q.Kept.Command != "" {
		rule.When = &protocol.When{StartsWith: starts}
	}
	p := d.s.policiesOf(run)
	if answer.Remember == protocol.RememberSession {
		p.session = append([]protocol.Rule{rule}, p.session...)
	} else {
		p.harness.Rules = slices.Insert(slices.Clone(p.harness.Rules), p.before(q.Kept), rule)
	}
	if _, bad := checkRules(p.harness.Rules, p.harness.Rules); bad != nil || len(run.Rules) >= maxRules || p.judge(q.Kept).Decision != rule.Decision {
		return nil
	}
	remembered = true
	if answer.Remember == protocol.RememberSession {
		answer.Rule = &rule
		return nil
	}
	level := DefaultAutonomy
	if h.Policy != nil {
		level = h.Policy.Autonomy
	}
	return &protocol.HarnessPolicySet{HarnessID: h.ID, Policy: protocol.Policy{Autonomy: level, Rules: p.harness.Rules}}
}
