package main

import (
	"errors"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/chipschat/chips-aws/shared/protocol"
)

// A policy with every field a rule has, and a budget, are kept to the letter: said by GET, in hello and in the log, after a restart too.
// A client's made_by and made_at are not: Chips alone says that an answer made a rule. What the words of a policy do is another test's
// (TestJudge of package workspace, TestPolicyDecides).
//
// covers: HEV-21, HEV-34
func TestPolicyAndBudget(t *testing.T) {
	t.Parallel()
	c := newTown(t)
	sent := []any{
		J{"match": "email.send", "when": J{"external": true, "irreversible": false}, "decision": "ask", "approvers": []any{"owner"}, "reason": "External <mail> & more always asks."},
		J{"match": "payment.*", "when": J{"money_usd_over": 500.5}, "decision": "ask", "approvers": []any{"role:finance", "admin", c.priya.id, c.ledger.id}},
		J{"match": "*", "when": J{"risk": []any{"external", "external_communication", "irreversible", "destructive", "financial", "credential", "privacy", "legal"}}, "decision": "deny"},
		J{"match": "shell.run", "when": J{"starts_with": []any{"git", "go test"}}, "decision": "allow", "off": true},
		J{"match": "drive.read", "decision": "allow", "made_by": c.priya.id, "made_at": "2026-01-01T00:00:00.000Z"},
	}
	made := J{}
	for name, v := range sent[4].(J) {
		if name != "made_by" && name != "made_at" {
			made[name] = v
		}
	}
	rules := append(append([]any{}, sent[:4]...), made)
	harness := "/v1/harnesses/" + c.scouts.id
	since := c.owner.head()
	c.owner.must(http.MethodPut, harness+"/policy", J{"autonomy": 3, "rules": sent})
	c.owner.must(http.MethodPut, harness+"/budget", J{"limit_usd": 25.25})
	c.owner.must(http.MethodPut, "/v1/workspaces/"+c.workspace.WorkspaceID+"/policy", J{"max_autonomy": 1, "rules": rules[:1]})

	check := func(when string) {
		t.Helper()
		hello := read(t, c.scouts.connect("").hello)
		view := c.scouts.must(http.MethodGet, harness, nil)
		policy := J{"autonomy": 3.0, "rules": rules}
		logged := map[string]J{}
		for _, raw := range c.owner.log(since, "") {
			e := read(t, raw)
			logged[str(e, "type")] = e
		}
		for what, diff := range map[string]string{
			"hello's policy":   cmp.Diff(policy, hello["policy"]),
			"hello's autonomy": cmp.Diff(1.0, hello["autonomy"]), // the workspace's cap wins
			"hello's budget":   cmp.Diff(J{"limit_usd": 25.25, "spent_usd": 0.0}, hello["budget"]),
			"GET's policy":     cmp.Diff(policy, view["policy"]),
			"GET's autonomy":   cmp.Diff(1.0, view["autonomy"]),
			"GET's limit":      cmp.Diff(25.25, view["limit_usd"]),
			"the log's rules":  cmp.Diff(any(rules), logged["harness.policy_set"]["rules"]),
			"the log's level":  cmp.Diff(3.0, logged["harness.policy_set"]["autonomy"]),
			"the log's limit":  cmp.Diff(25.25, logged["harness.budget_set"]["limit_usd"]),
			"the log's cap":    cmp.Diff(1.0, logged["policy.cap_set"]["max_autonomy"]),
			"the cap's rules":  cmp.Diff(any(rules[:1]), logged["policy.cap_set"]["rules"]),
		} {
			if diff != "" {
				t.Errorf("%s, %s: %s", when, what, diff)
			}
		}
	}
	check("at once")
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		c.restart(sig)
		check("after " + sig.String())
	}

	// Another harness is told nothing of it, and a rule that cannot be kept is refused whole.
	if hello := read(t, c.ledger.connect("").hello); hello["policy"] != nil || hello["budget"] != nil {
		t.Errorf("Ledger is told %v and %v", hello["policy"], hello["budget"])
	}
	for name, bad := range map[string]J{
		"no match":        {"decision": "ask"},
		"no decision":     {"match": "*"},
		"another word":    {"match": "*", "decision": "maybe"},
		"another risk":    {"match": "*", "decision": "ask", "when": J{"risk": []any{"fire"}}},
		"a sum below 0":   {"match": "*", "decision": "ask", "when": J{"money_usd_over": -1}},
		"a flag of words": {"match": "*", "decision": "ask", "when": J{"external": "yes"}},
		"an empty word":   {"match": "*", "decision": "ask", "when": J{"starts_with": []any{""}}},
		"an approver":     {"match": "*", "decision": "ask", "approvers": []any{"anybody"}},
	} {
		err := c.owner.Do(t.Context(), http.MethodPut, harness+"/policy", J{"autonomy": 3, "rules": []any{made, bad}}, nil)
		if refusal, ok := errors.AsType[*protocol.Error](err); !ok || refusal.Code != protocol.InvalidRequest || !strings.Contains(refusal.Message, "rules") {
			t.Errorf("%s is answered %v", name, err)
		}
	}
	c.owner.fails(protocol.InvalidRequest, http.MethodPut, harness+"/policy", J{"autonomy": 4, "rules": []any{}})
	c.owner.fails(protocol.InvalidRequest, http.MethodPut, harness+"/budget", J{"limit_usd": -1})
	c.priya.fails(protocol.Forbidden, http.MethodPut, harness+"/policy", J{"autonomy": 3, "rules": []any{}})
	c.scouts.fails(protocol.Forbidden, http.MethodPut, harness+"/budget", J{"limit_usd": 1000})
	check("after what was refused")

	c.owner.must(http.MethodPut, harness+"/budget", J{"limit_usd": nil})
	if hello := read(t, c.scouts.connect("").hello); hello["budget"] != nil {
		t.Errorf("without a limit hello has budget %v", hello["budget"])
	}
}

