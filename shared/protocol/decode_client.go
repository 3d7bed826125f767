package protocol

import (
	"errors"
	"reflect"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// The limits on what a client sends, in bytes (contract U-68, U-125): an idempotency key, one decoded text, and an event as Chips writes it.
const (
	MaxKey   = 255
	MaxText  = 64 << 10
	MaxEvent = 96 << 10
)

// draft is what is read of a client's event beside its type, its key and its own fields: Chips fills in the rest.
type draft struct {
	SpaceID string `json:"space_id"`
	RunID   string `json:"run_id"`
	Actor   struct {
		Kind ActorKind `json:"kind"`
		ID   string    `json:"id"`
	} `json:"actor"`
}

// DecodeClient reads an event that a client wrote: its type, space_id, run_id, actor (kind and id), idempotency_key and the fields of
// its type. What else it holds is dropped. The faults, in the order they are looked for: InvalidFrame when it is not one JSON object
// or its key cannot be read; InvalidEvent for its type, its fields and the limits. With an error the event still has its key, and its
// Type once that is a known one, so that the answer can name the key and "who may write it" can come before "fields" (contract U-120).
func DecodeClient(raw []byte) (Event, *Error) {
	var named struct {
		Key  jsontext.Value `json:"idempotency_key"`
		Type jsontext.Value `json:"type"`
	}
	if err := ReadObject(InvalidFrame, "the event", raw, &named); err != nil {
		return Event{}, err
	}
	key, err := clientKey(named.Key)
	if err != nil {
		return Event{}, err
	}
	e := Event{Envelope: Envelope{V: Version, IdempotencyKey: key}}
	typ, ok := textOf(named.Type)
	if !ok {
		return e, Refuse(InvalidEvent, "type must be the name of an event type")
	}
	k := kindsByName[typ]
	if k == nil {
		return e, Refuse(InvalidEvent, "no event type is called %q", short(typ))
	}
	e.Type = typ
	var d draft
	data, bad := k.readDraft(raw, &d)
	if bad != nil {
		return e, fieldError(InvalidEvent, bad)
	}
	e.SpaceID, e.RunID, e.Actor, e.Data = d.SpaceID, d.RunID, Actor{Kind: d.Actor.Kind, ID: d.Actor.ID}, data
	return e, tooLong(e, len(raw))
}

// clientKey reads an idempotency key, which every event of a client has.
func clientKey(raw jsontext.Value) (string, *Error) {
	if raw == nil {
		return "", Refuse(InvalidFrame, "idempotency_key is missing: it stands inside the event")
	}
	key, ok := textOf(raw)
	if !ok {
		return "", Refuse(InvalidFrame, "idempotency_key must be text")
	}
	if key == "" || len(key) > MaxKey {
		return "", Refuse(InvalidFrame, "idempotency_key has %d bytes: it takes 1 to %d", len(key), MaxKey)
	}
	return key, nil
}

// tooLong holds an event to the limits; size is that of the JSON it came in.
func tooLong(e Event, size int) *Error {
	if field, text := longText(e.Data); len(text) > MaxText {
		return Refuse(InvalidEvent, "%s has %d bytes: %d at most", field, len(text), MaxText)
	}
	if size <= MaxText {
		return nil // what Chips writes is not that much longer
	}
	const ulid = "_00000000000000000000000000"
	e.ID, e.WorkspaceID, e.Seq = PrefixEvent+ulid, PrefixWorkspace+ulid, 1e11
	b, err := e.Append(make([]byte, 0, size))
	if err != nil {
		return Refuse(InvalidEvent, "the event cannot be written")
	}
	if len(b) > MaxEvent {
		return Refuse(InvalidEvent, "the event has %d bytes as Chips writes it: %d at most", len(b), MaxEvent)
	}
	return nil
}

// longText is the field of an event that may hold words at length; names and titles have shorter limits of their own.
func longText(d Data) (field, text string) {
	switch d := d.(type) {
	case *MessagePost:
		return "text", d.Text
	case *MessageEdited:
		return "text", d.Text
	case *StepStarted:
		return "title", d.Title
	case *StepLog:
		return "summary", d.Summary
	case *RunStarted:
		return "title", d.Title
	case *RunCompleted:
		return "summary", d.Summary
	case *RunFailed:
		return "error", d.Error
	case *ApprovalRequested:
		return "action.command", d.Action.Command
	case *QuestionAsked:
		return "text", d.Text
	case *QuestionAnswered:
		return "answer", d.Answer
	}
	return "", ""
}

// ReadObject reads one JSON object into v as Chips reads JSON (contract U-147), or says with code c why it cannot and which field is
// wrong; what names the thing it is in.
func ReadObject(c Code, what string, raw []byte, v any) *Error {
	err := json.Unmarshal(raw, v)
	if err == nil && jsontext.Value(raw).Kind() != '{' {
		return Refuse(c, "%s is not a JSON object", what)
	}
	if err == nil {
		return nil
	}
	if serr, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		if errors.Is(err, jsontext.ErrDuplicateName) {
			return Refuse(c, "%s names %s twice", what, fieldPath(serr.JSONPointer))
		}
		return Refuse(c, "%s is not JSON in UTF-8, from byte %d", what, serr.ByteOffset)
	}
	if serr, ok := errors.AsType[*json.SemanticError](err); ok && serr.JSONPointer != "" {
		return fieldError(c, err)
	}
	return Refuse(c, "%s is not a JSON object", what)
}

// fieldError says which field has a value of another kind than it takes.
func fieldError(c Code, err error) *Error {
	serr, ok := errors.AsType[*json.SemanticError](err)
	if !ok {
		return Refuse(c, "the fields cannot be read")
	}
	return Refuse(c, "%s must be %s", fieldPath(serr.JSONPointer), kindOfValue(serr.GoType))
}

// fieldPath writes a place in JSON as the documents do: actor.kind.
func fieldPath(p jsontext.Pointer) string {
	var tokens []string
	for t := range p.Tokens() {
		tokens = append(tokens, t)
	}
	return short(strings.Join(tokens, "."))
}

// kindOfValue says what a field of a type takes.
func kindOfValue(t reflect.Type) string {
	if t == nil {
		return "of another kind"
	}
	switch t {
	case reflect.TypeFor[To]():
		return `a list of ids or "all"`
	case reflect.TypeFor[Time]():
		return "a time as " + timeLayout
	}
	switch t.Kind() {
	case reflect.String:
		return "text"
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int64:
		return "a whole number"
	case reflect.Float64:
		return "a number"
	case reflect.Slice:
		return "a list"
	case reflect.Pointer:
		return kindOfValue(t.Elem())
	}
	return "an object"
}

// textOf is the text of a JSON string.
func textOf(raw jsontext.Value) (string, bool) {
	if raw.Kind() != '"' {
		return "", false
	}
	var s string
	err := json.Unmarshal(raw, &s)
	return s, err == nil
}

// short is s cut to 100 bytes, for a message.
func short(s string) string {
	const most = 100
	if len(s) <= most {
		return s
	}
	cut := most - len("…")
	for !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + "…"
}
