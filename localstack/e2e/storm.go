package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/chipschat/chips-aws/shared/dynamo"
	"github.com/chipschat/chips-aws/shared/faultproxy"
	"github.com/chipschat/chips-aws/shared/protocol"
)

// refusedForGood says whether an error is an answer that will not change.
func refusedForGood(err error) bool {
	refusal, ok := errors.AsType[*protocol.Error](err)
	if !ok {
		return false
	}
	status := protocol.HTTPStatus(refusal.Code)
	return status < 500 && status != http.StatusTooManyRequests
}

// calm ends the faults, and does what is still late.
func (t *town) calm() {
	t.faults.Set(nil)
	t.faults.Release()
}

// puts has the put of one commit after another fail in another way each.
func (t *town) puts(ctx context.Context) error {
	defer t.calm()
	t.faults.Hang = time.Second
	var all []acked
	for _, fault := range []faultproxy.Fault{
		faultproxy.Refused, faultproxy.Broken, faultproxy.Dropped, faultproxy.BrokenReply, faultproxy.LostReply, faultproxy.HalfReply, faultproxy.Hung, faultproxy.Late,
	} {
		var mu sync.Mutex
		struck := 0
		t.faults.Set(func(c faultproxy.Call) faultproxy.Fault {
			mu.Lock()
			defer mu.Unlock()
			if c.Operation != "PutItem" || !strings.HasPrefix(c.Key, "C#") || struck > 0 {
				return faultproxy.None
			}
			struck++
			return fault
		})
		a, err := t.insist(ctx, t.asPriya, "put "+string(fault))
		if err != nil {
			return fmt.Errorf("%s: %w", fault, err)
		}
		mu.Lock()
		if struck == 0 {
			return fmt.Errorf("%s never happened", fault)
		}
		mu.Unlock()
		all = append(all, a)
	}
	t.calm()
	return t.kept(ctx, all)
}

// pushes has the pushes of two messages fail in the middle of their fan-out: by the order in which the sockets come.
func (t *town) pushes(ctx context.Context) error {
	defer t.calm()
	t.faults.Hang = 0
	for i, plan := range [][]func(n int) faultproxy.Fault{
		{always(faultproxy.Gone), always(faultproxy.Hung), always(faultproxy.Refused), once(faultproxy.Refused)},
		{once(faultproxy.Broken), once(faultproxy.LostReply), once(faultproxy.Refused), once(faultproxy.None)},
	} {
		var mu sync.Mutex
		order, posts := map[string]int{}, map[string]int{}
		t.faults.Set(func(c faultproxy.Call) faultproxy.Fault {
			mu.Lock()
			defer mu.Unlock()
			if c.Operation != "PostToConnection" {
				return faultproxy.None
			}
			if _, known := order[c.Key]; !known {
				order[c.Key] = len(order)
			}
			posts[c.Key]++
			if order[c.Key] >= len(plan) {
				return faultproxy.None // a socket that came later
			}
			return plan[order[c.Key]](posts[c.Key])
		})
		if _, err := t.insist(ctx, t.asPriya, fmt.Sprint("push ", i)); err != nil {
			return err
		}
		patient, cancel := context.WithTimeout(ctx, patience)
		err := eventually(patient, "a push to each socket", func() (bool, error) {
			mu.Lock()
			defer mu.Unlock()
			return len(order) >= len(plan), nil
		})
		cancel()
		if err != nil {
			return err
		}
		// Who was forgotten finds out by what it says next.
		for name := range t.listeners {
			if _, err := t.say(ctx, name, fmt.Sprint("after push ", i, name), "Here."); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
		t.calm()
		if err := t.once(ctx); err != nil {
			return err
		}
	}
	return nil
}

func always(f faultproxy.Fault) func(int) faultproxy.Fault {
	return func(int) faultproxy.Fault { return f }
}

func once(f faultproxy.Fault) func(int) faultproxy.Fault {
	return func(n int) faultproxy.Fault {
		if n == 1 {
			return f
		}
		return faultproxy.None
	}
}

// storm has writers write side by side over HTTP and sockets while the functions' calls of the table, the queue and the sockets fail.
func (t *town) storm(ctx context.Context) error {
	defer t.calm()
	t.faults.Hang = 300 * time.Millisecond
	kinds := []faultproxy.Fault{
		faultproxy.Refused, faultproxy.Broken, faultproxy.Dropped, faultproxy.BrokenReply, faultproxy.LostReply, faultproxy.HalfReply, faultproxy.Hung, faultproxy.Late,
	}
	random, next := rand.New(rand.NewPCG(1, 1)), 0
	t.faults.Set(func(c faultproxy.Call) faultproxy.Fault {
		if c.Operation == "" || c.Operation == "GetParameter" || random.IntN(10) > 0 {
			return faultproxy.None
		}
		next++
		return kinds[next%len(kinds)]
	})
	const writers, each = 3, 8
	done := make([][]acked, writers+1)
	errs := make([]error, writers+1)
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			for i := 0; i < each && errs[w] == nil; i++ {
				var a acked
				a, errs[w] = t.insist(ctx, t.asPriya, fmt.Sprintf("storm %d %d", w, i))
				done[w] = append(done[w], a)
			}
		})
	}
	all.Go(func() {
		for i := 0; i < each && errs[writers] == nil; i++ {
			key := fmt.Sprintf("storm socket %d", i)
			ack, err := t.say(ctx, "Priya", key, key)
			errs[writers] = err
			done[writers] = append(done[writers], acked{key, ack.Seq})
		}
	})
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	for fault, n := range t.faults.Seen() {
		fmt.Fprintf(t.out, "     made up until now: %d %s\n", n, fault)
	}
	t.calm()
	var every []acked
	for _, some := range done {
		every = append(every, some...)
	}
	return t.kept(ctx, every)
}

// kept checks the table's log: without a hole, each key once, and what was acked where its ack says. Then it has everybody catch up.
func (t *town) kept(ctx context.Context, all []acked) error {
	table := dynamo.New(dynamo.NewClient(t.stack.cfg), t.stack.ids["Table"])
	at, next := map[string]int64{}, int64(1)
	for {
		page, err := table.Commits(ctx, t.workspace.WorkspaceID, next, 100)
		if err != nil {
			return err
		}
		before := next
		for _, c := range page {
			if c.First < next {
				continue
			}
			if c.First != next {
				return fmt.Errorf("the log has a hole at %d", next)
			}
			if key := c.Sender + " " + c.Key; c.Key != "" && at[key] != 0 {
				return fmt.Errorf("%s is in the log at %d and at %d", key, at[key], c.First)
			} else if c.Key != "" {
				at[key] = c.First + int64(c.Primary)
			}
			next = c.Last() + 1
		}
		if next == before {
			break
		}
	}
	for _, a := range all {
		if seq := at[t.priya.PersonID+" "+a.key]; seq != a.seq || seq == 0 {
			return fmt.Errorf("%s was acked as %d and is in the log at %d", a.key, a.seq, seq)
		}
	}
	if _, err := t.insist(ctx, t.asPriya, "after "+all[0].key); err != nil {
		return err
	}
	return t.once(ctx)
}
