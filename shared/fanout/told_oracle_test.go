package fanout_test

import (
	"fmt"
	"regexp"
	"slices"

	"github.com/chipschat/chips-aws/shared/delivery"
	"github.com/chipschat/chips-aws/shared/protocol"
	"github.com/chipschat/chips-aws/shared/workspace"
)

// oracle says what a subscriber is to be sent, worked out from the whole log at once and one event at a time.
type oracle struct {
	ws  string
	log []protocol.Event
	// lines are each room's lines, and edits all that there ever were.
	lines map[string][]protocol.Event
	edits []protocol.Event
}

func newOracle(ws string, log []protocol.Event) *oracle {
	o := &oracle{ws: ws, log: log, lines: map[string][]protocol.Event{}}
	for _, e := range log {
		for _, room := range workspace.LineRooms(e) {
			o.lines[room] = append(o.lines[room], e)
		}
		if _, ok := e.Data.(*protocol.MessageEdited); ok {
			o.edits = append(o.edits, e)
		}
	}
	return o
}

// stateAt is the workspace after the events up to a seq.
func (o *oracle) stateAt(seq int64) *workspace.State {
	s := workspace.New(o.ws)
	for _, e := range o.log[:seq] {
		workspace.Evolve(s, e)
	}
	return s
}

// sent is one event as somebody is sent it.
type sent struct {
	seq int64
	raw string
}

// toldFrom is what a subscriber who came at a head, asking for what is above since, is sent up to the end of the log.
func (o *oracle) toldFrom(c told, since, head int64) ([]sent, error) {
	s, then := workspace.New(o.ws), o.stateAt(head)
	who := delivery.Recipient{Kind: c.who.Kind, ID: c.who.ID, Credential: c.who.Credential, Budget: c.budget}
	var list []sent
	for _, e := range o.log {
		var before audience
		if e.Seq > head {
			before = of(s, e, c.who)
		}
		workspace.Evolve(s, e)
		if e.Seq <= since {
			continue
		}
		view := who.At(s)
		var is bool
		if e.Seq > head { // live: who is there just before or just after it
			after := of(s, e, c.who)
			is = before.in || after.in || after.always || first(s, e, c.who)
		} else { // a replay goes by who is there now
			view = who.At(then)
			is = of(then, e, c.who).in || of(s, e, c.who).always && !hidden(then, e, c.who) && member(then, c.who)
		}
		if !is {
			continue
		}
		// Whatever came later is at hand, and changes nothing.
		lines := slices.Clone(o.edits)
		for _, line := range o.lines[e.SpaceID] {
			if want, ok := delivery.Wants(s, e, view); ok && line.Seq <= want.Line {
				lines = append(lines, line)
			}
		}
		b, err := delivery.Render(s, e, view, lines).Append(nil)
		if err != nil {
			return nil, err
		}
		list = append(list, sent{e.Seq, lasting(b)})
	}
	return list, nil
}

// audience is whether somebody is in an event's by a state, and whether they are sent it whatever their rooms.
type audience struct{ in, always, approves bool }

// agentTypes are what a harness without agents is never sent (AGT-17).
var agentTypes = []string{
	"agent.registered", "agent.updated", "agent.attached", "agent.released", "membership.replaced", "agent.fork", "agent.asked", "message.held",
}

func hidden(s *workspace.State, e protocol.Event, c workspace.Caller) bool {
	h := s.Harnesses[c.ID]
	return h != nil && !slices.Contains(h.Capabilities, "agents") && slices.Contains(agentTypes, e.Type)
}

func member(s *workspace.State, c workspace.Caller) bool {
	return s.People[c.ID] != nil && !s.People[c.ID].Removed || s.Harnesses[c.ID] != nil && !s.Harnesses[c.ID].Removed
}

