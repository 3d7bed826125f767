package main

import (
	"context"
	"fmt"
	"net/http"
	"time"
)

// place is where an API of the stack is: a URL, and what it is called there where that is not the URL's own host.
type place struct{ url, host string }

// edge sends requests for one host to the two APIs, as CloudFront in front of them does: sockets at /v1/ws to the one, the rest to the
// other, and with the secret that says which way they came.
type edge struct {
	socket, http place
	secret       string
}

// host is where clients believe Chips to be.
const host = "http://chips.example"

// RoundTrip rewrites a request's address and does it.
func (e edge) RoundTrip(req *http.Request) (*http.Response, error) {
	to, path := e.http, req.URL.EscapedPath()
	if req.URL.Path == "/v1/ws" {
		to, path = e.socket, ""
	}
	at, err := req.URL.Parse(to.url + path + "?" + req.URL.RawQuery)
	if err != nil {
		return nil, err
	}
	out := req.Clone(req.Context())
	if out.URL, out.Host = at, at.Host; to.host != "" {
		out.Host = to.host
	}
	out.Header.Set("X-Chips-Edge", e.secret)
	return http.DefaultTransport.RoundTrip(out)
}

// eventually asks until ok or an error, some times a second, as long as ctx goes.
func eventually(ctx context.Context, what string, ok func() (bool, error)) error {
	for {
		done, err := ok()
		if done || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("never came: %s: %w", what, context.Cause(ctx))
		case <-time.After(50 * time.Millisecond):
		}
	}
}
