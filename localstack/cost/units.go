package main

import (
	"context"
	"fmt"
	"net/http"

	"github.com/chipschat/chips-aws/shared/dynamo"
	"github.com/chipschat/chips-aws/shared/engine"
)

// operation is one thing done while the functions are warm.
type operation struct {
	what string
	usage
	// goal is what it may use at most; none where all is 0.
	goal dynamo.Units
}

// missed says whether an operation uses more than its goal.
func (o operation) missed() bool {
	return o.goal != (dynamo.Units{}) && (o.WRU > o.goal.WRU || o.RRU > o.goal.RRU)
}

// operations measures each, for the last of who there is; the others are on sockets already, so that the functions are warm.
func (c *cloud) operations(ctx context.Context, owner, v *visitor) (all []operation, err error) {
	add := func(what string, goal dynamo.Units, do func() error) {
		if err == nil {
			var u usage
			u, err = c.measured(what, do)
			all = append(all, operation{what, u, goal})
		}
	}
	for _, step := range arrival {
		add(step.what, dynamo.Units{}, func() error { return step.do(c, ctx, v) })
	}
	add("an answer to a ping", dynamo.Units{}, func() error { return c.pong(ctx, v) })
	add("an authenticated read (GET /v1/spaces)", dynamo.Units{}, func() error {
		return c.request(ctx, http.MethodGet, "/v1/spaces", v.token, "", nil)
	})
	var commits []engine.Commit
	write := func(do writing, by *visitor) func() error {
		return func() error {
			commit, err := do(c, ctx, by)
			commits = append(commits, commit)
			return err
		}
	}
	ring := func() error {
		rung := commits
		commits = nil
		return c.ring(ctx, owner, rung...)
	}
	for _, first := range []func() error{write((*cloud).say, owner), ring, write((*cloud).say, owner), ring} {
		if err == nil { // the first of each is not measured
			err = first()
		}
	}
	add("a message of 300 characters, acked", dynamo.Units{WRU: 3}, write((*cloud).say, owner))
	add("fan-out of one commit, to one subscriber", dynamo.Units{WRU: 2, RRU: 1}, ring)
	for range batch {
		if err == nil {
			err = write((*cloud).say, owner)()
		}
	}
	add(fmt.Sprintf("fan-out of %d commits in one batch", batch), dynamo.Units{WRU: 2, RRU: 1}, ring)
	for _, first := range []func() error{write((*cloud).start, v), ring} { // last, since a person's words are answered by receipts while a run goes
		if err == nil {
			err = first()
		}
	}
	add("a step, acked", dynamo.Units{WRU: 2}, write((*cloud).step, v))
	for _, first := range []func(context.Context, *visitor) error{c.disconnect, c.look, func(ctx context.Context, v *visitor) error { return c.arrive(ctx, v) }} {
		if err == nil {
			err = first(ctx, v)
		}
	}
	add("a harness's socket, closed ($disconnect)", dynamo.Units{}, func() error { return c.disconnect(ctx, v) })
	add("a harness, said to be away by the sweep", dynamo.Units{}, func() error { return c.look(ctx, v) })
	return all, err
}

// printOperations writes a line for each.
func (r *report) printOperations(w *lines) {
	w.title("What each operation uses, functions warm",
		"calls, write and read units of DynamoDB; messages of a socket in and out, HTTP requests, invocations; milliseconds Lambda bills, by the")
	w.text("assumptions below; dollars for a million of all that. A goal is of units.")
	w.row("operation", "calls", "WRU", "RRU", "in", "out", "http", "invoked", "ms", "$ a million", "goal")
	for _, o := range r.operations {
		goal := ""
		if o.goal != (dynamo.Units{}) {
			goal = fmt.Sprintf("%g WRU %g RRU", o.goal.WRU, o.goal.RRU)
			if o.missed() {
				goal += " MISSED"
			}
		}
		w.row(o.what, fmt.Sprint(o.Calls), fmt.Sprint(o.WRU), fmt.Sprint(o.RRU), fmt.Sprint(o.in), fmt.Sprint(o.out), fmt.Sprint(o.requests),
			fmt.Sprint(o.invoked), fmt.Sprint(o.millis), fmt.Sprintf("%.2f", sum(o.entries(million))), goal)
	}
}
