package protocol

import (
	"errors"
	"fmt"

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
	// Via is what it came by, where that is known: it is in the log beside the event, and no part of it.
	Via Via
}

// Data is the fields of one event type beside the envelope.
type Data interface {
	// EventType is the name the event goes by.
	EventType() string
}

// Append writes the event's JSON after b.
func (e Event) Append(b []byte) ([]byte, error) {
	w := objectWriter{b: b}
	w.number(`{"v":`, int64(e.V))
	w.always(`,"type":`, e.Type)
	w.always(`,"id":`, e.ID)
	w.b, _ = e.TS.AppendText(append(w.b, `,"ts":"`...))
	w.always(`","workspace_id":`, e.WorkspaceID)
	w.text(`,"space_id":`, e.SpaceID)
	w.text(`,"run_id":`, e.RunID)
	if e.Seq != 0 {
		w.number(`,"seq":`, e.Seq)
	}
	w.text(`,"idempotency_key":`, e.IdempotencyKey)
	w.actor(e.Actor)
	if w.err != nil {
		return b, fmt.Errorf("writing %s: %w", e.Type, w.err)
	}
	return appendData(w.b, e.Data)
}

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
	k, err := kindIn(raw)
	if err != nil {
		return Event{}, err
	}
	var e Event
	e.Data, err = k.read(raw, &e.Envelope)
	return e, err
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
	w := objectWriter{b: b}
	w.always(`{"type":`, e.Type)
	w.text(`,"space_id":`, e.SpaceID)
	w.text(`,"run_id":`, e.RunID)
	w.actor(e.Actor)
	if w.err != nil {
		return b, fmt.Errorf("writing %s: %w", e.Type, w.err)
	}
	return appendData(w.b, e.Data)
}

// DecodeStored reads what AppendStored wrote; the caller fills in the rest of the envelope.
func DecodeStored(raw []byte) (Event, error) {
	k, err := kindIn(raw)
	if err != nil {
		return Event{}, err
	}
	var s stored
	data, err := k.readStored(raw, &s)
	return Event{Envelope: Envelope{V: Version, Type: s.Type, SpaceID: s.SpaceID, RunID: s.RunID, Actor: s.Actor}, Data: data}, err
}

// Via is the credential that an event came by.
type Via struct{ Credential string }
