package main

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/chipschat/chips-aws/shared/dynamo"
)

// What is counted is the same in every run, so it is a test: whoever makes an operation dearer, or cheaper, finds it here.
func TestCounts(t *testing.T) {
	r, err := measure(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	type count struct {
		WRU, RRU, in, out     float64
		requests, invocations int
	}
	got := map[string]count{}
	of := func(u usage, n int) count {
		return count{u.WRU / float64(n), u.RRU / float64(n), float64(u.in) / float64(n), float64(u.out) / float64(n), u.requests / n, u.invoked}
	}
	for _, o := range r.operations {
		got[o.what] = of(o.usage, 1)
		if o.missed() {
			t.Errorf("%s: %+v, its goal is %+v", o.what, o.Units, o.goal)
		}
		if o.Calls > 4 && o.invoked > 0 { // who asks waits for them
			t.Errorf("%s: %d calls of the database", o.what, o.Calls)
		}
	}
	for what, s := range map[string]scene{
		"messages": r.messages[0], "messages, 2 at once": r.messages[1], "messages, 10 at once": r.messages[2],
		"steps": r.steps[0], "steps, 2 at once": r.steps[1], "steps, 10 at once": r.steps[2],
	} {
		n := of(s.usage, s.n)
		if strings.Contains(what, ", 2") { // what was said since the last look is read at once, and how much that is depends on how well it compresses
			if n.RRU > 1.2 {
				t.Errorf("%s: %v read units", what, n.RRU)
			}
			n.RRU = 0
		}
		got[what] = n
		if most := 300 * s.invoked; s.logged > most { // the metrics of each invocation, and nothing else
			t.Errorf("%s: %d bytes were logged, want %d at most", what, s.logged, most)
		}
	}
	got["sweeps with nothing to do"], got["a socket kept open"] = of(r.sweeps, 1), of(r.kept, 1)
	want := map[string]count{
		"a socket ticket, issued":                  {WRU: 1, RRU: 1, requests: 1, invocations: 1},
		"a socket ticket, spent":                   {WRU: 1, RRU: 1, invocations: 1},
		"a socket, opened ($connect)":              {WRU: 1, RRU: 2, invocations: 1},
		"hello":                                    {WRU: 1, RRU: 2, in: 1, out: 1, invocations: 1},
		"subscribe, nothing to replay":             {WRU: 4, RRU: 2, in: 1, invocations: 1},
		"an answer to a ping":                      {in: 1, invocations: 1},
		"an authenticated read (GET /v1/spaces)":   {RRU: 2, requests: 1, invocations: 1},
		"a message of 300 characters, acked":       {WRU: 3, in: 1, out: 1, invocations: 1},
		"fan-out of one commit, to one subscriber": {WRU: 2, RRU: 1, out: 1, invocations: 1},
		"a step, acked":                            {WRU: 2, in: 1, out: 1, invocations: 1},
		"fan-out of 10 commits in one batch":       {WRU: 2, RRU: 1, out: 2, invocations: 1},
		"a harness's socket, closed ($disconnect)": {WRU: 3, invocations: 1}, // a person's is one
		"a harness, said to be away by the sweep":  {WRU: 3, RRU: 4},
		"sweeps with nothing to do":                {RRU: 80, invocations: 8}, // 16 shards of what is due in each, 16 parts of the list in all
		"a socket kept open":                       {RRU: 1, in: 1, out: 1, invocations: 1},
		// API Gateway's share of a message is 7: one in, one ack, five out.
		// An agent's words for nobody may be for the lead: what they set is looked up.
		"messages":             {WRU: 5, RRU: 1.4, in: 1, out: 6, invocations: 40},
		"messages, 2 at once":  {WRU: 4, in: 1, out: 3.5, invocations: 30},
		"messages, 10 at once": {WRU: 3.2, RRU: 0.4, in: 1, out: 1.5, invocations: 22},
		"steps":                {WRU: 4, RRU: 1, in: 1, out: 6, invocations: 40},
		"steps, 2 at once":     {WRU: 3, in: 1, out: 3.5, invocations: 30},
		"steps, 10 at once":    {WRU: 2.2, RRU: 0.1, in: 1, out: 1.5, invocations: 22},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(count{})); diff != "" {
		t.Errorf("counts (-want +got):\n%s", diff)
	}
}

// A message of 300 characters leaves no more than this in the table, its claim and its entry in the index of rooms included; of its item
// a write unit is 1,024 bytes.
func TestStored(t *testing.T) {
	r := &report{}
	c, err := newCloud(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.emulator.Close)
	if err := r.room(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if got := r.messages[0].stored / r.messages[0].n; got > 2100 {
		t.Errorf("a message leaves %d bytes", got)
	}
	if got := r.steps[0].stored / r.steps[0].n; got > 900 {
		t.Errorf("a step leaves %d bytes", got)
	}
}

// Sums of what was counted, at prices that were looked up.
func TestDollars(t *testing.T) {
	u := usage{Units: dynamo.Units{WRU: 5, RRU: 1}, in: 1, out: 6, invoked: 2, millis: 40}
	if got := sum(u.gateway(million)); got != 7 {
		t.Errorf("API Gateway's share is $%g, want $7", got)
	}
	if got, want := sum(u.beside(million)), 3.125+.125+.4+40*.5*.0133334; math.Abs(got-want) > 1e-6 {
		t.Errorf("the rest is $%g, want $%g", got, want)
	}
	r := &report{sweeps: usage{Units: dynamo.Units{RRU: 64}, invoked: 8, millis: 640}}
	// Two queues with five polls of 20 s each: 1,296,000 requests.
	if got, want := sum(r.idle()), .5184+.0432+1+.0432+.00864+43200*.08*.5*.0000133334; math.Abs(got-want) > 1e-6 {
		t.Errorf("an idle month is $%g, want $%g", got, want)
	}
	if got, want := afterFree(r.idle()), .296*.4+.0432; math.Abs(got-want) > 1e-6 {
		t.Errorf("an idle month after the free allowances is $%g, want $%g", got, want)
	}
}

// What the prices take for granted of the template: how many queues there are, the functions' memory, and how often sockets are
// pinged.
func TestTemplate(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join("..", "..", "template.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(raw), "Type: SQS\n"); n != queues {
		t.Errorf("%d queues feed functions, want %d", n, queues)
	}
	for _, want := range []string{fmt.Sprintf("\n    MemorySize: %d", memoryMB), fmt.Sprintf("  PingMs:\n    Type: Number\n    Default: %d\n", pingEvery.Milliseconds())} {
		if !strings.Contains(string(raw), want) {
			t.Errorf("the template does not say %q", want)
		}
	}
}
