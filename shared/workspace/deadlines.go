package workspace

import (
	"slices"
	"strings"
	"time"

	"github.com/chipschat/chips-aws/shared/protocol"
)

// Waits are how long Chips waits for what. They are configuration: decisions read them (Command.Waits), and nothing that is folded may,
// since a log has to fold to the same state under other waits.
type Waits struct {
	Fork      time.Duration // for a harness to make a copy asked of it
	NewAgent  time.Duration // for a harness to make an agent asked of it
	Restart   time.Duration // for a harness to come back
	LeadIdle  time.Duration // nobody working, then the lead is handed the words
	TurnQuiet time.Duration // a turn not heard from stops counting as working
	Managed   time.Duration // for a harness to answer a managed change
}

// DefaultWaits are the documents' own.
func DefaultWaits() Waits {
	return Waits{
		Fork: time.Minute, NewAgent: time.Minute, Restart: 3 * time.Minute, LeadIdle: 20 * time.Second, TurnQuiet: 10 * time.Minute,
		Managed: time.Minute,
	}
}

// Deadline is something that falls due unless it is overtaken. Kind and ID name it: one name is pending once at most.
type Deadline struct {
	// Kind is one of those in dues. Neither it nor ID has a '#'.
	Kind, ID string
	Due      time.Time
	// Set is the seq of the event that set or moved it.
	Set int64
}

// due is one kind of deadline.
type due struct {
	// pending are those that wait by a state.
	pending func(*State, Waits) []Deadline
	// fire decides what comes of one that is pending and due; deciding nothing is fine, as long as it is not pending afterwards.
	fire func(d *deciding, id string) *protocol.Error
}

// dues are the kinds of deadlines. What is pending, and from when, is told by the state alone, and when it is due by the waits of
// whoever asks: a deadline is no event, so setting, moving and overtaking one costs nothing, and none can be left behind in the log. A new
// kind has a line here and one in MaySetDeadline.
var dues = map[string]due{
	dueFork:     missedAsks(true, dueFork),
	dueNewAgent: missedAsks(false, dueNewAgent),
	DueRestart:  {restartPending, (*deciding).restartOver},
	dueHeld:     {heldPending, (*deciding).heldDue},
	dueLead:     {leadIdle, (*deciding).handToLead},
}

// MaySetDeadline says whether an event can set or move a deadline, by the event alone: it is asked of every event, with no state folded.
func MaySetDeadline(e protocol.Event) bool {
	switch d := e.Data.(type) {
	case *protocol.HarnessStatusSet:
		return d.Status == StatusRestarting
	case *protocol.AgentFork, *protocol.AgentAsked, *protocol.AgentAttached:
		return true
	case *protocol.MessagePost:
		return d.HeldSince != nil || maySetLead(e)
	}
	return maySetLead(e)
}

// Deadlines are all that are pending, those due first first.
func (s *State) Deadlines(w Waits) []Deadline {
	var all []Deadline
	for _, kind := range dues {
		all = append(all, kind.pending(s, w)...)
	}
	slices.SortFunc(all, func(a, b Deadline) int {
		if c := a.Due.Compare(b.Due); c != 0 {
			return c
		}
		return strings.Compare(a.Kind+a.ID, b.Kind+b.ID)
	})
	return all
}

// Deadline is the pending one of a name; false when none is.
func (s *State) Deadline(w Waits, kind, id string) (Deadline, bool) {
	k, ok := dues[kind]
	if !ok {
		return Deadline{}, false
	}
	for _, d := range k.pending(s, w) {
		if d.ID == id {
			return d, true
		}
	}
	return Deadline{}, false
}

// FireDraft asks, as Chips itself, for what comes of a deadline. Nothing pending by that name, or not due yet, decides nothing: so firing
// twice, late or early does no harm.
type FireDraft struct{ Kind, ID string }

// EventType names the draft; no event is of this type.
func (*FireDraft) EventType() string { return "deadline.fired" }

func (d *deciding) deadlineFired() *protocol.Error {
	draft, ok := d.c.Draft.Data.(*FireDraft)
	if !ok || d.c.By.Kind != protocol.KindSystem {
		return forbidden("only Chips fires deadlines")
	}
	deadline, ok := d.s.Deadline(d.c.Waits, draft.Kind, draft.ID)
	if !ok || d.c.Now.Before(deadline.Due) {
		return nil
	}
	return dues[draft.Kind].fire(d, draft.ID)
}
