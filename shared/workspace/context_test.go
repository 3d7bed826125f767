package workspace

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/chipschat/chips-aws/shared/protocol"
)

// said has an agent's words on a run, or on none.
func (f *fixture) said(run string) int64 {
	f.t.Helper()
	c := event(f.r, &protocol.MessagePost{Text: "words"})
	c.draft.RunID = run
	return f.must(f.scout, c)[0].Seq
}

func (f *fixture) contextFrom(room, agent string) int64 {
	return f.s.ContextFrom(f.s.Rooms[room], agent)
}

// Where an agent's context starts: where the turn that said its last words began (U-102), where it joined until it has said any.
// covers: CTX-3, CTX-4
func TestContextFrom(t *testing.T) {
	started := func(f *fixture, n int, parent string) (string, int64) {
		run := f.start(f.scout, n, f.r, parent)
		return run, f.s.Seq
	}
	for _, c := range []struct {
		name string
		run  func(f *fixture) (want int64)
	}{
		{"it joined and said nothing", func(f *fixture) int64 {
			f.must(f.arjun, post(f.r, "hello"))
			f.must(f.ledger, post(f.r, "Ledger's words"))
			for _, e := range f.log {
				if d, ok := e.Data.(*protocol.AgentAttached); ok && d.AgentID == f.s1 && e.SpaceID == f.r {
					return e.Seq
				}
			}
			return 0
		}},
		{"words on no turn are where they are", func(f *fixture) int64 {
			f.said("")
			return f.said("")
		}},
		{"words on a turn go back to its start", func(f *fixture) int64 {
			run, at := started(f, 1, "")
			f.must(f.priya, post(f.r, "meanwhile"))
			f.said(run)
			return at
		}},
		{"after a pause too", func(f *fixture) int64 {
			run, at := started(f, 1, "")
			f.must(f.scout, onRun(run, &protocol.RunPaused{}))
			f.said(run)
			return at
		}},
		{"words on a lane are its turn's", func(f *fixture) int64 {
			run, at := started(f, 1, "")
			lane, _ := started(f, 2, run)
			deeper, _ := started(f, 3, lane)
			f.said(deeper)
			return at
		}},
		{"words that name no run are the newest turn's", func(f *fixture) int64 {
			started(f, 1, "")
			run, at := started(f, 2, "")
			started(f, 3, run) // a lane is no turn
			f.said("")
			return at
		}},
		{"and only of one that is going", func(f *fixture) int64 {
			_, at := started(f, 1, "")
			run, _ := started(f, 2, "")
			f.must(f.scout, onRun(run, &protocol.RunCompleted{}))
			f.said("")
			return at
		}},
		{"after the turn they are where they are", func(f *fixture) int64 {
			run, _ := started(f, 1, "")
			f.must(f.scout, onRun(run, &protocol.RunCompleted{}))
			return f.said("")
		}},
		{"another agent's turn is not its own", func(f *fixture) int64 {
			f.start(f.ledger, 1, f.r, "")
			return f.said("")
		}},
		{"the turn's end and its steps move nothing", func(f *fixture) int64 {
			run, at := started(f, 1, "")
			f.said(run)
			f.must(f.scout, onRun(run, &protocol.StepLog{StepID: "stp_1", Status: "done", Summary: "Done"}))
			f.must(f.scout, onRun(run, &protocol.RunCompleted{}))
			started(f, 2, "")
			return at
		}},
		{"an older turn's last words go back to that turn", func(f *fixture) int64 {
			run, at := started(f, 1, "")
			newer, _ := started(f, 2, "")
			f.said(newer)
			f.said(run)
			return at
		}},
		{"one that leaves and comes back goes on where it was", func(f *fixture) int64 {
			at := f.said("")
			f.add(f.arjun, f.room(f.arjun, "Elsewhere"), f.s1)
			f.must(f.arjun, post(f.r, "without it"))
			f.add(f.arjun, f.r, f.s1)
			return at
		}},
	} {
		f := newFixture(t)
		want := c.run(f)
		if got := f.contextFrom(f.r, f.s1); got != want {
			t.Errorf("%s: starts after %d, want %d", c.name, got, want)
		}
	}
}

