package protocol

import (
	"errors"
	"math"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// The names of a client's frames.
const (
	FrameHello     = "hello"
	FrameSubscribe = "subscribe"
	FrameEvent     = "event"
	FramePing      = "ping"
	FramePong      = "pong"
)

// DecodeFrame reads a frame that a client sent: its name, and a ClientHello, Subscribe, EventFrame or (for ping and pong) PingFrame.
// An EventFrame's event is an object that DecodeClient still has to read. Every error is InvalidFrame; the name comes with it once
// it is a known one.
func DecodeFrame(raw []byte) (string, any, *Error) {
	var named struct {
		Frame jsontext.Value `json:"frame"`
		Event jsontext.Value `json:"event"`
	}
	if err := ReadObject(InvalidFrame, "the frame", raw, &named); err != nil {
		return "", nil, err
	}
	name, ok := textOf(named.Frame)
	if !ok {
		return "", nil, Refuse(InvalidFrame, "frame must be the name of a frame: hello, subscribe, event, ping or pong")
	}
	switch name {
	case FrameHello:
		h, err := decodeHello(raw)
		return name, h, err
	case FrameSubscribe:
		s, err := decodeSubscribe(raw)
		return name, s, err
	case FrameEvent:
		if named.Event.Kind() != '{' {
			return name, nil, Refuse(InvalidFrame, "event must be an object: the event, whole")
		}
		return name, EventFrame{Frame: name, Event: named.Event}, nil
	case FramePing, FramePong:
		return name, PingFrame{Frame: name}, nil
	}
	return "", nil, Refuse(InvalidFrame, "no frame of a client is called %q: it sends hello, subscribe, event, ping or pong", short(name))
}

func decodeHello(raw []byte) (ClientHello, *Error) {
	var ends struct {
		Protocol struct {
			Min *int `json:"min"`
			Max *int `json:"max"`
		} `json:"protocol"`
	}
	if err := ReadObject(InvalidFrame, "hello", raw, &ends); err != nil {
		return ClientHello{}, err
	}
	if p := ends.Protocol; p.Min == nil || p.Max == nil || *p.Min > *p.Max {
		return ClientHello{}, Refuse(InvalidFrame, "protocol must be a range of versions, as { min: 1, max: 1 }")
	}
	var h ClientHello
	if err := ReadObject(InvalidFrame, "hello", raw, &h); err != nil {
		return ClientHello{}, err
	}
	if c := h.Context; c != nil {
		if c.Lines != nil && *c.Lines < 0 {
			return ClientHello{}, Refuse(InvalidFrame, "context.lines must be a whole number from 0")
		}
		if c.Chars != nil && *c.Chars < 0 {
			return ClientHello{}, Refuse(InvalidFrame, "context.chars must be a whole number from 0")
		}
	}
	return h, nil
}

func decodeSubscribe(raw []byte) (Subscribe, *Error) {
	var s struct {
		WorkspaceID string         `json:"workspace_id"`
		Since       jsontext.Value `json:"since"`
	}
	if err := ReadObject(InvalidFrame, "subscribe", raw, &s); err != nil {
		return Subscribe{}, err
	}
	if s.WorkspaceID == "" {
		return Subscribe{}, Refuse(InvalidFrame, "workspace_id is missing")
	}
	out := Subscribe{Frame: FrameSubscribe, WorkspaceID: s.WorkspaceID}
	if s.Since != nil {
		n, ok := wholeNumber(s.Since)
		if !ok {
			return Subscribe{}, Refuse(InvalidFrame, "since must be a whole number from 0")
		}
		out.Since = &n
	}
	return out, nil
}

// wholeNumber reads a number from 0 without fraction or exponent. One beyond 64 bits is the greatest: it is past every head.
func wholeNumber(raw jsontext.Value) (int64, bool) {
	var n uint64
	if raw.Kind() != '0' {
		return 0, false
	}
	err := json.Unmarshal(raw, &n)
	if errors.Is(err, strconv.ErrRange) || err == nil && n > math.MaxInt64 {
		return math.MaxInt64, true
	}
	return int64(n), err == nil
}
