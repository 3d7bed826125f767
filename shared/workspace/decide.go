package workspace

import (
	"crypto/sha256"
	"encoding/binary"

	"github.com/chipschat/chips-aws/shared/protocol"
)

// MaxEvents is how many events one decision may cause. It is what deleting the fullest room takes: what its runs asked, its runs, itself, and
// its agents, which leave it and are archived.
const MaxEvents = maxInquiries + maxRoomRuns + 1 + 2*MaxRoomAgents

// writer says who may write a type of event.
type writer uint8

const (
	byPerson    writer = 1 << iota // as an event or by a route
	byHarness                      // as an event or by a route
	byOperation                    // only by a route of its own, by whom its rule lets
)

// rule decides on one type of draft.
type rule struct {
	by     writer
	decide func(*deciding) *protocol.Error
}

// rules are the types that can be drafted. A type that is not here is Chips' alone.
var rules = map[string]rule{
	"workspace.opened":      {byOperation, (*deciding).workspaceOpened},
	"workspace.renamed":     {byOperation, (*deciding).workspaceRenamed},
	"policy.cap_set":        {byOperation, (*deciding).capSet},
	"exchange.settings_set": {byOperation, (*deciding).exchangeSettingsSet},
	"person.added":          {byOperation, (*deciding).personAdded},
	"person.updated":        {byOperation, (*deciding).personUpdated},
	"person.removed":        {byOperation, (*deciding).personRemoved},
	"harness.added":         {byOperation, (*deciding).harnessAdded},
	"harness.updated":       {byOperation, (*deciding).harnessUpdated},
	"harness.removed":       {byOperation, (*deciding).harnessRemoved},
	"harness.status_set":    {byOperation, (*deciding).harnessStatusSet},
	"harness.policy_set":    {byOperation, (*deciding).harnessPolicySet},
	"harness.budget_set":    {byOperation, (*deciding).harnessBudgetSet},
	"agent.registered":      {byOperation, (*deciding).agentRegistered},
	"agent.updated":         {byOperation, (*deciding).agentRenamed},
	"agent.fork":            {byOperation, (*deciding).forkAsked},
	"agent.asked":           {byOperation, (*deciding).newAgentAsked},
	"deadline.fired":        {byOperation, (*deciding).deadlineFired},
	"managed.answered":      {byOperation, (*deciding).managedAnswered},
	"room.line":             {byOperation, (*deciding).compacted},

	"space.opened":      {byPerson | byHarness, (*deciding).spaceOpened},
	"space.renamed":     {byPerson | byHarness, (*deciding).spaceRenamed},
	"space.archived":    {byPerson, (*deciding).spaceArchived},
	"space.unarchived":  {byPerson, (*deciding).spaceUnarchived},
	"space.closed":      {byHarness, (*deciding).spaceClosed},
	"space.deleted":     {byPerson, (*deciding).spaceDeleted},
	"member.added":      {byPerson, (*deciding).memberAdded},
	"member.removed":    {byPerson, (*deciding).memberRemoved},
	"agent.moved":       {byPerson, (*deciding).agentMoved},
	"space.lead_set":    {byOperation, (*deciding).spaceLeadSet},
	"space.ceiling_set": {byOperation, (*deciding).spaceCeilingSet},
	"space.lock_set":    {byOperation, (*deciding).spaceLockSet},

	"membership.replaced": {byOperation, (*deciding).membershipReplaced},
	"agent.attached":      {byOperation, (*deciding).spaceClaimed},

	"message.heard":   {byHarness, (*deciding).messageHeard},
	"run.steer":       {byPerson, (*deciding).runSteer},
	"exchange.set":    {byPerson, (*deciding).exchangeSet},
	"message.post":    {byPerson | byHarness, (*deciding).messagePost},
	"message.edited":  {byPerson | byHarness, (*deciding).messageEdited},
	"message.deleted": {byPerson | byHarness, (*deciding).messageDeleted},
	"reaction.set":    {byPerson | byHarness, (*deciding).reactionSet},
	"pin.set":         {byPerson, (*deciding).pinSet},

	"run.started":    {byHarness, (*deciding).runStarted},
	"run.paused":     {byHarness, (*deciding).runPaused},
	"run.resumed":    {byHarness, (*deciding).runResumed},
	"run.completed":  {byHarness, (*deciding).runEnded},
	"run.failed":     {byHarness, (*deciding).runEnded},
	"run.cancelled":  {byHarness, (*deciding).runEnded},
	"usage.reported": {byHarness, (*deciding).usageReported},
	"run.cancel":     {byPerson, (*deciding).runCancel},
	"step.started":   {byHarness, (*deciding).step},
	"step.log":       {byHarness, (*deciding).step},

	"approval.requested": {byHarness, (*deciding).approvalRequested},
	"approval.resolved":  {byPerson | byHarness, (*deciding).approvalResolved},
	"question.asked":     {byHarness, (*deciding).questionAsked},
	"question.answered":  {byPerson, (*deciding).questionAnswered},
}

// deciding is one command on its way to a decision.
type deciding struct {
	s       *State
	c       Command
	out     []protocol.Event
	primary int
	minted  uint32
	missing []string
	// heldPosts and heldBytes are what was posted of what agents said while they were free.
	heldPosts, heldBytes int
}

