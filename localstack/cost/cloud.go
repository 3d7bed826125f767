package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/go-json-experiment/json"
	"github.com/sivchari/kumo"

	"github.com/chipschat/chips-aws/shared/apigw"
	"github.com/chipschat/chips-aws/shared/auth"
	"github.com/chipschat/chips-aws/shared/deadline"
	"github.com/chipschat/chips-aws/shared/dynamo"
	"github.com/chipschat/chips-aws/shared/dynamo/dynamotest"
	"github.com/chipschat/chips-aws/shared/emf"
	"github.com/chipschat/chips-aws/shared/engine"
	"github.com/chipschat/chips-aws/shared/fanout"
	"github.com/chipschat/chips-aws/shared/httpapi"
	"github.com/chipschat/chips-aws/shared/protocol"
	"github.com/chipschat/chips-aws/shared/session"
	"github.com/chipschat/chips-aws/shared/sweep"
)

const adminToken = "cost-admin-token"

// cloud is Chips as it is deployed, but in this process: the socket, http, authorize, fanout and sweep functions, each with an engine of
// its own, over DynamoDB's API by way of a meter, and pushes that are only counted.
type cloud struct {
	emulator    *kumo.Server
	client      *dynamodb.Client
	name        string
	meter       *dynamo.Metered
	metrics     *emf.Meter
	table       engine.Table
	credentials *auth.Service
	sessions    *session.Sessions
	swept       *deadline.Keeper
	sweep       *sweep.Sweep
	fanout      *fanout.Fanout
	call        func(context.Context, events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error)
	pushed      pushes
	logged      counter
	used        usage // but for what the meter and the pushes count
	// ahead is by how much the clock here is put forward.
	ahead atomic.Int64
}

func (c *cloud) now() time.Time { return time.Now().Add(time.Duration(c.ahead.Load())) }

