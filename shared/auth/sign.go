package auth

import (
	"crypto/ed25519"
	"crypto/sha256"
	"fmt"
	"net/http"
	"time"

	"github.com/dunglas/httpsfv"
)

// Sign signs a request as a device does, covering its body where it has one. at is the client's clock, and nonce anything the device has
// not used in the last two minutes. It sets Content-Digest, Signature-Input and Signature.
func Sign(r *http.Request, body []byte, device string, key ed25519.PrivateKey, at time.Time, nonce string) error {
	names := []string{"@method", "@path", "@query"}
	if len(body) > 0 {
		sum := sha256.Sum256(body)
		digest := httpsfv.NewDictionary()
		digest.Add("sha-256", httpsfv.NewItem(sum[:]))
		if err := setField(r.Header, "Content-Digest", digest); err != nil {
			return err
		}
		names = append(names, "content-digest")
	}
	covered := httpsfv.InnerList{Params: httpsfv.NewParams()}
	for _, n := range names {
		covered.Items = append(covered.Items, httpsfv.NewItem(n))
	}
	covered.Params.Add("created", at.Unix())
	covered.Params.Add("nonce", nonce)
	covered.Params.Add("keyid", device)
	covered.Params.Add("alg", "ed25519")
	base, err := signatureBase(covered, func(name string) (string, bool) { return component(r, r.URL.RawQuery, name) })
	if err != nil {
		return err
	}
	inputs, signatures := httpsfv.NewDictionary(), httpsfv.NewDictionary()
	inputs.Add("sig1", covered)
	signatures.Add("sig1", httpsfv.NewItem(ed25519.Sign(key, base)))
	if err := setField(r.Header, "Signature-Input", inputs); err != nil {
		return err
	}
	return setField(r.Header, "Signature", signatures)
}

func setField(h http.Header, name string, d *httpsfv.Dictionary) error {
	v, err := httpsfv.Marshal(d)
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	h.Set(name, v)
	return nil
}
