package protocol

// AgentRegistered says a harness has a new agent.
type AgentRegistered struct{ AgentFacts }

// AgentUpdated is an agent whole as it is now; Previous is the name before, where it changed.
type AgentUpdated struct {
	AgentFacts
	Previous string `json:"previous,omitzero"`
}

// AgentFacts is an agent whole.
type AgentFacts struct {
	AgentID   string `json:"agent_id"`
	HarnessID string `json:"harness_id"`
	Name      string `json:"name"`
	Handle    string `json:"handle,omitzero"`
	// NameBy is the person who named it last, where one did.
	NameBy string `json:"name_by,omitzero"`
	Lead   bool   `json:"lead"`
	// State is active or archived.
	State string `json:"state"`
	// Face is what it is shown with, where a person gave it one.
	Face Face `json:"face,omitzero"`
	// Key is the harness's own name for it, and Asked the name it was registered under where a number was put behind it; sent to
	// that harness only.
	Key   string `json:"key,omitzero"`
	Asked string `json:"asked,omitzero"`
	// ForkedFrom is the agent it was copied from, where it is a copy.
	ForkedFrom string `json:"forked_from,omitzero"`
	// WhyFree says why it did not join the room that it was made for; sent to its harness only.
	WhyFree string `json:"why_free,omitzero"`
}

// Face is what somebody is shown with: an emoji, or an image by its attachment.
type Face struct {
	Emoji        string `json:"emoji,omitzero"`
	AttachmentID string `json:"attachment_id,omitzero"`
}

// AgentAttached says an agent was put in the envelope's room.
type AgentAttached struct {
	AgentID string `json:"agent_id"`
	By      string `json:"by,omitzero"`
	// ForkOf and MadeFor are the id of the agent.fork or the agent.asked that it answers.
	ForkOf  string `json:"fork_of,omitzero"`
	MadeFor string `json:"made_for,omitzero"`
	// CatchUp is the room's last lines before it joined, made at delivery for its own harness.
	CatchUp *Context `json:"catch_up,omitzero"`
}

// AgentReleased says an agent left the envelope's room and is free.
type AgentReleased struct {
	AgentID string `json:"agent_id"`
	// Reason is archived, deleted, moved, agent_archived or removed.
	Reason  string `json:"reason"`
	By      string `json:"by,omitzero"`
	Delete  bool   `json:"delete,omitzero"`
	MovedTo string `json:"moved_to,omitzero"`
}

// AgentMoved is a person's move of an agent out of the envelope's room; the target goes only to its harness and who is there.
type AgentMoved struct {
	AgentID   string `json:"agent_id"`
	ToSpaceID string `json:"to_space_id,omitzero"`
}

// EventType names the event.
func (*AgentRegistered) EventType() string { return "agent.registered" }

// EventType names the event.
func (*AgentUpdated) EventType() string { return "agent.updated" }

// EventType names the event.
func (*AgentAttached) EventType() string { return "agent.attached" }

// EventType names the event.
func (*AgentReleased) EventType() string { return "agent.released" }

// EventType names the event.
func (*AgentMoved) EventType() string { return "agent.moved" }
