package protocol

import (
	"encoding/binary"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"
)

// Prefixes of ids; each is followed by an underscore and a ULID.
const (
	PrefixWorkspace  = "ws"
	PrefixSpace      = "spc"
	PrefixPerson     = "usr"
	PrefixHarness    = "hrn"
	PrefixAgent      = "agt"
	PrefixRun        = "run"
	PrefixEvent      = "evt"
	PrefixMessage    = "msg"
	PrefixAttachment = "att"
	PrefixDevice     = "dev"
	PrefixToken      = "tok"
	PrefixApproval   = "apr"
	PrefixQuestion   = "qst"
	PrefixEdit       = "edt"
	PrefixChange     = "chg"
)

// SystemID is the id of Chips as an actor.
const SystemID = "system"

// ValidID says whether id is prefix, an underscore and a ULID in canonical (upper) case.
func ValidID(prefix, id string) bool {
	rest, ok := strings.CutPrefix(id, prefix+"_")
	if !ok || len(rest) != ulid.EncodedSize || rest != strings.ToUpper(rest) {
		return false
	}
	_, err := ulid.ParseStrict(rest)
	return err == nil
}

// PrefixOf is the part of an id before its underscore, "" when there is none.
func PrefixOf(id string) string {
	p, _, ok := strings.Cut(id, "_")
	if !ok {
		return ""
	}
	return p
}

// NewID makes an id of a time and ten bytes of entropy, which the caller brings.
func NewID(prefix string, at time.Time, entropy [10]byte) string {
	var u ulid.ULID
	_ = u.SetTime(uint64(at.UnixMilli()))
	copy(u[6:], entropy[:])
	return prefix + "_" + u.String()
}

// EventID is the id of the event at seq: the 80 bits after the time are 40 bits of seq and 40 that the commit drew, so ids
// sort as the log does and name their place in it.
func EventID(at time.Time, seq int64, random [5]byte) string {
	var e [10]byte
	var s [8]byte
	binary.BigEndian.PutUint64(s[:], uint64(seq))
	copy(e[:5], s[3:])
	copy(e[5:], random[:])
	return NewID(PrefixEvent, at, e)
}

// SeqOf is the seq an evt_ or msg_ id names; false when the id is neither.
func SeqOf(id string) (int64, bool) {
	if !ValidID(PrefixEvent, id) && !ValidID(PrefixMessage, id) {
		return 0, false
	}
	u, err := ulid.ParseStrict(id[4:])
	if err != nil {
		return 0, false
	}
	var s [8]byte
	copy(s[3:], u[6:11])
	return int64(binary.BigEndian.Uint64(s[:])), true
}

// MessageID is an event's id as a message's: the same ULID with the msg_ prefix.
func MessageID(eventID string) string {
	return PrefixMessage + "_" + strings.TrimPrefix(eventID, PrefixEvent+"_")
}

// EventIDOf is the event id behind a message id.
func EventIDOf(messageID string) string {
	return PrefixEvent + "_" + strings.TrimPrefix(messageID, PrefixMessage+"_")
}
