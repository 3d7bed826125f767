package workspace

import (
	"strings"

	"github.com/chipschat/chips-aws/shared/protocol"
)

// RememberedInquiries is how many approvals, and how many questions, are known that wait no longer (contract U-138).
const RememberedInquiries = 1000

// Limits of a question: its options, and the bytes of each.
const (
	maxOptions = 50
	maxOption  = 1000
)

// Inquiry is an approval or a question of a run.
type Inquiry struct {
	RunID     string `json:"run_id"`
	HarnessID string `json:"harness_id"`
	Room      string `json:"room,omitzero"`
	// Approvers are who may answer an approval, in the words of a rule.
	Approvers []string `json:"approvers,omitzero"`
	// Kept is what a rule for more of the same would be about, while an approval waits: an action's kind, and its command as starts. nil where
	// no rule may be made.
	Kept *protocol.Action `json:"kept,omitzero"`
	// Answer is approved, denied, answered or closed, "" while it waits; By is who was first: a usr_, hrn_ or agt_ id, or system.
	Answer string `json:"answer,omitzero"`
	By     string `json:"by,omitzero"`
}

// What became of a question.
const (
	answered       = "answered"
	questionClosed = "closed"
)

// inquires is the sender's run that is to ask under a new id.
func (d *deciding) inquires(id string) (*Run, *protocol.Error) {
	run, err := d.ownRun()
	switch {
	case err != nil:
		return nil, err
	case d.s.Inquiries[id] != nil:
		return nil, d.bad("%s is known already: it is asked once", id)
	case d.waiting(run.Room) >= maxInquiries:
		return nil, d.bad("%d approvals and questions wait already, which is the limit", maxInquiries)
	}
	return run, nil
}

// waiting is how many inquiries wait in a room, or (room "") of the sender outside of rooms.
func (d *deciding) waiting(room string) int {
	n := 0
	for _, run := range d.s.Runs {
		if run.Room == room && (room != "" || run.HarnessID == d.c.By.ID) {
			n += len(run.Waiting)
		}
	}
	return n
}

// inquiry is one that is known, and the draft's run and room are its.
func (d *deciding) inquiry(id string) (*Inquiry, *protocol.Error) {
	q := d.s.Inquiries[id]
	switch {
	case q == nil:
		return nil, notFound("no such thing was asked, or too long ago")
	case d.c.Draft.RunID != "" && d.c.Draft.RunID != q.RunID:
		return nil, d.bad("run_id is not the run that asked")
	case d.c.Draft.SpaceID != "" && d.c.Draft.SpaceID != q.Room:
		return nil, d.bad("space_id is not the run's room")
	}
	return q, nil
}

// questionAsked takes a run's question to people.
func (d *deciding) questionAsked() *protocol.Error {
	draft, ok := d.c.Draft.Data.(*protocol.QuestionAsked)
	switch {
	case !ok || !protocol.ValidID(protocol.PrefixQuestion, draft.QuestionID):
		return d.bad("question_id is not qst_ and a ULID")
	case strings.TrimSpace(draft.Text) == "":
		return d.bad("text is missing")
	case len(draft.Options) > maxOptions:
		return d.bad("options has more than %d entries", maxOptions)
	}
	for i, o := range draft.Options {
		if strings.TrimSpace(o) == "" || len(o) > maxOption {
			return d.bad("options[%d] is 1 to %d bytes", i, maxOption)
		}
	}
	run, err := d.inquires(draft.QuestionID)
	if err != nil {
		return err
	}
	d.onRun(run, draft)
	return nil
}

// questionAnswered takes the first answer to a question, by a person in its room; to one of no room by the harness's owner.
func (d *deciding) questionAnswered() *protocol.Error {
	draft, ok := d.c.Draft.Data.(*protocol.QuestionAnswered)
	switch {
	case !ok || !protocol.ValidID(protocol.PrefixQuestion, draft.QuestionID):
		return d.bad("question_id is not qst_ and a ULID")
	case strings.TrimSpace(draft.Answer) == "":
		return d.bad("answer is missing")
	}
	q, err := d.inquiry(draft.QuestionID)
	if err != nil {
		return err
	}
	if q.Room != "" {
		if _, err := d.roomOf(q.Room); err != nil {
			return err
		}
	} else if h := d.s.Harnesses[q.HarnessID]; h == nil || h.OwnerID != d.c.By.ID {
		return notFound("you see no such question")
	}
	if q.Answer != "" {
		return d.bad("%s was first: the question is %s", d.s.calls(q.By), q.Answer)
	}
	d.answer(d.sender(), q.Room, draft).RunID = q.RunID
	return nil
}

