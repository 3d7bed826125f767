package workspace

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/chipschat/chips-aws/shared/protocol"
)

// startsWith says whether a part begins with the words of a start; with none it does not.
func startsWith(p part, words []string) bool {
	return !p.unknown && len(words) > 0 && len(words) <= len(p.words) && slices.Equal(p.words[:len(words)], words)
}

// firstOf is what the first rule that matches a part is and decides, rule by rule and start by start.
func firstOf(rules []protocol.Rule, x part) (int, string) {
	for i, r := range rules {
		always := r.When == nil || len(r.When.StartsWith) == 0
		switch {
		case r.Off:
		case always || slices.ContainsFunc(r.When.StartsWith, func(s string) bool { return startsWith(x, strings.Fields(s)) }):
			return i, r.Decision
		case x.unknown && r.Decision != protocol.Allow:
			return i, protocol.Ask
		}
	}
	return -1, ""
}

// Whatever the rules and the part, the one that is found is the first in order.
//
// covers: HEV-27
func TestFirstRule(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	words := func(most int) []string {
		some := make([]string, random.IntN(most+1))
		for i := range some {
			some[i] = []string{"git", "push", "rm", "-f"}[random.IntN(4)]
		}
		return some
	}
	found := map[string]int{}
	for range 20_000 {
		rules := make([]protocol.Rule, random.IntN(6))
		for i := range rules {
			r := protocol.Rule{Match: "*", Decision: []string{protocol.Allow, protocol.Ask, protocol.Deny}[random.IntN(3)], Off: random.IntN(8) == 0}
			if random.IntN(6) > 0 {
				starts := make([]string, random.IntN(4))
				for k := range starts {
					starts[k] = strings.Join(words(3), " ")
				}
				r = starting(r, starts...)
			}
			rules[i] = r
		}
		x := part{words: words(4), unknown: random.IntN(5) == 0}
		wantPlace, want := firstOf(rules, x)
		place, got := sieve(rules, &protocol.Action{Kind: "shell.run"}).first(x)
		if place != wantPlace || got != want {
			t.Fatalf("%+v of %+v: %d %q, want %d %q", x, rules, place, got, wantPlace, want)
		}
		found[got]++
	}
	if len(found) != 4 {
		t.Errorf("never was found but %v", found)
	}
}
