package attachment

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/chipschat/chips-aws/shared/delivery"
	"github.com/chipschat/chips-aws/shared/engine"
	"github.com/chipschat/chips-aws/shared/protocol"
)

// Links makes URLs for a credential, from now on good for as long as URLs are.
func (s *Service) Links(ctx context.Context, credential string) (delivery.Links, error) {
	keys, err := s.signingKeys(ctx, keysKnown)
	if err != nil {
		return nil, err
	}
	base, err := s.c.URL(ctx)
	if err != nil {
		return nil, fmt.Errorf("find out where clients reach us: %w", err)
	}
	until := ceil(s.c.Now().Add(s.c.URLFor))
	exp := strconv.FormatInt(until.Unix(), 10)
	return func(id string) (string, protocol.Time) {
		q := "?exp=" + exp + "&tok=" + url.QueryEscape(credential) + "&sig=" + sign(keys[0].Secret, id, exp, credential)
		return base + "/v1/attachments/" + id + q, protocol.At(until)
	}, nil
}

// ceil is a time at a whole second: what a URL says it is good until.
func ceil(t time.Time) time.Time {
	if whole := t.Truncate(time.Second); whole.Before(t) {
		return whole.Add(time.Second)
	}
	return t
}

// checkURL checks a file's URL.
func (s *Service) checkURL(ctx context.Context, id, exp, tok, sig string) error {
	return s.check(ctx, exp, sig, id, exp, tok)
}

// putURL is where the bytes of an upload are put, on our own API.
func (s *Service) putURL(ctx context.Context, id string, until time.Time) (string, error) {
	keys, err := s.signingKeys(ctx, keysKnown)
	if err != nil {
		return "", err
	}
	base, err := s.c.URL(ctx)
	if err != nil {
		return "", fmt.Errorf("find out where clients reach us: %w", err)
	}
	exp := strconv.FormatInt(until.Unix(), 10)
	return base + "/v1/uploads/" + id + "/bytes?exp=" + exp + "&sig=" + sign(keys[0].Secret, "put", id, exp), nil
}

func (s *Service) checkPutURL(ctx context.Context, id, exp, sig string) error {
	return s.check(ctx, exp, sig, "put", id, exp)
}

// check checks that parts were signed by a key that is taken, and that exp is not past.
func (s *Service) check(ctx context.Context, exp, sig string, parts ...string) error {
	at, err := strconv.ParseInt(exp, 10, 64)
	if err != nil || s.c.Now().After(time.Unix(at, 0)) {
		return badURL()
	}
	// A key that is not known here was made a moment ago, by another.
	for _, known := range []time.Duration{keysKnown, keysFresh} {
		keys, err := s.signingKeys(ctx, known)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(keys, func(k signingKey) bool { return hmac.Equal([]byte(sign(k.Secret, parts...)), []byte(sig)) }) {
			return nil
		}
	}
	return badURL()
}

// badURL is all that is said of a URL that is not good.
func badURL() *protocol.Error {
	return protocol.Refuse(protocol.Forbidden, "the URL is not good, or no longer")
}

// sign is the HMAC-SHA256 of parts, in hex.
func sign(secret []byte, parts ...string) string {
	h := hmac.New(sha256.New, secret)
	for _, p := range parts {
		h.Write([]byte(p))
		h.Write([]byte{'\n'})
	}
	return hex.EncodeToString(h.Sum(nil))
}

const (
	keysPK, keysSK = "Y#", "keys"
	// keyFor is how long a key signs.
	keyFor = 30 * 24 * time.Hour
	// keysKnown is how long keys are known without being read again, and keysFresh how soon they are read again for a signature that
	// is not by one of them.
	keysKnown, keysFresh = 5 * time.Minute, time.Second
)

// signingKey is one of the keys that URLs are signed with.
type signingKey struct {
	Secret []byte        `json:"secret"`
	Made   protocol.Time `json:"made"`
}

// keyring are the keys as they were read.
type keyring struct {
	mu   sync.Mutex
	keys []signingKey
	at   time.Time
}

// signingKeys are the key that signs and the one before it, as they were read within known.
func (s *Service) signingKeys(ctx context.Context, known time.Duration) ([]signingKey, error) {
	s.keys.mu.Lock()
	defer s.keys.mu.Unlock()
	now := s.c.Now()
	if len(s.keys.keys) > 0 && now.Sub(s.keys.at) < known {
		return s.keys.keys, nil
	}
	for range tries {
		row, ok, err := s.c.Rows.Get(ctx, keysPK, keysSK)
		if err != nil {
			return nil, fmt.Errorf("read signing keys: %w", err)
		}
		var keys []signingKey
		cond := engine.Absent
		if ok {
			cond = engine.IfRev(row.Rev)
			if err := json.Unmarshal(row.Body, &keys); err != nil {
				return nil, fmt.Errorf("decode signing keys: %w", err)
			}
		}
		if len(keys) > 0 && now.Sub(keys[0].Made.Time) < keyFor {
			s.keys.keys, s.keys.at = keys, now
			return keys, nil
		}
		next := signingKey{Secret: make([]byte, 32), Made: protocol.At(now)}
		_, _ = rand.Read(next.Secret) // never fails
		keys = append([]signingKey{next}, keys...)
		body, err := json.Marshal(keys[:min(2, len(keys))])
		if err != nil {
			return nil, err
		}
		if _, err := s.c.Rows.Put(ctx, engine.Row{PK: keysPK, SK: keysSK, Body: body}, cond); err != nil && !errors.Is(err, engine.ErrCondition) {
			return nil, fmt.Errorf("write signing keys: %w", err)
		}
	}
	return nil, fmt.Errorf("signing keys: %w", engine.ErrBusy)
}
