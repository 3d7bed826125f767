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
			if place, decision := session.first(x); place >= 0 {
				own = ruling{Verdict: protocol.Verdict{Decision: decision, Policy: ofSession, Rule: &place, Match: p.session[place].Match}}
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
func byPolicy(name string, level int, rules *applying, a *protocol.Action, x part) ruling {
	place, decision := rules.first(x)
	if place < 0 {
		return ruling{Verdict: protocol.Verdict{Decision: preset(level, a), Policy: name, Autonomy: &level}}
	}
	r := &rules.rules[place]
	return ruling{
		Verdict:   protocol.Verdict{Decision: decision, Policy: name, Rule: &place, Match: r.Match},
		approvers: r.Approvers, reason: r.Reason,
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

// applying is what of a policy's rules applies to an action, by what a part of its command runs. A command may have thousands of parts, and a
// policy thousands of starts, so the rules are gone through once for all parts.
type applying struct {
	rules []protocol.Rule
	// always is the first rule for any command, and unsure the first for a part that may run anything: -1 for none.
	always, unsure int
	starts         *start
}

// start is where the words of starts have led: rule is the first with a start that ends here, -1 for none.
type start struct {
	rule int
	next map[string]*start
}

// sieve is what applies to an action. A part that may run anything may start as a strict rule says.
func sieve(rules []protocol.Rule, a *protocol.Action) *applying {
	left := &applying{rules: rules, always: -1, unsure: -1, starts: &start{rule: -1}}
	for i := range rules {
		r := &rules[i]
		if r.Off || !globs(r.Match, a.Kind) || !flagged(r.When, a) || r.MadeBy != "" && r.Decision == protocol.Allow && matters(a) {
			continue
		}
		always := r.When == nil || len(r.When.StartsWith) == 0
		if always && left.always < 0 {
			left.always = i
		}
		if left.unsure < 0 && (always || r.Decision != protocol.Allow) {
			left.unsure = i
		}
		if !always {
			for _, line := range r.When.StartsWith {
				left.starts.add(strings.Fields(line), i)
			}
		}
	}
	return left
}

// add adds a start of a rule that comes after those added before. One without words starts nothing.
func (s *start) add(words []string, rule int) {
	if len(words) == 0 {
		return
	}
	for _, w := range words {
		if s.next == nil {
			s.next = map[string]*start{}
		}
		if s.next[w] == nil {
			s.next[w] = &start{rule: -1}
		}
		s = s.next[w]
	}
	if s.rule < 0 {
		s.rule = rule
	}
}

// first is the first rule that matches a part, by its place, and what it decides; -1 for none.
func (a *applying) first(x part) (place int, decision string) {
	place = a.always
	if x.unknown {
		place = a.unsure
	} else {
		at := a.starts
		for _, w := range x.words {
			if at = at.next[w]; at == nil {
				break
			}
			if at.rule >= 0 && (place < 0 || at.rule < place) {
				place = at.rule
			}
		}
	}
	if place < 0 {
		return place, ""
	}
	if r := &a.rules[place]; !x.unknown || r.When == nil || len(r.When.StartsWith) == 0 {
		return place, r.Decision
	}
	return place, protocol.Ask // a person is
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
		if place, decision := rules.first(x); place >= 0 && decision == protocol.Ask {
			at = min(at, place)
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
