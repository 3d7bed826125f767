package workspace

import "github.com/chipschat/chips-aws/shared/protocol"

// Drafts are what an HTTP operation asks for where the event it causes says more, or says it whole: a nil field is one that was not
// given. Ids that are to be made are "".
type (
	// NameDraft opens a workspace with its owner, or renames it (OwnerName "").
	NameDraft struct {
		Name      string
		OwnerName string
	}

	// CapDraft changes the workspace's cap.
	CapDraft struct {
		MaxAutonomy *int
		Rules       *[]protocol.Rule
	}

	// ExchangeDraft changes the referee's settings.
	ExchangeDraft struct {
		Stop, Hold *Limit
		Circles    *bool
	}

	// Limit is a number, or never when N is nil.
	Limit struct{ N *int }

	// PersonDraft adds a person (PersonID "") or changes one.
	PersonDraft struct {
		PersonID string
		Name     *string
		Role     *protocol.Role
		Labels   *[]string
		TimeZone *string
	}

	// HarnessDraft makes a harness (HarnessID "") or changes one.
	HarnessDraft struct {
		HarnessID    string
		DisplayName  *string
		Capabilities *[]string
	}

	// AgentDraft registers an agent by its harness's key, or lets a person rename one (AgentID).
	AgentDraft struct {
		AgentID   string
		HarnessID string
		Key       string
		Name      *string
		Lead      *bool
		// State is active or archived.
		State *string
		// Face is given where SetFace is, the zero Face for none.
		Face    protocol.Face
		SetFace bool
		// ForkedFrom or MadeFor say which ask it answers, and SpaceID for which room.
		ForkedFrom, MadeFor, SpaceID string
	}
)

// EventType says which event the draft causes.
func (d *NameDraft) EventType() string {
	if d.OwnerName != "" {
		return "workspace.opened"
	}
	return "workspace.renamed"
}

// EventType says which event the draft causes.
func (*CapDraft) EventType() string { return "policy.cap_set" }

// EventType says which event the draft causes.
func (*ExchangeDraft) EventType() string { return "exchange.settings_set" }

// EventType says which event the draft causes.
func (d *PersonDraft) EventType() string {
	if d.PersonID == "" {
		return "person.added"
	}
	return "person.updated"
}

// EventType says which event the draft causes.
func (d *HarnessDraft) EventType() string {
	if d.HarnessID == "" {
		return "harness.added"
	}
	return "harness.updated"
}

// EventType says which event the draft causes.
func (d *AgentDraft) EventType() string {
	if d.AgentID == "" {
		return "agent.registered"
	}
	return "agent.updated"
}

// Draft is a command's event around its data.
func Draft(data protocol.Data) protocol.Event {
	return protocol.Event{Envelope: protocol.Envelope{Type: data.EventType()}, Data: data}
}

// OfChips is a command of Chips itself in a workspace.
func OfChips(workspace string, data protocol.Data) Command {
	return Command{
		By:    Caller{Workspace: workspace, Kind: protocol.KindSystem, ID: protocol.SystemID},
		Draft: Draft(data), Operation: true,
	}
}

// DraftIn is Draft in a room.
func DraftIn(space string, data protocol.Data) protocol.Event {
	e := Draft(data)
	e.SpaceID = space
	return e
}
