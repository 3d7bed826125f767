package delivery

import (
	"slices"
	"time"

	"github.com/chipschat/chips-aws/shared/protocol"
	"github.com/chipschat/chips-aws/shared/workspace"
)

// Recipient is whom a delivery is for: a person or a harness, by one credential, with what its connection asked for.
type Recipient struct {
	// Kind is person or harness.
	Kind protocol.ActorKind
	// ID is a usr_ or hrn_ id.
	ID string
	// Credential is the id of the token, device or key.
	Credential string
	// Budget is how much context the connection wants; its zero value is the default.
	Budget protocol.ContextBudget
	// TurnQuiet is for how long a turn may be silent and still count as going; 0 is the documents' ten minutes.
	TurnQuiet time.Duration
	// SpeaksAgents says that a harness has declared agents by now, whatever it had when an event that is replayed was written: the
	// view is the recipient's, not the event's (contract U-86). At sets it.
	SpeaksAgents bool
}

// At is the recipient with its view by the state at the head.
func (r Recipient) At(head *workspace.State) Recipient {
	r.SpeaksAgents = r.Kind == protocol.KindHarness && head.Declares(r.ID, "agents")
	return r
}

// agentEvents are what a harness that has not declared agents is never sent (AGT-17).
var agentEvents = []string{
	"agent.registered", "agent.updated", "agent.attached", "agent.released",
	"membership.replaced", "agent.fork", "agent.asked", "message.held",
}

// Covers says whether the recipient is in the event's audience by the state s: who is in its room, for an event of no room whom
// contract U-81 names, and for a harness what it is always sent whatever its rooms. A deleted room has no audience (U-106), and
// neither has anything for one who has left the workspace.
func Covers(s *workspace.State, e protocol.Event, r Recipient) bool {
	a := Audience{s: s, r: r}
	return a.Covers(e)
}

// Audience asks Covers of many events by one state, which must not change meanwhile.
type Audience struct {
	s *workspace.State
	r Recipient
	// rooms are those asked about so far; nil where they are not kept.
	rooms map[string]bool
}

// NewAudience is the audience of the recipient by the state s.
func NewAudience(s *workspace.State, r Recipient) *Audience {
	return &Audience{s: s, r: r, rooms: map[string]bool{}}
}

// Covers says what Covers says.
func (a *Audience) Covers(e protocol.Event) bool {
	switch a.r.Kind {
	case protocol.KindHarness:
		if a.s.Harness(a.r.ID) == nil || hidden(a.s, e, a.r) {
			return false
		}
		if always(a.s, e, a.r) {
			return true
		}
	default:
		if a.s.Person(a.r.ID) == nil {
			return false
		}
	}
	if _, passed := e.Data.(*protocol.TurnPassed); passed && a.s.HarnessOf(e.Actor.ID) != a.r.ID {
		return false
	}
	if d, is := e.Data.(*protocol.MessageHanded); is && a.r.Kind == protocol.KindHarness && len(handedTo(a.s, d, a.r)) == 0 {
		return false
	}
	if approver(a.s, e, a.r) {
		return true
	}
	if e.SpaceID == "" {
		return coversBare(a.s, e, a.r)
	}
	in, known := a.rooms[e.SpaceID]
	if !known {
		in = a.s.InRoom(a.s.Rooms[e.SpaceID], a.r.ID)
		if a.rooms != nil {
			a.rooms[e.SpaceID] = in
		}
	}
	return in
}

// Quiet says whether no event above since, up to where s is, is for the recipient. It may say no where there is none.
func Quiet(s *workspace.State, r Recipient, since int64) bool {
	if s.LastBare > since {
		return false
	}
	if h := s.Harnesses[r.ID]; h != nil && h.LastOwn > since {
		return false
	}
	for _, room := range s.Rooms {
		if room.LastSeq > since && s.InRoom(room, r.ID) {
			return false
		}
	}
	return true
}

// Always says whether the event is one that a harness (At the head) is sent whatever its rooms, by the state as of the event: a run may
// be forgotten by the time that it is replayed.
func Always(s *workspace.State, e protocol.Event, r Recipient) bool {
	return r.Kind == protocol.KindHarness && (r.SpeaksAgents || !slices.Contains(agentEvents, e.Type)) && always(s, e, r)
}

// hidden says whether the event is of a type that a harness is never sent until it declares agents.
func hidden(s *workspace.State, e protocol.Event, r Recipient) bool {
	return slices.Contains(agentEvents, e.Type) && !s.Declares(r.ID, "agents")
}

