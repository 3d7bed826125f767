package workspace

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/chipschat/chips-aws/shared/protocol"
)

func allow(match string) protocol.Rule { return protocol.Rule{Match: match, Decision: protocol.Allow} }
func ask(match string) protocol.Rule   { return protocol.Rule{Match: match, Decision: protocol.Ask} }
func deny(match string) protocol.Rule  { return protocol.Rule{Match: match, Decision: protocol.Deny} }

func when(r protocol.Rule, w protocol.When) protocol.Rule {
	r.When = &w
	return r
}

func starting(r protocol.Rule, with ...string) protocol.Rule {
	return when(r, protocol.When{StartsWith: with})
}

func made(r protocol.Rule) protocol.Rule {
	r.MadeBy = "usr_01K4ZQPX000000000000000003"
	return r
}

func off(r protocol.Rule) protocol.Rule {
	r.Off = true
	return r
}

// What policy decides, rule by rule: the first that matches and is not off, else the level; and the cap only makes it stricter.
//
// covers: HEV-22, HEV-23, HEV-24, HEV-25, HEV-26, HEV-27, HEV-28, HEV-31, HEV-33
func TestJudge(t *testing.T) {
	rules := func(list ...protocol.Rule) []protocol.Rule { return list }
	plain := protocol.Action{Kind: "drive.read"}
	mail := protocol.Action{Kind: "email.send"}
	out := protocol.Action{Kind: "email.send", External: true}
	pay := func(usd float64) protocol.Action { return protocol.Action{Kind: "payment.send", MoneyUSD: &usd} }
	sign := protocol.Action{Kind: "docs.sign", Risk: []string{"legal"}}
	run := func(command string) protocol.Action { return protocol.Action{Kind: "shell.run", Command: command} }
	free := protocol.Policy{Autonomy: 3}
	for name, c := range map[string]struct {
		level  int
		rules  []protocol.Rule
		cap    protocol.Policy
		action protocol.Action
		want   string
	}{
		"0 plain": {0, nil, free, plain, "deny"}, "0 external": {0, nil, free, out, "deny"},
		"1 plain": {1, nil, free, plain, "ask"}, "1 external": {1, nil, free, out, "ask"},
		"2 plain": {2, nil, free, plain, "allow"}, "2 external": {2, nil, free, out, "ask"}, "2 money": {2, nil, free, pay(5), "ask"},
		"2 irreversible": {2, nil, free, protocol.Action{Kind: "drive.delete", Irreversible: true}, "ask"},
		"2 no money":     {2, nil, free, pay(0), "allow"}, "2 a risk": {2, nil, free, sign, "ask"},
		"3 plain": {3, nil, free, plain, "allow"}, "3 external": {3, nil, free, out, "allow"}, "3 money": {3, nil, free, pay(5000), "allow"},

		"denies": {3, rules(deny("email.send")), free, mail, "deny"}, "asks": {3, rules(ask("email.send")), free, mail, "ask"},
		"allows": {0, rules(allow("email.send")), free, mail, "allow"}, "another kind": {0, rules(allow("email.send")), free, plain, "deny"},
		"the first":        {1, rules(allow("email.*"), deny("email.send")), free, mail, "allow"},
		"the first denies": {1, rules(deny("email.send"), allow("email.*")), free, mail, "deny"},
		"off":              {3, rules(off(deny("*"))), free, mail, "allow"},
		"off, then":        {3, rules(off(allow("*")), deny("*")), free, mail, "deny"},

		"external":          {3, rules(when(deny("*"), protocol.When{External: ptr(true)})), free, out, "deny"},
		"not external":      {3, rules(when(deny("*"), protocol.When{External: ptr(true)})), free, mail, "allow"},
		"only if internal":  {3, rules(when(deny("*"), protocol.When{External: ptr(false)})), free, out, "allow"},
		"irreversible":      {3, rules(when(deny("*"), protocol.When{Irreversible: ptr(true)})), free, mail, "allow"},
		"over":              {3, rules(when(deny("*"), protocol.When{MoneyUSDOver: ptr(500.0)})), free, pay(500.01), "deny"},
		"not over":          {3, rules(when(deny("*"), protocol.When{MoneyUSDOver: ptr(500.0)})), free, pay(500), "allow"},
		"no sum":            {3, rules(when(deny("*"), protocol.When{MoneyUSDOver: ptr(0.0)})), free, mail, "allow"},
		"a risk":            {3, rules(when(deny("*"), protocol.When{Risk: []string{"privacy", "legal"}})), free, sign, "deny"},
		"another risk":      {3, rules(when(deny("*"), protocol.When{Risk: []string{"privacy"}})), free, sign, "allow"},
		"one of two":        {3, rules(when(deny("*"), protocol.When{External: ptr(true), Irreversible: ptr(true)})), free, out, "allow"},
		"made, plain":       {1, rules(made(allow("email.send"))), free, mail, "allow"},
		"made, it matters":  {1, rules(made(allow("email.send"))), free, out, "ask"},
		"made, money":       {1, rules(made(allow("*"))), free, pay(1), "ask"},
		"made deny matters": {1, rules(made(deny("email.send"))), free, out, "deny"},

		"starts":             {1, rules(starting(allow("shell.run"), "git status", "ls")), free, run("git status --short"), "allow"},
		"each part":          {1, rules(starting(allow("shell.run"), "git status", "ls")), free, run("git status && ls -l"), "allow"},
		"one part not":       {1, rules(starting(allow("shell.run"), "git status", "ls")), free, run("git status && rm -rf x"), "ask"},
		"two rules together": {1, rules(starting(allow("shell.run"), "git status"), starting(allow("shell.run"), "ls")), free, run("git status; ls"), "allow"},
		"the first part not": {1, rules(starting(allow("shell.run"), "git status", "ls")), free, run("rm -rf x && git status"), "ask"},
		"a part denied":      {3, rules(starting(deny("shell.run"), "rm")), free, run("ls; rm x"), "deny"},
		"the first denied":   {3, rules(starting(deny("shell.run"), "rm"), starting(ask("shell.run"), "ls")), free, run("rm x; ls; pwd"), "deny"},
		"unknown, strict":    {3, rules(starting(deny("shell.run"), "rm")), free, run("ls $(rm x)"), "ask"},
		"no command":         {1, rules(starting(allow("shell.run"), "ls")), free, protocol.Action{Kind: "shell.run"}, "ask"},

		"cap's level":         {3, rules(allow("drive.*")), protocol.Policy{Autonomy: 1}, plain, "ask"},
		"cap's level, denied": {3, rules(deny("drive.*")), protocol.Policy{Autonomy: 1}, plain, "deny"},
		"cap 0":               {3, nil, protocol.Policy{}, plain, "deny"},
		"cap's rule":          {3, rules(allow("drive.*")), protocol.Policy{Autonomy: 3, Rules: rules(deny("drive.*"))}, plain, "deny"},
		"cap never laxer":     {1, rules(deny("email.*")), protocol.Policy{Autonomy: 3, Rules: rules(allow("*"))}, mail, "deny"},
	} {
		p := policies{harness: protocol.Policy{Autonomy: c.level, Rules: c.rules}, workspace: c.cap}
		if got := p.judge(&c.action); got.Decision != c.want {
			t.Errorf("%s: %s by %+v, want %s", name, got.Decision, got.Verdict, c.want)
		}
	}
}

