package apigw

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"

	"github.com/aws/aws-lambda-go/events"

	"github.com/chipschat/chips-aws/shared/auth"
	"github.com/chipschat/chips-aws/shared/protocol"
	"github.com/chipschat/chips-aws/shared/workspace"
)

// refusedUpgrade is how an authorizer has API Gateway answer 401: it compares the error's message with this one word. (A policy that
// denies is a 403, contract U-9 wants 401.) To Lambda it is an error of the function like any other, so what is wrong with the authorizer
// is told from its log and not from that metric: a refusal is written at INFO, a fault of ours at ERROR.
type refusedUpgrade struct{}

func (refusedUpgrade) Error() string { return "Unauthorized" }

// Authorize is the authorizer of $connect. Who the socket belongs to goes into its context, ids only, and comes back with every later
// message of the socket; roles are read when they are needed.
func Authorize(service *auth.Service, log *slog.Logger) func(context.Context, events.APIGatewayCustomAuthorizerRequestTypeRequest) (events.APIGatewayCustomAuthorizerResponse, error) {
	return func(ctx context.Context, e events.APIGatewayCustomAuthorizerRequestTypeRequest) (events.APIGatewayCustomAuthorizerResponse, error) {
		var none events.APIGatewayCustomAuthorizerResponse
		authorization, err := oneHeader(e, "Authorization")
		if err != nil {
			log.InfoContext(ctx, "an upgrade was refused", "why", err)
			return none, refusedUpgrade{}
		}
		caller, err := service.Upgrade(ctx, authorization, e.QueryStringParameters["ticket"], e.QueryStringParameters["token"])
		var refusal *protocol.Error
		switch {
		case errors.As(err, &refusal):
			log.InfoContext(ctx, "an upgrade was refused", "why", refusal.Message)
			return none, refusedUpgrade{}
		case err != nil:
			log.ErrorContext(ctx, "it could not be found out whose socket it is", "error", err)
			return none, fmt.Errorf("finding out whose socket it is: %w", err)
		}
		return events.APIGatewayCustomAuthorizerResponse{
			PrincipalID: caller.ID,
			Context:     contextOf(caller),
			PolicyDocument: events.APIGatewayCustomAuthorizerPolicy{
				Version: "2012-10-17",
				Statement: []events.IAMPolicyStatement{{
					Effect: "Allow", Action: []string{"execute-api:Invoke"}, Resource: []string{stageOf(e.MethodArn)},
				}},
			},
		}, nil
	}
}

// oneHeader answers the header's value, "" where there is none; a client that sends it twice could mean either.
func oneHeader(e events.APIGatewayCustomAuthorizerRequestTypeRequest, name string) (string, error) {
	for key, values := range e.MultiValueHeaders {
		if strings.EqualFold(key, name) && len(values) > 0 {
			if len(values) > 1 {
				return "", fmt.Errorf("%s was sent more than once", http.CanonicalHeaderKey(name))
			}
			return values[0], nil
		}
	}
	for key, value := range e.Headers {
		if strings.EqualFold(key, name) {
			return value, nil
		}
	}
	return "", nil
}

// stageOf turns arn:aws:execute-api:REGION:ACCOUNT:API/STAGE/$connect into all routes of the stage.
func stageOf(methodArn string) string {
	if i := strings.LastIndex(methodArn, "/"); i >= 0 {
		return methodArn[:i] + "/*"
	}
	return methodArn
}

// contextOf and callerOf are the two ends of the authorizer's context, which holds strings only.
func contextOf(c workspace.Caller) map[string]any {
	return map[string]any{"workspace": c.Workspace, "kind": string(c.Kind), "id": c.ID, "credential": c.Credential}
}

func callerOf(authorizer any) (workspace.Caller, error) {
	fields, _ := authorizer.(map[string]any)
	c := workspace.Caller{}
	c.Workspace, _ = fields["workspace"].(string)
	kind, _ := fields["kind"].(string)
	c.Kind = protocol.ActorKind(kind)
	c.ID, _ = fields["id"].(string)
	c.Credential, _ = fields["credential"].(string)
	if c.Workspace == "" || c.ID == "" || c.Credential == "" || c.Kind != protocol.KindPerson && c.Kind != protocol.KindHarness {
		return workspace.Caller{}, errors.New("the event does not say whose socket it is: is the authorizer on $connect?")
	}
	return c, nil
}