// What a policy does to what a run asks, over the wire: rules in order, presets, flags, commands, the cap; and why is said with the ask.
//
// covers: HEV-21, HEV-22, HEV-23, HEV-24, HEV-25, HEV-26, HEV-27, HEV-28, HEV-30, HEV-31
func TestPolicyDecides(t *testing.T) {
	t.Parallel()
	c := newTown(t)
	run := c.run()
	c.scouts.write("run.started", J{"space_id": c.room, "run_id": run})
	rule := func(match, decision string, when J) J {
		r := J{"match": match, "decision": decision, "reason": "As " + match + " says."}
		if when != nil {
			r["when"] = when
		}
		return r
	}
	off := rule("*", "deny", nil)
	off["off"] = true
	rules := []any{
		off, rule("email.send", "ask", J{"external": true}), rule("payment.*", "deny", J{"money_usd_over": 500}), rule("docs.*", "deny", J{"risk": []any{"legal"}}),
		rule("shell.run", "allow", J{"starts_with": []any{"git"}}), rule("drive.read", "allow", nil), rule("drive.*", "deny", nil),
	}
	for _, x := range []struct {
		level, most    int
		action         J
		want, by, says string
	}{
		{3, 3, J{"kind": "email.send", "external": true}, "ask", "email.send", "As email.send says."},
		{3, 3, J{"kind": "email.send"}, "allow", "", ""},
		{1, 3, J{"kind": "email.send"}, "ask", "", ""},
		{0, 3, J{"kind": "email.send"}, "deny", "", ""},
		{2, 3, J{"kind": "email.draft", "irreversible": true}, "ask", "", ""},
		{2, 3, J{"kind": "payment.send", "money_usd": 500.01}, "deny", "payment.*", "As payment.* says."},
		{3, 3, J{"kind": "payment.send", "money_usd": 500}, "allow", "", ""},
		{3, 3, J{"kind": "docs.sign", "risk": []any{"privacy", "legal"}}, "deny", "docs.*", "As docs.* says."},
		{3, 3, J{"kind": "docs.sign", "risk": []any{"privacy"}}, "allow", "", ""},
		{1, 3, J{"kind": "shell.run", "command": "git add . && git status"}, "allow", "shell.run", "As shell.run says."},
		{1, 3, J{"kind": "shell.run", "command": "git log; rm -rf /"}, "ask", "", ""},
		{0, 3, J{"kind": "drive.read"}, "allow", "drive.read", "As drive.read says."},
		{3, 3, J{"kind": "drive.write"}, "deny", "drive.*", "As drive.* says."},
		{3, 1, J{"kind": "drive.read"}, "ask", "", ""},
		{3, 0, J{"kind": "drive.read"}, "deny", "", ""},
	} {
		c.owner.must(http.MethodPut, "/v1/harnesses/"+c.scouts.id+"/policy", J{"autonomy": x.level, "rules": rules})
		c.owner.must(http.MethodPut, "/v1/workspaces/"+c.workspace.WorkspaceID+"/policy", J{"max_autonomy": x.most})
		since := c.priya.head()
		c.wants(c.scouts, run, x.action)
		logged := c.priya.log(since, c.room)
		asked := read(t, logged[0])
		if str(asked, "verdict", "decision") != x.want || str(asked, "verdict", "match") != x.by || str(asked, "reason") != x.says {
			t.Errorf("at %d of %d %v is %v, as %v", x.level, x.most, x.action, asked["verdict"], asked["reason"])
		}
		decided := map[string]string{"allow": "approved", "deny": "denied"}[x.want]
		if (decided == "") != (len(logged) == 1) || decided != "" && (str(read(t, logged[1]), "decision") != decided || str(read(t, logged[1]), "actor", "kind") != "system") {
			t.Errorf("at %d of %d %v: %s", x.level, x.most, x.action, logged[1:])
		}
	}
}

// A harness whose budget is used up, or nothing from the start, begins runs as before: Chips never refuses one on account of spend.
//
// covers: RUN-7
func TestSpendStopsNoRun(t *testing.T) {
	t.Parallel()
	c := newTown(t)
	s := c.scouts.connect("")
	for _, limit := range []float64{0, 0.000001} {
		c.owner.must(http.MethodPut, "/v1/harnesses/"+c.scouts.id+"/budget", J{"limit_usd": limit})
		run := c.run()
		s.lands("run.started", J{"space_id": c.room, "run_id": run})
		s.lands("step.log", J{"run_id": run, "step_id": "s", "status": "done", "summary": "spent"})
		c.scouts.write("run.started", J{"space_id": c.room, "run_id": c.run()})
		s.lands("run.completed", J{"run_id": run})
	}
}
