package awscall_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/credentials"
	management "github.com/aws/aws-sdk-go-v2/service/apigatewaymanagementapi"
	managementschemas "github.com/aws/aws-sdk-go-v2/service/apigatewaymanagementapi/schemas"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/schemas"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/transport/http/protocol/awsjson"
	"github.com/aws/smithy-go/transport/http/protocol/restjson1"
	"github.com/google/go-cmp/cmp"

	"github.com/chipschat/chips-aws/shared/awscall"
)

// wire is a service that notes what it is sent, and answers what reply says.
type wire struct {
	*httptest.Server
	reply func(n int, w http.ResponseWriter)

	mu   sync.Mutex
	seen []request
}

type request struct {
	Line, Host, Body, At, Authorization string
	Header                              http.Header
}

// signed is the authorization of a request for a service, by the headers that the one it came with says are signed.
func (r request) signed(t *testing.T, service string) string {
	t.Helper()
	method, uri, _ := strings.Cut(r.Line, " ")
	again, err := http.NewRequest(method, "http://"+r.Host+uri, strings.NewReader(r.Body))
	if err != nil {
		t.Fatal(err)
	}
	_, names, _ := strings.Cut(r.Authorization, "SignedHeaders=")
	names, _, _ = strings.Cut(names, ",")
	for name := range strings.SplitSeq(names, ";") {
		if values := r.Header.Values(name); len(values) > 0 && name != "content-length" {
			again.Header[http.CanonicalHeaderKey(name)] = values
		}
	}
	at, err := time.Parse("20060102T150405Z", r.At)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256([]byte(r.Body))
	err = v4.NewSigner().SignHTTP(t.Context(), aws.Credentials{AccessKeyID: "AKID", SecretAccessKey: "SECRET", SessionToken: "SESSION"},
		again, hex.EncodeToString(sum[:]), service, "eu-central-1", at)
	if err != nil {
		t.Fatal(err)
	}
	return again.Header.Get("Authorization")
}

func newWire(t *testing.T, reply func(n int, w http.ResponseWriter)) *wire {
	w := &wire{reply: reply}
	w.Server = httptest.NewServer(w)
	t.Cleanup(w.Close)
	return w
}

func (w *wire) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	w.mu.Lock()
	w.seen = append(w.seen, request{
		Line: r.Method + " " + r.RequestURI, Host: r.Host, Body: string(body), At: r.Header.Get("X-Amz-Date"), Authorization: r.Header.Get("Authorization"), Header: r.Header,
	})
	n := len(w.seen)
	w.mu.Unlock()
	w.reply(n, rw)
}

func (w *wire) requests() []request {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]request(nil), w.seen...)
}

func (w *wire) config(path string) aws.Config {
	at := w.URL + path
	return aws.Config{Region: "eu-central-1", BaseEndpoint: &at, Credentials: credentials.NewStaticCredentialsProvider("AKID", "SECRET", "SESSION")}
}

func (w *wire) service(name, path string) awscall.Service {
	cfg := w.config(path)
	s := awscall.Service{
		Name: name, Region: cfg.Region, Credentials: cfg.Credentials, HTTP: awscall.HTTP(awshttp.NewBuildableClient()),
		Endpoint: func() (*url.URL, error) { return url.Parse(*cfg.BaseEndpoint) },
		Protocol: awsjson.New10(schemas.DynamoDB_20120810), Errors: dynamodb.TypeRegistry,
	}
	if name == "execute-api" {
		s.Protocol, s.Errors = restjson1.New(managementschemas.ApiGatewayManagementApi), management.TypeRegistry
	}
	return s
}

var (
	getItem = smithy.NewOperationSchema(schemas.GetItem, schemas.GetItemInput, schemas.GetItemOutput)
	post    = smithy.NewOperationSchema(managementschemas.PostToConnection, managementschemas.PostToConnectionRequest, nil)
	remove  = smithy.NewOperationSchema(managementschemas.DeleteConnection, managementschemas.DeleteConnectionRequest, nil)
)

func get() *dynamodb.GetItemInput {
	return &dynamodb.GetItemInput{TableName: aws.String("chips"), ConsistentRead: aws.Bool(true), Key: map[string]types.AttributeValue{
		"pk": &types.AttributeValueMemberS{Value: "ws_ü\"\\"},
	}}
}

