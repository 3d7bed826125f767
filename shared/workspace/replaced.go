package workspace

import (
	"slices"

	"github.com/chipschat/chips-aws/shared/protocol"
)

// MaxReplaced is how many replacements a room remembers; what those before said reads as their own again.
const MaxReplaced = 100

// Replacement says whose words in a room read as whose: what Replaced said before Seq.
type Replacement struct {
	Replaced string `json:"replaced"`
	By       string `json:"by"`
	Seq      int64  `json:"seq"`
}

// Replacements are those of a room, oldest first.
type Replacements []Replacement

// SaidBy is who said something in the room at a seq, as it reads now: whoever took the speaker's place since.
func (r Replacements) SaidBy(speaker string, seq int64) string {
	for _, p := range r {
		if p.Replaced == speaker && seq < p.Seq {
			speaker = p.By
		}
	}
	return speaker
}

// evolveReplaced hands over what the room remembers of the one who was replaced. Joining and leaving follow in events of their own.
func (s *State) evolveReplaced(room *Room, e protocol.Event, d *protocol.MembershipReplaced) {
	room.Replaced = append(room.Replaced, Replacement{Replaced: d.Replaced, By: d.AgentID, Seq: e.Seq})
	if n := len(room.Replaced) - MaxReplaced; n > 0 {
		room.Replaced = slices.Delete(room.Replaced, 0, n)
	}
	room.place(d.AgentID, s.ContextFrom(room, d.Replaced))
	room.setSeat(d.AgentID, room.Seats[d.Replaced])
	for person, last := range room.LastTo {
		if last == d.Replaced {
			room.LastTo[person] = d.AgentID
		}
	}
	if room.LastAgentSaid == d.Replaced {
		room.LastAgentSaid = d.AgentID
	}
}

// membershipReplaced puts an agent of a harness in a room in the place of another of its agents there, or of the harness itself.
func (d *deciding) membershipReplaced() *protocol.Error {
	draft, ok := d.c.Draft.Data.(*protocol.MembershipReplaced)
	if !ok || d.c.By.Kind != protocol.KindHarness {
		return forbidden("only a harness puts its agents in each other's place")
	}
	room, err := d.room()
	if err != nil {
		return err
	}
	a := d.s.Agents[draft.AgentID]
	if a == nil || a.HarnessID != d.c.By.ID {
		return notFound("no such agent of yours")
	}
	replaced := draft.Replaced
	if replaced == d.c.By.ID && !room.Has(replaced) { // the harness by the one agent it has there
		agents := d.s.AgentsIn(room, replaced)
		if len(agents) > 1 {
			return protocol.Refuse(protocol.WhichAgent, "you have %d agents in this room: name the one to replace", len(agents))
		}
		if len(agents) == 1 {
			replaced = agents[0].ID
		}
	}
	if d.s.harnessOf(replaced) != d.c.By.ID || !room.Has(replaced) {
		return notFound("replacing names neither you nor an agent of yours in this room")
	}
	if replaced == a.ID {
		return d.bad("the agent is in the room already")
	}
	old := d.s.Agents[replaced]
	if old != nil && old.Lead {
		return mainRoom()
	}
	without := *room
	without.Members = slices.DeleteFunc(slices.Clone(room.Members), func(m string) bool { return m == replaced })
	if err := d.mayPlace(a, &without); err != nil {
		return err
	}
	d.cancelRuns(room.ID, replaced, ReasonReplaced)
	d.answer(agentActor(a), room.ID, &protocol.MembershipReplaced{Replaced: replaced, AgentID: a.ID})
	if old != nil {
		d.release(old, room, &protocol.AgentReleased{Reason: ReasonRemoved})
	}
	d.put(a, room, &protocol.AgentAttached{})
	d.postHeld(a, room)
	return nil
}
