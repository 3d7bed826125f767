package protocol

import (
	"errors"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// MessagePost is a message as it was said, and what Chips decided of it.
type MessagePost struct {
	Text      string            `json:"text"`
	To        To                `json:"to,omitzero"`
	ReplyTo   string            `json:"reply_to,omitzero"`
	UploadIDs []string          `json:"upload_ids,omitzero"`
	Replaces  map[string]string `json:"replaces,omitzero"`
	// Attachments are what was uploaded, filled in by Chips.
	Attachments []Attachment `json:"attachments,omitzero"`
	// AddressedTo is whom the message is for: agents, or the harness itself where it is who the room holds. Nil in a log from
	// before Chips said so, when a message was for every harness in its room; otherwise never nil.
	AddressedTo []string `json:"addressed_to,omitzero"`
	// Held says that the referee held it: it is for nobody until it is handed on.
	Held bool `json:"held,omitzero"`
	// HeldFor is whom a held message would have been for.
	HeldFor []string `json:"held_for,omitzero"`
	// Exchange is where an agent's message to agents stands in the count.
	Exchange *ExchangeCount `json:"exchange,omitzero"`
	// HeldSince is when its agent said it while in no room, filled in by Chips as it posts it.
	HeldSince *Time `json:"held_since,omitzero"`
	// Brief says that it opens a room that agents were handed work in.
	Brief bool `json:"brief,omitzero"`
	// MessageID, From and WorkingTurns are added at delivery, on a harness's own post as it comes back.
	MessageID    string        `json:"message_id,omitzero"`
	From         *From         `json:"from,omitzero"`
	WorkingTurns []WorkingTurn `json:"working_turns,omitzero"`
}

// To is the composer's choice: every agent (All), or ids.
type To struct {
	All bool
	IDs []string
}

// IsZero says nothing was chosen.
func (t To) IsZero() bool { return !t.All && t.IDs == nil }

// MarshalJSONTo writes "all" or the ids.
func (t To) MarshalJSONTo(enc *jsontext.Encoder) error {
	if t.All {
		return enc.WriteToken(jsontext.String("all"))
	}
	return json.MarshalEncode(enc, t.IDs)
}

// UnmarshalJSONFrom reads "all" or a list of ids.
func (t *To) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	switch dec.PeekKind() {
	case '[', 'n':
		*t = To{}
		return json.UnmarshalDecode(dec, &t.IDs)
	case '"':
		var word string
		if err := json.UnmarshalDecode(dec, &word); err != nil {
			return err
		}
		if word == "all" {
			*t = To{All: true}
			return nil
		}
	}
	return errors.New(`to is a list of ids or "all"`)
}

// Attachment is a stored file as the upload described it.
type Attachment struct {
	AttachmentID string `json:"attachment_id"`
	Filename     string `json:"filename"`
	MimeType     string `json:"mime_type"`
	ByteSize     int64  `json:"byte_size"`
	SHA256       string `json:"sha256"`
	Width        int    `json:"width,omitzero"`
	Height       int    `json:"height,omitzero"`
	DurationMS   int64  `json:"duration_ms,omitzero"`
	Transcript   string `json:"transcript,omitzero"`
	Replaces     string `json:"replaces,omitzero"`
	URL          string `json:"url,omitzero"`
	URLExpiresAt *Time  `json:"url_expires_at,omitzero"`
}

// From is who said a message.
type From struct {
	ID   string    `json:"id"`
	Kind ActorKind `json:"kind"`
	Name string    `json:"name"`
	// Role is the workspace role for a person, lead or member for an agent.
	Role string `json:"role"`
	// Harness is the name of the harness an agent runs on, where it is another than the agent's.
	Harness string `json:"harness,omitzero"`
}

// WorkingTurn is a turn going in the room, of an agent of the receiving harness.
type WorkingTurn struct {
	AgentID string `json:"agent_id"`
	RunID   string `json:"run_id"`
}

// MessageNew is a turn to take, made at delivery for the harness it is for.
type MessageNew struct {
	MessageID   string       `json:"message_id"`
	Text        string       `json:"text"`
	From        From         `json:"from"`
	ReplyTo     string       `json:"reply_to,omitzero"`
	Attachments []Attachment `json:"attachments,omitzero"`
	AddressedTo []string     `json:"addressed_to"`
	// HeldSince is when an agent said it while in no room.
	HeldSince *Time `json:"held_since,omitzero"`
	// For is which of the receiving harness's agents take a turn; only for a harness that declared agents.
	For []string `json:"for,omitzero"`
	// Context is what was said in the room since the taker last spoke there, never nil.
	Context *Context `json:"context,omitzero"`
	// Room is who is there, with a note for each taker, never nil.
	Room *Room `json:"room,omitzero"`
	// WorkingTurns are the harness's turns going in the room, of its agents that it is not for and who did not say it.
	WorkingTurns []WorkingTurn `json:"working_turns,omitzero"`
	// Exchange is how far agents have gone on by themselves, where that is to be minded.
	Exchange *Exchange `json:"exchange,omitzero"`
	// Handed says that it was held, or nobody's turn, before: the event is the handing on. Lead says that it is handed to the lead.
	Handed bool `json:"handed,omitzero"`
	Lead   bool `json:"lead,omitzero"`
}

// MessageOverheard is a message that is for somebody else, made at delivery for a harness in the room.
type MessageOverheard struct {
	MessageID   string       `json:"message_id"`
	Text        string       `json:"text"`
	From        From         `json:"from"`
	ReplyTo     string       `json:"reply_to,omitzero"`
	Attachments []Attachment `json:"attachments,omitzero"`
	AddressedTo []string     `json:"addressed_to"`
	HeldSince   *Time        `json:"held_since,omitzero"`
	// Held says that the referee held it.
	Held bool `json:"held,omitzero"`
	// WorkingTurns are the harness's turns going in the room, but for the agent's that said it.
	WorkingTurns []WorkingTurn `json:"working_turns,omitzero"`
}

// MessageHeld is what an agent said in no room: it is posted in the next room that the agent joins. Sent to its harness alone.
type MessageHeld struct {
	AgentID string `json:"agent_id"`
	Text    string `json:"text"`
	// Attachments are what was uploaded, filled in by Chips.
	Attachments []Attachment `json:"attachments,omitzero"`
}

// TurnPassed is an agent's word that it has nothing to say. Sent to its harness alone.
type TurnPassed struct{}

// EventType names the event.
func (*MessagePost) EventType() string { return "message.post" }

// EventType names the event.
func (*MessageNew) EventType() string { return "message.new" }

// EventType names the event.
func (*MessageOverheard) EventType() string { return "message.overheard" }

// EventType names the event.
func (*MessageHeld) EventType() string { return "message.held" }

// EventType names the event.
func (*TurnPassed) EventType() string { return "turn.passed" }
