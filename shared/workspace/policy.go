package workspace

import (
	"reflect"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/chipschat/chips-aws/shared/protocol"
)

// Limits of policies: rules of one, bytes of a rule's words, what a list in a rule may hold, and bytes of them all.
const (
	maxRules     = 100
	maxMatch     = 200
	maxReason    = 1000
	maxRuleWords = 50
	// maxRulesBytes is how long the rules of a policy are as JSON: a hello says them beside much else, and has 128 KB at most.
	maxRulesBytes = 48 << 10
)

// risks are the words when.risk may hold.
var risks = []string{"external", "external_communication", "irreversible", "destructive", "financial", "credential", "privacy", "legal"}

// checkRules checks the rules of a policy. Who made a rule by an answer is Chips' to say: it stays with a rule that was there before
// and is dropped from any other.
func checkRules(rules, before []protocol.Rule) ([]protocol.Rule, *protocol.Error) {
	bad := func(format string, args ...any) ([]protocol.Rule, *protocol.Error) {
		return nil, protocol.Refuse(protocol.InvalidRequest, format, args...)
	}
	if len(rules) > maxRules {
		return bad("rules has %d entries, more than the limit of %d", len(rules), maxRules)
	}
	checked := []protocol.Rule{}
	for i, r := range rules {
		switch {
		case r.Match == "" || len(r.Match) > maxMatch:
			return bad("rules[%d].match is 1 to %d bytes", i, maxMatch)
		case r.Decision != "allow" && r.Decision != "ask" && r.Decision != "deny":
			return bad("rules[%d].decision is allow, ask or deny", i)
		case len(r.Reason) > maxReason:
			return bad("rules[%d].reason is over %d bytes", i, maxReason)
		case len(r.Approvers) > maxRuleWords:
			return bad("rules[%d].approvers has more than %d entries", i, maxRuleWords)
		}
		for _, a := range r.Approvers {
			if !validApprover(a) {
				return bad("rules[%d].approvers: %.40q is not owner, admin, role:NAME, a usr_ or a hrn_ id", i, a)
			}
		}
		if w := r.When; w != nil {
			if err := checkWhen(i, w); err != nil {
				return nil, err
			}
		}
		if !slices.ContainsFunc(before, func(b protocol.Rule) bool { return madeAlike(b, r) }) {
			r.MadeBy, r.MadeAt = "", nil
		}
		checked = append(checked, r)
	}
	raw, err := json.Marshal(checked)
	if err != nil {
		return bad("rules cannot be written as JSON")
	}
	if len(raw) > maxRulesBytes {
		return bad("rules have %d bytes as JSON, more than the limit of %d", len(raw), maxRulesBytes)
	}
	return checked, nil
}

// madeAlike says whether two rules are one, but for being off.
func madeAlike(a, b protocol.Rule) bool {
	a.Off, b.Off = false, false
	return reflect.DeepEqual(a, b)
}

func checkWhen(i int, w *protocol.When) *protocol.Error {
	for _, r := range w.Risk {
		if !slices.Contains(risks, r) {
			return protocol.Refuse(protocol.InvalidRequest, "rules[%d].when.risk: %.40q is not one of %s", i, r, strings.Join(risks, ", "))
		}
	}
	if v := w.MoneyUSDOver; v != nil && !(*v >= 0 && *v <= MaxUSD) {
		return protocol.Refuse(protocol.InvalidRequest, "rules[%d].when.money_usd_over is a number from 0 to %d", i, MaxUSD)
	}
	if len(w.StartsWith) > maxRuleWords {
		return protocol.Refuse(protocol.InvalidRequest, "rules[%d].when.starts_with has more than %d entries", i, maxRuleWords)
	}
	for _, s := range w.StartsWith {
		if strings.TrimSpace(s) == "" || len(s) > maxMatch {
			return protocol.Refuse(protocol.InvalidRequest, "rules[%d].when.starts_with: each is 1 to %d bytes", i, maxMatch)
		}
	}
	return nil
}

func validApprover(a string) bool {
	label, isRole := strings.CutPrefix(a, "role:")
	return a == "owner" || a == "admin" || isRole && label != "" && len(label) <= MaxName*4 ||
		protocol.ValidID(protocol.PrefixPerson, a) || protocol.ValidID(protocol.PrefixHarness, a)
}

// capSet changes the workspace's cap on every policy.
func (d *deciding) capSet() *protocol.Error {
	draft, ok := d.c.Draft.Data.(*CapDraft)
	if !ok {
		return d.bad("max_autonomy or rules are needed")
	}
	if err := d.needAdmin(); err != nil {
		return err
	}
	now := d.s.Cap
	if v := draft.MaxAutonomy; v != nil {
		if *v < 0 || *v > 3 {
			return d.bad("max_autonomy is 0, 1, 2 or 3")
		}
		now.MaxAutonomy = *v
	}
	if draft.Rules != nil {
		rules, bad := checkRules(*draft.Rules, nil)
		if bad != nil {
			return d.field(bad)
		}
		now.Rules = rules
	}
	if !reflect.DeepEqual(now, d.s.Cap) {
		d.answer(d.sender(), "", &now)
	}
	return nil
}

// Limits of the referee's settings.
const (
	minLimit = 2
	maxLimit = 1000
)

// exchangeSettingsSet changes the referee's settings: a number, never, or as before.
func (d *deciding) exchangeSettingsSet() *protocol.Error {
	draft, ok := d.c.Draft.Data.(*ExchangeDraft)
	if !ok {
		return d.bad("stop, hold or circles are needed")
	}
	if err := d.needAdmin(); err != nil {
		return err
	}
	now := d.s.Exchange
	for _, f := range []struct {
		name string
		want *Limit
		have **int
	}{{"stop", draft.Stop, &now.Stop}, {"hold", draft.Hold, &now.Hold}} {
		if f.want == nil {
			continue
		}
		if n := f.want.N; n != nil && (*n < minLimit || *n > maxLimit) {
			return d.bad("%s is a whole number from %d to %d, or null for never", f.name, minLimit, maxLimit)
		}
		*f.have = f.want.N
	}
	if draft.Circles != nil {
		now.Circles = *draft.Circles
	}
	if !reflect.DeepEqual(now, d.s.Exchange) {
		d.answer(d.sender(), "", &now)
	}
	return nil
}

// Autonomy is the level in force for a harness: its own, but never above the workspace's cap.
func (s *State) Autonomy(harness string) int {
	level := DefaultAutonomy
	if h := s.Harnesses[harness]; h != nil && h.Policy != nil {
		level = h.Policy.Autonomy
	}
	return min(level, s.Cap.MaxAutonomy)
}
