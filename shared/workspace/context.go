package workspace

import (
	"slices"

	"github.com/chipschat/chips-aws/shared/protocol"
)

// MaxRenames is how many of its people's newest renames a room remembers as lines; older ones are left out of contexts.
const MaxRenames = 10

// maxPlaces is for how many agents, in it or not, a room remembers where their context starts.
const maxPlaces = 2 * MaxMembers

// Rename is a person's new name, as a line in the rooms they were in then.
type Rename struct {
	Seq      int64         `json:"seq"`
	At       protocol.Time `json:"at"`
	PersonID string        `json:"person_id"`
	Name     string        `json:"name"`
	Previous string        `json:"previous"`
}

// ContextFrom is the seq after which the context of an agent in a room starts: where the turn that said its last words there began,
// where it joined when it has said none, and where the room was opened when even that is not remembered. The harness itself
// counts as an agent where it is who the room holds.
func (s *State) ContextFrom(room *Room, agent string) int64 {
	if seq, ok := room.ContextFrom[agent]; ok {
		return seq
	}
	return room.OpenedSeq
}

// contextJoined notes where an agent joined. One that comes back goes on where it was, so that nothing is missed (CTX-8), and one that
// takes the place of the harness itself goes on where that was.
func (s *State) contextJoined(room *Room, agent string, seq int64) {
	if _, known := room.ContextFrom[agent]; known {
		return
	}
	if h := s.harnessOf(agent); h != agent && room.Has(h) {
		seq = s.ContextFrom(room, h)
	}
	room.place(agent, seq)
}

// contextSaid notes where the turn that said an agent's words began. Words belong to their run's turn, else to the newest turn of
// the agent that is going in the room, else to themselves (contract U-102).
func (s *State) contextSaid(room *Room, e protocol.Event) {
	if s.harnessOf(e.Actor.ID) == "" {
		return
	}
	from := e.Seq
	if run := s.Runs[e.RunID]; run != nil {
		for up := run; up != nil; up = s.Runs[up.Parent] {
			from = up.Seq
		}
	} else {
		for _, id := range slices.Backward(room.Turns) {
			if turn := s.Runs[id]; turn != nil && turn.AgentID == e.Actor.ID {
				from = turn.Seq
				break
			}
		}
	}
	room.place(e.Actor.ID, from)
}

// place remembers where an agent's context starts. Where too many are remembered, the oldest of one that is not in the room goes.
func (r *Room) place(agent string, seq int64) {
	if r.ContextFrom == nil {
		r.ContextFrom = map[string]int64{}
	}
	r.ContextFrom[agent] = seq
	if len(r.ContextFrom) <= maxPlaces {
		return
	}
	oldest := ""
	for id, at := range r.ContextFrom {
		if !r.Has(id) && id != agent && (oldest == "" || at < r.ContextFrom[oldest] || at == r.ContextFrom[oldest] && id < oldest) {
			oldest = id
		}
	}
	delete(r.ContextFrom, oldest)
}

// contextRenamed writes a person's new name as a line in the rooms they are in.
func (s *State) contextRenamed(e protocol.Event, d *protocol.PersonUpdated) {
	for _, room := range s.Rooms {
		if room.Deleted || !room.Has(d.PersonID) {
			continue
		}
		room.Renames = append(room.Renames, Rename{Seq: e.Seq, At: e.TS, PersonID: d.PersonID, Name: d.Name, Previous: d.Previous})
		if n := len(room.Renames) - MaxRenames; n > 0 {
			room.Renames = slices.Delete(room.Renames, 0, n)
		}
	}
}

// turnStarted and turnEnded keep the turns that are going in a room.
func (s *State) turnStarted(run *Run) {
	if room := s.Rooms[run.Room]; room != nil && run.Parent == "" {
		room.Turns = append(room.Turns, run.ID)
	}
}

func (s *State) turnEnded(run *Run) {
	if room := s.Rooms[run.Room]; room != nil {
		if run.Parent == "" {
			room.TurnEnded = s.TS
			if room.Has(run.AgentID) {
				seat := room.Seats[run.AgentID]
				seat.Ended = s.TS
				room.setSeat(run.AgentID, seat)
			}
		}
		room.Turns = slices.DeleteFunc(room.Turns, func(id string) bool { return id == run.ID })
	}
}
