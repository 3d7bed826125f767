package apigw

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/apigatewaymanagementapi"
	"github.com/aws/aws-sdk-go-v2/service/apigatewaymanagementapi/schemas"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/transport/http/protocol/restjson1"

	"github.com/chipschat/chips-aws/shared/awscall"
	"github.com/chipschat/chips-aws/shared/session"
)

// Push posts to sockets and closes them through the management API of one stage.
type Push struct {
	service awscall.Service
	timeout time.Duration
}

// pushTimeout bounds one call: a half-dead peer may hold a post for longer than a Lambda lives.
const pushTimeout = 2 * time.Second

// NewPush makes a Push for endpoint, https://API.execute-api.REGION.amazonaws.com/STAGE. Nothing is tried again here: whether a frame may
// be sent twice is for the caller to decide.
func NewPush(cfg aws.Config, endpoint string) *Push {
	return &Push{
		service: awscall.Service{
			Name: "execute-api", Region: cfg.Region, Credentials: cfg.Credentials,
			Endpoint: sync.OnceValues(func() (*url.URL, error) { return url.Parse(endpoint) }),
			Protocol: restjson1.New(schemas.ApiGatewayManagementApi), Errors: apigatewaymanagementapi.TypeRegistry,
			HTTP: awscall.HTTP(awshttp.NewBuildableClient().WithTransportOptions(func(t *http.Transport) {
				t.MaxIdleConnsPerHost = 64 // all posts go to one host, connections side by side
			})),
		},
		timeout: pushTimeout,
	}
}

var (
	postToConnection = smithy.NewOperationSchema(schemas.PostToConnection, schemas.PostToConnectionRequest, nil)
	deleteConnection = smithy.NewOperationSchema(schemas.DeleteConnection, schemas.DeleteConnectionRequest, nil)
	getConnection    = smithy.NewOperationSchema(schemas.GetConnection, schemas.GetConnectionRequest, schemas.GetConnectionResponse)
)

func (p *Push) call(ctx context.Context, op *smithy.OperationSchema, in smithy.Serializable, out smithy.Deserializable) error {
	ctx, cancel := context.WithTimeout(ctx, p.timeout)
	defer cancel()
	return p.service.Call(ctx, op, in, out, aws.NopRetryer{})
}

// Post sends one frame. It answers session.ErrGone, ErrThrottled or ErrTooLarge, after which nothing was sent; after another error,
// a deadline included, the frame may have been.
func (p *Push) Post(ctx context.Context, connID string, frame []byte) error {
	in := &apigatewaymanagementapi.PostToConnectionInput{ConnectionId: &connID, Data: frame}
	err := p.call(ctx, postToConnection, in, new(apigatewaymanagementapi.PostToConnectionOutput))
	return pushError("posting to", connID, err)
}

// Close tries once to send last, where there is one, and deletes the connection. API Gateway gives the client 1000 whatever code and
// reason are; the reason belongs into last. A connection that is gone already is closed.
func (p *Push) Close(ctx context.Context, connID string, _ int, _ string, last []byte) error {
	if last != nil {
		if err := p.Post(ctx, connID, last); errors.Is(err, session.ErrGone) {
			return nil
		}
	}
	in := &apigatewaymanagementapi.DeleteConnectionInput{ConnectionId: &connID}
	err := p.call(ctx, deleteConnection, in, new(apigatewaymanagementapi.DeleteConnectionOutput))
	if err = pushError("deleting", connID, err); errors.Is(err, session.ErrGone) {
		return nil
	}
	return err
}

// LastHeard is when API Gateway last saw the connection active; zero where it does not say. It answers session.ErrGone for one that is gone.
func (p *Push) LastHeard(ctx context.Context, connID string) (time.Time, error) {
	in, out := &apigatewaymanagementapi.GetConnectionInput{ConnectionId: &connID}, new(apigatewaymanagementapi.GetConnectionOutput)
	if err := p.call(ctx, getConnection, in, out); err != nil {
		return time.Time{}, pushError("looking at", connID, err)
	}
	return aws.ToTime(out.LastActiveAt), nil
}

// pushError tells by the status, which every answer has, and not by the error's name, which some front ends leave out.
func pushError(doing, connID string, err error) error {
	if err == nil {
		return nil
	}
	var response *awshttp.ResponseError
	if errors.As(err, &response) {
		switch response.HTTPStatusCode() {
		case http.StatusGone:
			return session.ErrGone
		case http.StatusTooManyRequests:
			return session.ErrThrottled
		case http.StatusRequestEntityTooLarge:
			return session.ErrTooLarge
		}
	}
	return fmt.Errorf("%s connection %s: %w", doing, connID, err)
}
