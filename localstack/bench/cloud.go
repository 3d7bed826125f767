package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/go-json-experiment/json"
	"github.com/sivchari/kumo"

	"github.com/chipschat/chips-aws/shared/apigw"
	"github.com/chipschat/chips-aws/shared/auth"
	"github.com/chipschat/chips-aws/shared/dynamo"
	"github.com/chipschat/chips-aws/shared/dynamo/dynamotest"
	"github.com/chipschat/chips-aws/shared/engine"
	"github.com/chipschat/chips-aws/shared/fanout"
	"github.com/chipschat/chips-aws/shared/httpapi"
	"github.com/chipschat/chips-aws/shared/protocol"
	"github.com/chipschat/chips-aws/shared/session"
	"github.com/chipschat/chips-aws/shared/workspace"
)

// cloud is Chips as it is deployed, but in this process: the socket, http, authorize and fanout functions, each with an engine of its own,
// over DynamoDB's API by way of a meter, and pushes that are only counted.
type cloud struct {
	emulator    *kumo.Server
	client      *dynamodb.Client
	name        string
	meter       *dynamo.Metered
	table       *dynamo.Table
	credentials *auth.Service
	log         *engine.Engine // the socket function's
	sessions    *session.Sessions
	fanout      *fanout.Fanout
	call        func(context.Context, events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error)
	pushed      pushes
}

func newCloud(ctx context.Context) (*cloud, error) {
	c := &cloud{emulator: kumo.NewServer(), name: "chips-" + rand.Text()} // all emulators of a process share their tables
	c.client = dynamotest.Client(c.emulator.URL)
	if err := dynamo.CreateTable(ctx, c.client, c.name); err != nil {
		c.emulator.Close()
		return nil, err
	}
	c.meter = dynamo.NewMetered(c.client)
	c.table = dynamo.New(c.meter, c.name)
	quiet := slog.New(slog.DiscardHandler)
	c.credentials = auth.New(auth.Config{Rows: c.table, AdminToken: adminToken, PersonKeys: true, Now: time.Now, Log: quiet})
	newEngine := func() *engine.Engine { return engine.New(c.table, engine.Options{Now: time.Now}) }
	newSessions := func(g *engine.Engine) *session.Sessions {
		return session.New(session.Config{
			Engine: g, Rows: c.table, Push: &c.pushed, Replays: noReplays{}, Credentials: c.credentials,
			Server: protocol.Server{Name: "bench", Version: "1"}, Now: time.Now, Log: quiet,
		})
	}
	c.log = newEngine()
	c.sessions = newSessions(c.log)
	rung := newEngine()
	c.fanout = fanout.New(fanout.Config{Log: rung, Connections: newSessions(rung), Rows: c.table, Push: &c.pushed, Now: time.Now, Logger: quiet})
	asked := newEngine()
	c.call = apigw.HTTP(httpapi.New(httpapi.Config{
		Engine: asked, Auth: c.credentials, Sessions: newSessions(asked), Log: quiet, Now: time.Now, Version: "bench",
	}))
	return c, nil
}

