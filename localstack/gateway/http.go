package gateway

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"io"
	"mime"
	"net/http"
	"runtime/debug"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/aws/aws-lambda-go/events"

	"github.com/chipschat/chips-aws/shared/protocol"
)

// serveHTTP passes a request to the HTTP function and its answer back.
func (g *Gateway) serveHTTP(w http.ResponseWriter, r *http.Request) {
	id := newID()
	w.Header().Set(requestIDHeader, id) // the function's own stands over it
	defer g.recoverTo(func() {
		refuse(w, http.StatusInternalServerError, protocol.Refuse(protocol.Internal, "request %s failed", id))
	})
	e := g.httpEvent(r, id)
	body, done, err := g.readBody(w, r)
	defer done()
	var tooLarge *http.MaxBytesError
	switch {
	case errors.Is(err, errBusy):
		g.busy(w)
		return
	case errors.As(err, &tooLarge):
		w.Header().Set("Connection", "close")
		refuse(w, http.StatusRequestEntityTooLarge, protocol.Refuse(protocol.TooLarge, "a request body is %d bytes at most", g.cfg.BodyLimit))
		return
	case err != nil:
		refuse(w, http.StatusBadRequest, protocol.Refuse(protocol.InvalidRequest, "the request body could not be read"))
		return
	}
	if isText(r.Header.Get("Content-Type")) && utf8.Valid(body) {
		e.Body = string(body)
	} else if len(body) > 0 {
		e.Body, e.IsBase64Encoded = base64.StdEncoding.EncodeToString(body), true
	}
	ctx, cancel := context.WithTimeout(r.Context(), httpWait)
	defer cancel()
	select {
	case g.places <- struct{}{}:
	case <-ctx.Done():
		g.busy(w)
		return
	}
	answer, err := g.call(ctx, e)
	if err != nil {
		g.cfg.Log.ErrorContext(ctx, "the HTTP function failed", "request_id", id, "error", err)
		refuse(w, http.StatusInternalServerError, protocol.Refuse(protocol.Internal, "request %s failed", id))
		return
	}
	g.writeAnswer(w, id, answer)
}

// smallBody is how long a body may be that anybody may send at any time, in bytes, and largeAtOnce how many longer ones are in memory at
// once: nobody knows yet who sends them.
const (
	smallBody   = 128 << 10
	largeAtOnce = 8
)

var errBusy = errors.New("too much at once")

// readBody reads a request's body. A long one holds a place until done is called.
func (g *Gateway) readBody(w http.ResponseWriter, r *http.Request) (body []byte, done func(), err error) {
	in, done := http.MaxBytesReader(w, r.Body, g.cfg.BodyLimit), func() {}
	var b bytes.Buffer
	if _, err = io.CopyN(&b, in, smallBody); errors.Is(err, io.EOF) {
		err = nil
	} else if err == nil {
		wait := time.NewTimer(httpWait)
		defer wait.Stop()
		select {
		case g.large <- struct{}{}:
			done = func() { <-g.large }
		case <-wait.C:
			return nil, done, errBusy
		}
		_, err = io.Copy(&b, in)
	}
	return b.Bytes(), done, err
}

func (g *Gateway) busy(w http.ResponseWriter) {
	w.Header().Set("Retry-After", "1")
	w.Header().Set("Connection", "close") // what is left of the body is not read
	refuse(w, http.StatusServiceUnavailable, protocol.Refuse(protocol.Busy, "too much at once: try again in a second"))
}

// call has a request handled, which holds a place until it is. The answer may take as long as it will to be written.
func (g *Gateway) call(ctx context.Context, e events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
	defer func() { <-g.places }()
	return g.handlers.HTTP(ctx, e)
}

func (g *Gateway) writeAnswer(w http.ResponseWriter, id string, answer events.APIGatewayV2HTTPResponse) {
	body := answer.Body
	if answer.IsBase64Encoded {
		raw, err := base64.StdEncoding.DecodeString(body)
		if err != nil {
			g.cfg.Log.Error("the HTTP function's answer cannot be read", "request_id", id, "error", err)
			refuse(w, http.StatusInternalServerError, protocol.Refuse(protocol.Internal, "request %s failed", id))
			return
		}
		body = string(raw)
	}
	h := w.Header()
	for name, value := range answer.Headers {
		h.Set(name, value)
	}
	for name, values := range answer.MultiValueHeaders {
		h[http.CanonicalHeaderKey(name)] = values
	}
	for _, c := range answer.Cookies {
		h.Add("Set-Cookie", c)
	}
	w.WriteHeader(answer.StatusCode)
	_, _ = io.WriteString(w, body)
}

// isText says whether HTTP APIs pass a body of this type as it is; others go as base64.
func isText(contentType string) bool {
	media, _, err := mime.ParseMediaType(contentType)
	return err == nil && (strings.HasPrefix(media, "text/") || strings.HasSuffix(media, "json") ||
		strings.HasSuffix(media, "xml") || strings.HasSuffix(media, "javascript"))
}

// recoverTo keeps a panic from taking the process down: it is logged, and then run answers whoever waited. It is deferred.
func (g *Gateway) recoverTo(then func()) {
	if p := recover(); p != nil {
		g.cfg.Log.Error("a function panicked", "panic", p, "stack", string(debug.Stack()))
		then()
	}
}
