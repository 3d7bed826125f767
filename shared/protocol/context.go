package protocol

// Context is what was said in a room up to some point of the log, handed over with a turn or read over HTTP.
type Context struct {
	// Lines rise by seq.
	Lines []Line `json:"lines"`
	// SinceSeq is the seq the context starts after.
	SinceSeq int64 `json:"since_seq"`
	// Truncated says that older lines were left out to fit the budget.
	Truncated bool `json:"truncated"`
	// Before is the cursor for reading those: the seq of the oldest line here, of the message where there is none.
	Before int64 `json:"before"`
	// Files are the newest of the room's files, the current version of each, newest first.
	Files []File `json:"files,omitzero"`
	// Spend is what the room's job has spent, with a turn.
	Spend *Spend `json:"spend,omitzero"`
}

// The kinds of line.
const (
	LineSaid       = "said"
	LineJoined     = "joined"
	LineLeft       = "left"
	LineRenamed    = "renamed"
	LineArchived   = "archived"
	LineUnarchived = "unarchived"
)

// Line is one thing that was said or happened in a room. Which fields it has goes by its kind.
type Line struct {
	Seq  int64  `json:"seq"`
	At   Time   `json:"at"`
	Kind string `json:"kind"`
	// From, MessageID, Text, AddressedTo and Held are of said. AddressedTo is nil in a log from before Chips said so, else never nil.
	From        *Participant `json:"from,omitzero"`
	MessageID   string       `json:"message_id,omitzero"`
	Text        *string      `json:"text,omitzero"`
	AddressedTo []string     `json:"addressed_to,omitzero"`
	Held        bool         `json:"held,omitzero"`
	// Transcript is what was said in its voice notes, and Files the names of its files.
	Transcript string   `json:"transcript,omitzero"`
	Files      []string `json:"files,omitzero"`
	// Who joined, left or was renamed: Name is a person's new name. A room that was renamed has Title instead.
	Who      *Participant `json:"who,omitzero"`
	Name     string       `json:"name,omitzero"`
	Title    string       `json:"title,omitzero"`
	Previous string       `json:"previous,omitzero"`
	// By is who added, took out, archived or brought back.
	By *Participant `json:"by,omitzero"`
}

// Participant is a person, a harness or an agent by name.
type Participant struct {
	ID   string    `json:"id"`
	Kind ActorKind `json:"kind"`
	Name string    `json:"name"`
}
