package protocol

// ManagedAnswered tells who asked for a change of something that is managed from Chips what became of it. It is for its asker alone.
type ManagedAnswered struct {
	// ChangeID is the id of a change, EditID that of an edit of a file: one of them is there.
	ChangeID string `json:"change_id,omitzero"`
	EditID   string `json:"edit_id,omitzero"`
	// Kind is the capability that it is about: context_files, models, heartbeats, jobs or context_windows.
	Kind string `json:"kind"`
	// AgentID is absent where it is the harness's own.
	AgentID   string `json:"agent_id,omitzero"`
	HarnessID string `json:"harness_id"`
	// State is done, refused or missed.
	State string `json:"state"`
	// Message is the harness's words, and Reason its word, where it refused.
	Message string `json:"message,omitzero"`
	Reason  string `json:"reason,omitzero"`
	// AskedBy is the person who asked.
	AskedBy string `json:"asked_by"`
}

// The states of a change.
const (
	ChangeWaiting = "waiting"
	ChangeDone    = "done"
	ChangeRefused = "refused"
	ChangeMissed  = "missed"
)

// EventType names the event.
func (*ManagedAnswered) EventType() string { return "managed.answered" }
