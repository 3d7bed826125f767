package apigw

import (
	"context"
	"io"
	"net/http"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/google/go-cmp/cmp"
)

func httpEvent(method, path, query, body string) events.APIGatewayV2HTTPRequest {
	e := events.APIGatewayV2HTTPRequest{Version: "2.0", RawPath: path, RawQueryString: query, Body: body}
	e.RequestContext.HTTP.Method = method
	e.RequestContext.HTTP.SourceIP = "203.0.113.7"
	e.RequestContext.RequestID = "req-1"
	e.RequestContext.DomainName = "api.example"
	return e
}

func TestRequestIsWhatNetHTTPWouldHaveRead(t *testing.T) {
	e := httpEvent("POST", "/v1/spaces/ä b%2F/x", "a=1&b=%20&a=2", "eyJhIjoxfQ==")
	e.IsBase64Encoded = true
	e.Cookies = []string{"a=1", "b=2"}
	e.Headers = map[string]string{"host": "chips.example", "signature-input": `sig=("@method" "@path");created=1,other=()`, "content-type": "application/json"}

	type seen struct {
		Method, Path, Escaped, RawQuery, URI, Host, Remote, Cookie, Signature, RequestID, Body string
		Length                                                                                 int64
	}
	var got seen
	_, err := HTTP(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got = seen{r.Method, r.URL.Path, r.URL.EscapedPath(), r.URL.RawQuery, r.RequestURI, r.Host, r.RemoteAddr, r.Header.Get("Cookie"),
			r.Header.Get("Signature-Input"), r.Header.Get("X-Request-Id"), string(body), r.ContentLength}
	}))(context.Background(), e)
	if err != nil {
		t.Fatal(err)
	}
	want := seen{
		Method: "POST", Path: "/v1/spaces/ä b%2F/x", Escaped: "/v1/spaces/%C3%A4%20b%252F/x", RawQuery: "a=1&b=%20&a=2",
		URI: "/v1/spaces/%C3%A4%20b%252F/x?a=1&b=%20&a=2", Host: "chips.example", Remote: "203.0.113.7:0", Cookie: "a=1; b=2",
		Signature: `sig=("@method" "@path");created=1,other=()`, RequestID: "req-1", Body: `{"a":1}`, Length: 7,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestPathInNormalForm(t *testing.T) {
	for decoded, want := range map[string]string{
		"/v1/spaces/spc_01J/members": "/v1/spaces/spc_01J/members",
		"/v1/files/a!$&'()*+,;=:@~":  "/v1/files/a!$&'()*+,;=:@~",
		"/v1/files/50% of ä?#":       "/v1/files/50%25%20of%20%C3%A4%3F%23",
		"//v1":                       "//v1",
	} {
		if got := normalPath(decoded); got != want {
			t.Errorf("%q is %q, want %q", decoded, got, want)
		}
	}
}

func TestResponse(t *testing.T) {
	for name, c := range map[string]struct {
		handler http.HandlerFunc
		want    events.APIGatewayV2HTTPResponse
	}{
		"json": {
			func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json; charset=utf-8")
				w.Header().Add("Vary", "Origin")
				w.Header().Add("Vary", "Accept")
				w.Header().Add("Set-Cookie", "a=1")
				w.WriteHeader(201)
				w.Header().Set("Too-Late", "1")
				_, _ = io.WriteString(w, `{"ok":`)
				_, _ = io.WriteString(w, `"ä"}`)
			},
			events.APIGatewayV2HTTPResponse{StatusCode: 201, Body: `{"ok":"ä"}`, Cookies: []string{"a=1"},
				Headers: map[string]string{"content-type": "application/json; charset=utf-8", "vary": "Origin, Accept"}},
		},
		"bytes": {
			func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "image/png")
				_, _ = w.Write([]byte{0x89, 'P', 0xff})
			},
			events.APIGatewayV2HTTPResponse{StatusCode: 200, Body: "iVD/", IsBase64Encoded: true, Headers: map[string]string{"content-type": "image/png"}},
		},
		"text that is not UTF-8": {
			func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/plain")
				_, _ = w.Write([]byte{0xff})
			},
			events.APIGatewayV2HTTPResponse{StatusCode: 200, Body: "/w==", IsBase64Encoded: true, Headers: map[string]string{"content-type": "text/plain"}},
		},
		"nothing": {
			func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(204) },
			events.APIGatewayV2HTTPResponse{StatusCode: 204, Headers: map[string]string{}},
		},
		"untouched": {
			func(http.ResponseWriter, *http.Request) {},
			events.APIGatewayV2HTTPResponse{StatusCode: 200, Headers: map[string]string{}},
		},
	} {
		got, err := HTTP(c.handler)(context.Background(), httpEvent("GET", "/", "", ""))
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// The length of a body is API Gateway's to count, but for HEAD, where there is none to count.
func TestLength(t *testing.T) {
	handler := HTTP(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Length", "10") }))
	for method, want := range map[string]string{"GET": "", "HEAD": "10"} {
		got, err := handler(context.Background(), httpEvent(method, "/", "", ""))
		if err != nil || got.Headers["content-length"] != want {
			t.Errorf("%s: %v, %v", method, got.Headers, err)
		}
	}
}

func TestUnreadableRequestIsRefused(t *testing.T) {
	broken := httpEvent("POST", "/", "", "not base64!")
	broken.IsBase64Encoded = true
	method := httpEvent("NO SUCH", "/", "", "")
	for _, e := range []events.APIGatewayV2HTTPRequest{broken, method} {
		got, err := HTTP(http.NotFoundHandler())(context.Background(), e)
		if err != nil || got.StatusCode != 400 {
			t.Errorf("%d, %v: want a 400", got.StatusCode, err)
		}
	}
}

func FuzzRequest(f *testing.F) {
	f.Add("GET", "/v1/events", "since=1", "", false)
	f.Add("POST", "/v1/ä%zz", "%zz=;&", "eyJ9", true)
	f.Fuzz(func(t *testing.T, method, path, query, body string, b64 bool) {
		e := httpEvent(method, path, query, body)
		e.IsBase64Encoded = b64
		_, err := HTTP(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != path {
				t.Errorf("path %q became %q", path, r.URL.Path)
			}
			if got := r.URL.EscapedPath(); got != normalPath(path) {
				t.Errorf("path %q is escaped as %q", path, got)
			}
			_ = r.URL.Query()
			http.NotFound(w, r)
		}))(context.Background(), e)
		if err != nil {
			t.Error(err)
		}
	})
}
