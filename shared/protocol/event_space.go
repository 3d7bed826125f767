package protocol

// SpaceOpened opens a room; the envelope's space_id is the room's. The opener is its first member.
type SpaceOpened struct {
	Title string `json:"title"`
	// ParticipantIDs are all first members, the opener among them.
	ParticipantIDs []string `json:"participant_ids"`
	// Direct says it is the room a harness was given with its owner.
	Direct bool `json:"direct,omitzero"`
	// AskedOf is the harness a person asked for the room, until it is claimed.
	AskedOf string `json:"asked_of,omitzero"`
	// Key is the harness's own name for the agent the room is for; sent to that harness only.
	Key string `json:"key,omitzero"`
	// AgentIDs and Brief are what a harness hands off as it opens the room; neither is logged with it.
	AgentIDs []string `json:"agent_ids,omitzero"`
	Brief    *Brief   `json:"brief,omitzero"`
}

// Brief is the message that hands work to the agents of a new room.
type Brief struct {
	Text      string   `json:"text"`
	UploadIDs []string `json:"upload_ids,omitzero"`
}

// SpaceRenamed says the room's new title.
type SpaceRenamed struct {
	Title    string `json:"title"`
	Previous string `json:"previous"`
}

// SpaceArchived puts a room away; its agents are released.
type SpaceArchived struct{}

// SpaceUnarchived brings a room back, with those of its agents that are still free.
type SpaceUnarchived struct{}

// SpaceClosed is a harness's archiving of a room it opened.
type SpaceClosed struct{}

// SpaceDeleted says a room is gone for good.
type SpaceDeleted struct {
	DeleteAgents bool `json:"delete_agents"`
}

// MemberAdded says who joined the room, and who added them.
type MemberAdded struct {
	ParticipantID string `json:"participant_id"`
	By            string `json:"by"`
}

// MemberRemoved says who left the room, and who took them out.
type MemberRemoved struct {
	ParticipantID string `json:"participant_id"`
	By            string `json:"by"`
}

// SpaceLeadSet says which agent hands out the work in the room, nil for none.
type SpaceLeadSet struct {
	AgentID *string `json:"agent_id"`
}

// MembershipReplaced says that an agent took another's place in the room, or its harness's: what that one said there reads as its own.
type MembershipReplaced struct {
	Replaced string `json:"replaced"`
	AgentID  string `json:"agent_id"`
}

// EventType names the event.
func (*SpaceOpened) EventType() string { return "space.opened" }

// EventType names the event.
func (*SpaceRenamed) EventType() string { return "space.renamed" }

// EventType names the event.
func (*SpaceArchived) EventType() string { return "space.archived" }

// EventType names the event.
func (*SpaceUnarchived) EventType() string { return "space.unarchived" }

// EventType names the event.
func (*SpaceClosed) EventType() string { return "space.closed" }

// EventType names the event.
func (*SpaceDeleted) EventType() string { return "space.deleted" }

// EventType names the event.
func (*MemberAdded) EventType() string { return "member.added" }

// EventType names the event.
func (*MemberRemoved) EventType() string { return "member.removed" }

// EventType names the event.
func (*SpaceLeadSet) EventType() string { return "space.lead_set" }

// EventType names the event.
func (*MembershipReplaced) EventType() string { return "membership.replaced" }
