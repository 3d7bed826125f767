// Package protocol is the vocabulary of Chips: ids, the envelope, every event type, every frame and every error code.
//
// It is pure: no I/O, no clock, no randomness. Event names are storage, so a type's JSON is added to and never changed; each has one
// golden file under testdata/events and one JSON Schema under schemas.
//
// JSON is read to the letter (contract U-147): names match case, a name twice in one object or text that is not UTF-8 is refused,
// unknown fields are dropped. It is written without HTML escaping.
package protocol
