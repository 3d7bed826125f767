package apigw

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/chipschat/chips-aws/shared/protocol"
	"github.com/chipschat/chips-aws/shared/session"
)

// Socket serves $connect, $default and $disconnect. It goes by the event's type and not by its route: a client can make the route key
// of a message say anything.
func Socket(sessions *session.Sessions, log *slog.Logger) func(context.Context, events.APIGatewayWebsocketProxyRequest) (events.APIGatewayProxyResponse, error) {
	s := &socket{sessions, log}
	return func(ctx context.Context, e events.APIGatewayWebsocketProxyRequest) (events.APIGatewayProxyResponse, error) {
		switch e.RequestContext.EventType {
		case "CONNECT":
			return s.connect(ctx, e), nil
		case "MESSAGE":
			return s.message(ctx, e), nil
		case "DISCONNECT":
			return s.disconnect(ctx, e), nil
		}
		return events.APIGatewayProxyResponse{StatusCode: 400}, fmt.Errorf("no such event of a socket: %q", e.RequestContext.EventType)
	}
}

type socket struct {
	sessions *session.Sessions
	log      *slog.Logger
}

// connect must not post to the connection: there is none until it has answered. Any status but 2xx refuses the upgrade.
func (s *socket) connect(ctx context.Context, e events.APIGatewayWebsocketProxyRequest) events.APIGatewayProxyResponse {
	id := e.RequestContext.ConnectionID
	caller, err := callerOf(e.RequestContext.Authorizer)
	if err == nil {
		err = s.sessions.Connect(ctx, id, caller)
	}
	var refusal *protocol.Error
	switch {
	case errors.As(err, &refusal):
		s.log.InfoContext(ctx, "an upgrade was refused", "connection_id", id, "why", refusal.Message)
		return events.APIGatewayProxyResponse{StatusCode: protocol.HTTPStatus(refusal.Code)}
	case err != nil:
		s.log.ErrorContext(ctx, "a socket could not be opened", "connection_id", id, "error", err)
		return events.APIGatewayProxyResponse{StatusCode: 500}
	}
	return events.APIGatewayProxyResponse{StatusCode: 200}
}

// message answers one frame. A fault that is nobody's answers with nothing and closes the socket, for which time is kept back.
func (s *socket) message(ctx context.Context, e events.APIGatewayWebsocketProxyRequest) events.APIGatewayProxyResponse {
	id := e.RequestContext.ConnectionID
	working, cancel := keepBack(ctx, 2*pushTimeout)
	defer cancel()
	reply, err := s.reply(working, e)
	if err != nil {
		s.log.ErrorContext(ctx, "a frame was not answered and its socket is closed", "connection_id", id, "error", err)
		s.close(ctx, e, session.Reply{Close: session.CloseTryAgain, Reason: "try again"})
		return events.APIGatewayProxyResponse{StatusCode: 500}
	}
	if reply.Close != 0 {
		s.close(ctx, e, reply)
		return events.APIGatewayProxyResponse{StatusCode: 200}
	}
	return events.APIGatewayProxyResponse{StatusCode: 200, Body: string(reply.Frame)}
}

func (s *socket) reply(ctx context.Context, e events.APIGatewayWebsocketProxyRequest) (session.Reply, error) {
	caller, err := callerOf(e.RequestContext.Authorizer)
	if err != nil {
		return session.Reply{}, err
	}
	raw := []byte(e.Body)
	if e.IsBase64Encoded {
		if raw, err = base64.StdEncoding.DecodeString(e.Body); err != nil {
			return session.Reply{}, fmt.Errorf("decoding the frame: %w", err)
		}
	}
	return s.sessions.Frame(ctx, e.RequestContext.ConnectionID, caller, raw)
}

// keepBack ends a context so much before its deadline: a function that is still at work when its time is over answers nothing at all.
func keepBack(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	if deadline, ok := ctx.Deadline(); ok {
		return context.WithDeadline(ctx, deadline.Add(-d))
	}
	return context.WithCancel(ctx)
}

// close sends the last frame and then closes, by the one way that keeps the two in order.
func (s *socket) close(ctx context.Context, e events.APIGatewayWebsocketProxyRequest, reply session.Reply) {
	id := e.RequestContext.ConnectionID
	caller, _ := callerOf(e.RequestContext.Authorizer) // a socket of nobody has no row, and is closed all the same
	if err := s.sessions.Cut(ctx, caller.Workspace, id, reply.Close, reply.Reason, reply.Frame); err != nil {
		s.log.WarnContext(ctx, "a socket could not be closed", "connection_id", id, "error", err)
	}
}

// disconnect is best effort twice over: API Gateway may not call it, and nobody reads what it answers.
func (s *socket) disconnect(ctx context.Context, e events.APIGatewayWebsocketProxyRequest) events.APIGatewayProxyResponse {
	id := e.RequestContext.ConnectionID
	caller, err := callerOf(e.RequestContext.Authorizer)
	if err == nil {
		err = s.sessions.Disconnect(ctx, id, caller)
	}
	if err != nil {
		s.log.WarnContext(ctx, "a closed socket is still on the books", "connection_id", id, "error", err)
	}
	return events.APIGatewayProxyResponse{StatusCode: 200}
}
