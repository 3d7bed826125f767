package protocol

// AgentFork asks a harness for a copy of one of its agents, for the envelope's room. Its id is the ask's, and its ts starts the clock.
type AgentFork struct {
	AgentID   string `json:"agent_id"`
	HarnessID string `json:"harness_id"`
	// By is the person who asked.
	By string `json:"by"`
}

// AgentAsked asks a harness for a new agent in the envelope's room. Its id is the ask's, and its ts starts the clock.
type AgentAsked struct {
	HarnessID string `json:"harness_id"`
	// Name is what the agent is to be called.
	Name string `json:"name"`
	// By is the person who asked.
	By string `json:"by"`
}

// RoomSays is a line that a room says by itself. It is no line of any context.
type RoomSays struct {
	// Kind is fork_missed, new_agent_missed or compacted.
	Kind string `json:"kind"`
	// About is the id of what it is about: of the ask that was missed, or of the agent that was compacted.
	About string `json:"about,omitzero"`
	Text  string `json:"text"`
}

// The kinds of lines that a room says.
const (
	LineForkMissed     = "fork_missed"
	LineNewAgentMissed = "new_agent_missed"
	LineCompacted      = "compacted"
)

// EventType names the event.
func (*AgentFork) EventType() string { return "agent.fork" }

// EventType names the event.
func (*AgentAsked) EventType() string { return "agent.asked" }

// EventType names the event.
func (*RoomSays) EventType() string { return "room.line" }
