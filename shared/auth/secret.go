package auth

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"

	"github.com/chipschat/chips-aws/shared/protocol"
)

// prefixKey starts the id of a person's bearer key; the other kinds of credential have theirs in protocol.
const prefixKey = "key"

// Sizes of a bearer secret: a credential's id (prefix of 3, underscore, ULID), an underscore, 32 bytes in base64url.
const (
	idLen     = 3 + 1 + 26
	secretLen = idLen + 1 + 43
)

// newID makes an id of the time and of randomness.
func (s *Service) newID(prefix string) string {
	var entropy [10]byte
	_, _ = rand.Read(entropy[:]) // never fails: crypto/rand ends the process instead
	return protocol.NewID(prefix, s.now(), entropy)
}

// random is 32 random bytes in base64url, 43 characters.
func random() string {
	var b [32]byte
	_, _ = rand.Read(b[:])
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// mint makes a bearer secret for a credential, and the hash of it that is kept.
func mint(id string) (secret string, hash []byte) {
	secret = id + "_" + random()
	sum := sha256.Sum256([]byte(secret))
	return secret, sum[:]
}

// credentialOf is the id of the credential that a bearer secret claims to be; false when it has not the form of one.
func credentialOf(secret string) (string, bool) {
	if len(secret) != secretLen || secret[idLen] != '_' {
		return "", false
	}
	id := secret[:idLen]
	return id, protocol.ValidID(protocol.PrefixToken, id) || protocol.ValidID(prefixKey, id)
}

// hashed is the name a secret has in a row's key.
func hashed(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}