// The verdict says which rule decided, and a rule's approvers and reason go with it; where both ask, the cap's approvers count.
//
// covers: HEV-29, HEV-30
func TestJudgeSaysWhy(t *testing.T) {
	asks := ask("email.*")
	asks.Approvers, asks.Reason = []string{"role:finance"}, "Mail asks."
	capped := ask("email.send")
	capped.Approvers = []string{"admin"}
	mail := &protocol.Action{Kind: "email.send"}
	p := policies{harness: protocol.Policy{Autonomy: 3, Rules: []protocol.Rule{deny("x"), asks}}, workspace: protocol.Policy{Autonomy: 3}}
	want := ruling{protocol.Verdict{Decision: "ask", Policy: "harness", Rule: ptr(1), Match: "email.*"}, []string{"role:finance"}, "Mail asks."}
	if d := cmp.Diff(want, p.judge(mail), cmp.AllowUnexported(ruling{})); d != "" {
		t.Error(d)
	}
	p.workspace.Rules = []protocol.Rule{capped}
	want = ruling{protocol.Verdict{Decision: "ask", Policy: "workspace", Rule: ptr(0), Match: "email.send"}, []string{"admin"}, ""}
	if d := cmp.Diff(want, p.judge(mail), cmp.AllowUnexported(ruling{})); d != "" {
		t.Error(d)
	}
	p = policies{harness: protocol.Policy{Autonomy: 1}, workspace: protocol.Policy{Autonomy: 3}}
	want = ruling{protocol.Verdict{Decision: "ask", Policy: "harness", Autonomy: ptr(1)}, []string{"owner", "admin"}, ""}
	if d := cmp.Diff(want, p.judge(mail), cmp.AllowUnexported(ruling{})); d != "" {
		t.Error(d)
	}
}

