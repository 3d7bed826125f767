package protocol

import (
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Version is the protocol's major version, and the only one spoken.
const Version = 1

// ActorKind says what kind of participant acted.
type ActorKind string

// The kinds of actor.
const (
	KindPerson  ActorKind = "person"
	KindHarness ActorKind = "harness"
	KindAgent   ActorKind = "agent"
	KindSystem  ActorKind = "system"
)

// Actor is the participant an event is attributed to.
type Actor struct {
	Kind ActorKind `json:"kind"`
	// ID is the participant's id, or system for Chips.
	ID string `json:"id"`
	// HarnessID is, for an agent, the harness it speaks through. Filled in by Chips.
	HarnessID string `json:"harness_id,omitzero"`
}

// System is Chips itself as an actor.
var System = Actor{Kind: KindSystem, ID: SystemID}

// Envelope is what every event carries beside its own fields.
type Envelope struct {
	V              int    `json:"v"`
	Type           string `json:"type"`
	ID             string `json:"id"`
	TS             Time   `json:"ts"`
	WorkspaceID    string `json:"workspace_id"`
	SpaceID        string `json:"space_id,omitzero"`
	RunID          string `json:"run_id,omitzero"`
	Seq            int64  `json:"seq,omitzero"`
	IdempotencyKey string `json:"idempotency_key,omitzero"`
	Actor          Actor  `json:"actor"`
}

// Event is one event: the envelope, and the fields of its type, which stand beside it in the JSON.
type Event struct {
	Envelope
	// Data is a pointer to the struct of the event's type; see NewData.
	Data Data
}

// Data is the fields of one event type beside the envelope.
type Data interface {
	// EventType is the name the event goes by.
	EventType() string
}

// Append writes the event's JSON after b.
func (e Event) Append(b []byte) ([]byte, error) { return appendJoined(b, e.Envelope, e.Data) }

// MarshalJSONTo writes the event as one JSON object.
func (e Event) MarshalJSONTo(enc *jsontext.Encoder) error {
	b, err := e.Append(nil)
	if err != nil {
		return err
	}
	return enc.WriteValue(b)
}

// UnmarshalJSONFrom reads any event of a known type, as Chips wrote it.
func (e *Event) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	raw, err := dec.ReadValue()
	if err != nil {
		return err
	}
	*e, err = Decode(raw)
	return err
}

// ErrUnknownType is wrapped by Decode when no event type has the name.
var ErrUnknownType = errors.New("unknown event type")

// Decode reads an event as Chips wrote it.
func Decode(raw []byte) (Event, error) {
	var e Event
	if err := json.Unmarshal(raw, &e.Envelope); err != nil {
		return e, err
	}
	e.Data = NewData(e.Type)
	if e.Data == nil {
		return e, fmt.Errorf("%w %q", ErrUnknownType, e.Type)
	}
	return e, json.Unmarshal(raw, e.Data)
}

// stored is the part of an envelope that a commit keeps for each event: the rest the commit itself says.
type stored struct {
	Type    string `json:"type"`
	SpaceID string `json:"space_id,omitzero"`
	RunID   string `json:"run_id,omitzero"`
	Actor   Actor  `json:"actor"`
}

// AppendStored writes the event as a commit keeps it: without version, id, time, workspace, seq and key.
func (e Event) AppendStored(b []byte) ([]byte, error) {
	return appendJoined(b, stored{e.Type, e.SpaceID, e.RunID, e.Actor}, e.Data)
}

// DecodeStored reads what AppendStored wrote; the caller fills in the rest of the envelope.
func DecodeStored(raw []byte) (Event, error) {
	var s stored
	if err := json.Unmarshal(raw, &s); err != nil {
		return Event{}, err
	}
	e := Event{Envelope: Envelope{V: Version, Type: s.Type, SpaceID: s.SpaceID, RunID: s.RunID, Actor: s.Actor}}
	e.Data = NewData(s.Type)
	if e.Data == nil {
		return e, fmt.Errorf("%w %q", ErrUnknownType, s.Type)
	}
	return e, json.Unmarshal(raw, e.Data)
}

// appendJoined writes two structs as one JSON object, the first one's fields first.
func appendJoined(b []byte, head, tail any) ([]byte, error) {
	h, err := json.Marshal(head)
	if err != nil {
		return b, err
	}
	b = append(b, h...)
	if tail == nil {
		return b, nil
	}
	t, err := json.Marshal(tail)
	if err != nil {
		return b, err
	}
	if len(t) > 2 {
		b[len(b)-1] = ','
		b = append(b, t[1:]...)
	}
	return b, nil
}
