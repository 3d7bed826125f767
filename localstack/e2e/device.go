package main

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/chipschat/chips-aws/shared/client"
)

// pair makes a device of the person that a pairing code was given to, and answers how it signs.
func (t *town) pair(ctx context.Context, code string) (client.Credential, error) {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, err
	}
	in := map[string]string{"pairing_code": code, "public_key": base64.RawURLEncoding.EncodeToString(public), "kind": "phone", "time_zone": "Asia/Kolkata"}
	var out struct {
		DeviceID string `json:"device_id"`
	}
	if err := t.as(nil).Do(ctx, http.MethodPost, "/v1/devices", in, &out); err != nil {
		return nil, err
	}
	return func(req *http.Request, body []byte) error { return sign(req, body, out.DeviceID, private) }, nil
}

// sign puts a device's signature (RFC 9421) on a request.
func sign(req *http.Request, body []byte, device string, key ed25519.PrivateKey) error {
	parts := [][2]string{{"@method", req.Method}, {"@path", req.URL.EscapedPath()}, {"@query", "?" + req.URL.RawQuery}}
	if len(body) > 0 {
		sum := sha256.Sum256(body)
		digest := "sha-256=:" + base64.StdEncoding.EncodeToString(sum[:]) + ":"
		req.Header.Set("Content-Digest", digest)
		parts = append(parts, [2]string{"content-digest", digest})
	}
	var base strings.Builder
	var names []string
	for _, p := range parts {
		names = append(names, `"`+p[0]+`"`)
		fmt.Fprintf(&base, "%q: %s\n", p[0], p[1])
	}
	params := fmt.Sprintf(`(%s);created=%d;nonce="%s";keyid="%s";alg="ed25519"`, strings.Join(names, " "), time.Now().Unix(), rand.Text(), device)
	base.WriteString(`"@signature-params": ` + params)
	req.Header.Set("Signature-Input", "device="+params)
	req.Header.Set("Signature", "device=:"+base64.StdEncoding.EncodeToString(ed25519.Sign(key, []byte(base.String())))+":")
	return nil
}
