package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/chipschat/chips-aws/shared/delivery"
	"github.com/chipschat/chips-aws/shared/engine"
	"github.com/chipschat/chips-aws/shared/protocol"
	"github.com/chipschat/chips-aws/shared/session"
	"github.com/chipschat/chips-aws/shared/workspace"
)

// asked is a room of so many lines with a question at its end, and whom that is for.
type asked struct {
	*mine
	state *workspace.State
	event protocol.Event
	to    delivery.Recipient
}

// room measures what the length of a room does to the context of a message in it.
func (b *bench) room(ctx context.Context) (err error) {
	long := b.pick(100_000, 20_000)
	var rooms [2]*asked
	for i, n := range []int{100, long} {
		a, err := b.fillRoom(ctx, n)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, a.table.Close()) }()
		rooms[i] = a
	}
	low := row{what: "context in a room of 100 lines, p50", unit: micros}
	high := row{what: "context in a room of " + thousands(int64(long)) + " lines, p50", unit: micros}
	both := row{what: "the second to the first", unit: times, goal: 1.2}
	for i := range 2*b.reps() + 1 {
		var p50 [2]float64
		for j, a := range rooms {
			took, err := a.read(ctx, b.pick(500, 100))
			if err != nil {
				return err
			}
			p50[j] = 1000 * ms(quantile(took, 0.5))
		}
		if i == 0 {
			continue // warms up
		}
		low.values, high.values = append(low.values, p50[0]), append(high.values, p50[1])
		both.values = append(both.values, p50[1]/p50[0])
	}
	b.print("Depth of a room: context", "The newest 40 lines read from the embedded table by who has none of them, and the message.new with them rendered and written.\n"+
		"The two take turns, the ratio is of the medians of each turn.", low, high, both)
	return nil
}

// fillRoom makes a town with n lines in one room, the last of them a question to its agent.
func (b *bench) fillRoom(ctx context.Context, n int) (*asked, error) {
	m, err := b.dig(ctx, 0)
	if err != nil {
		return nil, err
	}
	h, err := newHistory(ctx, m.g, m.table, m.town.id)
	if err != nil {
		return nil, errors.Join(err, m.table.Close())
	}
	t := h.turns[0]
	h.turns = h.turns[:1]
	person := protocol.Actor{Kind: protocol.KindPerson, ID: t.people[0]}
	for i := range n + 1 {
		post := &protocol.MessagePost{Text: h.words(20), AddressedTo: []string{}}
		if i == n {
			post.AddressedTo = []string{t.agent.ID}
		}
		e := workspace.DraftIn(t.agent.Room, post)
		e.Actor = person
		t.next = append(t.next, e)
	}
	if err := h.write(ctx, n+1, 1); err != nil {
		return nil, errors.Join(err, m.table.Close())
	}
	m.g = engine.New(m.table, engine.Options{Now: time.Now})
	head, _, err := m.g.Head(ctx, m.town.id)
	if err != nil {
		return nil, errors.Join(err, m.table.Close())
	}
	a := &asked{mine: m}
	if a.state, err = m.g.StateAt(ctx, m.town.id, head.Last()); err == nil {
		a.event, err = m.g.EventAt(ctx, m.town.id, head.Last())
	}
	a.to = delivery.Recipient{Kind: protocol.KindHarness, ID: t.agent.HarnessID}.At(a.state)
	if err != nil {
		return nil, errors.Join(err, m.table.Close())
	}
	return a, nil
}

// read hands the question over n times.
func (a *asked) read(ctx context.Context, n int) (took []time.Duration, err error) {
	for range n {
		start := time.Now()
		var read session.Lines
		lines, err := read.For(ctx, a.g, a.state, a.event, a.to)
		if err != nil {
			return nil, err
		}
		e := delivery.Render(a.state, a.event, a.to, lines)
		if _, err := e.Append(nil); err != nil {
			return nil, err
		}
		took = append(took, time.Since(start))
		if turn, ok := e.Data.(*protocol.MessageNew); !ok || len(turn.Context.Lines) != 40 {
			return nil, fmt.Errorf("the question came as %s without its 40 lines", e.Type)
		}
	}
	return took, nil
}
