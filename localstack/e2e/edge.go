package main

import "net/http"

// edge sends requests for one host to the two APIs, as the edge in front of them does: sockets at /v1/ws to the one, the rest to the
// other. Both are URLs.
type edge struct{ socket, http string }

// host is where clients believe Chips to be.
const host = "http://chips.example"

// RoundTrip rewrites a request's address and does it.
func (e edge) RoundTrip(req *http.Request) (*http.Response, error) {
	at := e.http + req.URL.EscapedPath()
	if req.URL.Path == "/v1/ws" {
		at = e.socket
	}
	target, err := req.URL.Parse(at + "?" + req.URL.RawQuery)
	if err != nil {
		return nil, err
	}
	out := req.Clone(req.Context())
	out.URL, out.Host = target, target.Host
	return http.DefaultTransport.RoundTrip(out)
}
