package protocol

// MaxEmoji is how many bytes an emoji of a reaction has at most.
const MaxEmoji = 64

// MessageEdited gives a message other words. Whom it is for stays as it was.
type MessageEdited struct {
	MessageID string `json:"message_id"`
	Text      string `json:"text"`
}

// MessageDeleted takes a message away.
type MessageDeleted struct {
	MessageID string `json:"message_id"`
}

// ReactionSet puts somebody's emoji on a message, or takes it off. There is one of each person, or agent, and emoji.
type ReactionSet struct {
	MessageID string `json:"message_id"`
	Emoji     string `json:"emoji"`
	On        bool   `json:"on"`
}

// PinSet pins a message in its room, or takes it off.
type PinSet struct {
	MessageID string `json:"message_id"`
	On        bool   `json:"on"`
}

// EventType names the event.
func (*MessageEdited) EventType() string { return "message.edited" }

// EventType names the event.
func (*MessageDeleted) EventType() string { return "message.deleted" }

// EventType names the event.
func (*ReactionSet) EventType() string { return "reaction.set" }

// EventType names the event.
func (*PinSet) EventType() string { return "pin.set" }
