package main

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/chipschat/chips-aws/shared/engine"
	"github.com/chipschat/chips-aws/shared/protocol"
	"github.com/chipschat/chips-aws/shared/workspace"
)

// history makes a log long with what a workspace's life looks like: people ask, agents run, log their steps and answer. It writes by
// way of the table alone, many commits at once, so that a million events take seconds.
type history struct {
	table engine.Log
	state *workspace.State
	rng   *rand.Rand
	now   time.Time
	turns []*turn
	drawn uint64
}

// turn is an agent in a room, and what it and the people there do next.
type turn struct {
	agent  *workspace.Agent
	people []string
	next   []protocol.Event
}

// newHistory goes on from where a workspace's log is. It has to hold agents in rooms with people.
func newHistory(ctx context.Context, g *engine.Engine, table engine.Log, ws string) (*history, error) {
	head, ok, err := g.Head(ctx, ws)
	if err != nil || !ok {
		return nil, fmt.Errorf("find the head of %s: %w", ws, err)
	}
	s, err := g.StateAt(ctx, ws, head.Last())
	if err != nil {
		return nil, err
	}
	h := &history{table: table, state: s, rng: rand.New(rand.NewPCG(1, 2)), now: s.TS.Time}
	for _, a := range s.Agents {
		if a.Room == "" {
			continue
		}
		t := &turn{agent: a}
		for _, m := range s.Rooms[a.Room].Members {
			if s.Person(m) != nil {
				t.people = append(t.people, m)
			}
		}
		h.turns = append(h.turns, t)
	}
	if len(h.turns) == 0 {
		return nil, fmt.Errorf("%s has no agent in a room", ws)
	}
	slices.SortFunc(h.turns, func(a, b *turn) int { return strings.Compare(a.agent.ID, b.agent.ID) })
	return h, nil
}

// write adds n events, so many to a commit.
func (h *history) write(ctx context.Context, n, perCommit int) error {
	const batch = 20_000 // events to one sync
	for n > 0 {
		var appends []engine.Append
		for size := 0; size < batch && n > 0; {
			k := min(perCommit, n)
			c, err := h.commit(k)
			if err != nil {
				return err
			}
			a := engine.Append{Commit: c, Replaces: -1}
			if c.Key != "" {
				a.Claim = &engine.Claim{Workspace: c.Workspace, Sender: c.Sender, Key: c.Key, After: c.First - 1}
			}
			appends = append(appends, a)
			size, n = size+k, n-k
		}
		results, err := h.table.Append(ctx, appends)
		if err != nil {
			return err
		}
		if len(results) != len(appends) || !results[len(results)-1].Written {
			return fmt.Errorf("the commit at %d was not written", appends[len(results)-1].Commit.First)
		}
	}
	return nil
}

// commit is the next n events as one commit, folded in. One event alone is written as its sender would, under a key; several are not.
func (h *history) commit(n int) (engine.Commit, error) {
	h.now = h.now.Add(time.Duration(n) * 100 * time.Millisecond)
	c := engine.Commit{Workspace: h.state.ID, First: h.state.Seq + 1, TS: h.now}
	entropy := h.entropy()
	copy(c.Nonce[:], entropy[:])
	for i := range n {
		e := h.event()
		if n == 1 {
			c.Sender, c.Key = cmp.Or(e.Actor.HarnessID, e.Actor.ID), fmt.Sprintf("k%015d", c.First)
		}
		raw, err := e.AppendStored(nil)
		if err != nil {
			return c, err
		}
		c.Events = append(c.Events, raw)
		for _, space := range workspace.LineRooms(e) {
			if c.Prev == nil {
				c.Prev, c.Space = map[string]int64{}, space
			}
			if _, ok := c.Prev[space]; !ok {
				c.Prev[space] = h.state.Rooms[space].LastLine
			}
		}
		e.V, e.WorkspaceID, e.Seq, e.TS = protocol.Version, c.Workspace, c.First+int64(i), protocol.At(c.TS)
		workspace.Evolve(h.state, e)
	}
	return c, nil
}

// event is what happens next: a turn is drawn, and goes on.
func (h *history) event() protocol.Event {
	t := h.turns[h.rng.IntN(len(h.turns))]
	if len(t.next) == 0 {
		t.next = h.script(t)
	}
	e := t.next[0]
	t.next = t.next[1:]
	return e
}

// script is one turn: a person asks, a run starts, logs its steps and answers, and ends.
func (h *history) script(t *turn) []protocol.Event {
	person := protocol.Actor{Kind: protocol.KindPerson, ID: t.people[h.rng.IntN(len(t.people))]}
	agent := protocol.Actor{Kind: protocol.KindAgent, ID: t.agent.ID, HarnessID: t.agent.HarnessID}
	run := protocol.NewID(protocol.PrefixRun, h.now, h.entropy())
	to := []string{t.agent.ID}
	var events []protocol.Event
	add := func(by protocol.Actor, run string, data protocol.Data) {
		events = append(events, protocol.Event{Envelope: protocol.Envelope{Type: data.EventType(), SpaceID: t.agent.Room, RunID: run, Actor: by}, Data: data})
	}
	add(person, "", &protocol.MessagePost{Text: h.words(20), AddressedTo: to})
	add(agent, run, &protocol.RunStarted{Title: h.words(5)})
	for i := range 4 + h.rng.IntN(12) {
		step := fmt.Sprintf("s%d", i+1)
		add(agent, run, &protocol.StepStarted{StepID: step, Title: h.words(5)})
		add(agent, run, &protocol.StepLog{StepID: step, Status: "ok", Summary: h.words(15)})
	}
	add(agent, run, &protocol.MessagePost{Text: h.words(50), AddressedTo: []string{}})
	add(agent, run, &protocol.RunCompleted{Summary: h.words(10)})
	return events
}

// entropy is ten bytes that were not drawn before.
func (h *history) entropy() (b [10]byte) {
	h.drawn++
	binary.BigEndian.PutUint64(b[:], h.rng.Uint64())
	binary.BigEndian.PutUint16(b[8:], uint16(h.drawn))
	return b
}

var vocabulary = strings.Fields(`the a parser test run file change review branch build release token socket event log room agent person step is was has
	fails passes wrote read moved renamed added removed checked again because when after before with without into from over three seven
	twelve slow fast fixed open closed done next first last main.go table.go cache retry error message reply draft plan note question answer`)

// words are about n words of prose.
func (h *history) words(n int) string {
	var b strings.Builder
	for i := range max(1, n/2+h.rng.IntN(n+1)) {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(vocabulary[h.rng.IntN(len(vocabulary))])
	}
	return b.String()
}
