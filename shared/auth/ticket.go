package auth

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/chipschat/chips-aws/shared/engine"
	"github.com/chipschat/chips-aws/shared/protocol"
	"github.com/chipschat/chips-aws/shared/workspace"
)

// once is the row of what is used once, a ticket or a pairing code: by whose right, and until when.
type once struct {
	// Credential is the one a ticket was got with.
	Credential string `json:"credential,omitzero"`
	// Workspace and Person are who a pairing code is for.
	Workspace string        `json:"workspace,omitzero"`
	Person    string        `json:"person,omitzero"`
	Until     protocol.Time `json:"until"`
}

// errSpent says that there is nothing to spend: never issued, spent, or past its time.
var errSpent = errors.New("nothing to spend")

// IssueTicket makes a ticket that opens one socket as the caller, and says for how many whole seconds it is good (1 at least).
// The admin token gets none (forbidden).
func (s *Service) IssueTicket(ctx context.Context, caller workspace.Caller) (ticket string, expiresIn int, err error) {
	if caller.Kind == protocol.KindSystem {
		return "", 0, protocol.Refuse(protocol.Forbidden, "the admin token opens no socket")
	}
	ticket = random()
	err = s.keepOnce(ctx, ticketPK(ticket), once{Credential: caller.Credential}, s.ticketTTL)
	// A row of that name can only be this call's own, written by a try whose answer was lost: no two tickets are alike.
	if err != nil && !errors.Is(err, engine.ErrCondition) {
		return "", 0, fmt.Errorf("keep ticket: %w", err)
	}
	return ticket, max(1, int(s.ticketTTL/time.Second)), nil
}

// SpendTicket answers whom a ticket lets in, once. Errors are as those of Authenticate; after any the ticket may be spent.
func (s *Service) SpendTicket(ctx context.Context, ticket string) (workspace.Caller, error) {
	if b, err := base64.RawURLEncoding.Strict().DecodeString(ticket); err != nil || len(b) != 32 {
		return workspace.Caller{}, refused("ticket: not one of Chips'")
	}
	t, err := s.spend(ctx, ticketPK(ticket))
	if errors.Is(err, errSpent) {
		return workspace.Caller{}, refused("ticket: unknown, used already, or past its %v", s.ticketTTL)
	}
	if err != nil {
		return workspace.Caller{}, fmt.Errorf("spend ticket: %w", err)
	}
	c, err := s.standing(ctx, t.Credential)
	if errors.Is(err, errGone) {
		return workspace.Caller{}, refused("ticket: the credential it was got with was taken back")
	}
	if err != nil {
		return workspace.Caller{}, err
	}
	return c.caller(), nil
}

func ticketPK(ticket string) string { return "T#" + hashed(ticket) }

// keepOnce writes the row of something that is used once; it fails with engine.ErrCondition when there is one already.
func (s *Service) keepOnce(ctx context.Context, pk string, o once, ttl time.Duration) error {
	until := s.now().Add(ttl)
	o.Until = protocol.At(until)
	body, err := json.Marshal(o)
	if err != nil {
		return err
	}
	_, err = s.rows.Put(ctx, engine.Row{PK: pk, SK: only, Body: body, Expires: until}, engine.Absent)
	return err
}

// spend takes a row that is used once, or fails with errSpent. The row was written once, so it is at revision 1 until it is
// gone: of many at once, one delete finds it.
func (s *Service) spend(ctx context.Context, pk string) (once, error) {
	row, err := s.rows.Delete(ctx, pk, only, engine.IfRev(1))
	if errors.Is(err, engine.ErrCondition) {
		return once{}, errSpent
	}
	if err != nil {
		return once{}, err
	}
	var o once
	if err := json.Unmarshal(row.Body, &o); err != nil {
		return once{}, fmt.Errorf("decode: %w", err)
	}
	if s.now().After(o.Until.Time) {
		return once{}, errSpent
	}
	return o, nil
}
