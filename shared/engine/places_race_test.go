package engine_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/chipschat/chips-aws/shared/engine"
	"github.com/chipschat/chips-aws/shared/protocol"
	"github.com/chipschat/chips-aws/shared/workspace"
)

// racing is how often each race is run.
const racing = 200

// race is a workspace that two engines write to.
type race struct {
	*world
	engines [2]*engine.Engine
	// turn is the engine that was read last, round counts those of the race.
	turn, round int
}

func newRace(t *testing.T) *race {
	w := newWorld(t)
	w.must(w.arjun, operation(&workspace.HarnessDraft{HarnessID: w.scout.ID, Capabilities: &[]string{"agents", "new_spaces"}}))
	return &race{world: w, engines: [2]*engine.Engine{w.g, start(w.table, engine.Options{Decide: workspace.Decide})}}
}

// told is what one of two was answered.
type told struct {
	out engine.Outcome
	err *protocol.Error
}

func (a told) code() protocol.Code {
	if a.err == nil {
		return ""
	}
	return a.err.Code
}

// atOnce runs two commands at once, each by an engine, by the other one in the next round: the one that is behind loses more often.
// Now and then one of them goes ahead, so that each order is seen on a busy machine too. Neither goes without an answer.
func (r *race) atOnce(one, other workspace.Command) (both [2]told) {
	r.t.Helper()
	var ready, done sync.WaitGroup
	ready.Add(2)
	r.round++
	ahead := make(chan struct{})
	for i, cmd := range []workspace.Command{one, other} {
		r.keys++
		cmd.Draft.IdempotencyKey = fmt.Sprintf("key %d", r.keys)
		done.Go(func() {
			ready.Done()
			ready.Wait()
			switch r.round % 20 {
			case i:
				defer close(ahead)
			case 1 - i:
				<-ahead
			}
			out, err := r.engines[(i+r.round)%2].Do(context.Background(), "ws_1", cmd)
			if err != nil && !errors.As(err, &both[i].err) {
				r.t.Errorf("%s: neither done nor refused: %v", cmd.Draft.Type, err)
			}
			both[i].out = out
		})
	}
	done.Wait()
	return both
}

func as(by workspace.Caller, cmd workspace.Command) workspace.Command {
	cmd.By = by
	return cmd
}

func (r *race) register(key, name, state string) workspace.Command {
	return as(r.scout, operation(&workspace.AgentDraft{HarnessID: r.scout.ID, Key: key, Name: &name, State: &state}))
}

// agentOf makes the agent of a key.
func (r *race) agentOf(key string) string {
	r.t.Helper()
	out := r.must(r.scout, r.register(key, key, workspace.StateActive))
	return out.Events[out.Commit.Primary].Data.(*protocol.AgentRegistered).AgentID
}

func (r *race) add(room, agent string) workspace.Command {
	return as(r.arjun, in(room, &protocol.MemberAdded{ParticipantID: agent}))
}

// state is what either engine folds.
func (r *race) state() *workspace.State {
	r.t.Helper()
	r.turn = 1 - r.turn
	var s *workspace.State
	if err := r.engines[r.turn].Read(r.t.Context(), "ws_1", func(got *workspace.State) error { s = got; return nil }); err != nil {
		r.t.Fatal(err)
	}
	return s
}

// explained checks that the log alone says where each agent is: it joins a room only while it is free, and leaves only the one it is in.
func (r *race) explained() {
	r.t.Helper()
	in, opened := map[string]string{}, map[string]bool{}
	for next := int64(1); ; {
		page, err := r.table.Commits(r.t.Context(), "ws_1", next, 500)
		if err != nil {
			r.t.Fatal(err)
		}
		page = slices.DeleteFunc(page, func(c engine.Commit) bool { return c.First < next })
		if len(page) == 0 {
			break
		}
		for _, c := range page {
			events, err := c.Decode()
			if err != nil {
				r.t.Fatal(err)
			}
			for _, e := range events {
				switch d := e.Data.(type) {
				case *protocol.SpaceOpened, *protocol.SpaceUnarchived:
					opened[e.SpaceID] = true
				case *protocol.SpaceArchived, *protocol.SpaceDeleted:
					opened[e.SpaceID] = false
				case *protocol.AgentAttached:
					if in[d.AgentID] != "" || !opened[e.SpaceID] {
						r.t.Errorf("seq %d: %s joins %s and is in %q; open: %v", e.Seq, d.AgentID, e.SpaceID, in[d.AgentID], opened[e.SpaceID])
					}
					in[d.AgentID] = e.SpaceID
				case *protocol.AgentReleased:
					if in[d.AgentID] != e.SpaceID {
						r.t.Errorf("seq %d: %s leaves %s and is in %q", e.Seq, d.AgentID, e.SpaceID, in[d.AgentID])
					}
					delete(in, d.AgentID)
				}
			}
			next = c.Last() + 1
		}
	}
	head, _, err := r.g.Head(r.t.Context(), "ws_1")
	if err != nil {
		r.t.Fatal(err)
	}
	s, err := start(r.table, engine.Options{Decide: workspace.Decide}).StateAt(r.t.Context(), "ws_1", head.Last())
	if err != nil {
		r.t.Fatal(err)
	}
	for id, a := range s.Agents {
		if a.Room != in[id] {
			r.t.Errorf("by the log %s is in %q, by the fold in %q", id, in[id], a.Room)
		}
	}
	for range r.engines {
		if diff := cmp.Diff(s, r.state()); diff != "" {
			r.t.Errorf("engine %d has folded another state (-log +engine):\n%s", r.turn, diff)
		}
	}
}

