package protocol

// Role is a person's role in the workspace.
type Role string

// The roles of people.
const (
	Owner  Role = "owner"
	Admin  Role = "admin"
	Member Role = "member"
	Guest  Role = "guest"
)

// PersonAdded says a person was added to the workspace.
type PersonAdded struct {
	PersonID string `json:"person_id"`
	Name     string `json:"name"`
	Role     Role   `json:"role"`
}

// PersonUpdated is a person whole as they are now; Previous is the name before, where it changed.
type PersonUpdated struct {
	PersonID string   `json:"person_id"`
	Name     string   `json:"name"`
	Role     Role     `json:"role"`
	Labels   []string `json:"labels,omitzero"`
	// TimeZone is the IANA zone of the phone they registered last.
	TimeZone string `json:"time_zone,omitzero"`
	Previous string `json:"previous,omitzero"`
}

// PersonRemoved says a person left the workspace and with it all rooms.
type PersonRemoved struct {
	PersonID string `json:"person_id"`
}

// EventType names the event.
func (*PersonAdded) EventType() string { return "person.added" }

// EventType names the event.
func (*PersonUpdated) EventType() string { return "person.updated" }

// EventType names the event.
func (*PersonRemoved) EventType() string { return "person.removed" }
