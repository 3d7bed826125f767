package httpapi

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/chipschat/chips-aws/shared/attachment"
	"github.com/chipschat/chips-aws/shared/managed"
	"github.com/chipschat/chips-aws/shared/protocol"
)

// maxBody is the most a JSON body may have, in bytes. An event has 96 KB at most as Chips writes it, but JSON that escapes every
// character is six times as long.
const maxBody = 1 << 20

// readBody reads the whole body, which a signature may cover, whatever its content type.
func (c *call) readBody(w http.ResponseWriter) error {
	if c.r.Body == nil {
		return nil
	}
	most := int64(maxBody)
	switch {
	case c.route.takesFile():
		most = attachment.MaxBytes
	case c.route.method == http.MethodPut && strings.HasSuffix(c.route.pattern, "/context"):
		most = managed.MaxBody
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, c.r.Body, most))
	var long *http.MaxBytesError
	switch {
	case errors.As(err, &long):
		return protocol.Refuse(protocol.TooLarge, "the body has more than %d bytes", most)
	case err != nil:
		return protocol.Refuse(protocol.InvalidRequest, "the body ends before its time")
	}
	c.body = body
	return nil
}

// readKey reads the Idempotency-Key header.
func (c *call) readKey() error {
	keys := c.r.Header.Values("Idempotency-Key")
	switch {
	case len(keys) == 0:
		return nil
	case len(keys) > 1:
		return protocol.Refuse(protocol.InvalidRequest, "Idempotency-Key is given more than once")
	case keys[0] == "" || len(keys[0]) > protocol.MaxKey:
		return protocol.Refuse(protocol.InvalidRequest, "Idempotency-Key has %d bytes: it takes 1 to %d", len(keys[0]), protocol.MaxKey)
	case !utf8.ValidString(keys[0]):
		return protocol.Refuse(protocol.InvalidRequest, "Idempotency-Key is not UTF-8")
	}
	c.key = keys[0]
	return nil
}

// read reads the body as a T: one JSON object, fields to the letter, unknown ones dropped. No body is an object without fields, so that
// a field that has to be there is what is asked for.
func read[T any](c *call) (T, error) {
	var v T
	if len(bytes.TrimSpace(c.body)) == 0 {
		return v, nil
	}
	if err := protocol.ReadObject(protocol.InvalidRequest, "the body", c.body, &v); err != nil {
		return v, err
	}
	return v, nil
}
