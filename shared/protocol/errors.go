package protocol

import "fmt"

// Code is what an error frame and an HTTP error body say in "code".
type Code string

// The codes, each with the HTTP status it goes with in statuses.
const (
	InvalidFrame        Code = "invalid_frame"         // the frame or its key cannot be read; on a socket it names no key
	InvalidEvent        Code = "invalid_event"         // the event's fields, or the state it meets
	InvalidRequest      Code = "invalid_request"       // an HTTP body or query, or the state it meets
	Unauthorized        Code = "unauthorized"          // no credential, or one that does not stand
	Forbidden           Code = "forbidden"             // a credential without the right
	NotFound            Code = "not_found"             // an id nobody has, or one the caller may not see
	MethodNotAllowed    Code = "method_not_allowed"    // the route takes other methods
	StaleFile           Code = "stale_file"            // a newer version of the file was posted meanwhile
	WhichAgent          Code = "which_agent"           // the harness has several agents in the room and named none
	AgentElsewhere      Code = "agent_elsewhere"       // the agent is in another room
	RoomClosed          Code = "room_closed"           // the room is archived
	LeadRoom            Code = "lead_room"             // a rule of the Main agent's Main room
	Locked              Code = "locked"                // the room's changes are locked
	TooLarge            Code = "too_large"             // the body is over the limit
	RangeNotSatisfiable Code = "range_not_satisfiable" // over HTTP alone: the Range asks for nothing of the file
	UnsupportedProtocol Code = "unsupported_protocol"  // no protocol version in common; the socket closes
	TooFarBehind        Code = "too_far_behind"        // the consumer is too slow; the socket closes
	Busy                Code = "busy"                  // over HTTP alone: try again; never names a key on a socket
	Internal            Code = "internal"              // a fault of ours; never names a key on a socket
)

var statuses = map[Code]int{
	InvalidFrame: 400, InvalidEvent: 400, InvalidRequest: 400, UnsupportedProtocol: 400,
	Unauthorized: 401, Forbidden: 403, NotFound: 404, MethodNotAllowed: 405,
	StaleFile: 409, WhichAgent: 409, AgentElsewhere: 409, RoomClosed: 409, LeadRoom: 409, Locked: 409,
	TooLarge: 413, RangeNotSatisfiable: 416, TooFarBehind: 429, Internal: 500, Busy: 503,
}

// HTTPStatus is the status an answer with the code has; 500 for a code that is not in the table.
func HTTPStatus(c Code) int {
	if s, ok := statuses[c]; ok {
		return s
	}
	return 500
}

// Error is an error that is safe to show: its message says what was wrong and names the field or the limit. It is the body of
// an HTTP error and, with a frame name and perhaps a key, an error frame.
type Error struct {
	Code    Code   `json:"code"`
	Message string `json:"message"`
	// SpaceID is the room an agent is in, on agent_elsewhere.
	SpaceID string `json:"space_id,omitzero"`
	// File is the version that is current, on stale_file.
	File *FileVersion `json:"file,omitzero"`
}

// FileVersion is one version of a room's file, as stale_file tells of it.
type FileVersion struct {
	Name         string      `json:"name"`
	Version      int         `json:"version"`
	AttachmentID string      `json:"attachment_id"`
	By           Participant `json:"by"`
}

func (e *Error) Error() string { return string(e.Code) + ": " + e.Message }

// Refuse makes an Error with a formatted message.
func Refuse(c Code, format string, args ...any) *Error {
	return &Error{Code: c, Message: fmt.Sprintf(format, args...)}
}
