package auth

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/dunglas/httpsfv"

	"github.com/chipschat/chips-aws/shared/protocol"
	"github.com/chipschat/chips-aws/shared/workspace"
)

const (
	// maxAge is how far from now a signature may have been made, either way (contract U-1).
	maxAge = 60 * time.Second
	// maxNonce is the most bytes of a nonce.
	maxNonce = 255
	// maxField is the most bytes of each header of a signature.
	maxField = 4096
)

// signature is one signature of a request, read and not yet checked.
type signature struct {
	// covered are the components with the parameters, as they stand in Signature-Input.
	covered httpsfv.InnerList
	bytes   []byte
	device  string
	nonce   string
	created time.Time
	// expires is zero where the signature does not say.
	expires time.Time
}

// signed says whose device signed a request. Nothing is read before all that can be checked without the device's key has been,
// and the nonce is used up last, by the device alone.
func (s *Service) signed(ctx context.Context, r *http.Request, body []byte) (workspace.Caller, error) {
	sig, err := readSignature(r.Header)
	if err != nil {
		return workspace.Caller{}, err
	}
	now := s.now()
	if err := sig.checkTime(now); err != nil {
		return workspace.Caller{}, err
	}
	if err := sig.checkCovered(r.Header, body); err != nil {
		return workspace.Caller{}, err
	}
	c, err := s.standing(ctx, sig.device)
	if errors.Is(err, errGone) {
		return workspace.Caller{}, refused("Signature-Input: no device has the keyid, or it was taken back")
	}
	if err != nil {
		return workspace.Caller{}, err
	}
	if len(c.PublicKey) != ed25519.PublicKeySize {
		return workspace.Caller{}, fmt.Errorf("the key of %s has %d bytes", c.ID, len(c.PublicKey))
	}
	if err := sig.verify(c.PublicKey, r); err != nil {
		return workspace.Caller{}, err
	}
	if err := s.useNonce(ctx, sig.device, sig.nonce, now); err != nil {
		return workspace.Caller{}, err
	}
	return c.caller(), nil
}

// readSignature reads the first signature whose keyid is a device's: what stands between may add some of its own.
func readSignature(h http.Header) (signature, error) {
	inputs, err := dictionary(h, "Signature-Input")
	if err != nil {
		return signature{}, err
	}
	signatures, err := dictionary(h, "Signature")
	if err != nil {
		return signature{}, err
	}
	for _, label := range inputs.Names() {
		member, _ := inputs.Get(label)
		covered, ok := member.(httpsfv.InnerList)
		if !ok {
			continue
		}
		device, _ := param[string](covered, "keyid")
		if !protocol.ValidID(protocol.PrefixDevice, device) {
			continue
		}
		sig := signature{covered: covered, device: device}
		member, _ = signatures.Get(label)
		item, _ := member.(httpsfv.Item)
		if sig.bytes, ok = item.Value.([]byte); !ok {
			return signature{}, refused("Signature: has no bytes under the label that Signature-Input gives the device's")
		}
		return sig, sig.readParams()
	}
	return signature{}, refused("Signature-Input: no signature whose keyid is a dev_ id")
}

// readParams reads the parameters of the signature and checks their form.
func (sig *signature) readParams() error {
	if alg, _ := param[string](sig.covered, "alg"); alg != "ed25519" {
		return refused(`Signature-Input: alg has to be "ed25519"`)
	}
	created, ok := param[int64](sig.covered, "created")
	if !ok {
		return refused("Signature-Input: created has to be a time in whole seconds")
	}
	sig.created = time.Unix(created, 0)
	if sig.nonce, ok = param[string](sig.covered, "nonce"); !ok || sig.nonce == "" || len(sig.nonce) > maxNonce {
		return refused("Signature-Input: nonce has to be a string of 1 to %d bytes", maxNonce)
	}
	if _, ok := sig.covered.Params.Get("expires"); ok {
		expires, ok := param[int64](sig.covered, "expires")
		if !ok {
			return refused("Signature-Input: expires has to be a time in whole seconds")
		}
		sig.expires = time.Unix(expires, 0)
	}
	return nil
}

func (sig *signature) checkTime(now time.Time) error {
	if age := now.Sub(sig.created); age > maxAge || age < -maxAge {
		return refused("Signature-Input: created is more than %v from now, %s", maxAge, now.UTC().Format(time.RFC3339))
	}
	if !sig.expires.IsZero() && now.After(sig.expires) {
		return refused("Signature-Input: expires is past")
	}
	return nil
}

// checkCovered checks that the signature covers what it must and nothing that cannot be verified here, and that the digest
// it covers is the body's.
func (sig *signature) checkCovered(h http.Header, body []byte) error {
	names := make([]string, 0, len(sig.covered.Items))
	for _, item := range sig.covered.Items {
		name, ok := item.Value.(string)
		if !ok || len(item.Params.Names()) > 0 {
			return refused("Signature-Input: components have to be plain strings, without parameters")
		}
		if slices.Contains(names, name) {
			return refused("Signature-Input: covers a component twice")
		}
		names = append(names, name)
	}
	need := []string{"@method", "@path", "@query"}
	if len(body) > 0 {
		need = append(need, "content-digest")
	}
	for _, n := range need {
		if !slices.Contains(names, n) {
			return refused("Signature-Input: has to cover %q", n)
		}
	}
	if slices.Contains(names, "content-digest") {
		return checkDigest(h, body)
	}
	return nil
}

// verify checks the signature over the request with the device's key. A gateway may have written the escapes of the query in another way than
// they were signed, so the query is tried as it came and in normal form; both say the same.
func (sig *signature) verify(key ed25519.PublicKey, r *http.Request) error {
	raw := r.URL.RawQuery
	for i, query := range []string{raw, normal(raw, queryByte)} {
		if i > 0 && query == raw {
			break
		}
		base, err := signatureBase(sig.covered, func(name string) (string, bool) { return component(r, query, name) })
		if err != nil {
			return err
		}
		if ed25519.Verify(key, base, sig.bytes) {
			return nil
		}
	}
	return refused("Signature: is not the device's over this request")
}

// param is a parameter of a signature, if it has the type.
func param[T any](covered httpsfv.InnerList, name string) (T, bool) {
	v, _ := covered.Params.Get(name)
	t, ok := v.(T)
	return t, ok
}

// dictionary reads a header that is a structured dictionary (RFC 9651).
func dictionary(h http.Header, name string) (*httpsfv.Dictionary, error) {
	values := h.Values(name)
	size := 0
	for _, v := range values {
		size += len(v)
	}
	if size == 0 {
		return nil, refused("%s: is missing", name)
	}
	if size > maxField {
		return nil, refused("%s: has %d bytes, the limit is %d", name, size, maxField)
	}
	d, err := httpsfv.UnmarshalDictionary(values)
	if err != nil {
		return nil, refused("%s: is not a structured field: %v", name, err)
	}
	return d, nil
}