// of is contract U-81 and U-82 once more, in the words of the documents.
func of(s *workspace.State, e protocol.Event, c workspace.Caller) audience {
	if !member(s, c) || hidden(s, e, c) {
		return audience{}
	}
	mine := func(id string) bool {
		return id != "" && (id == c.ID || s.Agents[id] != nil && s.Agents[id].HarnessID == c.ID)
	}
	together := func(who func(id string) bool) bool {
		for _, room := range s.Rooms {
			if !room.Deleted && slices.ContainsFunc(room.Members, mine) && slices.ContainsFunc(room.Members, who) {
				return true
			}
		}
		return false
	}
	a := audience{}
	run := s.Runs[e.RunID]
	switch d := e.Data.(type) {
	case *protocol.RunCancel, *protocol.ApprovalRequested, *protocol.ApprovalResolved, *protocol.QuestionAnswered, *protocol.QuestionClosed:
		a.always = run != nil && run.HarnessID == c.ID
	case *protocol.AgentAttached:
		a.always = mine(d.AgentID)
	case *protocol.AgentReleased:
		a.always = mine(d.AgentID)
	case *protocol.AgentFork:
		a.always = d.HarnessID == c.ID
	case *protocol.AgentAsked:
		a.always = d.HarnessID == c.ID
	}
	if _, passed := e.Data.(*protocol.TurnPassed); passed && !mine(e.Actor.ID) {
		return audience{}
	}
	if handed, ok := e.Data.(*protocol.MessageHanded); ok && s.Harnesses[c.ID] != nil && !slices.ContainsFunc(handed.AgentIDs, mine) { // contract U-84
		return audience{}
	}
	asked := func(id string) { // contract U-109: its approvers, wherever they are
		room, q := s.Rooms[e.SpaceID], s.Inquiries[id]
		p, admin := s.People[c.ID], false
		if admin = p != nil && (p.Role == protocol.Owner || p.Role == protocol.Admin); q == nil || e.SpaceID != "" && (room == nil || room.Deleted) {
			return
		}
		a.approves = slices.Contains(q.Approvers, c.ID) || admin && slices.Contains(q.Approvers, "admin") ||
			slices.Contains(q.Approvers, "owner") && s.Harnesses[q.HarnessID].OwnerID == c.ID
	}
	switch d := e.Data.(type) {
	case *protocol.ApprovalRequested:
		asked(d.ApprovalID)
	case *protocol.ApprovalResolved:
		asked(d.ApprovalID)
	}
	if a.approves {
		a.in = true
		return a
	}
	if e.SpaceID != "" {
		room := s.Rooms[e.SpaceID]
		a.in = room != nil && !room.Deleted && slices.ContainsFunc(room.Members, mine)
		a.in = a.in || a.always
		return a
	}
	person := s.People[c.ID]
	insider := person != nil && person.Role != protocol.Guest
	about := func(id string) {
		of := func(m string) bool { return m == id || s.Agents[m] != nil && s.Agents[m].HarnessID == id }
		a.in = insider || person == nil && mine(id) || together(of)
	}
	switch d := e.Data.(type) {
	case *protocol.WorkspaceRenamed, *protocol.ExchangeSettingsSet:
		a.in = true
	case *protocol.WorkspaceOpened, *protocol.PolicyCapSet:
		a.in = insider
	case *protocol.HarnessPolicySet:
		a.in = insider || d.HarnessID == c.ID
	case *protocol.HarnessBudgetSet:
		a.in = insider || d.HarnessID == c.ID
	case *protocol.PersonAdded:
		about(d.PersonID)
	case *protocol.PersonUpdated:
		about(d.PersonID)
	case *protocol.PersonRemoved:
		about(d.PersonID)
	case *protocol.HarnessAdded:
		about(d.HarnessID)
	case *protocol.HarnessUpdated:
		about(d.HarnessID)
	case *protocol.HarnessRemoved:
		about(d.HarnessID)
	case *protocol.HarnessStatusSet:
		about(d.HarnessID)
	case *protocol.AgentRegistered:
		about(d.AgentID)
	case *protocol.AgentUpdated:
		about(d.AgentID)
	case *protocol.BudgetWarning:
		h := s.Harnesses[d.HarnessID]
		a.in = h != nil && (h.ID == c.ID || h.OwnerID == c.ID)
	case *protocol.MessageHeld:
		a.in = person == nil && mine(d.AgentID)
	case *protocol.ManagedAnswered:
		a.in = d.AskedBy == c.ID
	case *protocol.TurnPassed:
		a.in = true
	default: // of a run with no room
		if e.RunID == "" {
			panic(fmt.Sprintf("contract U-81 does not say who is sent a %s of no room", e.Type))
		}
		h := s.Harnesses[s.HarnessOf(e.Actor.ID)]
		if run != nil {
			h = s.Harnesses[run.HarnessID]
		}
		a.in = h != nil && (h.ID == c.ID || h.OwnerID == c.ID)
	}
	a.in = a.in || a.always
	return a
}