func newCloud(ctx context.Context) (*cloud, error) {
	c := &cloud{emulator: kumo.NewServer(), name: "chips-" + rand.Text()} // all emulators of a process share their tables
	c.client = dynamotest.Client(c.emulator.URL)
	if err := dynamo.CreateTable(ctx, c.client, c.name); err != nil {
		c.emulator.Close()
		return nil, err
	}
	c.meter = dynamo.NewMetered(dynamotest.API(c.emulator.URL))
	c.metrics = emf.New(&c.logged, "Chips/chips", c.now)
	c.table = c.metrics.Table(dynamo.New(c.meter, c.name))
	push := c.metrics.Push(&c.pushed)
	log := slog.New(slog.NewJSONHandler(&c.logged, nil))
	c.credentials = auth.New(auth.Config{Rows: c.table, AdminToken: adminToken, PersonKeys: true, Now: c.now, Log: log})
	watch := &deadline.Watch{Rows: c.table, Silent: time.Minute, Now: c.now}
	newEngine := func() *engine.Engine { return engine.New(c.table, engine.Options{Now: c.now}) }
	newSessions := func(g *engine.Engine) *session.Sessions {
		return session.New(session.Config{
			Engine: g, Rows: c.table, Push: push, Replays: refuser{}, Credentials: c.credentials,
			Server: protocol.Server{Name: "cost", Version: "1"}, PingFrames: true, Left: watch.Left, Now: c.now, Log: log,
		})
	}
	newKeeper := func(g *engine.Engine, s *session.Sessions) *deadline.Keeper {
		return deadline.New(deadline.Config{Log: g, Rows: c.table, Alarms: refuser{}, Watch: watch, Sockets: s, Now: c.now, Logger: log})
	}
	c.sessions = newSessions(newEngine())
	rung := newEngine()
	live := newSessions(rung)
	c.fanout = fanout.New(fanout.Config{
		Log: rung, Connections: live, Rows: c.table, Push: push, Deadlines: newKeeper(rung, live), Now: c.now, Logger: log, Late: c.metrics.Lag(emf.DeliveryLag),
	})
	swept := newSessions(nil)
	c.swept = newKeeper(newEngine(), swept)
	c.sweep = sweep.New(sweep.Config{
		Rows: c.table,
		Due:  map[string]sweep.Handler{"X#": swept.Overdue, deadline.RowPrefix: c.swept.Sweep},
		Beside: []func(context.Context) error{session.NewKeepalive(swept, session.KeepaliveConfig{
			Hearing: &c.pushed, Every: pingEvery, Silent: time.Minute, Missed: 2 * time.Minute,
		}).Run},
		Now: c.now, Log: log,
	})
	asked := newEngine()
	c.call = apigw.HTTP(httpapi.New(httpapi.Config{
		Engine: asked, Auth: c.credentials, Sessions: newSessions(asked), Log: log, Now: c.now, Version: "cost",
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
	c.used.requests++
	var r events.APIGatewayV2HTTPResponse
	err := c.invoke(func() (err error) {
		r, err = c.call(ctx, e)
		return err
	})
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

// frame hands in one frame and checks what its answer holds; "" is no answer.
func (c *cloud) frame(ctx context.Context, v *visitor, frame, want string) error {
	c.used.in += metered([]byte(frame))
	var r session.Reply
	err := c.invoke(func() (err error) {
		r, err = c.sessions.Frame(ctx, v.socket, v.caller, []byte(frame))
		return err
	})
	if err != nil {
		return err
	}
	if r.Close != 0 || (want == "") != (len(r.Frame) == 0) || !bytes.Contains(r.Frame, []byte(want)) {
		return fmt.Errorf("%.60s was answered %s (close %d %s)", frame, r.Frame, r.Close, r.Reason)
	}
	if len(r.Frame) > 0 {
		c.used.out += metered(r.Frame)
		c.used.bytes += len(r.Frame)
	}
	return nil
}

// newest is the newest commit of a workspace, read past the meter.
func (c *cloud) newest(ctx context.Context, ws string) (engine.Commit, error) {
	commit, ok, err := dynamo.New(dynamotest.API(c.emulator.URL), c.name).Head(ctx, ws)
	if err == nil && !ok {
		err = errors.New("the workspace has no log")
	}
	return commit, err
}

// refuser refuses long catch-ups and alarms, which nothing here needs.
type refuser struct{}

func (refuser) Start(context.Context, session.Job) error {
	return errors.New("a replay was started where nothing was to be replayed")
}

func (refuser) Set(_ context.Context, a deadline.Alarm) error {
	return fmt.Errorf("an alarm was set where nothing waits: %+v", a)
}

// pushes counts what is sent to sockets.
type pushes struct {
	mu sync.Mutex
	// messages are as API Gateway meters them; asked is how often it was asked when it last heard of a connection, which it does not bill.
	messages, bytes, asked int
	// to is how many went to each connection since the last invocation began.
	to map[string]int
}

// metered is how many messages API Gateway bills a frame as: one for each 32 KB begun.
func metered(frame []byte) int { return max(1, (len(frame)+32<<10-1)/(32<<10)) }

// Post counts.
func (p *pushes) Post(_ context.Context, connID string, frame []byte) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.messages += metered(frame)
	p.bytes += len(frame)
	if p.to == nil {
		p.to = map[string]int{}
	}
	p.to[connID]++
	return nil
}

// LastHeard says that the client has just answered.
func (p *pushes) LastHeard(context.Context, string) (time.Time, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked++
	return time.Now().Add(month), nil
}

// Close is not expected.
func (p *pushes) Close(_ context.Context, connID string, code int, reason string, _ []byte) error {
	return fmt.Errorf("%s was closed: %d %s", connID, code, reason)
}

// counter counts what is written.
type counter struct {
	mu    sync.Mutex
	bytes int
}

func (c *counter) Write(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.bytes += len(b)
	return len(b), nil
}