// An agent that takes the place of the harness itself goes on where that was.
func TestContextFromOfTheHarnessItself(t *testing.T) {
	f := newFixture(t)
	opened := protocol.Event{
		Envelope: protocol.Envelope{Type: "space.opened", Seq: f.s.Seq + 1, SpaceID: "spc_asked", Actor: protocol.Actor{Kind: protocol.KindPerson, ID: f.arjun.ID}},
		Data:     &protocol.SpaceOpened{Title: "Asked", ParticipantIDs: []string{f.arjun.ID, f.scout.ID}, AskedOf: f.scout.ID},
	}
	Evolve(f.s, opened)
	if got := f.contextFrom("spc_asked", f.scout.ID); got != opened.Seq {
		t.Errorf("the harness starts after %d, want %d", got, opened.Seq)
	}
	f.must(f.arjun, post("spc_asked", "for you"))
	said := f.must(f.scout, post("spc_asked", "I am on it"))[0].Seq
	f.must(f.arjun, post("spc_asked", "good"))
	agent := f.register(f.scout, "key-claim", "Claimer")
	f.add(f.arjun, "spc_asked", agent)
	if got := f.contextFrom("spc_asked", agent); got != said {
		t.Errorf("its agent starts after %d, want %d", got, said)
	}
}

// A room remembers the lines its chain begins with, and forgets what went.
func TestRoomsRememberLines(t *testing.T) {
	f := newFixture(t)
	first := f.must(f.arjun, post(f.r, "one"))[0].Seq
	f.start(f.scout, 1, f.r, "")
	second := f.must(f.arjun, post(f.r, "two"))[0].Seq
	if r := f.s.Rooms[f.r]; r.LastLine != second || r.PrevLine != first {
		t.Errorf("lines %d and %d, want %d and %d", r.LastLine, r.PrevLine, second, first)
	}
	if got := f.s.Rooms[f.r].Turns; !slices.Equal(got, []string{runID(1)}) {
		t.Errorf("turns going: %v", got)
	}
	f.must(f.arjun, op(&protocol.HarnessRemoved{HarnessID: f.scout.ID}))
	if r := f.s.Rooms[f.r]; len(r.Turns) != 0 || r.ContextFrom[f.s1] != 0 {
		t.Errorf("of a harness that is gone: turns %v, context %v", r.Turns, r.ContextFrom)
	}
}

// A person's rename is a line in the rooms they are in then, and no others; the newest are remembered.
// covers: CTX-20
func TestRenamesAreLines(t *testing.T) {
	f := newFixture(t)
	call := func(name string) int64 {
		return f.must(f.priya, op(&PersonDraft{PersonID: f.priya.ID, Name: &name}))[0].Seq
	}
	seq := call("Priya R")
	later := f.room(f.priya, "Later")
	f.must(f.priya, op(&PersonDraft{PersonID: f.priya.ID, TimeZone: ptr("Asia/Kolkata")}))
	want := []Rename{{Seq: seq, At: f.s.Rooms[f.r].Renames[0].At, PersonID: f.priya.ID, Name: "Priya R", Previous: "Priya"}}
	if diff := cmp.Diff(want, f.s.Rooms[f.r].Renames); diff != "" {
		t.Error(diff)
	}
	for _, room := range []string{f.lone, later} {
		if got := f.s.Rooms[room].Renames; got != nil {
			t.Errorf("in a room she was not in: %v", got)
		}
	}
	for n := range MaxRenames {
		seq = call(fmt.Sprint("Priya ", n))
	}
	got := f.s.Rooms[f.r].Renames
	if len(got) != MaxRenames || got[0].Previous != "Priya R" || got[MaxRenames-1].Seq != seq {
		t.Errorf("%d renames are remembered: %v", len(got), got)
	}
}

// Of ever more agents that come and go a room forgets who was there longest ago, and nobody who is there.
func TestContextPlacesAreBounded(t *testing.T) {
	r := &Room{Members: []string{"agt_0"}}
	for n := range 3 * maxPlaces {
		r.place(fmt.Sprint("agt_", n), int64(n))
	}
	if len(r.ContextFrom) != maxPlaces {
		t.Errorf("%d places", len(r.ContextFrom))
	}
	for n := range 3 * maxPlaces {
		_, known := r.ContextFrom[fmt.Sprint("agt_", n)]
		if want := n == 0 || n > 2*maxPlaces; known != want {
			t.Fatalf("agent %d is known: %v", n, known)
		}
	}
}
