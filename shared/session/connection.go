package session

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/chipschat/chips-aws/shared/delivery"
	"github.com/chipschat/chips-aws/shared/engine"
	"github.com/chipschat/chips-aws/shared/protocol"
	"github.com/chipschat/chips-aws/shared/workspace"
)

// Connection is the row of one open socket, X#<workspace> and its connection id. Every write of it is conditional on its revision.
type Connection struct {
	Workspace string `json:"-"`
	ID        string `json:"-"`
	// Kind, Holder and Credential are whose it is: person or harness, a usr_ or hrn_ id, and the token, device or key it came by.
	Kind       protocol.ActorKind `json:"kind"`
	Holder     string             `json:"holder"`
	Credential string             `json:"credential,omitzero"`
	At         protocol.Time      `json:"at"`
	// Hello says that the client has said hello, with the optional frames it takes and its budget for context.
	Hello   bool                    `json:"hello,omitzero"`
	Accepts []string                `json:"accepts,omitzero"`
	Context *protocol.ContextBudget `json:"context,omitzero"`
	// Sub is its subscription, nil while it has none.
	Sub *Subscription `json:"sub,omitzero"`
	// Closing says that the socket is to be closed and could not be: nothing is sent on it any more.
	Closing bool `json:"closing,omitzero"`

	rev          int64
	expires, due time.Time
}

// The states of a subscription.
const (
	Replaying = "replaying"
	Live      = "live"
)

// Subscription is what a connection is sent. See the package's comment for how it goes from replaying to live.
type Subscription struct {
	State string `json:"state"`
	// Generation tells this subscription, and who replays it, from those before.
	Generation string `json:"generation"`
	// Behind is the seq that fan-out left to the replay: it has to come at least so far.
	Behind int64 `json:"behind,omitzero"`
	// LiveFrom is the seq up to which the replay brought it; fan-out sends what is above.
	LiveFrom int64 `json:"live_from,omitzero"`
	// Progress is the seq up to which the replay has sent, -1 for a stream that starts from now. While Sending is above it, somebody
	// is sending (or died sending) what lies between.
	Progress int64 `json:"progress,omitzero"`
	Sending  int64 `json:"sending,omitzero"`
	// Prior is the state of the subscription that this one replaced, while something of it may still be on its way; else "".
	Prior string `json:"prior,omitzero"`
}

// Recipient is the connection as delivery knows it, where a turn may be silent for a while (quiet) and still count as going.
func (c *Connection) Recipient(quiet time.Duration) delivery.Recipient {
	r := delivery.Recipient{Kind: c.Kind, ID: c.Holder, Credential: c.Credential, TurnQuiet: quiet}
	if c.Context != nil {
		r.Budget = *c.Context
	}
	return r
}

// IsLive says whether fan-out sends to the connection.
func (c *Connection) IsLive() bool { return !c.Closing && c.Sub != nil && c.Sub.State == Live }

// IsReplaying says whether a replay is to bring the connection up.
func (c *Connection) IsReplaying() bool {
	return !c.Closing && c.Sub != nil && c.Sub.State == Replaying
}

func connectionsPK(ws string) string { return "X#" + ws }

func decodeConnection(ws string, row engine.Row) (Connection, error) {
	c := Connection{Workspace: ws, ID: row.SK, rev: row.Rev, expires: row.Expires, due: row.Due}
	if err := json.Unmarshal(row.Body, &c); err != nil {
		return c, fmt.Errorf("read connection %s: %w", row.SK, err)
	}
	return c, nil
}

// get answers a connection; false when it has none or its time is over.
func (s *Sessions) get(ctx context.Context, ws, connID string) (Connection, bool, error) {
	row, ok, err := s.c.Rows.Get(ctx, connectionsPK(ws), connID)
	if err != nil || !ok {
		return Connection{}, false, err
	}
	c, err := decodeConnection(ws, row)
	return c, err == nil && s.c.Now().Before(c.expires), err
}

