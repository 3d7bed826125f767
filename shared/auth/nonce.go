package auth

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/chipschat/chips-aws/shared/engine"
	"github.com/chipschat/chips-aws/shared/protocol"
)

// nonceTTL is how long a nonce is remembered. A signature is good from maxAge before it says it was made to maxAge after, so no
// request outlives the memory of its nonce.
const nonceTTL = 2 * maxAge

// nonce is the row of a nonce that was used.
type nonce struct {
	// By tells the request that used it from others.
	By    string        `json:"by"`
	Until protocol.Time `json:"until"`
}

// useNonce uses a nonce of a device up, or refuses it when it was used in the last two minutes. In the common case it is one write and
// no read.
func (s *Service) useNonce(ctx context.Context, device, value string, now time.Time) error {
	own := nonce{By: random(), Until: protocol.At(now.Add(nonceTTL))}
	body, err := json.Marshal(own)
	if err != nil {
		return fmt.Errorf("encode nonce: %w", err)
	}
	row := engine.Row{PK: "N#" + device, SK: hashed(value), Body: body, Expires: now.Add(nonceTTL)}
	// The row may go away between a look and a write, when the table clears out what expired, hence a second round.
	for range 2 {
		_, err := s.rows.Put(ctx, row, engine.Absent)
		if err == nil {
			return nil
		}
		if !errors.Is(err, engine.ErrCondition) {
			return fmt.Errorf("write nonce: %w", err)
		}
		found, ok, err := s.rows.Get(ctx, row.PK, row.SK)
		if err != nil {
			return fmt.Errorf("read nonce: %w", err)
		}
		if !ok {
			continue
		}
		var other nonce
		if err := json.Unmarshal(found.Body, &other); err != nil {
			return fmt.Errorf("decode nonce: %w", err)
		}
		if other.By == own.By {
			return nil // ours, by a try whose answer was lost
		}
		if !now.After(other.Until.Time) {
			break
		}
		_, err = s.rows.Put(ctx, row, engine.IfRev(found.Rev))
		if err == nil {
			return nil
		}
		if !errors.Is(err, engine.ErrCondition) {
			return fmt.Errorf("write nonce: %w", err)
		}
		// Somebody used it just now, or it went away.
	}
	return refused("Signature-Input: the device used the nonce in the last two minutes")
}