// Decide answers what a command causes on a state, or why it is refused. It does not change the state. A decision without events
// means that things are so already.
func Decide(s *State, c Command) (Decision, *protocol.Error) {
	d := &deciding{s: s, c: c}
	r, ok := rules[c.Draft.Type]
	if !ok {
		return Decision{}, protocol.Refuse(protocol.Forbidden, "only Chips writes %s", c.Draft.Type)
	}
	if err := d.mayWrite(r.by); err != nil {
		return Decision{}, err
	}
	if err := r.decide(d); err != nil {
		return Decision{}, err
	}
	if len(d.missing) > 0 {
		return Decision{Missing: d.missing}, nil
	}
	d.handOn()
	if len(d.out) > MaxEvents {
		return Decision{}, d.bad("this would take %d events at once, more than the limit of %d: do it in parts", len(d.out), MaxEvents)
	}
	return Decision{Events: d.out, Primary: d.primary}, nil
}

// Unreadable is the refusal of a draft whose fields cannot be read: who may write its type, where that is known, is answered before
// what is wrong with its fields (contract U-120).
func Unreadable(s *State, by Caller, draft protocol.Event, fault *protocol.Error) *protocol.Error {
	r, known := rules[draft.Type]
	if fault.Code != protocol.InvalidEvent || protocol.NewData(draft.Type) == nil {
		return fault
	}
	if !known {
		return forbidden("only Chips writes %s", draft.Type)
	}
	d := &deciding{s: s, c: Command{By: by, Draft: draft}}
	if err := d.mayWrite(r.by); err != nil {
		return err
	}
	return fault
}

// mayWrite says whether the sender's kind may write the type at all.
func (d *deciding) mayWrite(by writer) *protocol.Error {
	typ := d.c.Draft.Type
	switch d.c.By.Kind {
	case protocol.KindPerson:
		if d.s.Person(d.c.By.ID) == nil {
			return protocol.Refuse(protocol.Forbidden, "you are not in this workspace")
		}
		if by&byPerson == 0 && by&byOperation == 0 {
			return protocol.Refuse(protocol.Forbidden, "a person does not write %s", typ)
		}
	case protocol.KindHarness:
		if d.s.Harness(d.c.By.ID) == nil {
			return protocol.Refuse(protocol.Forbidden, "you are not in this workspace")
		}
		if by&byHarness == 0 && by&byOperation == 0 {
			return protocol.Refuse(protocol.Forbidden, "a harness does not write %s", typ)
		}
	}
	if by == byOperation && !d.c.Operation {
		return protocol.Refuse(protocol.Forbidden, "only Chips writes %s: use its HTTP route", typ)
	}
	return nil
}

// bad is a refusal for what a field holds or the state it meets.
func (d *deciding) bad(format string, args ...any) *protocol.Error {
	if d.c.Operation {
		return protocol.Refuse(protocol.InvalidRequest, format, args...)
	}
	return protocol.Refuse(protocol.InvalidEvent, format, args...)
}

// field is a refusal of a field by one of the name rules, with the code that fits how the command came.
func (d *deciding) field(err *protocol.Error) *protocol.Error {
	if err == nil {
		return nil
	}
	return d.bad("%s", err.Message)
}

func forbidden(format string, args ...any) *protocol.Error {
	return protocol.Refuse(protocol.Forbidden, format, args...)
}

func notFound(format string, args ...any) *protocol.Error {
	return protocol.Refuse(protocol.NotFound, format, args...)
}

// mint makes the next new id of this decision.
func (d *deciding) mint(prefix string) string {
	d.minted++
	var in [20]byte
	copy(in[:], d.c.Seed[:])
	binary.BigEndian.PutUint32(in[16:], d.minted)
	sum := sha256.Sum256(in[:])
	return protocol.NewID(prefix, d.c.Now, [10]byte(sum[:10]))
}

// emit adds an event by an actor, in a room or in none.
func (d *deciding) emit(actor protocol.Actor, space string, data protocol.Data) *protocol.Event {
	d.out = append(d.out, protocol.Event{Envelope: protocol.Envelope{Type: data.EventType(), SpaceID: space, Actor: actor}, Data: data})
	return &d.out[len(d.out)-1]
}

// answer adds the event that the ack names.
func (d *deciding) answer(actor protocol.Actor, space string, data protocol.Data) *protocol.Event {
	d.primary = len(d.out)
	return d.emit(actor, space, data)
}

// sender is the caller as an actor, where no agent speaks.
func (d *deciding) sender() protocol.Actor {
	return protocol.Actor{Kind: d.c.By.Kind, ID: d.c.By.ID}
}

// person is the person who asks, nil when none does.
func (d *deciding) person() *Person {
	if d.c.By.Kind != protocol.KindPerson {
		return nil
	}
	return d.s.Person(d.c.By.ID)
}

// runsThings says whether a person is an owner or an admin.
func (p *Person) runsThings() bool {
	return p != nil && (p.Role == protocol.Owner || p.Role == protocol.Admin)
}

// needAdmin refuses all but owners and admins.
func (d *deciding) needAdmin() *protocol.Error {
	if !d.person().runsThings() {
		return forbidden("only an owner or an admin may do this")
	}
	return nil
}

// needMember refuses all but people who are more than guests.
func (d *deciding) needMember() *protocol.Error {
	if p := d.person(); p == nil || p.Role == protocol.Guest {
		return forbidden("a guest may not do this")
	}
	return nil
}

// Cites are the message ids that a draft names and whose events the decision reads; the engine puts them in Command.Cited.
func Cites(draft protocol.Event) []string {
	id := ""
	switch d := draft.Data.(type) {
	case *protocol.MessagePost:
		id = d.ReplyTo
	case *protocol.MessageEdited:
		id = d.MessageID
	case *protocol.MessageHeard:
		id = d.MessageID
	case *protocol.MessageDeleted:
		id = d.MessageID
	case *protocol.ReactionSet:
		id = d.MessageID
	case *protocol.PinSet:
		id = d.MessageID
	}
	if id == "" {
		return nil
	}
	return []string{id}
}
