package protocol

// MessageHeard says that a turn going in the room was told of a message; on its run, as its agent.
type MessageHeard struct {
	MessageID string `json:"message_id"`
}

// RunSteer is a person's words to a run: as they are logged and as people are sent them; at the run's harness with what comes with a turn.
type RunSteer struct {
	// Mode is steer, interrupt or followup.
	Mode      string   `json:"mode"`
	Text      string   `json:"text"`
	UploadIDs []string `json:"upload_ids,omitzero"`
	// Attachments are what was uploaded, filled in by Chips, as AddressedTo is: the run's agent.
	Attachments []Attachment `json:"attachments,omitzero"`
	AddressedTo []string     `json:"addressed_to,omitzero"`
	// These are made at delivery for the run's harness, as in a message.new.
	MessageID    string        `json:"message_id,omitzero"`
	From         *From         `json:"from,omitzero"`
	For          []string      `json:"for,omitzero"`
	Context      *Context      `json:"context,omitzero"`
	Room         *Room         `json:"room,omitzero"`
	WorkingTurns []WorkingTurn `json:"working_turns,omitzero"`
}

// The modes of a steer.
const (
	ModeSteer     = "steer"
	ModeInterrupt = "interrupt"
	ModeFollowup  = "followup"
)

// Said is the message that an event says in a room: a message.post, or a person's words to a run; nil for anything else.
func Said(d Data) *MessagePost {
	switch d := d.(type) {
	case *MessagePost:
		return d
	case *RunSteer:
		return &MessagePost{Text: d.Text, UploadIDs: d.UploadIDs, Attachments: d.Attachments, AddressedTo: d.AddressedTo}
	}
	return nil
}

// FrameRestart is the name of the frame that asks a harness to restart, and of what its hello accepts for it.
const FrameRestart = "restart"

// Restart asks a harness to restart, now or never; it carries no command.
type Restart struct {
	Frame   string `json:"frame"`
	AskedBy string `json:"asked_by"`
	AskedAt Time   `json:"asked_at"`
}

// FrameReceipt is the name of a receipt.
const FrameReceipt = "receipt"

// Receipt says what became of a person's message where a run is going: queued for its next look, or steered. Key is the message's.
type Receipt struct {
	Frame          string `json:"frame"`
	IdempotencyKey string `json:"idempotency_key"`
	Disposition    string `json:"disposition"`
}

// The dispositions of a receipt.
const (
	Queued  = "queued"
	Steered = "steered"
)

// EventType names the event.
func (*MessageHeard) EventType() string { return "message.heard" }

// EventType names the event.
func (*RunSteer) EventType() string { return "run.steer" }
