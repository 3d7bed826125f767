package main

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/chipschat/chips-aws/shared/dynamo"
)

// memoryMB is what the functions have, and replay, which nothing here runs, twice that.
const memoryMB = 512

// usage is what was used of AWS.
type usage struct {
	dynamo.Units
	// in and out are messages over sockets as API Gateway meters them, bytes those of the messages out.
	in, out, bytes int
	// requests are those of the HTTP API.
	requests int
	// invoked are invocations of functions, which ran for so many milliseconds and logged so many bytes.
	invoked, millis, logged int
}

func (u usage) add(v usage, sign int) usage {
	if sign > 0 {
		u.Units = u.Add(v.Units)
	} else {
		u.Units = u.Sub(v.Units)
	}
	u.in += sign * v.in
	u.out += sign * v.out
	u.bytes += sign * v.bytes
	u.requests += sign * v.requests
	u.invoked += sign * v.invoked
	u.millis += sign * v.millis
	u.logged += sign * v.logged
	return u
}

// usage is all that was used so far.
func (c *cloud) usage() usage {
	u := c.used
	u.Units = c.meter.Units()
	c.pushed.mu.Lock()
	u.out += c.pushed.messages
	u.bytes += c.pushed.bytes
	c.pushed.mu.Unlock()
	c.logged.mu.Lock()
	u.logged = c.logged.bytes
	c.logged.mu.Unlock()
	return u
}

// invoke is one invocation of a function. How long it would take is told by what it waits for: its calls of the database go one after
// another, its posts to a connection too, and those to several connections side by side.
func (c *cloud) invoke(do func() error) error { return c.invokeAbreast(1, do) }

// invokeAbreast is an invocation that makes so many calls of the database at once.
func (c *cloud) invokeAbreast(abreast int, do func() error) error {
	c.pushed.mu.Lock()
	c.pushed.to = nil
	c.pushed.mu.Unlock()
	calls := c.meter.Units().Calls
	if _, err := c.metrics.Each(handler(do)).Invoke(context.Background(), nil); err != nil {
		return err
	}
	posts := 0
	for _, n := range c.pushed.to {
		posts = max(posts, n)
	}
	calls = (c.meter.Units().Calls - calls + abreast - 1) / abreast
	took := time.Duration(calls)*databaseCall + time.Duration(posts)*pushCall + ownWork*coreMB/memoryMB
	c.used.invoked++
	c.used.millis += int((took + time.Millisecond - 1) / time.Millisecond) // billed by the millisecond
	return nil
}

// handler is what the metrics of an invocation are of.
type handler func() error

// Invoke calls it.
func (h handler) Invoke(context.Context, []byte) ([]byte, error) { return nil, h() }

// measured answers what do used.
func (c *cloud) measured(what string, do func() error) (usage, error) {
	before := c.usage()
	if err := do(); err != nil {
		return usage{}, fmt.Errorf("%s: %w", what, err)
	}
	return c.usage().add(before, -1), nil
}

// stored is how many bytes DynamoDB bills as stored: each item and its copy in an index, with 100 bytes for each.
func (c *cloud) stored(ctx context.Context) (total int, err error) {
	pages := dynamodb.NewScanPaginator(c.client, &dynamodb.ScanInput{TableName: &c.name})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return 0, err
		}
		for _, it := range page.Items {
			copies := 1
			for _, index := range []string{"space", "shard"} {
				if it[index] != nil {
					copies++
				}
			}
			total += copies * (dynamo.ItemSize(it) + 100)
		}
	}
	return total, nil
}
