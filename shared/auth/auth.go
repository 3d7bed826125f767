package auth

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/chipschat/chips-aws/shared/engine"
	"github.com/chipschat/chips-aws/shared/protocol"
	"github.com/chipschat/chips-aws/shared/workspace"
)

// Config is what a Service is made of.
type Config struct {
	Rows engine.Rows
	// AdminToken is the operator's; "" is none, and then nobody is the operator.
	AdminToken string
	// PersonKeys says whether people's bearer keys are made and taken (contract U-2).
	PersonKeys bool
	// AcceptURLToken says whether /v1/ws?token= is still taken.
	AcceptURLToken bool
	// TicketTTL is how long a ticket is good; 0 is 30 s.
	TicketTTL time.Duration
	// Now is the clock.
	Now func() time.Time
	Log *slog.Logger
}

// Service knows credentials. It holds nothing but its configuration and is safe for use by many goroutines.
type Service struct {
	rows       engine.Rows
	admin      *[sha256.Size]byte
	personKeys bool
	urlToken   bool
	ticketTTL  time.Duration
	now        func() time.Time
	log        *slog.Logger
}

// New makes a Service; Rows, Now and Log have to be given.
func New(c Config) *Service {
	s := &Service{
		rows: c.Rows, personKeys: c.PersonKeys, urlToken: c.AcceptURLToken, ticketTTL: c.TicketTTL, now: c.Now, log: c.Log,
	}
	if c.AdminToken != "" {
		sum := sha256.Sum256([]byte(c.AdminToken))
		s.admin = &sum
	}
	if s.ticketTTL == 0 {
		s.ticketTTL = 30 * time.Second
	}
	return s
}

// adminCredential is what the admin token goes by where a credential's id is asked for.
const adminCredential = "admin"

// Authenticate says who sent a request, by its Authorization header (admin token, harness token, person's key) or else by its
// device's signature. body is the request's whole body, which r.Body need not hold any more.
// The error is a *protocol.Error with code unauthorized that says what is wrong with the credential; any other error means
// that nobody could tell, and says nothing about the credential.
func (s *Service) Authenticate(ctx context.Context, r *http.Request, body []byte) (workspace.Caller, error) {
	switch values := r.Header.Values("Authorization"); {
	case len(values) > 1:
		return workspace.Caller{}, refused("Authorization: sent more than once")
	case len(values) == 1:
		return s.bearerHeader(ctx, values[0])
	case r.Header.Get("Signature-Input") != "" || r.Header.Get("Signature") != "":
		return s.signed(ctx, r, body)
	}
	return workspace.Caller{}, refused("no credential: send Authorization: Bearer, or sign as a device")
}

// Upgrade says whose socket is to be opened: by the Authorization header of the upgrade, by the ticket in its query, or by the token there,
// the first of them that is not "". A ticket is spent by it, so it is to be called only for an upgrade that is otherwise in order.
// Errors are as those of Authenticate.
func (s *Service) Upgrade(ctx context.Context, authorization, ticket, token string) (workspace.Caller, error) {
	switch {
	case authorization != "":
		c, err := s.bearerHeader(ctx, authorization)
		if err == nil && c.Kind == protocol.KindSystem {
			return workspace.Caller{}, refused("Authorization: the admin token opens no socket")
		}
		return c, err
	case ticket != "":
		return s.SpendTicket(ctx, ticket)
	case token != "":
		return s.urlBearer(ctx, token)
	}
	return workspace.Caller{}, refused("no credential: open the socket with ?ticket= from POST /v1/socket-tickets, or a harness's Authorization: Bearer")
}

// urlBearer takes a harness's token out of the socket's URL, which URLs' logs make a bad place for it.
func (s *Service) urlBearer(ctx context.Context, token string) (workspace.Caller, error) {
	if !s.urlToken {
		return workspace.Caller{}, refused("?token= is no longer taken: open the socket with ?ticket= from POST /v1/socket-tickets")
	}
	c, err := s.bearer(ctx, token)
	if err != nil {
		return workspace.Caller{}, err
	}
	if c.Kind != protocol.KindHarness {
		return workspace.Caller{}, refused("?token= takes a harness's token only")
	}
	s.log.WarnContext(ctx, "a socket was opened by ?token=, which the next release refuses: use a ticket",
		"workspace_id", c.Workspace, "harness_id", c.ID, "token_id", c.Credential)
	return c, nil
}

// bearerHeader reads an Authorization header.
func (s *Service) bearerHeader(ctx context.Context, header string) (workspace.Caller, error) {
	scheme, secret, _ := strings.Cut(header, " ")
	secret = strings.Trim(secret, " ")
	if !strings.EqualFold(scheme, "Bearer") || secret == "" {
		return workspace.Caller{}, refused("Authorization: want Bearer and a token")
	}
	return s.bearer(ctx, secret)
}

// bearer says whose secret it is.
func (s *Service) bearer(ctx context.Context, secret string) (workspace.Caller, error) {
	hash := sha256.Sum256([]byte(secret))
	if s.admin != nil && subtle.ConstantTimeCompare(hash[:], s.admin[:]) == 1 {
		return workspace.Caller{Kind: protocol.KindSystem, ID: protocol.SystemID, Credential: adminCredential}, nil
	}
	id, ok := credentialOf(secret)
	if !ok {
		return workspace.Caller{}, refused("the token is not one of Chips'")
	}
	c, err := s.standing(ctx, id)
	if err != nil {
		if errors.Is(err, errGone) {
			return workspace.Caller{}, refused("the token is unknown or was taken back")
		}
		return workspace.Caller{}, err
	}
	if subtle.ConstantTimeCompare(hash[:], c.Hash) != 1 {
		return workspace.Caller{}, refused("the token is unknown or was taken back")
	}
	return c.caller(), nil
}

// refused is the answer to a credential that does not stand. The words never hold a secret.
func refused(format string, args ...any) error {
	return protocol.Refuse(protocol.Unauthorized, format, args...)
}