// Two who act on one agent at once: there is one outcome, which the log explains, and who comes second is told by what.
//
// covers: ONE-1, ONE-4, ADD-2
func TestRacesOfAgents(t *testing.T) {
	for name, run := range map[string]func(r *race, i int) bool{
		"two adds of one agent to two rooms": func(r *race, i int) bool {
			agent, rooms := r.agentOf(fmt.Sprint("a", i)), [2]string{r.openRoom("one"), r.openRoom("other")}
			both := r.atOnce(r.add(rooms[0], agent), r.add(rooms[1], agent))
			won := 0
			if both[0].err != nil {
				won = 1
			}
			lost := both[1-won]
			if both[won].err != nil || lost.code() != protocol.AgentElsewhere || lost.err.SpaceID != rooms[won] || r.state().Agents[agent].Room != rooms[won] {
				r.t.Errorf("told %+v and %+v", both[0].err, both[1].err)
			}
			return won == 0
		},
		"an add and the room's archive": func(r *race, i int) bool {
			agent, room := r.agentOf(fmt.Sprint("a", i)), r.openRoom("one")
			both := r.atOnce(r.add(room, agent), as(r.arjun, in(room, &protocol.SpaceArchived{})))
			s := r.state()
			added := both[0].err == nil
			if both[1].err != nil || !added && both[0].code() != protocol.RoomClosed || s.Agents[agent].Room != "" || !s.Rooms[room].Archived {
				r.t.Errorf("told %+v and %+v", both[0].err, both[1].err)
			}
			if parked := s.Agents[agent].Parked == room; parked != added {
				r.t.Errorf("added %v, and waits for the room %v", added, parked)
			}
			return added
		},
		"an add and the agent's archive": func(r *race, i int) bool {
			key := fmt.Sprint("a", i)
			agent, room := r.agentOf(key), r.openRoom("one")
			both := r.atOnce(r.add(room, agent), r.register(key, key, workspace.StateArchived))
			s := r.state()
			added := both[0].err == nil
			if both[1].err != nil || !added && both[0].code() != protocol.InvalidEvent || s.Agents[agent].Room != "" || !s.Agents[agent].Archived {
				r.t.Errorf("told %+v and %+v", both[0].err, both[1].err)
			}
			if s.Rooms[room].Archived != added {
				r.t.Errorf("added %v, and the room is archived %v", added, s.Rooms[room].Archived)
			}
			return added
		},
		"a move and a removal": func(r *race, i int) bool {
			agent, from, to := r.agentOf(fmt.Sprint("a", i)), r.openRoom("from"), r.openRoom("to")
			r.must(r.arjun, in(from, &protocol.MemberAdded{ParticipantID: agent}))
			both := r.atOnce(
				as(r.arjun, in("", &protocol.AgentMoved{AgentID: agent, ToSpaceID: to})),
				as(r.arjun, in(from, &protocol.MemberRemoved{ParticipantID: agent})),
			)
			moved, room := both[0].err == nil, r.state().Agents[agent].Room
			switch {
			case moved && both[1].code() == protocol.NotFound && room == to:
			case both[0].code() == protocol.InvalidEvent && both[1].err == nil && room == "":
			default:
				r.t.Errorf("told %+v and %+v, and it is in %q", both[0].err, both[1].err, room)
			}
			return moved
		},
		"two registrations of one name": func(r *race, i int) bool {
			one, other := fmt.Sprint("one", i), fmt.Sprint("other", i)
			name := fmt.Sprint("Twin", i, "x")
			both := r.atOnce(r.register(one, name, workspace.StateActive), r.register(other, name, workspace.StateActive))
			names := map[string]string{}
			for _, a := range r.state().AgentsOf(r.scout.ID) {
				names[a.Key] = a.Name
			}
			first := names[one] == name
			if both[0].err != nil || both[1].err != nil || first == (names[other] == name) || !first && names[one] != name+" 2" || first && names[other] != name+" 2" {
				r.t.Errorf("told %+v and %+v, and they are %q and %q", both[0].err, both[1].err, names[one], names[other])
			}
			return first
		},
		"a claim and the room's deletion": func(r *race, i int) bool {
			key := fmt.Sprint("a", i)
			room := r.must(r.arjun, operation(&workspace.AskDraft{HarnessID: r.scout.ID, Text: "a room"})).Ack().SpaceID
			claim := as(r.scout, in(room, &workspace.ClaimDraft{Key: key}))
			claim.Operation = true
			both := r.atOnce(claim, as(r.arjun, in(room, &protocol.SpaceDeleted{})))
			claimed, s := both[0].err == nil, r.state()
			var agent *workspace.Agent
			for _, a := range s.AgentsOf(r.scout.ID) {
				if a.Key == key {
					agent = a
				}
			}
			if both[1].err != nil || !claimed && both[0].code() != protocol.NotFound || !s.Rooms[room].Deleted || claimed != (agent != nil) || agent != nil && agent.Room != "" {
				r.t.Errorf("told %+v and %+v, and there is the agent %+v", both[0].err, both[1].err, agent)
			}
			return claimed
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, first := newRace(t), 0
			for i := range racing {
				if run(r, i) {
					first++
				}
				if t.Failed() {
					t.Fatalf("round %d", i)
				}
			}
			r.explained()
			if first == 0 || first == racing {
				t.Errorf("the first came first %d times of %d: that is no race", first, racing)
			}
		})
	}
}
