package auth

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/chipschat/chips-aws/shared/engine"
)

const (
	// codeTTL is how long a pairing code is good (contract U-3).
	codeTTL = 10 * time.Minute
	// codeLen is how many characters a code has: 50 bits, of which somebody who tries for all its ten minutes sees next to nothing.
	codeLen = 10
	// codeLetters are Crockford's: none looks like another.
	codeLetters = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
)

// IssuePairingCode makes a code with which a person registers one device within ten minutes: ten letters and digits to be typed, in any
// case, with a hyphen in the middle that may be left out.
func (s *Service) IssuePairingCode(ctx context.Context, workspace, person string) (string, error) {
	var err error
	for range 3 {
		code := newCode()
		err = s.keepOnce(ctx, codePK(code), once{Workspace: workspace, Person: person}, codeTTL)
		if err == nil {
			return code[:codeLen/2] + "-" + code[codeLen/2:], nil
		}
		if !errors.Is(err, engine.ErrCondition) {
			break
		}
		// Taken, or our own whose answer was lost: either way another is as good.
	}
	return "", fmt.Errorf("keep pairing code: %w", err)
}

func newCode() string {
	var b [codeLen]byte
	_, _ = rand.Read(b[:])
	for i := range b {
		b[i] = codeLetters[b[i]%32]
	}
	return string(b[:])
}

// readCode is a code as it was made, from how somebody typed it; false when it cannot be one.
func readCode(typed string) (string, bool) {
	code := strings.NewReplacer("-", "", " ", "", "O", "0", "I", "1", "L", "1").Replace(strings.ToUpper(typed))
	return code, len(code) == codeLen && strings.Trim(code, codeLetters) == ""
}

func codePK(code string) string { return "P#" + hashed(code) }
