package session

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/chipschat/chips-aws/shared/delivery"
	"github.com/chipschat/chips-aws/shared/engine"
	"github.com/chipschat/chips-aws/shared/protocol"
	"github.com/chipschat/chips-aws/shared/workspace"
)

// Reply is what the transport does about a frame: it sends Frame, if there is one, and then closes the socket, if Close is a code.
type Reply struct {
	Frame  []byte
	Close  int
	Reason string
}

// Frame handles one text frame of a connection and answers at most one. An error means that nobody is at fault and there is no
// answer (contract U-79): the transport logs it and closes the socket (Reply says so too), and the client comes back and resends.
func (s *Sessions) Frame(ctx context.Context, connID string, c workspace.Caller, raw []byte) (Reply, error) {
	reply, err := s.frame(ctx, connID, c, raw)
	if err != nil {
		return Reply{Close: CloseTryAgain, Reason: "try again"}, err
	}
	return reply, nil
}

func (s *Sessions) frame(ctx context.Context, connID string, c workspace.Caller, raw []byte) (Reply, error) {
	name, frame, bad := protocol.DecodeFrame(raw)
	if bad != nil {
		return refusal(bad, ""), nil
	}
	switch known := s.saidHello(connID); {
	case name == protocol.FramePong:
		return Reply{}, nil // being heard from is all that it is for, which the transport has noted
	case known && name == protocol.FramePing:
		return pong()
	case known && name == protocol.FrameEvent:
		return s.event(ctx, connID, c, frame.(protocol.EventFrame))
	}
	conn, ok, err := s.connection(ctx, connID, c, name != protocol.FrameHello)
	switch {
	case err != nil:
		return Reply{}, fmt.Errorf("read connection %s: %w", connID, err)
	case !ok: // taken back, cut, or past its time
		return Reply{Close: closePolicy, Reason: "this connection is over"}, nil
	case !conn.Hello && name != protocol.FrameHello:
		return refusal(protocol.Refuse(protocol.InvalidFrame, "hello comes first"), ""), nil
	}
	if conn.Hello {
		s.knowHello(connID)
	}
	switch frame := frame.(type) {
	case protocol.ClientHello:
		return s.hello(ctx, conn, c, frame)
	case protocol.Subscribe:
		return s.subscribe(ctx, conn, c, frame)
	case protocol.EventFrame:
		return s.event(ctx, connID, c, frame)
	}
	return pong() // to a ping, the only one left
}

func pong() (Reply, error) { return frameOf(protocol.PingFrame{Frame: protocol.FramePong}) }

// connection reads a connection's row; where frames overtake each other and hello is waited for, a few times.
func (s *Sessions) connection(ctx context.Context, connID string, c workspace.Caller, afterHello bool) (conn Connection, ok bool, err error) {
	for try := 0; ; try++ {
		conn, ok, err = s.get(ctx, c.Workspace, connID)
		ok = ok && !conn.Closing
		if err != nil || !ok || conn.Hello || !afterHello || !s.again(ctx, try) {
			return conn, ok, err
		}
	}
}

// again waits before a refusal that a frame still under way could cure is decided once more; false when it stands.
func (s *Sessions) again(ctx context.Context, try int) bool {
	waits := []time.Duration{100 * time.Millisecond, 250 * time.Millisecond, 600 * time.Millisecond}
	return s.c.Unordered && try < len(waits) && engine.Sleep(ctx, waits[try])
}

// hello notes what a client said of itself and answers who it is.
func (s *Sessions) hello(ctx context.Context, conn Connection, c workspace.Caller, h protocol.ClientHello) (Reply, error) {
	if h.Protocol.Min > protocol.Version || h.Protocol.Max < protocol.Version {
		reply := refusal(protocol.Refuse(protocol.UnsupportedProtocol, "this server speaks versions %d to %d", protocol.Version, protocol.Version), "")
		reply.Close, reply.Reason = closeProtocol, "no protocol version in common"
		return reply, nil
	}
	err := s.update(ctx, &conn, func(conn *Connection) bool {
		if conn.Hello || conn.Closing {
			return false
		}
		conn.Hello, conn.Accepts, conn.Context = true, accepted(h.Accepts), h.Context
		return true
	})
	if errors.Is(err, errStopped) {
		return refusal(protocol.Refuse(protocol.InvalidFrame, "hello was said already"), ""), nil
	}
	if err != nil {
		return Reply{}, err
	}
	s.knowHello(conn.ID)
	now := s.c.Now()
	var e protocol.Event
	known, gone := false, false
	err = s.c.Engine.Read(ctx, c.Workspace, func(st *workspace.State) error {
		h := st.Harness(c.ID)
		known = st.Person(c.ID) != nil || h != nil
		gone = h != nil && h.Gone()
		e = delivery.Hello(st, recipientOf(c), s.c.Server, protocol.NewID(protocol.PrefixEvent, now, entropy()), now)
		return nil
	})
	if err != nil {
		return Reply{}, err
	}
	if !known {
		return Reply{Close: closePolicy, Reason: "you are not in this workspace"}, nil
	}
	if gone { // a socket that opens is the harness's next word (RST-7)
		if _, err := s.c.Engine.Do(ctx, c.Workspace, workspace.OfChips(c.Workspace, &workspace.BackDraft{HarnessID: c.ID})); err != nil {
			return Reply{}, err
		}
	}
	frame, err := EventFrame(e)
	return Reply{Frame: frame}, err
}

