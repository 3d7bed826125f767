package workspace

import (
	"time"

	"github.com/chipschat/chips-aws/shared/protocol"
)

// dueLead is the kind of deadline by which a room's lead is handed what is nobody's turn.
const dueLead = "lead"

// Loose is the last words of a room where they are an agent's that reached nobody.
type Loose struct {
	MessageID string        `json:"message_id"`
	Seq       int64         `json:"seq"`
	At        protocol.Time `json:"at"`
	Agent     string        `json:"agent"`
	// Words tells them from others, as in a circle.
	Words string `json:"words"`
}

// lastWords notes whether the last words of a room are an agent's that reached nobody: words for no agent that name nobody, not held, and
// no answer to a person who asked that agent alone.
func (s *State) lastWords(room *Room, e protocol.Event, d *protocol.MessagePost) {
	asked := room.Seats[e.Actor.ID].Asked
	room.Loose = nil
	if e.Actor.Kind == protocol.KindPerson || d.Held || d.AddressedTo == nil || len(d.AddressedTo) > 0 || asked ||
		d.ReplyTo != "" || !d.To.IsZero() || len(s.Mentioned(room, d.Text)) > 0 {
		return
	}
	room.Loose = &Loose{MessageID: protocol.MessageID(e.ID), Seq: e.Seq, At: e.TS, Agent: e.Actor.ID, Words: wordsOf(d.Text)}
}

// Turn is an agent's newest turn that is going in a room and was heard from within quiet before at; nil for none.
func (s *State) Turn(room *Room, agent string, at time.Time, quiet time.Duration) *Run {
	for i := len(room.Turns) - 1; i >= 0; i-- {
		if run := s.Runs[room.Turns[i]]; run != nil && run.AgentID == agent && at.Before(run.Heard.Add(quiet)) {
			return run
		}
	}
	return nil
}

// IdleSince is when an agent that has no turn going in a room (Turn) had its last one there, by its end or by its last word and quiet; the
// zero Time where it has had none.
func (s *State) IdleSince(room *Room, agent string, quiet time.Duration) time.Time {
	since := room.Seats[agent].Ended.Time
	for _, id := range room.Turns {
		if run := s.Runs[id]; run != nil && run.AgentID == agent && run.Heard.Add(quiet).After(since) {
			since = run.Heard.Add(quiet)
		}
	}
	return since
}

// leadIdle are the rooms whose lead is to be handed the last words: nobody has been working since for as long as is waited.
func leadIdle(s *State, w Waits) []Deadline {
	var all []Deadline
	for _, room := range s.Rooms {
		l := room.Loose
		if l == nil || room.Lead == "" || room.Lead == l.Agent || room.Archived || room.Talk.Paused != "" || room.LeadHanded == l.Words {
			continue
		}
		seq, _ := protocol.SeqOf(l.MessageID)
		if mark, _ := room.Marks.Of(seq); mark.Deleted || !room.Has(room.Lead) {
			continue
		}
		from := l.At.Time
		if room.TurnEnded.After(from) {
			from = room.TurnEnded.Time
		}
		for _, id := range room.Turns {
			if run := s.Runs[id]; run != nil && run.Heard.Add(w.TurnQuiet).After(from) {
				from = run.Heard.Add(w.TurnQuiet)
			}
		}
		all = append(all, Deadline{Kind: dueLead, ID: room.ID, Due: from.Add(w.LeadIdle), Set: max(l.Seq, room.LooseMoved)})
	}
	return all
}

// handToLead hands a room's last words to its lead.
func (d *deciding) handToLead(id string) *protocol.Error {
	room := d.s.Rooms[id]
	d.emit(protocol.System, room.ID, &protocol.MessageHanded{
		MessageID: room.Loose.MessageID, AgentIDs: []string{room.Lead}, Lead: true,
		Text: d.s.NameOf(room.Lead) + " took it as the lead: it was nobody's turn",
	})
	return nil
}

// looseMoved notes an event that may move when the lead is handed the last words.
func (r *Room) looseMoved(e protocol.Event) {
	if r != nil && r.Loose != nil && maySetLead(e) {
		r.LooseMoved = e.Seq
	}
}

// maySetLead says whether an event can set or move when a lead is handed words: agents' words for nobody, the end of a turn, the choice of a
// lead, and any act of a person but words.
func maySetLead(e protocol.Event) bool {
	switch d := e.Data.(type) {
	case *protocol.MessagePost:
		return e.Actor.Kind != protocol.KindPerson && len(d.AddressedTo) == 0
	case *protocol.RunCompleted, *protocol.RunFailed, *protocol.RunCancelled, *protocol.RunCancel, *protocol.SpaceLeadSet:
		return true
	}
	return e.SpaceID != "" && e.Actor.Kind == protocol.KindPerson
}
