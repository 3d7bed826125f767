package protocol

// Hello is the server's half of the handshake. It is made for one connection, has no seq and is not in the log.
type Hello struct {
	Protocol  Range          `json:"protocol"`
	Server    Server         `json:"server"`
	Harnesses []HelloHarness `json:"harnesses"`
	Harness   *HelloHarness  `json:"harness,omitzero"`
	// Agents is sent only to a harness that declared agents: nil leaves it out, an empty list is sent.
	Agents        []HelloAgent    `json:"agents,omitzero"`
	AgentsLeftOut int             `json:"agents_left_out,omitzero"`
	Autonomy      int             `json:"autonomy"`
	Policy        *Policy         `json:"policy,omitzero"`
	Budget        *Budget         `json:"budget,omitzero"`
	Spaces        []string        `json:"spaces"`
	Workspace     *HelloWorkspace `json:"workspace,omitzero"`
}

// Range is a range of protocol versions, both ends in it.
type Range struct {
	Min int `json:"min"`
	Max int `json:"max"`
}

// Server is who the client talks to.
type Server struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// HelloHarness is the harness a connection's token belongs to.
type HelloHarness struct {
	HarnessID    string   `json:"harness_id"`
	DisplayName  string   `json:"display_name"`
	OwnerID      string   `json:"owner_id"`
	Capabilities []string `json:"capabilities,omitzero"`
	// Ephemeral is true for a transient child minted for one lane.
	Ephemeral bool `json:"ephemeral,omitzero"`
}

// HelloAgent is one of the harness's agents with its room.
type HelloAgent struct {
	AgentID string   `json:"agent_id"`
	Key     string   `json:"key"`
	Name    string   `json:"name"`
	Lead    bool     `json:"lead"`
	State   string   `json:"state"`
	Spaces  []string `json:"spaces"`
	// Room is the open room it is in, null while it is free.
	Room *string `json:"room"`
	Held int     `json:"held,omitzero"`
}

// HelloWorkspace is the workspace as it is called now.
type HelloWorkspace struct {
	Name string `json:"name"`
}

// EventType names the event.
func (*Hello) EventType() string { return "hello" }