// optional are the words a client may accept (HEL-10), ping of contract U-135, and batches; others are not kept.
var optional = []string{"events", "restart", "context", "models", "heartbeats", "context_windows", "jobs", "ping", "batches"}

func accepted(words []string) (known []string) {
	for _, w := range optional {
		if slices.Contains(words, w) {
			known = append(known, w)
		}
	}
	return known
}

// event decides a write and answers its ack, or the error that names its key.
func (s *Sessions) event(ctx context.Context, connID string, c workspace.Caller, f protocol.EventFrame) (Reply, error) {
	e, bad := protocol.DecodeClient(f.Event)
	if bad != nil {
		err := s.c.Engine.Read(ctx, c.Workspace, func(st *workspace.State) error {
			bad = workspace.Unreadable(st, c, e, bad)
			return nil
		})
		return refusal(bad, e.IdempotencyKey), err
	}
	for try := 0; ; try++ {
		out, err := s.c.Engine.Do(ctx, c.Workspace, workspace.Command{By: c, Connection: connID, Draft: e})
		if err == nil {
			return s.written(ctx, connID, c, out)
		}
		var refused *protocol.Error
		if !errors.As(err, &refused) || refused.Code == protocol.Internal || refused.Code == protocol.Busy {
			return Reply{}, fmt.Errorf("%s: %w", e.Type, err)
		}
		if !curable(e, refused) || !s.again(ctx, try) {
			return refusal(refused, e.IdempotencyKey), nil
		}
	}
}

// written answers a write with its ack; and with the receipt behind it where a person spoke into a room in which a run is going (RCPT-1).
// The transport sends one answer, the last frame, so the ack is posted then. Where that fails the ack is the answer, which may
// come twice, and there is no receipt.
func (s *Sessions) written(ctx context.Context, connID string, c workspace.Caller, out engine.Outcome) (Reply, error) {
	ack := out.Ack()
	ack.Frame = "ack"
	reply, err := frameOf(ack)
	if err != nil || c.Kind != protocol.KindPerson || out.Duplicate || out.NothingToDo() {
		return reply, err
	}
	var disposition string
	err = s.c.Engine.ReadWarm(ctx, c.Workspace, func(st *workspace.State) error {
		disposition = st.Disposition(out.Events[out.Commit.Primary])
		return nil
	})
	if err != nil || disposition == "" {
		return reply, nil // what is written is acked in any case
	}
	receipt, err := ReceiptFrame(ack.IdempotencyKey, disposition)
	if err != nil || s.post(ctx, connID, reply.Frame) != nil {
		return reply, nil
	}
	return Reply{Frame: receipt}, nil
}

// curable says whether a frame of the same client that is still under way could make the refusal go: the start of the run.
func curable(e protocol.Event, refused *protocol.Error) bool {
	return e.RunID != "" && refused.Code == protocol.NotFound
}

// refusal is an error frame that answers the write under key, or no write when key is "".
func refusal(e *protocol.Error, key string) Reply {
	b, _ := json.Marshal(protocol.NewErrorFrame(e, key)) // texts of ours and a key that was read: always writable
	return Reply{Frame: b}
}

func frameOf(v any) (Reply, error) {
	b, err := json.Marshal(v)
	return Reply{Frame: b}, err
}

// EventFrame is an event in an event frame.
func EventFrame(e protocol.Event) ([]byte, error) {
	b, err := e.Append(append(make([]byte, 0, 1024), openEvent...))
	if err != nil {
		return nil, err
	}
	return append(b, '}'), nil
}