// closeInquiries closes all that runs asked which still waits, before they end (contract U-109).
func (d *deciding) closeInquiries(runs ...string) {
	for _, id := range runs {
		run := d.s.Runs[id]
		for _, id := range run.Waiting {
			var closed protocol.Data = &protocol.QuestionClosed{QuestionID: id, Reason: protocol.ReasonRunEnded}
			if protocol.PrefixOf(id) == protocol.PrefixApproval {
				closed = &protocol.ApprovalResolved{ApprovalID: id, Decision: protocol.Denied, Reason: protocol.ReasonRunEnded}
			}
			d.emit(protocol.System, run.Room, closed).RunID = run.ID
		}
	}
}

// evolveInquiry takes the events of approvals and questions.
func (s *State) evolveInquiry(run *Run, e protocol.Event) {
	q := &Inquiry{RunID: run.ID, HarnessID: run.HarnessID, Room: run.Room}
	switch d := e.Data.(type) {
	case *protocol.ApprovalRequested:
		q.Approvers = d.Approvers
		if _, ok := startsOf(d.Action.Command); !matters(&d.Action) && (ok || d.Action.Command == "") {
			starts, _ := startsOf(d.Action.Command)
			q.Kept = &protocol.Action{Kind: d.Action.Kind}
			if d.Action.Command != "" {
				q.Kept.Command = strings.Join(starts, "; ")
			}
		}
		s.inquire(run, d.ApprovalID, q)
		if room := s.Rooms[run.Room]; room != nil && d.Verdict != nil && d.Verdict.Decision == protocol.Ask {
			room.Talk.anew()
		}
	case *protocol.QuestionAsked:
		s.inquire(run, d.QuestionID, q)
		if room := s.Rooms[run.Room]; room != nil {
			room.Talk.anew()
		}
	case *protocol.ApprovalResolved:
		s.inquiryEnds(d.ApprovalID, d.Decision, e.Actor.ID)
		if d.Rule != nil && !run.EndedRun() {
			run.Rules = append([]protocol.Rule{*d.Rule}, run.Rules...)
		}
	case *protocol.QuestionAnswered:
		s.inquiryEnds(d.QuestionID, answered, e.Actor.ID)
	case *protocol.QuestionClosed:
		s.inquiryEnds(d.QuestionID, questionClosed, e.Actor.ID)
	}
}

func (s *State) inquire(run *Run, id string, q *Inquiry) {
	if s.Inquiries == nil {
		s.Inquiries = map[string]*Inquiry{}
	}
	s.Inquiries[id] = q
	run.Waiting = append(run.Waiting, id)
}

// inquiryEnds notes who was first to answer, and forgets the oldest of its kind past those remembered.
func (s *State) inquiryEnds(id, answer, by string) {
	q := s.Inquiries[id]
	if q == nil || q.Answer != "" {
		return
	}
	q.Answer, q.By, q.Kept = answer, by, nil
	if run := s.Runs[q.RunID]; run != nil {
		run.Waiting = without(run.Waiting, id)
	}
	kind := protocol.PrefixOf(id)
	if s.Answered == nil {
		s.Answered = map[string][]string{}
	}
	list := append(s.Answered[kind], id)
	for len(list) > RememberedInquiries {
		delete(s.Inquiries, list[0])
		list = list[1:]
	}
	s.Answered[kind] = list
}

// closeInquiries ends what a run asked that no event closed, and the rules that were made for it.
func (s *State) closeInquiries(run *Run) {
	for _, id := range run.Waiting {
		answer := protocol.Denied
		if protocol.PrefixOf(id) == protocol.PrefixQuestion {
			answer = questionClosed
		}
		s.inquiryEnds(id, answer, protocol.SystemID)
	}
	run.Rules = nil
}

// without is a list without an id, as a new list.
func without(list []string, id string) []string {
	var rest []string
	for _, x := range list {
		if x != id {
			rest = append(rest, x)
		}
	}
	return rest
}

// beyondRoom says whether an event may go to people and harnesses who are not in its room: approvers are told wherever they are.
func beyondRoom(e protocol.Event) bool {
	switch e.Data.(type) {
	case *protocol.ApprovalRequested, *protocol.ApprovalResolved:
		return true
	}
	return false
}
