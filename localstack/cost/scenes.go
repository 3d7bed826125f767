package main

import (
	"context"
	"fmt"
	"time"

	"github.com/chipschat/chips-aws/shared/engine"
)

// people and harnesses are who is in the room, each on a socket that is subscribed; batch is how many commits one batch of the table's
// stream brings in a busy room; rounds is how often each of them writes.
const (
	people, harnesses = 3, 2
	batch, rounds     = 10, 4
	sockets           = people + harnesses
)

// batches are how many commits the stream brings at once in the conversations that are measured.
var batches = [...]int{1, 2, batch}

// report is all that was measured.
type report struct {
	operations []operation
	// messages and steps, so many to a batch of the stream as batches say.
	messages, steps [len(batches)]scene
	// arrival is what it takes to open a socket and to close it; kept what keeps one open from one ping to the next; sweeps are the
	// sweeps in that time when nobody is there.
	arrival, kept, sweeps usage
}

// scene is what n writes used together.
type scene struct {
	usage
	n, stored int
}

func measure(ctx context.Context) (*report, error) {
	r := &report{}
	for _, part := range []func(context.Context, *cloud) error{r.nobody, r.one, r.room} {
		c, err := newCloud(ctx)
		if err != nil {
			return nil, err
		}
		err = part(ctx, c)
		c.emulator.Close()
		if err != nil {
			return nil, err
		}
	}
	return r, nil
}

// one measures operations one at a time.
func (r *report) one(ctx context.Context, c *cloud) error {
	all, err := c.house(ctx, 1, 1)
	if err != nil {
		return err
	}
	owner, v := all[0], all[1]
	for _, step := range arrival[:len(arrival)-1] { // without a stream
		if err := step.do(c, ctx, owner); err != nil {
			return err
		}
	}
	if r.operations, err = c.operations(ctx, owner, v); err != nil {
		return err
	}
	if err := c.arrive(ctx, v); err != nil {
		return err
	}
	if err := c.disconnect(ctx, v); err != nil {
		return err
	}
	// What a harness does that comes back to a socket of its own: all is warm, and who looks whether it is away finds it there.
	r.arrival, err = c.measured("coming back", func() error {
		for _, do := range []func(context.Context, *visitor) error{
			func(ctx context.Context, v *visitor) error { return c.arrive(ctx, v) },
			c.look, c.disconnect,
		} {
			if err := do(ctx, v); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	// The owner's socket goes on: pinged once, answered once. What the sweeps cost without it is not its own.
	if _, err := c.sweeps(ctx); err != nil {
		return err
	}
	kept, err := c.sweeps(ctx)
	if err != nil {
		return err
	}
	answer, err := c.measured("an answer to a ping", func() error { return c.pong(ctx, owner) })
	r.kept = kept.add(r.sweeps, -1).add(answer, 1)
	if err == nil && r.kept.out != 1 {
		err = fmt.Errorf("a socket was pinged %d times in %v", r.kept.out, pingEvery)
	}
	return err
}

// room measures a conversation.
func (r *report) room(ctx context.Context, c *cloud) error {
	all, err := c.house(ctx, people, harnesses)
	if err != nil {
		return err
	}
	if err := c.arrive(ctx, all...); err != nil {
		return err
	}
	agents := all[people:]
	// What is first of its kind is not measured.
	if _, err := c.held(ctx, all[:1], (*cloud).say, 1, 1); err != nil {
		return err
	}
	for i, each := range batches {
		if r.messages[i], err = c.held(ctx, all, (*cloud).say, sockets*rounds, each); err != nil {
			return err
		}
	}
	// Only now: while a run goes, a person's message is answered by receipts too.
	if _, err := c.held(ctx, agents[:1], (*cloud).start, 1, 1); err != nil {
		return err
	}
	// A snapshot is written now, one in a hundred commits: 0.03 write units for each that are in no scene.
	if _, err := c.held(ctx, agents[:1], (*cloud).step, 3*batch, batch); err != nil {
		return err
	}
	for i, each := range batches {
		if r.steps[i], err = c.held(ctx, agents[:1], (*cloud).step, sockets*rounds, each); err != nil {
			return err
		}
	}
	return nil
}

// held has some write n times, one after another, and fan-out run with so many commits at a time.
func (c *cloud) held(ctx context.Context, by []*visitor, do writing, n, each int) (scene, error) {
	before, err := c.stored(ctx)
	if err != nil {
		return scene{}, err
	}
	s := scene{n: n}
	s.usage, err = c.measured("a conversation", func() error {
		var commits []engine.Commit
		for i := range n {
			commit, err := do(c, ctx, by[i%len(by)])
			if err != nil {
				return err
			}
			if commits = append(commits, commit); len(commits) == each {
				if err := c.ring(ctx, by[0], commits...); err != nil {
					return err
				}
				commits = nil
			}
		}
		return nil
	})
	if err != nil {
		return scene{}, err
	}
	after, err := c.stored(ctx)
	s.stored = after - before
	if err == nil && s.out < n {
		err = fmt.Errorf("%d writes led to %d messages: nobody was sent them", n, s.out)
	}
	return s, err
}

// nobody measures the sweeps of a deployment without a socket.
func (r *report) nobody(ctx context.Context, c *cloud) (err error) {
	if _, err = c.sweeps(ctx); err != nil { // a process that starts looks further back
		return err
	}
	r.sweeps, err = c.sweeps(ctx)
	return err
}

// sweeps measures the sweeps between two pings, one each minute.
func (c *cloud) sweeps(ctx context.Context) (usage, error) {
	return c.measured("sweep", func() error {
		for range pingEvery / time.Minute {
			c.ahead.Add(int64(time.Minute))
			if err := c.invokeAbreast(engine.DueShards, func() error { return c.sweep.Run(ctx) }); err != nil {
				return err
			}
		}
		return nil
	})
}

// times is how often something that comes so often comes in a month.
func times(every time.Duration) float64 { return float64(month / every) }
