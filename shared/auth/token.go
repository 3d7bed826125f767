package auth

import (
	"context"

	"github.com/chipschat/chips-aws/shared/protocol"
)

// Token is what may be known of a harness's token after it was shown.
type Token struct {
	ID       string        `json:"token_id"`
	IssuedAt protocol.Time `json:"issued_at"`
}

// IssueToken makes a token for a harness; only its hash is kept, so this is the one time it can be shown. The error is not_found
// for a harness that was removed.
func (s *Service) IssueToken(ctx context.Context, workspace, harness string) (token, tokenID string, err error) {
	return s.issueSecret(ctx, protocol.PrefixToken, workspace, protocol.KindHarness, harness)
}

// RevokeToken takes a harness's token back at once; not_found when it has none of that id. Its sockets are the caller's to close.
func (s *Service) RevokeToken(ctx context.Context, workspace, harness, tokenID string) error {
	if !protocol.ValidID(protocol.PrefixToken, tokenID) {
		return protocol.Refuse(protocol.NotFound, "token_id: not a tok_ id")
	}
	return s.revoke(ctx, workspace, harness, tokenID)
}

// Tokens answers the tokens of a harness that stand, oldest first.
func (s *Service) Tokens(ctx context.Context, workspace, harness string) ([]Token, error) {
	held, err := s.standingOf(ctx, workspace, harness, protocol.PrefixToken)
	if err != nil {
		return nil, err
	}
	tokens := make([]Token, len(held))
	for i, c := range held {
		tokens[i] = Token{ID: c.ID, IssuedAt: c.Issued}
	}
	return tokens, nil
}

// IssueKey makes a bearer key for a person, shown this once; all "" where keys are switched off (contract U-2). The error is not_found
// for a person who was removed.
func (s *Service) IssueKey(ctx context.Context, workspace, person string) (key, keyID string, err error) {
	if !s.personKeys {
		return "", "", nil
	}
	return s.issueSecret(ctx, prefixKey, workspace, protocol.KindPerson, person)
}

func (s *Service) issueSecret(ctx context.Context, prefix, workspace string, kind protocol.ActorKind, holder string) (secret, id string, err error) {
	id = s.newID(prefix)
	secret, hash := mint(id)
	c := credential{ID: id, Workspace: workspace, Kind: kind, Holder: holder, Issued: protocol.At(s.now()), Hash: hash}
	if err := s.issue(ctx, c); err != nil {
		return "", "", err
	}
	return secret, id, nil
}