// put writes a connection under a condition.
func (s *Sessions) put(ctx context.Context, c *Connection, cond engine.Cond) error {
	body, err := json.Marshal(c)
	if err != nil {
		return err
	}
	rev, err := s.c.Rows.Put(ctx, engine.Row{
		PK: connectionsPK(c.Workspace), SK: c.ID, Body: body, Expires: c.expires, Due: c.due,
	}, cond)
	if err == nil {
		c.rev = rev
	}
	return err
}

// errStopped is an update's end when what it was about is no longer so.
var errStopped = errors.New("superseded")

// update changes a connection's row: change is shown the row as it is, and again each time somebody else was quicker. It answers
// false to leave the row alone, and the update is errStopped; so it is when the row is gone, and c then has no subscription.
func (s *Sessions) update(ctx context.Context, c *Connection, change func(c *Connection) bool) error {
	for {
		before := *c
		if c.Sub != nil { // a change that is not written must not be seen
			sub := *c.Sub
			c.Sub = &sub
		}
		if !change(c) {
			*c = before
			return errStopped
		}
		err := s.put(ctx, c, engine.IfRev(c.rev))
		if err == nil {
			return nil
		}
		*c = before
		if !errors.Is(err, engine.ErrCondition) {
			return fmt.Errorf("write connection %s: %w", c.ID, err)
		}
		now, ok, err := s.get(ctx, c.Workspace, c.ID)
		if err != nil {
			return err
		}
		if !ok {
			*c = Connection{Workspace: c.Workspace, ID: c.ID}
			return errStopped
		}
		*c = now
	}
}

// List answers the connections of a workspace whose time is not over, in order of their ids. known is what an earlier List answered, or
// nil: what has not changed since is not read anew. A row that cannot be read is passed over and reported.
func (s *Sessions) List(ctx context.Context, ws string, known []Connection) ([]Connection, error) {
	return s.connections(ctx, ws, known, s.c.Rows.Query)
}

func (s *Sessions) connections(ctx context.Context, ws string, known []Connection, read func(context.Context, string, string, int) ([]engine.Row, error)) ([]Connection, error) {
	const page = 1000
	list := make([]Connection, 0, len(known))
	now, after := s.c.Now(), ""
	for {
		rows, err := read(ctx, connectionsPK(ws), after, page)
		if err != nil {
			return nil, fmt.Errorf("read connections of %s: %w", ws, err)
		}
		for _, row := range rows {
			for len(known) > 0 && known[0].ID < row.SK {
				known = known[1:]
			}
			var c Connection
			if len(known) > 0 && known[0].ID == row.SK && known[0].rev == row.Rev {
				c = known[0]
			} else if c, err = decodeConnection(ws, row); err != nil {
				s.c.Log.ErrorContext(ctx, "a connection's row cannot be read", "alarm", true, "error", err)
				continue
			}
			if now.Before(c.expires) {
				list = append(list, c)
			}
		}
		if len(rows) < page {
			return list, nil
		}
		after = rows[len(rows)-1].SK
	}
}

// MarkBehind leaves events up to n to the replay of a connection, unless it is live by now. c is the row as it is afterwards.
func (s *Sessions) MarkBehind(ctx context.Context, c *Connection, n int64) error {
	err := s.update(ctx, c, func(c *Connection) bool {
		if !c.IsReplaying() || c.Sub.Behind >= n {
			return false
		}
		c.Sub.Behind = n
		return true
	})
	if errors.Is(err, errStopped) {
		return nil
	}
	return err
}

// Holders are the people and harnesses of a workspace that have a connection.
func (s *Sessions) Holders(ctx context.Context, ws string) (map[string]bool, error) {
	list, err := s.List(ctx, ws, nil)
	held := map[string]bool{}
	for _, c := range list {
		if !c.Closing {
			held[c.Holder] = true
		}
	}
	return held, err
}

func recipientOf(c workspace.Caller) delivery.Recipient {
	return delivery.Recipient{Kind: c.Kind, ID: c.ID, Credential: c.Credential}
}
