package main

import (
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	"github.com/chipschat/chips-aws/shared/embedded"
	"github.com/chipschat/chips-aws/shared/engine"
	"github.com/chipschat/chips-aws/shared/workspace"
)

// What is written by way of the table alone is a log that the engine reads as its own, by itself and from a snapshot of it.
func TestHistory(t *testing.T) {
	table, err := embedded.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = table.Close() })
	g := engine.New(table, engine.Options{Now: time.Now})
	town, err := build(t.Context(), g)
	if err != nil {
		t.Fatal(err)
	}
	h, err := newHistory(t.Context(), g, table, town.id)
	if err != nil {
		t.Fatal(err)
	}
	if len(h.state.Rooms) != 50 || len(h.state.People) != 20 || len(h.state.Agents) != 50 || len(h.turns) != 50 {
		t.Errorf("%d rooms, %d people, %d agents, %d of them in a room; want 50, 20, 50, 50",
			len(h.state.Rooms), len(h.state.People), len(h.state.Agents), len(h.turns))
	}
	before := h.state.Seq
	for _, perCommit := range []int{1, 100} {
		if err := h.write(t.Context(), 1500, perCommit); err != nil {
			t.Fatal(err)
		}
	}
	if got := h.state.Seq - before; got != 3000 {
		t.Errorf("%d events were written, want 3000", got)
	}
	room := h.state.Rooms[h.turns[0].agent.Room]
	if lines, err := g.RoomCommits(t.Context(), town.id, room.ID, room.LastLine, 3); err != nil || len(lines) != 3 {
		t.Errorf("the room's chain of lines: %d of 3, %v", len(lines), err)
	}
	g = engine.New(table, engine.Options{Now: time.Now})
	if written, err := g.SnapshotIfDue(t.Context(), town.id); err != nil || !written {
		t.Errorf("no snapshot was written: %v", err)
	}
	want := text(t, h.state)
	for range 2 { // from the log, from the snapshot
		err := g.Read(t.Context(), town.id, func(s *workspace.State) error {
			if d := cmp.Diff(want, text(t, s)); d != "" {
				t.Errorf("the engine's state (-want +got):\n%s", d)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		g = engine.New(table, engine.Options{Now: time.Now})
	}
}

func text(t *testing.T, s *workspace.State) string {
	t.Helper()
	b, err := json.Marshal(s, json.Deterministic(true))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
