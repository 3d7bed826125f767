package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/sivchari/kumo"

	"github.com/chipschat/chips-aws/shared/auth"
	"github.com/chipschat/chips-aws/shared/dynamo"
	"github.com/chipschat/chips-aws/shared/dynamo/dynamotest"
	"github.com/chipschat/chips-aws/shared/engine"
	"github.com/chipschat/chips-aws/shared/protocol"
	"github.com/chipschat/chips-aws/shared/workspace"
)

const handlersTable = "chips-handlers"

// stage is a large workspace on an emulated DynamoDB, and the functions that serve it.
type stage struct {
	api            dynamo.API
	by             workspace.Caller
	room           string
	socket, fanout *lambda
	pushed         atomic.Int64
}

// handlers measures the processor time that the functions themselves take for an event that is written and sent.
func (b *bench) handlers(ctx context.Context) error {
	events := b.pick(10_000, 2_000)
	emulator := kumo.NewServer()
	defer emulator.Close()
	s := &stage{api: dynamotest.API(emulator.URL)}
	if err := dynamo.CreateTable(ctx, dynamotest.Client(emulator.URL), handlersTable); err != nil {
		return err
	}
	if err := s.fill(ctx, events); err != nil {
		return err
	}
	target, err := url.Parse(emulator.URL)
	if err != nil {
		return err
	}
	database := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }}
	endpoint := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, "/@connections/") {
			s.pushed.Add(1)
			return
		}
		database.ServeHTTP(w, r)
	}))
	defer endpoint.Close()
	env, err := b.environment(endpoint.URL, handlersTable)
	if err != nil {
		return err
	}
	for _, f := range []struct {
		name string
		into **lambda
	}{{"socket", &s.socket}, {"fanout", &s.fanout}} {
		if *f.into, err = b.start(f.name, env); err != nil {
			return err
		}
		defer (*f.into).stop()
	}
	rows, err := s.measure(ctx, b)
	if err != nil {
		return err
	}
	b.print("The functions' own work", fmt.Sprintf("The binaries of socket and fanout on a Runtime API, a step.log at a time in a workspace of %s events (50 rooms, 50 agents), one subscriber. Their processor\n"+
		"time, user and system, with JSON, HTTP and signing; DynamoDB is an emulator in this process, as are the pushes. The handler's own is without what an\n"+
		"invocation costs that does nothing.", thousands(int64(events))), rows...)
	return nil
}

// fill makes the workspace, and a snapshot of it as fan-out would have written.
func (s *stage) fill(ctx context.Context, events int) error {
	table := dynamo.New(s.api, handlersTable)
	g := engine.New(table, engine.Options{Now: time.Now})
	town, err := build(ctx, g)
	if err != nil {
		return err
	}
	h, err := newHistory(ctx, g, table, town.id)
	if err != nil {
		return err
	}
	if err := h.write(ctx, events-int(h.state.Seq), 10); err != nil {
		return err
	}
	if _, err := engine.New(table, engine.Options{Now: time.Now}).SnapshotIfDue(ctx, town.id); err != nil {
		return err
	}
	agent := h.turns[0].agent
	_, token, err := auth.New(auth.Config{Rows: table, Now: time.Now}).IssueToken(ctx, town.id, agent.HarnessID)
	s.by = workspace.Caller{Workspace: town.id, Kind: protocol.KindHarness, ID: agent.HarnessID, Credential: token}
	s.room = agent.Room
	return err
}

// send hands the socket function a frame, or the opening of the socket for "", and checks what its answer holds.
func (s *stage) send(ctx context.Context, frame, want string) error {
	kind := "MESSAGE"
	if frame == "" {
		kind = "CONNECT"
	}
	answer, err := s.socket.invoke(ctx, map[string]any{"body": frame, "requestContext": map[string]any{
		"eventType": kind, "connectionId": "S2b3kcXzFiACIhw=",
		"authorizer": map[string]any{"workspace": s.by.Workspace, "kind": s.by.Kind, "id": s.by.ID, "credential": s.by.Credential},
	}})
	if err == nil && !bytes.Contains(answer, []byte(want)) {
		err = fmt.Errorf("%.60s was answered %s, want %s", frame, answer, want)
	}
	return err
}

// write writes an event on the run.
func (s *stage) write(ctx context.Context, key int, fields string) error {
	return s.send(ctx, fmt.Sprintf(`{"frame":"event","event":{"v":1,"idempotency_key":"key-%06d","run_id":"run_01K4ZQPX000000000000000001",%s}}`, key, fields), `\"duplicate\":false`)
}