// Permission by the first word of a command: nothing may hide behind it (cases BR-14).
//
// covers: HEV-27
func TestWhatACommandRuns(t *testing.T) {
	git := policies{harness: protocol.Policy{Autonomy: 1, Rules: []protocol.Rule{starting(allow("shell.run"), "git")}}, workspace: protocol.Policy{Autonomy: 3}}
	for command, want := range map[string]string{
		"git status && rm -rf /": "ask", "git log; curl x | sh": "ask", "git log\nrm x": "ask", "git log & rm x": "ask", "git log $(rm x)": "ask",
		"git log `rm x`": "ask", "git diff <(rm x)": "ask", "gitx status": "ask", `git log "$(rm x)"`: "ask", "git log \"`rm x`\"": "ask",
		`git log $'\'' && rm x #'`: "ask", "git log 'open": "ask", `git log "open`: "ask", `git log \`: "ask", "git log > ~/.bashrc": "ask",
		"(git log)": "ask", "{ git log; }": "ask", "git log\rrm x": "ask", "$X git": "ask", "  ": "ask", ";": "ask", "GIT log": "ask", `"git log"`: "ask",
		"rm x; git log": "ask", "rm x && git log && git status": "ask", "git log || rm x": "ask", "git log |& rm": "ask", "git log ${x:-y}": "ask", "git\u00a0log": "ask",

		"git status": "allow", `git add . && git commit -m "a && b; c"`: "allow", "git log | git shortlog": "allow", `git commit -m 'it is $(fine)'`: "allow",
		"git log \\\n --oneline": "allow", `"git" log`: "allow", "git log;": "allow", `git commit -m "a \"b\" c"`: "allow", "\tgit  log": "allow",
	} {
		if got := git.judge(&protocol.Action{Kind: "shell.run", Command: command}); got.Decision != want {
			t.Errorf("%q: %s, want %s: %v", command, got.Decision, want, partsOf(command))
		}
	}
}

// covers: HEV-24
func TestGlobs(t *testing.T) {
	for _, c := range []struct {
		glob, name string
		want       bool
	}{
		{"payment.*", "payment.send", true}, {"payment.*", "payment.", true}, {"payment.*", "payments", false}, {"pay", "payment", false},
		{"*", "", true}, {"*", "x", true}, {"", "", true}, {"", "x", false}, {"*.send", "email.send", true}, {"*.send", "email.sends", false},
		{"a*b*c", "aXbYbZc", true}, {"a*b*c", "aXbYbZ", false}, {"?.send", "x.send", true}, {"?.send", ".send", false}, {"[a]", "a", false},
		{"**", "ab", true}, {"a**", "a", true}, {"*a", "aaab", false},
	} {
		if got := globs(c.glob, c.name); got != c.want {
			t.Errorf("%q of %q: %v", c.glob, c.name, got)
		}
	}
}

// However a glob reads, it is total, a name without stars is of itself alone, and a star is of everything.
func FuzzGlobs(f *testing.F) {
	f.Add("a*b?", "aXbY")
	f.Fuzz(func(t *testing.T, glob, name string) {

		if !strings.ContainsAny(glob, "*?") && globs(glob, name) != (glob == name) {
			t.Errorf("%q of %q", glob, name)
		}
		if !globs("*", name) || !globs("*"+name, glob+name) {
			t.Errorf("a star is not of %q", name)
		}
	})
}

// Whatever a line holds: what is read as known has nothing in it that a shell reads by rules of its own, outside of quotes; and what is added
// behind it as another command is a part.
func FuzzPartsOf(f *testing.F) {
	for _, seed := range []string{`git log "a" 'b' \c`, "a && b | c; d & e", "$(x)", "`x`", "\"\\\"", "a\\\nb", "$'"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, line string) {
		parts := partsOf(line)
		unknown := func(p part) bool { return p.unknown }
		if len(parts) == 0 {
			t.Fatalf("%q has no part", line)
		}
		if !strings.ContainsAny(line, "'\"\\") && strings.ContainsAny(line, "`()<>{}") && !slices.ContainsFunc(parts, unknown) {
			t.Errorf("%q is read as %v", line, parts)
		}
		more := partsOf(line + "\nrm x")
		if !slices.ContainsFunc(more, unknown) && !slices.ContainsFunc(more, func(p part) bool { return startsWith(p, []string{"rm", "x"}) }) && !strings.HasSuffix(line, `\`) {
			t.Errorf("%q hides what comes after it: %v", line, more)
		}
		if starts, ok := startsOf(line); ok {
			for i, p := range parts {
				if !startsWith(p, strings.Fields(starts[i])) {
					t.Errorf("%q does not start as %q", line, starts[i])
				}
			}
			if d := cmp.Diff(parts, partsOf(strings.Join(starts, "; ")), cmp.AllowUnexported(part{})); d != "" {
				t.Errorf("%q by its starts: %s", line, d)
			}
		}
	})
}

// The longest command there may be against the most starts there may be: each start is read once, and not once for each part.
func TestJudgeLongCommand(t *testing.T) {
	many := make([]protocol.Rule, maxRules)
	for i := range many {
		many[i] = starting(deny("*"), slices.Repeat([]string{"git push"}, maxRuleWords)...)
	}
	p := policies{harness: protocol.Policy{Autonomy: 1, Rules: many}, workspace: protocol.Policy{Autonomy: 3, Rules: many}}
	action := protocol.Action{Kind: "shell.run", Command: strings.Repeat("git;", maxActionWords/4)}
	parts, starts := maxActionWords/4, 2*maxRules*maxRuleWords
	if n := testing.AllocsPerRun(1, func() { p.judge(&action) }); n > float64(8*(parts+starts)) {
		t.Errorf("%d parts and %d starts take %.0f allocations", parts, starts, n)
	}
}
