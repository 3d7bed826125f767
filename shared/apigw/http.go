package apigw

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/aws/aws-lambda-go/events"
	"github.com/go-json-experiment/json"

	"github.com/chipschat/chips-aws/shared/protocol"
)

// HTTP serves requests of an HTTP API (payload format 2.0, stage $default) with h. A request that cannot be read is a 400.
func HTTP(h http.Handler) func(context.Context, events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
	return func(ctx context.Context, e events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
		ctx, cancel := keepBack(ctx, time.Second) // to say that there was no time
		defer cancel()
		r, err := request(ctx, e)
		if err != nil {
			return refused(protocol.InvalidRequest, "the request cannot be read"), nil
		}
		w := &response{header: http.Header{}, head: r.Method == http.MethodHead}
		h.ServeHTTP(w, r)
		return w.finish(), nil
	}
}

// refused answers a request that is not passed on.
func refused(code protocol.Code, why string) events.APIGatewayV2HTTPResponse {
	body, _ := json.Marshal(protocol.Refuse(code, "%s", why))
	return events.APIGatewayV2HTTPResponse{
		StatusCode: protocol.HTTPStatus(code), Headers: map[string]string{"content-type": "application/json", "cache-control": "no-store"}, Body: string(body),
	}
}

// request is the event as net/http would have read it. API Gateway decodes the path: it is encoded anew in RFC 3986 normal form, so
// that a signature over it means the same here as where it was made.
func request(ctx context.Context, e events.APIGatewayV2HTTPRequest) (*http.Request, error) {
	body := []byte(e.Body)
	if e.IsBase64Encoded {
		var err error
		if body, err = base64.StdEncoding.DecodeString(e.Body); err != nil {
			return nil, fmt.Errorf("decoding the body: %w", err)
		}
	}
	u := &url.URL{Path: e.RawPath, RawPath: normalPath(e.RawPath), RawQuery: e.RawQueryString}
	r, err := http.NewRequestWithContext(ctx, e.RequestContext.HTTP.Method, "/", bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("making the request: %w", err)
	}
	r.URL = u
	r.RequestURI = u.RequestURI()
	r.RemoteAddr = net.JoinHostPort(e.RequestContext.HTTP.SourceIP, "0")
	for name, value := range e.Headers {
		r.Header.Set(name, value)
	}
	if len(e.Cookies) > 0 {
		r.Header.Set("Cookie", strings.Join(e.Cookies, "; "))
	}
	r.Host = r.Header.Get("Host")
	if r.Host == "" {
		r.Host = e.RequestContext.DomainName
	}
	r.Header.Del("Host")
	r.Header.Set("X-Request-Id", e.RequestContext.RequestID) // whatever the client sent: this one is in API Gateway's logs
	return r, nil
}

// normalPath encodes a decoded path: what RFC 3986 lets stand in a path stands as it is, the rest is escaped in upper case.
func normalPath(decoded string) string {
	const pchar = "-._~!$&'()*+,;=:@/"
	var b strings.Builder
	for i := range len(decoded) {
		c := decoded[i]
		if 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte(pchar, c) >= 0 {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// response collects what a handler writes; it is never streamed.
type response struct {
	header http.Header
	sent   http.Header // as it was when the status went out: later changes do not count
	status int
	body   bytes.Buffer
	// head says that a body's length is told without it.
	head bool
}

func (w *response) Header() http.Header { return w.header }

func (w *response) WriteHeader(status int) {
	if w.status == 0 && status >= 200 {
		w.status = status
		w.sent = w.header.Clone()
	}
}

func (w *response) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.body.Write(p)
}

func (w *response) finish() events.APIGatewayV2HTTPResponse {
	w.WriteHeader(http.StatusOK)
	body := w.body.Bytes()
	if len(body) > 0 && w.sent.Get("Content-Type") == "" {
		w.sent.Set("Content-Type", http.DetectContentType(body))
	}
	out := events.APIGatewayV2HTTPResponse{StatusCode: w.status, Headers: map[string]string{}, Cookies: w.sent.Values("Set-Cookie")}
	for name, values := range w.sent {
		switch name {
		case "Content-Length": // API Gateway counts what there is
			if w.head {
				out.Headers["content-length"] = values[0]
			}
		case "Set-Cookie", "Transfer-Encoding", "Connection": // API Gateway's own
		default:
			out.Headers[strings.ToLower(name)] = strings.Join(values, ", ")
		}
	}
	if isText(w.sent) && utf8.Valid(body) {
		out.Body = string(body)
	} else {
		out.Body, out.IsBase64Encoded = base64.StdEncoding.EncodeToString(body), true
	}
	return out
}

// isText says whether a body may go to API Gateway as it is; whatever is in doubt goes as base64.
func isText(h http.Header) bool {
	if h.Get("Content-Encoding") != "" {
		return false
	}
	media, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	if err != nil {
		return h.Get("Content-Type") == ""
	}
	return strings.HasPrefix(media, "text/") || media == "application/json" || strings.HasSuffix(media, "+json")
}
