package protocol

import "github.com/go-json-experiment/json/jsontext"

// The client's frames.
type (
	// ClientHello is the first frame of a connection. A harnesses list or a since in it is not read.
	ClientHello struct {
		Frame    string         `json:"frame"`
		Protocol Range          `json:"protocol"`
		Client   ClientName     `json:"client"`
		Accepts  []string       `json:"accepts,omitzero"`
		Context  *ContextBudget `json:"context,omitzero"`
	}

	// ClientName is what a client calls itself.
	ClientName struct {
		Name    string `json:"name"`
		Version string `json:"version"`
	}

	// ContextBudget is how much context a client wants handed to it; nil is the default.
	ContextBudget struct {
		Lines *int `json:"lines,omitzero"`
		Chars *int `json:"chars,omitzero"`
	}

	// Subscribe starts the stream; without since it starts from now.
	Subscribe struct {
		Frame       string `json:"frame"`
		WorkspaceID string `json:"workspace_id"`
		Since       *int64 `json:"since,omitzero"`
	}

	// EventFrame holds one event, from either side; from a client the key stands inside it.
	EventFrame struct {
		Frame string         `json:"frame"`
		Event jsontext.Value `json:"event"`
	}
)

// The server's frames.
type (
	// EventsFrame is a part of a replay, in seq order.
	EventsFrame struct {
		Frame  string           `json:"frame"`
		Events []jsontext.Value `json:"events"`
	}

	// Ack is the answer to a write that landed, or had landed before; over HTTP without Frame.
	Ack struct {
		Frame          string `json:"frame,omitzero"`
		IdempotencyKey string `json:"idempotency_key"`
		Seq            int64  `json:"seq"`
		Duplicate      bool   `json:"duplicate"`
		// Differs says that a duplicate had another body than the first.
		Differs bool `json:"differs,omitzero"`
		// Held says that the referee held the message; Exchange is where an agent's message to agents stands in the count.
		Held     bool           `json:"held,omitzero"`
		Exchange *ExchangeCount `json:"exchange,omitzero"`
		// Disposition is what a receipt says, in an ack over HTTP.
		Disposition string `json:"disposition,omitzero"`
		// Waiting says that the words are held until their agent is in a room.
		Waiting bool `json:"waiting,omitzero"`
		// SpaceID is the room that was opened.
		SpaceID string `json:"space_id,omitzero"`
		// Remembered says whether an answer that was to be remembered made a rule.
		Remembered *bool `json:"remembered,omitzero"`
	}

	// ErrorFrame is an Error on a socket; it names the key of the write it answers, if it answers one.
	ErrorFrame struct {
		Frame          string `json:"frame"`
		IdempotencyKey string `json:"idempotency_key,omitzero"`
		Code           Code   `json:"code"`
		Message        string `json:"message"`
		SpaceID        string `json:"space_id,omitzero"`
		// File is the version that is current, on stale_file.
		File *FileVersion `json:"file,omitzero"`
	}

	// PingFrame is sent where no protocol ping can be; any frame answers it.
	PingFrame struct {
		Frame string `json:"frame"`
	}
)

// NewErrorFrame is e as a frame that answers the write under key, or no write when key is "".
func NewErrorFrame(e *Error, key string) ErrorFrame {
	return ErrorFrame{Frame: "error", IdempotencyKey: key, Code: e.Code, Message: e.Message, SpaceID: e.SpaceID, File: e.File}
}