// What goes out says what the SDK's own client says, its signature too: the oracle is the SDK.
func TestSaysWhatTheSDKSays(t *testing.T) {
	for _, c := range []struct {
		what, service, path string
		sdk, ours           func(ctx context.Context, w *wire) error
	}{
		{
			"a read", "dynamodb", "",
			func(ctx context.Context, w *wire) error {
				_, err := dynamodb.NewFromConfig(w.config("")).GetItem(ctx, get())
				return err
			},
			func(ctx context.Context, w *wire) error {
				s := w.service("dynamodb", "")
				return s.Call(ctx, getItem, get(), new(dynamodb.GetItemOutput), aws.NopRetryer{})
			},
		},
		{
			"a frame", "execute-api", "/prod",
			func(ctx context.Context, w *wire) error {
				_, err := management.NewFromConfig(w.config("/prod")).PostToConnection(ctx, &management.PostToConnectionInput{ConnectionId: aws.String("L0SM9/cO+vHc="), Data: []byte(`{"frame":"ack"}`)})
				return err
			},
			func(ctx context.Context, w *wire) error {
				s := w.service("execute-api", "/prod")
				return s.Call(ctx, post, &management.PostToConnectionInput{ConnectionId: aws.String("L0SM9/cO+vHc="), Data: []byte(`{"frame":"ack"}`)}, new(management.PostToConnectionOutput), aws.NopRetryer{})
			},
		},
		{
			"without a body", "execute-api", "/prod",
			func(ctx context.Context, w *wire) error {
				_, err := management.NewFromConfig(w.config("/prod")).DeleteConnection(ctx, &management.DeleteConnectionInput{ConnectionId: aws.String("L0SM9cO=")})
				return err
			},
			func(ctx context.Context, w *wire) error {
				s := w.service("execute-api", "/prod")
				return s.Call(ctx, remove, &management.DeleteConnectionInput{ConnectionId: aws.String("L0SM9cO=")}, new(management.DeleteConnectionOutput), aws.NopRetryer{})
			},
		},
	} {
		w := newWire(t, func(_ int, w http.ResponseWriter) { _, _ = io.WriteString(w, "{}") })
		for both := false; !both; { // until both fall into one second, which signatures count by
			if err := errors.Join(c.sdk(t.Context(), w), c.ours(t.Context(), w)); err != nil {
				t.Fatalf("%s: %v", c.what, err)
			}
			seen := w.requests()
			sdk, ours := seen[len(seen)-2], seen[len(seen)-1]
			if both = sdk.At == ours.At; !both {
				continue
			}
			if sdk.Line != ours.Line || sdk.Body != ours.Body {
				t.Errorf("%s: the SDK says %s %s, we %s %s", c.what, sdk.Line, sdk.Body, ours.Line, ours.Body)
			}
			same := []string{"Content-Type", "Content-Length", "X-Amz-Target", "X-Amz-Security-Token"}
			if c.service == "dynamodb" { // the other client of the SDK leaves it to net/http
				same = append(same, "Accept-Encoding")
			}
			for _, name := range same {
				if diff := cmp.Diff(sdk.Header[name], ours.Header[name]); diff != "" {
					t.Errorf("%s: %s %s", c.what, name, diff)
				}
			}
			// The SDK signs headers of its own too, so what came is signed anew as AWS does: the way to do it is right where it is for the SDK's.
			for _, r := range []request{sdk, ours} {
				if anew := r.signed(t, c.service); r.Authorization != anew {
					t.Errorf("%s: it came with %s, signed it is %s", c.what, r.Authorization, anew)
				}
			}
			for _, name := range []string{"host", "x-amz-date", "x-amz-security-token"} {
				if !strings.Contains(ours.Authorization, name) {
					t.Errorf("%s: %s is not signed: %s", c.what, name, ours.Authorization)
				}
			}
		}
	}
}

