package apigw

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"
)

const (
	edgeNow    = "edge-canary-as-it-is"
	edgeBefore = "edge-canary-before-it"
)

// Both doors open to what the edge sends, now and before, and to nothing else.
func TestOnlyTheEdgeIsLetIn(t *testing.T) {
	var logged bytes.Buffer
	log := slog.New(slog.NewJSONHandler(&logged, nil))
	edge, err := NewEdge(edgeNow+","+edgeBefore, log)
	if err != nil {
		t.Fatal(err)
	}
	for header, in := range map[string]bool{
		edgeNow: true, edgeBefore: true,
		"": false, edgeNow + "x": false, strings.ToUpper(edgeNow): false, edgeNow + "," + edgeBefore: false, edgeNow + ", " + edgeNow: false,
	} {
		asked := false
		authorize := edge.Authorize(func(context.Context, events.APIGatewayCustomAuthorizerRequestTypeRequest) (events.APIGatewayCustomAuthorizerResponse, error) {
			asked = true
			return events.APIGatewayCustomAuthorizerResponse{}, nil
		})
		var upgrade events.APIGatewayCustomAuthorizerRequestTypeRequest
		fixture(t, "authorize.json", &upgrade, "EDGE", header)
		if _, err := authorize(t.Context(), upgrade); asked != in || in != (err == nil) || !in && !errors.Is(err, refusedUpgrade{}) {
			t.Errorf("an upgrade with %q: asked %v, %v", header, asked, err)
		}

		asked = false
		serve := edge.HTTP(func(_ context.Context, r events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
			asked = true
			for name, value := range r.Headers {
				if strings.Contains(value, edgeNow) || strings.Contains(value, edgeBefore) {
					t.Errorf("the handler is given %s, which it could tell", name)
				}
			}
			return events.APIGatewayV2HTTPResponse{StatusCode: 204}, nil
		})
		var request events.APIGatewayV2HTTPRequest
		fixture(t, "http.json", &request, "EDGE", header)
		answer, err := serve(t.Context(), request)
		if err != nil || asked != in || in != (answer.StatusCode == 204) || !in && (answer.StatusCode != 403 || !strings.Contains(answer.Body, `"code":"forbidden"`)) {
			t.Errorf("a request with %q: asked %v, %d %s, %v", header, asked, answer.StatusCode, answer.Body, err)
		}
		if strings.Contains(answer.Body, "canary") || strings.Contains(logged.String(), "canary") {
			t.Errorf("with %q a secret is told: %s %s", header, answer.Body, &logged)
		}
	}
	twice := events.APIGatewayCustomAuthorizerRequestTypeRequest{MultiValueHeaders: map[string][]string{"x-chips-edge": {"guess", edgeNow}}}
	if _, err := edge.Authorize(nil)(t.Context(), twice); !errors.Is(err, refusedUpgrade{}) {
		t.Errorf("the header twice: %v", err)
	}
}

func TestNoEdge(t *testing.T) {
	edge, err := NewEdge("", slog.New(slog.DiscardHandler))
	if err != nil || !edge.passed("") || !edge.passed("anything") {
		t.Errorf("%v: without an edge everything comes in", err)
	}
	for _, mistake := range []string{",", edgeNow + ",", "," + edgeNow, "a canary", edgeNow + ",canary"} {
		if _, err := NewEdge(mistake, nil); err == nil || strings.Contains(err.Error(), "canary") {
			t.Errorf("%q: %v", mistake, err)
		}
	}
}