// FirstMember says whether the event opens a room with the recipient, or an agent of theirs, among its first members. The state
// shows an agent in the room only after the agent.attached that follows, so live this is asked beside Covers.
func FirstMember(s *workspace.State, e protocol.Event, r Recipient) bool {
	d, ok := e.Data.(*protocol.SpaceOpened)
	return ok && slices.ContainsFunc(d.ParticipantIDs, func(id string) bool { return id == r.ID || s.HarnessOf(id) == r.ID })
}

// always says whether the event is one a harness is sent whatever its rooms: the cancel of a run of its own, what becomes of what its runs
// ask, where each of its agents goes, and what it is asked to make (contract U-82, U-109).
func always(s *workspace.State, e protocol.Event, r Recipient) bool {
	switch d := e.Data.(type) {
	case *protocol.RunCancel, *protocol.ApprovalRequested, *protocol.ApprovalResolved, *protocol.QuestionAnswered, *protocol.QuestionClosed:
		return runHarness(s, e) == r.ID
	case *protocol.AgentAttached:
		return s.HarnessOf(d.AgentID) == r.ID
	case *protocol.AgentReleased:
		return s.HarnessOf(d.AgentID) == r.ID
	case *protocol.AgentFork:
		return d.HarnessID == r.ID
	case *protocol.AgentAsked:
		return d.HarnessID == r.ID
	}
	return false
}

// approver says whether the event is an approval, or its answer, of which the recipient is an approver, in its room or not (contract U-109);
// for as long as the approval is remembered.
func approver(s *workspace.State, e protocol.Event, r Recipient) bool {
	id := ""
	switch d := e.Data.(type) {
	case *protocol.ApprovalRequested:
		id = d.ApprovalID
	case *protocol.ApprovalResolved:
		id = d.ApprovalID
	}
	q := s.Inquiries[id]
	if q == nil || e.SpaceID != "" && (s.Rooms[e.SpaceID] == nil || s.Rooms[e.SpaceID].Deleted) {
		return false
	}
	return s.Approves(r.ID, q.HarnessID, q.Approvers)
}

// coversBare says who is sent an event of no room (contract U-81).
func coversBare(s *workspace.State, e protocol.Event, r Recipient) bool {
	switch d := e.Data.(type) {
	case *protocol.WorkspaceRenamed, *protocol.ExchangeSettingsSet:
		return true
	case *protocol.WorkspaceOpened, *protocol.PolicyCapSet:
		return insider(s, r)
	case *protocol.PersonAdded:
		return told(s, r, d.PersonID)
	case *protocol.PersonUpdated:
		return told(s, r, d.PersonID)
	case *protocol.PersonRemoved:
		return told(s, r, d.PersonID)
	case *protocol.HarnessAdded:
		return told(s, r, d.HarnessID)
	case *protocol.HarnessUpdated:
		return told(s, r, d.HarnessID)
	case *protocol.HarnessRemoved:
		return told(s, r, d.HarnessID)
	case *protocol.HarnessStatusSet:
		return told(s, r, d.HarnessID)
	case *protocol.HarnessPolicySet:
		return insider(s, r) || d.HarnessID == r.ID
	case *protocol.HarnessBudgetSet:
		return insider(s, r) || d.HarnessID == r.ID
	case *protocol.BudgetWarning:
		h := s.Harnesses[d.HarnessID]
		return h != nil && (h.ID == r.ID || h.OwnerID == r.ID)
	case *protocol.ManagedAnswered:
		return d.AskedBy == r.ID
	case *protocol.MessageHeld:
		return s.HarnessOf(d.AgentID) == r.ID
	case *protocol.TurnPassed:
		return s.HarnessOf(e.Actor.ID) == r.ID
	case *protocol.AgentRegistered:
		return d.HarnessID == r.ID || told(s, r, d.AgentID)
	case *protocol.AgentUpdated:
		return d.HarnessID == r.ID || told(s, r, d.AgentID)
	}
	if e.RunID == "" {
		return false
	}
	h := s.Harnesses[runHarness(s, e)]
	return h != nil && (h.ID == r.ID || h.OwnerID == r.ID)
}

// told says whether somebody is told of a person, a harness or an agent: people who are told who everybody is, a harness of
// itself, and whoever shares a room with the subject.
func told(s *workspace.State, r Recipient, subject string) bool {
	return insider(s, r) || subject == r.ID && r.Kind == protocol.KindHarness || s.Shares(r.ID, subject)
}

// insider is a person who is told who everybody in the workspace is: all but guests.
func insider(s *workspace.State, r Recipient) bool {
	p := s.Person(r.ID)
	return p != nil && p.Role != protocol.Guest
}

// runHarness is the harness whose run an event is on, "" when the run is no longer remembered and the event does not say.
func runHarness(s *workspace.State, e protocol.Event) string {
	if run := s.Runs[e.RunID]; run != nil {
		return run.HarnessID
	}
	return s.HarnessOf(e.Actor.ID)
}
