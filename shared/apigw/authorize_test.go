package apigw

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/google/go-cmp/cmp"

	"github.com/chipschat/chips-aws/shared/auth"
	"github.com/chipschat/chips-aws/shared/embedded"
	"github.com/chipschat/chips-aws/shared/engine"
	"github.com/chipschat/chips-aws/shared/protocol"
	"github.com/chipschat/chips-aws/shared/workspace"
)

const (
	aWorkspace = "ws_01JDZ8Y2V5Q6W7R8T9A0B1C2D3"
	aHarness   = "hrn_01JDZ8Y4M3N4P5Q6R7S8T9V0W1"
)

// fixture reads one of events/, with words in it replaced, the way the Lambda runtime would hand it over.
func fixture(t *testing.T, name string, into any, replace ...string) {
	t.Helper()
	raw, err := os.ReadFile("../../events/" + name)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(strings.NewReplacer(replace...).Replace(string(raw))), into); err != nil {
		t.Fatal(err)
	}
}

func newTable(t *testing.T) *embedded.Table {
	t.Helper()
	table, err := embedded.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = table.Close() })
	return table
}

func newAuth(rows engine.Rows, log *slog.Logger) *auth.Service {
	return auth.New(auth.Config{Rows: rows, AdminToken: "operator", AcceptURLToken: true, Now: time.Now, Log: log})
}

func TestAuthorizeSaysWhoseSocketItIs(t *testing.T) {
	var logged bytes.Buffer
	log := slog.New(slog.NewJSONHandler(&logged, nil))
	service := newAuth(newTable(t), log)
	ctx := context.Background()
	token, tokenID, err := service.IssueToken(ctx, aWorkspace, aHarness)
	if err != nil {
		t.Fatal(err)
	}
	want := workspace.Caller{Workspace: aWorkspace, Kind: protocol.KindHarness, ID: aHarness, Credential: tokenID}
	ticket, _, err := service.IssueTicket(ctx, want)
	if err != nil {
		t.Fatal(err)
	}
	authorize := Authorize(service, log)
	for _, c := range []struct{ file, placeholder, secret string }{
		{"authorize.json", "TOKEN", token},
		{"authorize-ticket.json", "TICKET", ticket},
	} {
		var e events.APIGatewayCustomAuthorizerRequestTypeRequest
		fixture(t, c.file, &e, c.placeholder, c.secret)
		answer, err := authorize(ctx, e)
		if err != nil {
			t.Fatalf("%s: %v", c.file, err)
		}
		got, err := callerOf(answer.Context)
		if err != nil || got != want {
			t.Errorf("%s: %+v, %v", c.file, got, err)
		}
		for key, value := range answer.Context {
			if _, ok := value.(string); !ok {
				t.Errorf("%s: context %s is a %T; API Gateway passes on plain values only", c.file, key, value)
			}
		}
		policy := events.APIGatewayCustomAuthorizerPolicy{Version: "2012-10-17", Statement: []events.IAMPolicyStatement{{
			Effect: "Allow", Action: []string{"execute-api:Invoke"}, Resource: []string{"arn:aws:execute-api:eu-central-1:123456789012:a1b2c3d4e5/prod/*"},
		}}}
		if diff := cmp.Diff(policy, answer.PolicyDocument); diff != "" || answer.PrincipalID != aHarness {
			t.Errorf("%s: for %q: %s", c.file, answer.PrincipalID, diff)
		}
	}
	var again events.APIGatewayCustomAuthorizerRequestTypeRequest
	fixture(t, "authorize-ticket.json", &again, "TICKET", ticket)
	// covers: TKT-6
	if _, err := authorize(ctx, again); !errors.Is(err, refusedUpgrade{}) {
		t.Errorf("a ticket opened two sockets: %v", err)
	}
	for _, secret := range []string{token, ticket} {
		if strings.Contains(logged.String(), secret) {
			t.Error("a secret is in the log")
		}
	}
}

// A refusal is the word API Gateway makes a 401 of; a fault of ours is any other error, and a 500.
func TestAuthorizeRefuses(t *testing.T) {
	var logged bytes.Buffer
	log := slog.New(slog.NewJSONHandler(&logged, nil))
	table := newTable(t)
	authorize := Authorize(newAuth(table, log), log)
	ctx := context.Background()

	twice := func(e *events.APIGatewayCustomAuthorizerRequestTypeRequest) {
		e.MultiValueHeaders["Authorization"] = []string{"Bearer a", "Bearer b"}
	}
	lower := func(e *events.APIGatewayCustomAuthorizerRequestTypeRequest) {
		e.Headers = map[string]string{"authorization": "Bearer operator"}
		e.MultiValueHeaders = nil
	}
	bare := func(e *events.APIGatewayCustomAuthorizerRequestTypeRequest) {
		e.Headers, e.MultiValueHeaders = nil, nil
	}
	for _, change := range []func(*events.APIGatewayCustomAuthorizerRequestTypeRequest){
		func(*events.APIGatewayCustomAuthorizerRequestTypeRequest) {}, twice, lower, bare,
	} {
		logged.Reset()
		var e events.APIGatewayCustomAuthorizerRequestTypeRequest
		fixture(t, "authorize.json", &e)
		change(&e)
		if _, err := authorize(ctx, e); !errors.Is(err, refusedUpgrade{}) || err.Error() != "Unauthorized" {
			t.Errorf("%v: want the one word of a 401", err)
		}
		if line := logged.String(); !strings.Contains(line, `"level":"INFO"`) || strings.Contains(line, `"ERROR"`) {
			t.Errorf("a refusal reads as a fault: %s", line)
		}
	}

	_ = table.Close()
	var e events.APIGatewayCustomAuthorizerRequestTypeRequest
	fixture(t, "authorize.json", &e, "TOKEN", "tok_01JDZ8Y5A1B2C3D4E5F6G7H8J9_"+strings.Repeat("A", 43))
	if _, err := authorize(ctx, e); err == nil || errors.Is(err, refusedUpgrade{}) {
		t.Errorf("%v: a table that does not answer is no refusal", err)
	}
}