// request makes one HTTP request as a token's holder, and reads the answer into out unless that is nil.
func (c *cloud) request(ctx context.Context, method, path, token, body string, out any) error {
	e := events.APIGatewayV2HTTPRequest{RawPath: path, Body: body, Headers: map[string]string{"authorization": "Bearer " + token}}
	e.RequestContext.HTTP.Method = method
	if body != "" {
		e.Headers["content-type"] = "application/json"
	}
	r, err := c.call(ctx, e)
	if err != nil {
		return err
	}
	if r.StatusCode >= 300 {
		return fmt.Errorf("%s %s: %d %s", method, path, r.StatusCode, r.Body)
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal([]byte(r.Body), out)
}

// visitor is somebody with a token and, once open, a socket.
type visitor struct {
	token, workspace, space, id string
	caller                      workspace.Caller
	ticket, socket              string
}

// people makes a workspace with its owner and a harness of theirs.
func (c *cloud) people(ctx context.Context) (owner, harness *visitor, err error) {
	var w struct {
		WorkspaceID string `json:"workspace_id"`
		PersonID    string `json:"person_id"`
		Key         string `json:"key"`
	}
	if err := c.request(ctx, http.MethodPost, "/v1/workspaces", adminToken, `{"name":"Acme","owner":{"name":"Arjun"}}`, &w); err != nil {
		return nil, nil, err
	}
	var h struct {
		HarnessID string `json:"harness_id"`
		Token     string `json:"token"`
		SpaceID   string `json:"space_id"`
	}
	if err := c.request(ctx, http.MethodPost, "/v1/harnesses", w.Key, `{"display_name":"Scout"}`, &h); err != nil {
		return nil, nil, err
	}
	owner = &visitor{token: w.Key, workspace: w.WorkspaceID, space: h.SpaceID, id: w.PersonID, socket: "owner-socket-id="}
	harness = &visitor{token: h.Token, workspace: w.WorkspaceID, space: h.SpaceID, id: h.HarnessID, socket: "harness-socket="}
	return owner, harness, nil
}

// issue buys a ticket.
func (c *cloud) issue(ctx context.Context, v *visitor) error {
	var out struct {
		Ticket string `json:"ticket"`
	}
	err := c.request(ctx, http.MethodPost, "/v1/socket-tickets", v.token, "", &out)
	v.ticket = out.Ticket
	return err
}

// spend is the authorizer of an upgrade.
func (c *cloud) spend(ctx context.Context, v *visitor) (err error) {
	v.caller, err = c.credentials.Upgrade(ctx, "", v.ticket, "")
	return err
}

func (c *cloud) connect(ctx context.Context, v *visitor) error {
	return c.sessions.Connect(ctx, v.socket, v.caller)
}

func (c *cloud) hello(ctx context.Context, v *visitor) error {
	return c.frame(ctx, v, `{"frame":"hello","protocol":{"min":1,"max":1},"client":{"name":"bench","version":"1"},"accepts":["events"]}`, `"type":"hello"`)
}

func (c *cloud) subscribe(ctx context.Context, v *visitor) error {
	return c.frame(ctx, v, `{"frame":"subscribe","workspace_id":"`+v.workspace+`"}`, "")
}

// frame hands in one frame and checks what its answer holds; "" is no answer.
func (c *cloud) frame(ctx context.Context, v *visitor, frame, want string) error {
	r, err := c.sessions.Frame(ctx, v.socket, v.caller, []byte(frame))
	if err != nil {
		return err
	}
	if r.Close != 0 || (want == "") != (len(r.Frame) == 0) || !bytes.Contains(r.Frame, []byte(want)) {
		return fmt.Errorf("%.60s was answered %s (close %d %s)", frame, r.Frame, r.Close, r.Reason)
	}
	if len(r.Frame) > 0 {
		return c.pushed.Post(ctx, v.socket, r.Frame)
	}
	return nil
}

// newest is the newest commit of a workspace and how many bytes DynamoDB bills its item as.
func (c *cloud) newest(ctx context.Context, ws string) (engine.Commit, int, error) {
	commit, ok, err := c.log.Head(ctx, ws)
	if err != nil || !ok {
		return commit, 0, errors.Join(err, errors.New("the workspace has no log"))
	}
	key := map[string]types.AttributeValue{
		"pk": &types.AttributeValueMemberS{Value: ws}, "sk": &types.AttributeValueMemberS{Value: fmt.Sprintf("C#%012d", commit.First)},
	}
	out, err := c.client.GetItem(ctx, &dynamodb.GetItemInput{TableName: &c.name, Key: key})
	if err != nil {
		return commit, 0, err
	}
	return commit, dynamo.ItemSize(out.Item), nil
}

// noReplays refuses the long catch-up, which nothing here needs.
type noReplays struct{}

func (noReplays) Start(context.Context, session.Job) error {
	return errors.New("a replay was started where nothing was to be replayed")
}

// pushes counts what is sent to sockets.
type pushes struct {
	mu sync.Mutex
	// messages are as API Gateway meters them: one for each 32 KB begun.
	messages int
	// during is called while a push is under way, when it is set.
	during func()
}

// Post counts.
func (p *pushes) Post(_ context.Context, _ string, frame []byte) error {
	p.mu.Lock()
	p.messages += max(1, (len(frame)+32<<10-1)/(32<<10))
	during := p.during
	p.mu.Unlock()
	if during != nil {
		during()
	}
	return nil
}

// Close is not expected.
func (p *pushes) Close(_ context.Context, connID string, code int, reason string, _ []byte) error {
	return fmt.Errorf("%s was closed: %d %s", connID, code, reason)
}

// take answers how many messages there were, and begins anew.
func (p *pushes) take() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := p.messages
	p.messages = 0
	return n
}
