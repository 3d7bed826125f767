package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/chipschat/chips-aws/shared/dynamo"
	"github.com/chipschat/chips-aws/shared/engine"
)

// List prices in us-east-1, in dollars a million: write and read units on demand, a message of up to 32 KB over a socket in or out,
// a request of the HTTP API.
const (
	priceWRU     = 0.625
	priceRRU     = 0.125
	priceMessage = 1.00
	priceRequest = 1.00
)

// bill is what one operation used.
type bill struct {
	what string
	dynamo.Units
	messages, requests int
	// goal is what it may use at most; units that are 0 there have none.
	goal dynamo.Units
}

func (b bill) database() float64 { return b.WRU*priceWRU + b.RRU*priceRRU }
func (b bill) gateway() float64 {
	return float64(b.messages)*priceMessage + float64(b.requests)*priceRequest
}

func (b bill) cells() []string {
	goal, of := "", ""
	if b.goal != (dynamo.Units{}) {
		var parts []string
		ok := true
		for _, u := range []struct {
			name      string
			have, max float64
		}{{"WRU", b.WRU, b.goal.WRU}, {"RRU", b.RRU, b.goal.RRU}} {
			if u.max > 0 {
				parts = append(parts, fmt.Sprintf("<= %s %s", units(u.max), u.name))
				of += ratio(u.have/u.max) + " "
				ok = ok && u.have <= u.max
			}
		}
		goal = strings.Join(parts, ", ")
		if of += "ok"; !ok {
			of = strings.TrimSuffix(of, "ok") + "MISSED"
		}
	}
	return []string{
		b.what, strconv.Itoa(b.Calls), units(b.WRU), units(b.RRU), goal, of,
		strconv.Itoa(b.messages) + " / " + strconv.Itoa(b.requests),
		dollars.format(b.database()), dollars.format(b.gateway()), dollars.format(b.database() + b.gateway()),
	}
}