// first says whether an event opens a room with somebody among its first members.
func first(s *workspace.State, e protocol.Event, c workspace.Caller) bool {
	d, ok := e.Data.(*protocol.SpaceOpened)
	return ok && slices.ContainsFunc(d.ParticipantIDs, func(id string) bool { return id == c.ID || s.HarnessOf(id) == c.ID })
}

// fleeting is what of a delivery is of its hand-over (contract U-86), as it stands in the JSON: URLs, the people's clocks, and which turns
// still go.
var fleeting = regexp.MustCompile(`,"url(_expires_at)?":"[^"]*"|,"working_turns":\[[^\]]*\]| [^.]*'s time now: [^)]*\)\.`)

// lasting is a delivery without that.
func lasting(raw []byte) string { return fleeting.ReplaceAllString(string(raw), "") }

// misread is what is wrong with the words of a delivery's context by the log alone, "" for nothing: each line has the words of the
// message's newest edit before the delivery, none was deleted by then, and none is missing down to the oldest.
func (o *oracle) misread(e protocol.Event, c told) string {
	d, ok := e.Data.(*protocol.MessageNew)
	if !ok || d.Context == nil {
		return ""
	}
	words, gone := map[string]string{}, map[string]bool{}
	var said []protocol.Event
	for _, x := range o.log[:e.Seq-1] {
		switch d := x.Data.(type) {
		case *protocol.MessagePost, *protocol.RunSteer:
			if x.SpaceID == e.SpaceID {
				said = append(said, x)
				words[protocol.MessageID(x.ID)] = protocol.Said(d).Text
			}
		case *protocol.MessageEdited:
			words[d.MessageID] = d.Text
		case *protocol.MessageDeleted:
			gone[d.MessageID] = true
		}
	}
	shown := map[string]bool{}
	for _, line := range d.Context.Lines {
		if line.Kind != protocol.LineSaid {
			continue
		}
		shown[line.MessageID] = true
		whole := words[line.MessageID]
		cut := len(d.Context.Lines) == 1 // it may be cut to the budget
		if gone[line.MessageID] || *line.Text != whole && !cut {
			return fmt.Sprintf("line %d reads %q, deleted %v; it was %q", line.Seq, *line.Text, gone[line.MessageID], whole)
		}
	}
	saidBy := func(x protocol.Event) string { // whoever took the speaker's place by then
		id := x.Actor.ID
		for _, r := range o.log[x.Seq : e.Seq-1] {
			if by, ok := r.Data.(*protocol.MembershipReplaced); ok && r.SpaceID == x.SpaceID && by.Replaced == id {
				id = by.AgentID
			}
		}
		return id
	}
	own := func(x protocol.Event) bool {
		if len(d.For) > 0 {
			return len(d.For) == 1 && (saidBy(x) == d.For[0] || x.Actor.HarnessID == d.For[0]) // the harness itself: all that is its
		}
		return x.Actor.ID == c.who.ID || x.Actor.HarnessID == c.who.ID
	}
	for _, x := range said {
		id := protocol.MessageID(x.ID)
		if from := max(d.Context.SinceSeq+1, d.Context.Before); !d.Context.Truncated && x.Seq > d.Context.SinceSeq || d.Context.Truncated && x.Seq >= from {
			if !shown[id] && !gone[id] && !own(x) && id != d.MessageID { // what is handed on is no line of its own
				return fmt.Sprintf("the words at %d by %s are missing (for %v; %d lines): since %d, before %d, truncated %v", x.Seq, x.Actor.ID, d.For, len(d.Context.Lines), d.Context.SinceSeq, d.Context.Before, d.Context.Truncated)
			}
		}
	}
	return ""
}
