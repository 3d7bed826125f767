package auth

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"strings"

	"github.com/dunglas/httpsfv"
)

// signatureBase is the text a signature is over (RFC 9421, 2.5): a line for each covered component, and one with the parameters.
// value answers what a component is in the request.
func signatureBase(covered httpsfv.InnerList, value func(name string) (string, bool)) ([]byte, error) {
	var b strings.Builder
	for _, item := range covered.Items {
		id, err := httpsfv.Marshal(item)
		if err != nil {
			return nil, refused("Signature-Input: a component cannot be written: %v", err)
		}
		name, _ := item.Value.(string)
		v, ok := value(name)
		// A line break within a value could pass for the next component's line.
		if !ok || strings.ContainsAny(v, "\r\n") {
			return nil, refused("Signature-Input: covers %s, which cannot be verified here", id)
		}
		b.WriteString(id + ": " + v + "\n")
	}
	params, err := httpsfv.Marshal(covered)
	if err != nil {
		return nil, refused("Signature-Input: its parameters cannot be written: %v", err)
	}
	b.WriteString(`"@signature-params": ` + params)
	return []byte(b.String()), nil
}

// component is the value of a component of a request whose query is query; false when the request has none. Of what is derived from the
// request's target only path and query can be told: the host is rewritten on the way.
func component(r *http.Request, query, name string) (string, bool) {
	switch name {
	case "@method":
		return r.Method, true
	case "@path":
		return normalPath(r.URL.EscapedPath()), true
	case "@query":
		return "?" + query, true
	}
	if strings.HasPrefix(name, "@") {
		return "", false
	}
	values := r.Header.Values(name)
	if len(values) == 0 || strings.ToLower(name) != name {
		return "", false
	}
	trimmed := make([]string, len(values))
	for i, v := range values {
		trimmed[i] = strings.TrimSpace(v)
	}
	return strings.Join(trimmed, ", "), true
}

// checkDigest checks that the Content-Digest header has the body's SHA-256 (RFC 9530). Digests by other algorithms are passed over.
func checkDigest(h http.Header, body []byte) error {
	d, err := dictionary(h, "Content-Digest")
	if err != nil {
		return err
	}
	member, _ := d.Get("sha-256")
	item, _ := member.(httpsfv.Item)
	digest, ok := item.Value.([]byte)
	if !ok {
		return refused("Content-Digest: has no sha-256")
	}
	sum := sha256.Sum256(body)
	if subtle.ConstantTimeCompare(sum[:], digest) != 1 {
		return refused("Content-Digest: sha-256 is not the body's")
	}
	return nil
}

// normalPath is an escaped path in RFC 3986 normal form: nothing escaped that a path may hold, capital digits in what is. A gateway that
// hands on the path decoded (API Gateway does) and one that does not come to the same.
func normalPath(escaped string) string {
	if escaped == "" {
		return "/"
	}
	return normal(escaped, pathByte)
}

// normal writes text with an escape for each byte that is not plain, undoing the escapes of those that are. What is escaped
// and not plain stays so: %2F never becomes a slash.
func normal(s string, plain func(c byte) bool) string {
	const digits = "0123456789ABCDEF"
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		c, escaped := s[i], false
		if c == '%' && i+2 < len(s) {
			hi, lo := strings.IndexByte(digits, upper(s[i+1])), strings.IndexByte(digits, upper(s[i+2]))
			if hi >= 0 && lo >= 0 {
				c, escaped = byte(hi<<4|lo), true
				i += 2
			}
		}
		if plain(c) || !escaped && reserved(c) {
			b.WriteByte(c)
			continue
		}
		b.WriteByte('%')
		b.WriteByte(digits[c>>4])
		b.WriteByte(digits[c&15])
	}
	return b.String()
}

func upper(c byte) byte {
	if 'a' <= c && c <= 'z' {
		return c - 'a' + 'A'
	}
	return c
}

// queryByte says whether a byte means the same in a query escaped and not (RFC 3986, 2.3).
func queryByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("-._~", c) >= 0
}

// pathByte says whether a byte may stand in a segment of a path as it is.
func pathByte(c byte) bool { return queryByte(c) || strings.IndexByte("!$&'()*+,;=:@", c) >= 0 }

// reserved says whether a byte that came as it is may stay so.
func reserved(c byte) bool { return strings.IndexByte("!$&'()*+,;=:@/?", c) >= 0 }