// units writes a number of units without zeros behind the point.
func units(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// with is both in one.
func (b bill) with(o bill) bill {
	b.Units = b.Add(o.Units)
	b.messages += o.messages
	b.requests += o.requests
	return b
}

// measure runs one operation, which takes in so many messages and requests, and answers its bill.
func (c *cloud) measure(what string, in, requests int, do func() error) (bill, error) {
	c.meter.Reset()
	c.pushed.take()
	if err := do(); err != nil {
		return bill{}, fmt.Errorf("%s: %w", what, err)
	}
	return bill{what: what, Units: c.meter.Units(), messages: in + c.pushed.take(), requests: requests}, nil
}

// units counts what operations use on DynamoDB and API Gateway.
func (b *bench) units(ctx context.Context) error {
	c, err := newCloud(ctx)
	if err != nil {
		return err
	}
	defer c.emulator.Close()
	bills, size, err := c.bills(ctx)
	if err != nil {
		return err
	}
	var lines [][]string
	for _, bill := range bills {
		lines = append(lines, bill.cells())
	}
	printTable(b.out, "DynamoDB units and list prices", "The functions' own handlers with warm engines of their own, over a DynamoDB adapter that bills each item and index entry as DynamoDB does. $ are for\n"+
		"a million: $0.625 a million WRU, $0.125 a million RRU, $1 a million socket messages of up to 32 KB in or out, $1 a million requests. Lambda, storage and logs are not in it.",
		[]string{"operation", "calls", "WRU", "RRU", "goal", "x goal", "messages / requests", "DynamoDB $/M", "API Gateway $/M", "both $/M"}, lines)
	b.print("A message's item", "A message of 300 characters in its direct room, as the item of its commit in DynamoDB, names and all.",
		row{what: "bytes", unit: count, values: []float64{float64(size)}, goal: 1024})
	return nil
}

// bills measures every operation, and how large a message's item is in bytes.
func (c *cloud) bills(ctx context.Context) ([]bill, int, error) {
	owner, harness, err := c.people(ctx)
	if err != nil {
		return nil, 0, err
	}
	// The owner comes first, so that the functions are warm when it counts.
	if err := c.open(ctx, owner); err != nil {
		return nil, 0, err
	}
	arrival, err := c.arrive(ctx, harness)
	if err != nil {
		return nil, 0, err
	}
	talk, size, err := c.talk(ctx, owner, harness)
	return append(arrival, talk...), size, err
}

// open brings somebody onto a socket without a stream.
func (c *cloud) open(ctx context.Context, v *visitor) error {
	for _, step := range []func(context.Context, *visitor) error{c.issue, c.spend, c.connect, c.hello} {
		if err := step(ctx, v); err != nil {
			return err
		}
	}
	return nil
}

// arrive measures the way of a harness to a live stream.
func (c *cloud) arrive(ctx context.Context, v *visitor) ([]bill, error) {
	var bills []bill
	for _, step := range []struct {
		what         string
		in, requests int
		do           func(context.Context, *visitor) error
	}{
		{"a socket ticket, issued", 0, 1, c.issue},
		{"a socket ticket, spent", 0, 0, c.spend},
		{"a socket, opened ($connect)", 0, 0, c.connect},
		{"hello", 1, 0, c.hello},
		{"subscribe, nothing to replay", 1, 0, c.subscribe},
		{"an authenticated read (GET /v1/spaces)", 0, 1, func(ctx context.Context, v *visitor) error {
			return c.request(ctx, http.MethodGet, "/v1/spaces", v.token, "", nil)
		}},
	} {
		bill, err := c.measure(step.what, step.in, step.requests, func() error { return step.do(ctx, v) })
		if err != nil {
			return nil, err
		}
		bills = append(bills, bill)
	}
	return bills, nil
}

// say has somebody post 300 characters.
func (c *cloud) say(ctx context.Context, v *visitor, key string) error {
	text := strings.Repeat(filler, 3)[:300]
	return c.frame(ctx, v, `{"frame":"event","event":{"v":1,"type":"message.post","space_id":"`+v.space+`","idempotency_key":"`+key+`","text":"`+text+`"}}`, `"duplicate":false`)
}

// on has a harness write an event on its run.
func (c *cloud) on(ctx context.Context, v *visitor, key, typ, fields string) error {
	const run = "run_01K4ZQPX000000000000000001"
	return c.frame(ctx, v, `{"frame":"event","event":{"v":1,"type":"`+typ+`","run_id":"`+run+`","idempotency_key":"`+key+`",`+fields+`}}`, `"duplicate":false`)
}

// talk measures a conversation between two who are there, one of them subscribed.
func (c *cloud) talk(ctx context.Context, owner, harness *visitor) (bills []bill, size int, err error) {
	ring := func(commits ...engine.Commit) error { return c.fanout.Ring(ctx, owner.workspace, commits) }
	// The first of each is not measured: it warms up.
	err = errors.Join(c.say(ctx, owner, "first"), c.on(ctx, harness, "first", "run.started", `"space_id":"`+harness.space+`","title":"Look"`), ring())
	if err != nil {
		return nil, 0, err
	}
	message, err := c.measure("a message of 300 characters, acked", 1, 0, func() error { return c.say(ctx, owner, "turn-0001-message-000000000001") })
	if err != nil {
		return nil, 0, err
	}
	message.goal = dynamo.Units{WRU: 3, RRU: 1}
	commit, size, err := c.newest(ctx, owner.workspace)
	if err != nil {
		return nil, 0, err
	}
	alone, err := c.measure("fan-out of a range by itself, to one subscriber", 0, 0, func() error { return ring(commit) })
	if err != nil {
		return nil, 0, err
	}
	all := message.with(alone)
	all.what, all.goal = "a message from ack to its one subscriber, both of these", dynamo.Units{}
	step, err := c.measure("a step, acked", 1, 0, func() error {
		return c.on(ctx, harness, "turn-0001-step-000000000000001", "step.log", `"step_id":"step-1","status":"done","summary":"ran the tests of the parser, all of them pass"`)
	})
	if err != nil {
		return nil, 0, err
	}
	step.goal = dynamo.Units{WRU: 2, RRU: 1}
	many, err := c.run(ctx, owner)
	return []bill{message, alone, all, step, many}, size, err
}

// run measures fan-out of many ranges of a message each, where the next always waits when one is sent. Its bill is that of one, up to the
// last push: after that the run is confirmed, as a range by itself is.
func (c *cloud) run(ctx context.Context, owner *visitor) (bill, error) {
	const ranges = 50
	if err := c.fanout.Ring(ctx, owner.workspace, nil); err != nil {
		return bill{}, err
	}
	var commits []engine.Commit
	for i := range ranges {
		if err := c.say(ctx, owner, fmt.Sprintf("turn-0002-message-%012d", i)); err != nil {
			return bill{}, err
		}
		commit, _, err := c.newest(ctx, owner.workspace)
		if err != nil {
			return bill{}, err
		}
		commits = append(commits, commit)
	}
	var rings sync.WaitGroup
	errs := make([]error, ranges)
	ring := func(i int) { errs[i] = c.fanout.Ring(ctx, owner.workspace, commits[i:i+1]) }
	sent := 0
	var used dynamo.Units
	c.pushed.during = func() {
		sent++
		if next := sent; next < ranges {
			rings.Go(func() { ring(next) })
			time.Sleep(2 * time.Millisecond) // it is waiting by then
		}
		used = c.meter.Units()
	}
	defer func() { c.pushed.during = nil }()
	total, err := c.measure("fan-out of a range within a run of 50, each", 0, 0, func() error {
		ring(0)
		rings.Wait()
		return errors.Join(errs...)
	})
	if err != nil {
		return bill{}, err
	}
	if total.messages != ranges {
		return bill{}, fmt.Errorf("%d messages were pushed for %d", total.messages, ranges)
	}
	total.Units = dynamo.Units{WRU: used.WRU / ranges, RRU: used.RRU / ranges, Calls: used.Calls / ranges}
	total.messages, total.goal = 1, dynamo.Units{WRU: 1, RRU: 1}
	return total, nil
}
