package httpapi

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/chipschat/chips-aws/shared/engine"
	"github.com/chipschat/chips-aws/shared/protocol"
)

// result is what a request is answered with: a value, or an error that may be shown.
type result struct {
	value any
	err   *protocol.Error
}

// nothing is an answer without a body.
type nothing struct{}

// accepted is the answer to what goes on elsewhere: 202.
type accepted struct{ value any }

// respond writes a result and answers its status.
func (a *api) respond(w http.ResponseWriter, r *http.Request, res result) int {
	if _, empty := res.value.(nothing); empty {
		w.WriteHeader(http.StatusNoContent)
		return http.StatusNoContent
	}
	if file, ok := res.value.(served); ok && res.err == nil {
		status, refused := file.write(w, r)
		if refused == nil {
			return status
		}
		res = result{err: refused}
	}
	status, value := http.StatusOK, res.value
	if asked, ok := value.(accepted); ok {
		status, value = http.StatusAccepted, asked.value
	}
	if res.err != nil {
		status, value = protocol.HTTPStatus(res.err.Code), any(res.err)
	}
	body, err := json.Marshal(value)
	if err != nil {
		a.Log.Error("answer cannot be written", "request_id", w.Header().Get("X-Request-Id"), "error", err.Error())
		status = http.StatusInternalServerError
		body, _ = json.Marshal(fault())
	}
	if status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "1")
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	// Answers hold secrets shown once, and what a caller may see changes.
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	if r.Method == http.MethodHead {
		return status
	}
	_, _ = w.Write(body) // the caller is gone: there is nobody to tell
	return status
}

// show is an error as it may be shown. What is nobody's fault is busy (contract U-79).
func show(err error) *protocol.Error {
	var refusal *protocol.Error
	switch {
	case errors.As(err, &refusal):
		return refusal
	case errors.Is(err, engine.ErrBusy), errors.Is(err, engine.ErrThrottled),
		errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return protocol.Refuse(protocol.Busy, "too much at once: try again in a second")
	}
	return fault()
}

// fault is all that is said of a fault of ours.
func fault() *protocol.Error { return protocol.Refuse(protocol.Internal, "a fault of Chips") }

// corsHeaders are the request headers that a page of another origin may send.
const corsHeaders = "authorization, content-type, content-digest, signature, signature-input"

// allowOrigin lets a browser's page read the answer. No cookie is a credential, so any page may, unless there is an allow-list.
func (a *api) allowOrigin(h http.Header, origin string) {
	h.Set("Access-Control-Expose-Headers", "x-request-id, retry-after, content-disposition, content-range, etag")
	if len(a.Origins) == 0 {
		h.Set("Access-Control-Allow-Origin", "*")
		return
	}
	h.Set("Vary", "Origin")
	if slices.Contains(a.Origins, origin) {
		h.Set("Access-Control-Allow-Origin", origin)
	}
}

// preflight answers OPTIONS for a path that takes methods.
func (a *api) preflight(h http.Header, methods []string) {
	h.Set("Access-Control-Allow-Methods", strings.Join(methods, ", "))
	h.Set("Access-Control-Allow-Headers", corsHeaders)
	h.Set("Access-Control-Max-Age", "600")
}
