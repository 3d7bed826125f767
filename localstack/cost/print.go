package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
)

// entry is so many units at a rate.
type entry struct {
	what string
	n    float64
	rate rate
}

func (e entry) dollars() float64 { return e.rate.of(e.n) }

// gateway are what API Gateway bills of n times a usage, and beside what all others do.
func (u usage) gateway(n float64) []entry {
	return []entry{
		{"socket messages in", n * float64(u.in), socketMessage},
		{"socket messages out", n * float64(u.out), socketMessage},
		{"HTTP requests", n * float64(u.requests), httpRequest},
	}
}

func (u usage) beside(n float64) []entry {
	return []entry{
		{"DynamoDB write units", n * u.WRU, writeUnit},
		{"DynamoDB read units", n * u.RRU, readUnit},
		{"Lambda invocations", n * float64(u.invoked), invocation},
		{"Lambda GB-seconds", n * float64(u.millis) / 1000 * memoryMB / 1024, armGBSecond},
		{"bytes logged", n * float64(u.logged), loggedGB},
	}
}

func (u usage) entries(n float64) []entry { return append(u.gateway(n), u.beside(n)...) }

func sum(entries []entry) (total float64) {
	for _, e := range entries {
		total += e.dollars()
	}
	return total
}

// connected is a socket that is open for a month and says nothing, and what keeps it open.
func (r *report) connected() []entry {
	return merged(
		[]entry{
			{"connection minutes", month.Minutes(), connectionMinute},
			{"CloudFront requests, with the upgrades", times(socketLife) * float64(1+r.arrival.requests), edgeRequest},
		}, r.kept.entries(times(pingEvery)), r.arrival.entries(times(socketLife)),
	)
}

// merged adds up what is alike, and leaves out what is nothing.
func merged(all ...[]entry) (total []entry) {
	for _, e := range slices.Concat(all...) {
		i := slices.IndexFunc(total, func(t entry) bool { return t.what == e.what })
		switch {
		case i >= 0:
			total[i].n += e.n
		case e.n > 0:
			total = append(total, e)
		}
	}
	return total
}

// Alarms are those of the template, and queues its queues that a function is fed from.
const alarms, queues = 10, 2

// idle is a month in which nobody is there.
func (r *report) idle() []entry {
	polls := month.Seconds() / pollSeconds * pollsAtOnce
	return merged([]entry{
		{fmt.Sprintf("SQS long polls of %d queues", queues), queues * polls, queueRequest},
		{"scheduled runs of sweep", times(time.Minute), scheduledRun},
		{"alarms", alarms, alarmMonth},
	}, r.sweeps.entries(times(pingEvery)))
}

// afterFree is what is left to pay when AWS's always free allowances are taken off.
func afterFree(entries []entry) (total float64) {
	left := maps.Clone(free)
	for _, e := range entries {
		off := min(left[e.rate.unit], e.n)
		left[e.rate.unit] -= off
		total += e.rate.of(e.n - off)
	}
	return total
}

// lines writes titles and rows in columns.
type lines struct {
	*tabwriter.Writer
}

func (w *lines) title(title, on string) { fmt.Fprintf(w, "\n## %s\n%s\n", title, on) }
func (w *lines) text(s string)          { fmt.Fprintln(w, s) }
func (w *lines) row(cells ...string)    { fmt.Fprintln(w, strings.Join(cells, "\t")) }

// bill writes entries, and their sum under a name.
func (w *lines) bill(entries []entry, each float64, name string) {
	for _, e := range entries {
		per := ""
		if each > 0 {
			per = strconv.FormatFloat(e.n/each, 'g', 4, 64)
		}
		w.row("  "+e.what, per, amount(e.n), fmt.Sprintf("at $%g per %s", e.rate.dollars, amount(e.rate.per)), fmt.Sprintf("$%.3f", e.dollars()))
	}
	w.row("  = "+name, "", "", "", fmt.Sprintf("$%.3f", sum(entries)))
}

