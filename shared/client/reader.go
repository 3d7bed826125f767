package client

import (
	"context"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/chipschat/chips-aws/shared/protocol"
)

// anyFrame is what the reader needs of whatever frame comes.
type anyFrame struct {
	Frame  string           `json:"frame"`
	Key    string           `json:"idempotency_key"`
	Event  jsontext.Value   `json:"event"`
	Events []jsontext.Value `json:"events"`
}

// read takes frames until the socket ends, and answers why.
func (s *socket) read(ctx context.Context) error {
	for {
		_, raw, err := s.conn.Read(ctx)
		if err != nil {
			return fmt.Errorf("read: %w", err)
		}
		s.heard()
		if err := s.take(ctx, raw); err != nil {
			return err
		}
	}
}

// take does what one frame asks for.
func (s *socket) take(ctx context.Context, raw []byte) error {
	var f anyFrame
	if err := json.Unmarshal(raw, &f); err != nil {
		return fmt.Errorf("a frame that cannot be read: %w", err)
	}
	switch f.Frame {
	case "":
		return errNameless
	case "event":
		return s.takeEvent(ctx, f.Event)
	case "events":
		for _, e := range f.Events {
			if err := s.takeEvent(ctx, e); err != nil {
				return err
			}
		}
	case "ack":
		var ack protocol.Ack
		if err := json.Unmarshal(raw, &ack); err != nil {
			return fmt.Errorf("an ack that cannot be read: %w", err)
		}
		ack.Frame = ""
		s.answer(f.Key, ack, nil)
	case "error":
		return s.takeError(raw, f.Key)
	case "ping":
		return s.write(ctx, protocol.PingFrame{Frame: "pong"})
	default:
		if !s.c.takeChange(ctx, f.Frame, raw) && s.c.cfg.OnFrame != nil {
			s.c.cfg.OnFrame(f.Frame, raw)
		}
	}
	return nil
}

func (s *socket) takeEvent(ctx context.Context, raw jsontext.Value) error {
	e := Event{Raw: raw}
	if err := json.Unmarshal(raw, &e.Envelope); err != nil {
		return fmt.Errorf("an event that cannot be read: %w", err)
	}
	if e.Type == "hello" && e.Seq == 0 {
		select {
		case s.hello <- e.WorkspaceID:
		default:
		}
		if s.c.cfg.OnFrame != nil {
			s.c.cfg.OnFrame("hello", raw)
		}
		return nil
	}
	s.mu.Lock()
	s.progress = true
	s.mu.Unlock()
	if !s.c.inbox.put(ctx, e) {
		return errNoRoom
	}
	return nil
}

// takeError ends the promise for the key that the error names. One that names no key is about the socket, and is no answer.
func (s *socket) takeError(raw []byte, key string) error {
	e := &protocol.Error{}
	if err := json.Unmarshal(raw, e); err != nil {
		return fmt.Errorf("an error that cannot be read: %w", err)
	}
	switch {
	case key != "":
		s.answer(key, protocol.Ack{}, e)
	case e.Code == protocol.UnsupportedProtocol:
		return &permanentError{e}
	case e.Code == protocol.TooFarBehind:
		return e
	}
	return nil
}