// A service's refusals are the SDK's own errors, whatever names them; what is not known is no refusal.
func TestErrors(t *testing.T) {
	for _, c := range []struct {
		status int
		body   string
		want   func(err error) bool
	}{
		{400, `{"__type":"com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException","message":"no","Item":{"pk":{"S":"a"}}}`, func(err error) bool {
			var e *types.ConditionalCheckFailedException
			return errors.As(err, &e) && e.Item["pk"].(*types.AttributeValueMemberS).Value == "a"
		}},
		{400, `{"__type":"com.amazon.coral.service#ThrottlingException"}`, func(err error) bool {
			var e smithy.APIError
			return errors.As(err, &e) && e.ErrorCode() == "ThrottlingException"
		}},
		{503, `<html>busy</html>`, func(err error) bool {
			var e *awshttp.ResponseError
			return errors.As(err, &e) && e.HTTPStatusCode() == 503 && e.ServiceRequestID() == "req-1"
		}},
		{200, `{"Item":`, func(err error) bool {
			var e smithy.APIError
			return err != nil && !errors.As(err, &e)
		}},
		{200, ``, func(err error) bool {
			var e smithy.APIError
			return err != nil && !errors.As(err, &e)
		}},
	} {
		w := newWire(t, func(_ int, rw http.ResponseWriter) {
			rw.Header().Set("X-Amzn-Requestid", "req-1")
			rw.WriteHeader(c.status)
			_, _ = io.WriteString(rw, c.body)
		})
		s := w.service("dynamodb", "")
		err := s.Call(t.Context(), getItem, get(), new(dynamodb.GetItemOutput), aws.NopRetryer{})
		if !c.want(err) || !strings.Contains(fmt.Sprint(err), "dynamodb GetItem") {
			t.Errorf("%d %s: %v", c.status, c.body, err)
		}
	}
}

// counting counts what is written to a connection, in calls.
type counting struct {
	net.Conn
	writes *atomic.Int64
}

func (c counting) Write(b []byte) (int, error) {
	c.writes.Add(1)
	return c.Conn.Write(b)
}

// A connection is used again, though nobody wants to know what the answer says, and a call is one write to it.
func TestOneConnection(t *testing.T) {
	w := &wire{reply: func(n int, w http.ResponseWriter) {
		if n%2 == 0 {
			w.WriteHeader(410)
		}
		_, _ = io.WriteString(w, `{"message":"`+strings.Repeat("x", 2<<10)+`"}`)
	}}
	var opened atomic.Int64
	w.Server = httptest.NewUnstartedServer(w)
	w.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			opened.Add(1)
		}
	}
	w.Start()
	t.Cleanup(w.Close)
	s := w.service("execute-api", "/prod")
	var writes atomic.Int64
	s.HTTP = awshttp.NewBuildableClient().WithTransportOptions(func(tr *http.Transport) {
		dial := tr.DialContext
		tr.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := dial(ctx, network, address)
			return counting{conn, &writes}, err
		}
	})
	for n := range 4 {
		err := s.Call(t.Context(), post, &management.PostToConnectionInput{ConnectionId: aws.String("c"), Data: []byte("x")}, new(management.PostToConnectionOutput), aws.NopRetryer{})
		if (err != nil) != (n%2 == 1) {
			t.Error(n, err)
		}
	}
	if n := opened.Load(); n != 1 {
		t.Errorf("%d connections for calls one after the other", n)
	}
	if n := writes.Load(); n != 4 {
		t.Errorf("%d writes for 4 calls", n)
	}
}

// A place that is none is an error, and so are credentials that cannot be had.
func TestNowhere(t *testing.T) {
	w := newWire(t, func(int, http.ResponseWriter) {})
	nowhere, nobody := w.service("dynamodb", ""), w.service("dynamodb", "")
	nowhere.Endpoint = func() (*url.URL, error) { return nil, errors.New("nowhere") }
	nobody.Credentials = aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) { return aws.Credentials{}, errors.New("no role") })
	for want, s := range map[string]*awscall.Service{"where it is": &nowhere, "no role": &nobody} {
		err := s.Call(t.Context(), getItem, get(), new(dynamodb.GetItemOutput), aws.NopRetryer{})
		if err == nil || !strings.Contains(err.Error(), want) || len(w.requests()) != 0 {
			t.Errorf("%s: %d calls, %v", want, len(w.requests()), err)
		}
	}
}