// record is the newest commit as the table's stream tells of it.
func (s *stage) record(ctx context.Context) (any, error) {
	out, err := s.api.Query(ctx, &dynamodb.QueryInput{
		TableName: aws.String(handlersTable), KeyConditionExpression: aws.String("pk = :pk AND begins_with(sk, :sk)"), ScanIndexForward: aws.Bool(false), Limit: aws.Int32(1),
		ExpressionAttributeValues: map[string]types.AttributeValue{":pk": &types.AttributeValueMemberS{Value: s.by.Workspace}, ":sk": &types.AttributeValueMemberS{Value: "C#"}},
	})
	if err != nil || len(out.Items) == 0 {
		return nil, errors.Join(err, errors.New("there is no commit"))
	}
	image := map[string]any{}
	for name, v := range out.Items[0] {
		image[name] = wire(v)
	}
	return map[string]any{"eventSource": "aws:dynamodb", "eventName": "INSERT", "dynamodb": map[string]any{
		"Keys": map[string]any{"pk": image["pk"], "sk": image["sk"]}, "NewImage": image, "SequenceNumber": "1",
	}}, nil
}

// wire is a value as DynamoDB writes it.
func wire(v types.AttributeValue) any {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return map[string]any{"S": v.Value}
	case *types.AttributeValueMemberN:
		return map[string]any{"N": v.Value}
	case *types.AttributeValueMemberB:
		return map[string]any{"B": v.Value}
	case *types.AttributeValueMemberM:
		m := map[string]any{}
		for name, v := range v.Value {
			m[name] = wire(v)
		}
		return map[string]any{"M": m}
	}
	return nil
}

// measure opens a socket, and writes on it.
func (s *stage) measure(ctx context.Context, b *bench) ([]row, error) {
	err := errors.Join(
		s.send(ctx, "", "200"),
		s.send(ctx, `{"frame":"hello","protocol":{"min":1,"max":1},"client":{"name":"bench","version":"1"}}`, "hello"),
		s.send(ctx, `{"frame":"subscribe","workspace_id":"`+s.by.Workspace+`"}`, "200"),
		s.write(ctx, 0, `"type":"run.started","space_id":"`+s.room+`","title":"Look"`),
	)
	if err != nil {
		return nil, err
	}
	each := b.pick(200, 100)
	step := func(n int) error {
		return s.write(ctx, n, `"type":"step.log","step_id":"step-1","status":"done","summary":"ran the tests of the parser, all of them pass"`)
	}
	ring := func(records ...any) error {
		answer, err := s.fanout.invoke(ctx, map[string]any{"Records": records})
		if err == nil && string(answer) != `{"batchItemFailures":[]}` {
			err = fmt.Errorf("fan-out answered %s", answer)
		}
		return err
	}
	var records []any
	work := []struct {
		what string
		l    *lambda
		do   func(n int) error
		// after is done after each, and is not measured.
		after func() error
	}{
		{"socket, a frame without work", s.socket, func(int) error { return s.send(ctx, `{"frame":"pong"}`, "200") }, nil},
		{"socket, a step", s.socket, step, func() error {
			r, err := s.record(ctx)
			records = append(records, r)
			return err
		}},
		{"fanout, a batch without records", s.fanout, func(int) error { return ring() }, nil},
		{"fanout, a step", s.fanout, func(int) error {
			r := records[0]
			records = records[1:]
			return ring(r)
		}, nil},
	}
	rows := make([]row, len(work), 2*len(work))
	for rep := range b.reps() + 1 {
		for i, w := range work {
			before, err := cpuOf(w.l.cmd.Process.Pid)
			if err != nil {
				return nil, err
			}
			for n := range each {
				if err := w.do(1 + rep*each + n); err != nil {
					return nil, err
				}
				if w.after != nil {
					if err := w.after(); err != nil {
						return nil, err
					}
				}
			}
			after, err := cpuOf(w.l.cmd.Process.Pid)
			if err != nil {
				return nil, err
			}
			rows[i].what, rows[i].unit = w.what, micros
			if rep > 0 { // the first warms up
				rows[i].values = append(rows[i].values, 1000*ms(after-before)/float64(each))
			}
		}
	}
	// Each step, and the run's start, which came with the first.
	if pushed, want := s.pushed.Load(), int64((b.reps()+1)*each+1); pushed != want {
		return nil, fmt.Errorf("%d pushes of %d events", pushed, want)
	}
	for i, name := range []string{"socket", "fanout"} {
		own := row{what: name + ", the handler's own", unit: micros, goal: 1000}
		for rep, with := range rows[2*i+1].values {
			own.values = append(own.values, with-rows[2*i].values[rep])
		}
		rows = append(rows, own)
	}
	for i, l := range []*lambda{s.socket, s.fanout} {
		mb, err := memoryOf(l.cmd.Process.Pid, "VmHWM")
		if err != nil {
			return nil, err
		}
		rows = append(rows, row{what: []string{"socket", "fanout"}[i] + ", the most memory it had", unit: mega, values: []float64{mb}})
	}
	return rows, nil
}