// amount writes a number with commas, and a part only where it is small.
func amount(n float64) string {
	if n == gb {
		return "GB"
	}
	if n < 1000 && n != float64(int64(n)) {
		return strconv.FormatFloat(n, 'f', 2, 64)
	}
	s := strconv.FormatInt(int64(n+.5), 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

func (r *report) print(out io.Writer) error {
	w := &lines{tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)}
	r.printOperations(w)
	for _, kind := range []struct {
		what   string
		scenes [len(batches)]scene
	}{{"messages of 300 characters", r.messages}, {"steps", r.steps}} {
		for i, s := range kind.scenes {
			n := million / float64(s.n)
			w.title(fmt.Sprintf("A million %s, %s", kind.what, atOnce(i)),
				fmt.Sprintf("In a room of %d people and %d agents, each on a socket of their own. Columns: of one, of a million, price, dollars.", people, harnesses))
			w.bill(merged(s.gateway(n)), million, "API Gateway")
			w.bill(merged(s.beside(n)), million, "above API Gateway")
			w.bill([]entry{{"bytes out", n * float64(s.bytes), outGB}}, million, "data out, apart")
			w.bill([]entry{{"bytes kept", n * float64(s.stored), storedGB}, {"bytes backed up", n * float64(s.stored), backupGB}}, million, "for each month they are kept, apart")
		}
	}
	w.title("A socket of a harness, open and idle for a month", fmt.Sprintf("Pinged every %v and opened anew every %v. Columns: of a month, price, dollars.", pingEvery, socketLife))
	w.bill(r.connected(), 0, "a connected month")
	w.title("A month with nobody there", "Storage left out: it is what was said that is kept. Parameter Store, streams and up to three dashboards cost nothing.")
	w.bill(r.idle(), 0, "an idle month")
	w.row("  after AWS's always free allowances", "", "", "", fmt.Sprintf("$%.3f", afterFree(r.idle())))
	r.printPeers(w)
	w.title("Assumed, and not measured", fmt.Sprintf("A call of DynamoDB takes %v and a post to a socket %v; an invocation's own work %v of a core, at %d MB; Lambda has %d long polls of %d s\n"+
		"going on each queue, and may go down to 2. Free tiers are in no total. Prices are of us-east-1 on %s, from:", databaseCall, pushCall, ownWork, memoryMB, pollsAtOnce, pollSeconds, pricesOf))
	for _, p := range []rate{socketMessage, connectionMinute, httpRequest, writeUnit, readUnit, storedGB, backupGB, invocation, armGBSecond, queueRequest, scheduledRun, loggedGB, alarmMonth, edgeRequest, outGB} {
		w.row("  "+p.unit, fmt.Sprintf("$%g per %s", p.dollars, amount(p.per)), p.source)
	}
	for _, p := range peers {
		w.row("  "+p.name, fmt.Sprintf("$%g and $%g per 1,000,000", p.publish, p.deliver), p.source)
	}
	return w.Flush()
}

// atOnce says how many commits the stream brings at once.
func atOnce(i int) string {
	if batches[i] == 1 {
		return "each by itself"
	}
	return fmt.Sprintf("the stream bringing %d at once", batches[i])
}

// printPeers writes what others ask for the same traffic.
func (r *report) printPeers(w *lines) {
	w.title("Beside others, list prices", fmt.Sprintf("The same traffic: published once and delivered to %d. What they keep of it is their own affair; Chips keeps all.", sockets))
	w.row("", "a million messages", "a million steps", "a connected month")
	each := func(s scene) string { return fmt.Sprintf("$%.2f", sum(s.entries(million/float64(s.n)))) }
	for i := range batches {
		socket := ""
		if i == 0 {
			socket = fmt.Sprintf("$%.3f", sum(r.connected()))
		}
		w.row("Chips, "+atOnce(i), each(r.messages[i]), each(r.steps[i]), socket)
	}
	for _, p := range peers {
		price, minutes := fmt.Sprintf("$%.2f", p.publish+sockets*p.deliver), "in the plan"
		if p.minutes >= 0 {
			minutes = fmt.Sprintf("$%.3f", p.minutes*month.Minutes()/million)
		}
		w.row(p.name, price, price, minutes, p.base)
	}
}
