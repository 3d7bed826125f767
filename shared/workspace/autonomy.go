package workspace

import (
	"slices"
	"strings"

	"github.com/chipschat/chips-aws/shared/protocol"
)

// Whose policy decided.
const (
	ofHarness   = "harness"
	ofWorkspace = "workspace"
	ofSession   = "session"
)

// policies are all that decide on an action of a run.
type policies struct {
	// harness is the harness's own, at the level in force; session are the rules of the run, made by answers, which decide where it asks;
	// workspace is the cap.
	harness, workspace protocol.Policy
	session            []protocol.Rule
}

// ruling is what a policy says, and who may answer where it asks.
type ruling struct {
	protocol.Verdict
	approvers []string
	reason    string
}

var strictness = map[string]int{protocol.Allow: 0, protocol.Ask: 1, protocol.Deny: 2}

// stricter is the stricter of two rulings, the first where they are alike.
func stricter(a, b ruling) ruling {
	if strictness[b.Decision] > strictness[a.Decision] {
		return b
	}
	return a
}

// judge decides on an action. Each part of its command is decided on by itself, and the strictest counts (HEV-27); so does the cap beside the
// harness's policy. Where both ask, those answer whom the cap's rule names, if it names any.
func (p policies) judge(a *protocol.Action) ruling {
	all := ruling{Verdict: protocol.Verdict{Decision: protocol.Allow}}
	harness, session, capping := sieve(p.harness.Rules, a), sieve(p.session, a), sieve(p.workspace.Rules, a)
	for i, x := range actionParts(a) {
		own := byPolicy(ofHarness, p.harness.Autonomy, harness, a, x)
		if own.Decision == protocol.Ask {
			if answered, decision := firstRule(session, x); answered != nil {
				own = ruling{Verdict: protocol.Verdict{Decision: decision, Policy: ofSession, Rule: &answered.place, Match: answered.Match}}
			}
		}
		capped := byPolicy(ofWorkspace, p.workspace.Autonomy, capping, a, x)
		if capped.Decision == protocol.Ask && own.Decision == protocol.Ask && len(capped.approvers) > 0 {
			own = capped
		}
		if one := stricter(own, capped); i == 0 {
			all = one
		} else {
			all = stricter(all, one)
		}
	}
	if all.Decision == protocol.Ask && len(all.approvers) == 0 {
		all.approvers = []string{"owner", "admin"}
	}
	return all
}

// actionParts are the parts of an action's command; an action without one is a part without words.
func actionParts(a *protocol.Action) []part {
	if a.Command == "" {
		return []part{{}}
	}
	return partsOf(a.Command)
}

// byPolicy is what a policy says of a part: its first rule that matches, else its level.
func byPolicy(name string, level int, rules []applying, a *protocol.Action, x part) ruling {
	first, decision := firstRule(rules, x)
	if first == nil {
		return ruling{Verdict: protocol.Verdict{Decision: preset(level, a), Policy: name, Autonomy: &level}}
	}
	return ruling{
		Verdict:   protocol.Verdict{Decision: decision, Policy: name, Rule: &first.place, Match: first.Match},
		approvers: first.Approvers, reason: first.Reason,
	}
}

// preset is what an autonomy level says of an action (contract U-110).
func preset(level int, a *protocol.Action) string {
	switch {
	case level <= 0:
		return protocol.Deny
	case level == 1, level == 2 && matters(a):
		return protocol.Ask
	}
	return protocol.Allow
}

// matters says whether an action has a flag, a risk or money set.
func matters(a *protocol.Action) bool {
	return a.External || a.Irreversible || len(a.Risk) > 0 || money(a.MoneyUSD) > 0
}

// money is an amount, nothing where none is said.
func money(usd *float64) Nanos {
	if usd == nil {
		return 0
	}
	n, _ := NanosOf(*usd)
	return n
}

// applying is a rule that decides on an action by what its command runs, or whatever that is.
type applying struct {
	*protocol.Rule
	// place is where in its policy it stands, from 0.
	place int
	// starts are the words of each of its starts; any command is meant where it has none.
	starts [][]string
}

// sieve is what of the rules applies to an action. A command may have thousands of parts: what is the same for all is looked at once.
func sieve(rules []protocol.Rule, a *protocol.Action) (left []applying) {
	for i := range rules {
		r := &rules[i]
		if r.Off || !globs(r.Match, a.Kind) || !flagged(r.When, a) || r.MadeBy != "" && r.Decision == protocol.Allow && matters(a) {
			continue
		}
		left = append(left, applying{Rule: r, place: i})
		if r.When == nil {
			continue
		}
		for _, start := range r.When.StartsWith {
			left[len(left)-1].starts = append(left[len(left)-1].starts, strings.Fields(start))
		}
	}
	return left
}

// firstRule is the first rule that matches a part, and what it decides; nil for none. A part that may run anything may start as a strict rule
// says: a person is asked.
func firstRule(rules []applying, x part) (*applying, string) {
	for i := range rules {
		r := &rules[i]
		switch {
		case len(r.starts) == 0 || slices.ContainsFunc(r.starts, x.startsWith):
			return r, r.Decision
		case x.unknown && r.Decision != protocol.Allow:
			return r, protocol.Ask
		}
	}
	return nil, ""
}

// flagged says whether an action's flags are as a rule's conditions say.
func flagged(w *protocol.When, a *protocol.Action) bool {
	switch {
	case w == nil:
		return true
	case w.External != nil && *w.External != a.External, w.Irreversible != nil && *w.Irreversible != a.Irreversible:
		return false
	case w.MoneyUSDOver != nil && money(a.MoneyUSD) <= money(w.MoneyUSDOver):
		return false
	}
	return len(w.Risk) == 0 || slices.ContainsFunc(w.Risk, func(risk string) bool { return slices.Contains(a.Risk, risk) })
}

// policiesOf are those that decide on what a run does. A run under others goes by their rules too.
func (s *State) policiesOf(run *Run) policies {
	p := policies{workspace: protocol.Policy{Autonomy: s.Cap.MaxAutonomy, Rules: s.Cap.Rules}}
	if h := s.Harnesses[run.HarnessID]; h != nil && h.Policy != nil {
		p.harness.Rules = h.Policy.Rules
	}
	p.harness.Autonomy = s.Autonomy(run.HarnessID)
	for n := 0; run != nil && n < maxLaneDepth; n++ {
		p.session = append(p.session, run.Rules...)
		run = s.Runs[run.Parent]
	}
	return p
}

// before is where in the harness's policy a rule has to stand to decide on an action before what asks now does.
func (p policies) before(a *protocol.Action) int {
	at := len(p.harness.Rules)
	rules := sieve(p.harness.Rules, a)
	for _, x := range actionParts(a) {
		if r, decision := firstRule(rules, x); r != nil && decision == protocol.Ask {
			at = min(at, r.place)
		}
	}
	return at
}

// Approves says whether somebody (a usr_ or hrn_ id) may answer an approval of a harness, by the words of a rule's approvers.
func (s *State) Approves(id, harness string, approvers []string) bool {
	p, h := s.Person(id), s.Harnesses[harness]
	if p == nil && s.Harness(id) == nil {
		return false
	}
	return slices.ContainsFunc(approvers, func(word string) bool {
		switch word {
		case "owner":
			return h != nil && h.OwnerID == id
		case "admin":
			return p.runsThings()
		}
		return word == id || p != nil && slices.ContainsFunc(p.Labels, func(label string) bool { return word == "role:"+label })
	})
}
