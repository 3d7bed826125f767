package workspace

import (
	"slices"
	"strings"

	"github.com/chipschat/chips-aws/shared/protocol"
)

// Seat is what a room remembers of one of its members beside that they are in it.
type Seat struct {
	// Seq, At and By are of its joining: the seq, the time and the person who added it. Seq is 0 for the room's first members.
	Seq int64         `json:"seq,omitzero"`
	At  protocol.Time `json:"at,omitzero"`
	By  string        `json:"by,omitzero"`
	// Turn and PrevTurn are the seqs of the newest two turns an agent was given here: messages that were for it. 0 for none.
	Turn     int64 `json:"turn,omitzero"`
	PrevTurn int64 `json:"prev_turn,omitzero"`
	// Asked says that the newest message for it was a person's to it alone, and Ended when its newest turn here ended.
	Asked bool          `json:"asked,omitzero"`
	Ended protocol.Time `json:"ended,omitzero"`
}

// TurnBefore is the seq of the newest turn the member was given here before a seq, 0 for none.
func (s Seat) TurnBefore(seq int64) int64 {
	if s.Turn < seq {
		return s.Turn
	}
	return s.PrevTurn
}

// seat notes that somebody joined. Whoever has a seat already, as a first member or since they come back with an archived room, keeps it;
// an agent that takes the place of its harness itself takes over that one's.
func (s *State) seat(room *Room, id, by string, e protocol.Event) {
	if _, ok := room.Seats[id]; ok {
		return
	}
	seat := Seat{Seq: e.Seq, At: e.TS, By: by}
	if h := s.harnessOf(id); h != id && room.Has(h) {
		seat = room.Seats[h]
	}
	room.setSeat(id, seat)
}

func (r *Room) setSeat(id string, seat Seat) {
	if r.Seats == nil {
		r.Seats = map[string]Seat{}
	}
	r.Seats[id] = seat
}

// turnGiven notes whom a message is a turn for.
func (s *State) turnGiven(room *Room, e protocol.Event, d *protocol.MessagePost) {
	to := d.AddressedTo
	if to == nil { // logged before Chips said whom a message is for
		to = slices.DeleteFunc(slices.Clone(room.Members), func(id string) bool { return s.harnessOf(id) == "" })
	}
	for _, id := range to {
		if id != e.Actor.ID {
			room.turn(id, e.Seq, e.Actor.Kind == protocol.KindPerson && len(to) == 1)
		}
	}
}

// turnHanded notes whom a message was handed to.
func (s *State) turnHanded(room *Room, e protocol.Event, d *protocol.MessageHanded) {
	for _, id := range d.AgentIDs {
		room.turn(id, e.Seq, false)
	}
	if seq, _ := protocol.SeqOf(d.MessageID); d.Lead && room.Loose != nil && room.Loose.Seq == seq {
		room.LeadHanded, room.Loose = room.Loose.Words, nil
	}
}

func (r *Room) turn(id string, seq int64, asked bool) {
	if r.Has(id) {
		seat := r.Seats[id]
		seat.PrevTurn, seat.Turn, seat.Asked = seat.Turn, seq, asked
		r.setSeat(id, seat)
	}
}

// Handle is a handle that reaches a member of a room.
type Handle struct{ Handle, Member string }

// Handles are all that reach somebody in a room, each member's own before others. One handle means one kind of member: an agent by its
// own name first, then the one agent of the harness of that name, then people, all of that handle (contract U-101).
func (s *State) Handles(room *Room) []Handle {
	var handles []Handle
	known := map[string]bool{}
	add := func(handle string, members ...string) {
		key := fold(handle)
		if handle == "" || known[key] {
			return
		}
		known[key] = true
		for _, m := range members {
			handles = append(handles, Handle{handle, m})
		}
	}
	for _, a := range s.AgentsIn(room, "") {
		add(a.Handle, a.ID)
	}
	for _, m := range room.Members {
		h := s.Harnesses[s.harnessOf(m)]
		if h == nil {
			continue
		}
		if m == h.ID {
			add(HandleOf(h.Name), m)
		} else if agents := s.AgentsIn(room, h.ID); len(agents) == 1 {
			add(HandleOf(h.Name), agents[0].ID)
		}
	}
	people := map[string][]Handle{}
	var order []string
	for _, m := range room.Members {
		if p := s.People[m]; p != nil {
			if handle := HandleOf(p.Name); handle != "" {
				key := fold(handle)
				if people[key] == nil {
					order = append(order, key)
				}
				people[key] = append(people[key], Handle{handle, m})
			}
		}
	}
	for _, key := range order {
		if !known[key] {
			handles = append(handles, people[key]...)
		}
	}
	return handles
}

// Mentioned are the members of a room whom a text @-mentions.
func (s *State) Mentioned(room *Room, text string) []string {
	if !strings.Contains(text, "@") {
		return nil
	}
	handles := s.Handles(room)
	words := make([]string, len(handles))
	for i, h := range handles {
		words[i] = h.Handle
	}
	var named []string
	for i := range mentions(text, words) {
		named = append(named, handles[i].Member)
	}
	return named
}
