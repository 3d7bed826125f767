package apigw

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/aws/aws-lambda-go/events"

	"github.com/chipschat/chips-aws/shared/protocol"
)

// edgeHeader is what the edge adds to each request, over whatever the client sent by that name.
const edgeHeader = "X-Chips-Edge"

// minEdgeSecret is how many characters a secret of the edge has at least: fewer are a mistake.
const minEdgeSecret = 16

// Edge keeps out what walks around the one host in front of both APIs, whose own hosts are open to all.
type Edge struct {
	// secrets are hashes of what may stand in the header; none lets everything in.
	secrets [][sha256.Size]byte
	log     *slog.Logger
}

// NewEdge makes an Edge of the secrets that are taken, parted by commas: the one the edge sends and, while it goes over to another, the
// one before. No text is no edge: everything is let in. The error holds no secret.
func NewEdge(secrets string, log *slog.Logger) (Edge, error) {
	e := Edge{log: log}
	if secrets == "" {
		return e, nil
	}
	for s := range strings.SplitSeq(secrets, ",") {
		if len(s) < minEdgeSecret {
			return Edge{}, fmt.Errorf("a secret of the edge has %d characters, want %d at least", len(s), minEdgeSecret)
		}
		e.secrets = append(e.secrets, sha256.Sum256([]byte(s)))
	}
	return e, nil
}

// passed says whether the header is one the edge writes. How long it takes tells nothing of the secrets.
func (e Edge) passed(header string) bool {
	if len(e.secrets) == 0 {
		return true
	}
	sum, match := sha256.Sum256([]byte(header)), 0
	for _, s := range e.secrets {
		match |= subtle.ConstantTimeCompare(sum[:], s[:])
	}
	return match == 1
}

type (
	authorizer  = func(context.Context, events.APIGatewayCustomAuthorizerRequestTypeRequest) (events.APIGatewayCustomAuthorizerResponse, error)
	httpHandler = func(context.Context, events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error)
)

// Authorize lets an authorizer be asked about upgrades that came by the edge; others are a 401, and no ticket is spent.
func (e Edge) Authorize(next authorizer) authorizer {
	return func(ctx context.Context, r events.APIGatewayCustomAuthorizerRequestTypeRequest) (events.APIGatewayCustomAuthorizerResponse, error) {
		header, err := oneHeader(r, edgeHeader)
		if err == nil && !e.passed(header) {
			err = errors.New("it did not come by the edge")
		}
		if err != nil {
			e.log.InfoContext(ctx, "an upgrade was refused", "why", err)
			return events.APIGatewayCustomAuthorizerResponse{}, refusedUpgrade{}
		}
		return next(ctx, r)
	}
}

// HTTP lets a handler be asked what came by the edge; the rest is a 403.
func (e Edge) HTTP(next httpHandler) httpHandler {
	return func(ctx context.Context, r events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
		name := strings.ToLower(edgeHeader) // as all are in this format
		if !e.passed(r.Headers[name]) {
			e.log.InfoContext(ctx, "a request was refused: it did not come by the edge", "request_id", r.RequestContext.RequestID)
			return refused(protocol.Forbidden, "this host is not the one Chips is reached by"), nil
		}
		delete(r.Headers, name)
		return next(ctx, r)
	}
}
