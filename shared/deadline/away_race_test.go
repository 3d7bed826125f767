package deadline_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/chipschat/chips-aws/shared/deadline"
	"github.com/chipschat/chips-aws/shared/engine"
	"github.com/chipschat/chips-aws/shared/session"
	"github.com/chipschat/chips-aws/shared/workspace"
)

// gate has a process do one thing to the table at a time, each when it is let.
type gate struct{ arrived, let chan struct{} }

// gated is a table behind a gate.
type gated struct {
	engine.Table
	*gate
}

func (g gated) wait() {
	if g.arrived != nil {
		g.arrived <- struct{}{}
		<-g.let
	}
}

func (g gated) Append(ctx context.Context, a []engine.Append) ([]engine.Result, error) {
	g.wait()
	return g.Table.Append(ctx, a)
}

func (g gated) Head(ctx context.Context, ws string) (engine.Commit, bool, error) {
	g.wait()
	return g.Table.Head(ctx, ws)
}

func (g gated) Commits(ctx context.Context, ws string, from int64, limit int) ([]engine.Commit, error) {
	g.wait()
	return g.Table.Commits(ctx, ws, from, limit)
}

func (g gated) Get(ctx context.Context, pk, sk string) (engine.Row, bool, error) {
	g.wait()
	return g.Table.Get(ctx, pk, sk)
}

func (g gated) Put(ctx context.Context, row engine.Row, cond engine.Cond) (int64, error) {
	g.wait()
	return g.Table.Put(ctx, row, cond)
}

func (g gated) Delete(ctx context.Context, pk, sk string, cond engine.Cond) (engine.Row, error) {
	g.wait()
	return g.Table.Delete(ctx, pk, sk, cond)
}

func (g gated) Query(ctx context.Context, pk, after string, limit int) ([]engine.Row, error) {
	g.wait()
	return g.Table.Query(ctx, pk, after, limit)
}

// racer is one of two processes.
type racer struct {
	*gate
	engine   *engine.Engine
	sessions *session.Sessions
	keeper   *deadline.Keeper
}

func (w *world) racer() *racer {
	r := &racer{gate: &gate{}}
	table := gated{w.table, r.gate}
	r.engine = engine.New(table, engine.Options{Now: time.Now})
	r.sessions, r.keeper = process(table, r.engine, nil)
	return r
}

// race runs two processes through one order of what they do: whoever is named by the next of turns (0 or 1) does its next thing where both
// have one, and the first where turns is at its end. It answers the turns that were taken.
func race(t *testing.T, racers [2]*racer, do [2]func() error, turns []int) (taken []int) {
	done := [2]chan error{}
	over := [2]bool{}
	for i, r := range racers {
		r.arrived, r.let = make(chan struct{}), make(chan struct{})
		done[i] = make(chan error, 1)
		go func() { done[i] <- do[i]() }()
	}
	arrive := func(i int) {
		select {
		case <-racers[i].arrived:
		case err := <-done[i]:
			if over[i] = true; err != nil {
				t.Error(err)
			}
		}
	}
	arrive(0)
	arrive(1)
	for !over[0] || !over[1] {
		next := 0
		switch {
		case over[0]:
			next = 1
		case over[1]:
		default:
			if len(taken) < len(turns) {
				next = turns[len(taken)]
			}
			taken = append(taken, next)
		}
		racers[next].let <- struct{}{}
		arrive(next)
	}
	for _, r := range racers {
		r.arrived = nil
	}
	return taken
}

// following are the turns that come after those taken, nil after the last: the last 0 becomes 1.
func following(taken []int) []int {
	for i := len(taken) - 1; i >= 0; i-- {
		if taken[i] == 0 {
			return append(taken[:i:i], 1)
		}
	}
	return nil
}

// A harness comes, or goes, or both, while it is being looked at, in every order of what the two do to the table: one with a socket never
// reads away afterwards, and one without reads away or will be looked at.
func TestLookAgainstTheSocket(t *testing.T) {
	for _, x := range []struct {
		name        string
		before, end bool // whether it has a socket
		do          func(ctx context.Context, s *session.Sessions, c workspace.Caller) error
	}{
		{"comes", false, true, func(ctx context.Context, s *session.Sessions, c workspace.Caller) error { return hello(ctx, s, "b", c) }},
		{"goes", true, false, func(ctx context.Context, s *session.Sessions, c workspace.Caller) error {
			return s.Disconnect(ctx, "a", c)
		}},
		{"goes and comes", true, true, func(ctx context.Context, s *session.Sessions, c workspace.Caller) error {
			if err := s.Disconnect(ctx, "a", c); err != nil {
				return err
			}
			return hello(ctx, s, "b", c)
		}},
	} {
		t.Run(x.name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				ctx := t.Context()
				looker, socket := w.racer(), w.racer()
				races, said := 0, map[string]int{}
				for turns := []int{}; turns != nil; races++ {
					// It has left a while ago, and perhaps come again since.
					w.must(socket.sessions.Disconnect(ctx, "a", w.scout))
					w.must(socket.sessions.Disconnect(ctx, "b", w.scout))
					if _, err := socket.engine.Do(ctx, ws, workspace.Command{
						By: workspace.Caller{Workspace: ws, Kind: "system", ID: "system"}, Draft: workspace.Draft(&workspace.BackDraft{HarnessID: w.scout.ID}), Operation: true,
					}); err != nil {
						t.Fatal(err)
					}
					if x.before {
						w.must(hello(ctx, socket.sessions, "a", w.scout))
					}
					time.Sleep(silent + time.Second)
					w.must(looker.engine.Read(ctx, ws, func(*workspace.State) error { return nil }))
					row := w.kept()[0]
					taken := race(t, [2]*racer{looker, socket}, [2]func() error{
						func() error { return looker.keeper.Sweep(ctx, row) },
						func() error { return x.do(ctx, socket.sessions, w.scout) },
					}, turns)
					status := ""
					w.must(w.engine.Read(ctx, ws, func(s *workspace.State) error { status = s.Harness(w.scout.ID).Status; return nil }))
					rows := w.kept()
					switch {
					case x.end && status == "away":
						t.Fatalf("it has a socket and is away: %v", taken)
					case !x.end && (status == "away" || len(rows) != 1 || rows[0].Due.Before(time.Now().Add(silent))):
						t.Fatalf("it has just left and is %q, and has %d rows: %v", status, len(rows), taken)
					}
					said[fmt.Sprint(status, " ", len(rows))]++
					turns = following(taken)
				}
				t.Logf("%d orders: %v", races, said)
				if races < 8 {
					t.Errorf("%d orders are no race", races)
				}
			})
		})
	}
}
