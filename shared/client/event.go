package client

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/chipschat/chips-aws/shared/protocol"
)

// Event is an event as it was sent: its envelope read, the rest as JSON. Types of a newer server are handed over like any.
type Event struct {
	protocol.Envelope
	// Raw is the whole event, the callback's to keep.
	Raw jsontext.Value
}

// Decode reads the event's own fields; the error wraps protocol.ErrUnknownType for a type this program does not know.
func (e Event) Decode() (protocol.Event, error) { return protocol.Decode(e.Raw) }

// Draft is an event to be written. Chips fills in the rest.
type Draft struct {
	// Key is the idempotency key; Post mints one when it is "".
	Key string
	// SpaceID and RunID are where it belongs, "" for nowhere.
	SpaceID, RunID string
	// AgentID is the harness's agent that speaks, "" for the sender itself.
	AgentID string
	Data    protocol.Data
}

// encode is the event's JSON.
func (d Draft) encode() (jsontext.Value, error) {
	data, err := json.Marshal(d.Data)
	if err != nil {
		return nil, err
	}
	w := struct {
		Type    string         `json:"type"`
		SpaceID string         `json:"space_id,omitzero"`
		RunID   string         `json:"run_id,omitzero"`
		Key     string         `json:"idempotency_key"`
		Actor   protocol.Actor `json:"actor,omitzero"`
		Data    jsontext.Value `json:",embed"`
	}{Type: d.Data.EventType(), SpaceID: d.SpaceID, RunID: d.RunID, Key: d.Key, Data: data}
	if d.AgentID != "" {
		w.Actor = protocol.Actor{Kind: protocol.KindAgent, ID: d.AgentID}
	}
	return json.Marshal(w)
}
