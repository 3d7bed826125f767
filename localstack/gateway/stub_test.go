package gateway

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/coder/websocket"
)

// functions are the functions behind a gateway, as a test wants them, and what they were called with.
type functions struct {
	callsMu    sync.Mutex
	authorized []events.APIGatewayCustomAuthorizerRequestTypeRequest
	calls      []events.APIGatewayWebsocketProxyRequest
	requests   []events.APIGatewayV2HTTPRequest

	// message answers $default; an echo when nil.
	message func(context.Context, events.APIGatewayWebsocketProxyRequest) (events.APIGatewayProxyResponse, error)
	http    func(context.Context, events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error)
}

func (f *functions) authorize(_ context.Context, e events.APIGatewayCustomAuthorizerRequestTypeRequest) (events.APIGatewayCustomAuthorizerResponse, error) {
	f.callsMu.Lock()
	defer f.callsMu.Unlock()
	f.authorized = append(f.authorized, e)
	if e.QueryStringParameters["ticket"] != "good" && e.Headers["Authorization"] != "Bearer good" {
		return events.APIGatewayCustomAuthorizerResponse{}, errors.New("Unauthorized")
	}
	return events.APIGatewayCustomAuthorizerResponse{
		PrincipalID: "hrn_1", Context: map[string]any{"id": "hrn_1"},
		PolicyDocument: events.APIGatewayCustomAuthorizerPolicy{Statement: []events.IAMPolicyStatement{{Effect: "Allow"}}},
	}, nil
}

func (f *functions) socket(ctx context.Context, e events.APIGatewayWebsocketProxyRequest) (events.APIGatewayProxyResponse, error) {
	f.callsMu.Lock()
	f.calls = append(f.calls, e)
	f.callsMu.Unlock()
	if e.RequestContext.RouteKey == "$default" && f.message != nil {
		return f.message(ctx, e)
	}
	return events.APIGatewayProxyResponse{StatusCode: 200, Body: e.Body}, nil
}

func (f *functions) request(ctx context.Context, e events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
	f.callsMu.Lock()
	f.requests = append(f.requests, e)
	f.callsMu.Unlock()
	if f.http != nil {
		return f.http(ctx, e)
	}
	return events.APIGatewayV2HTTPResponse{StatusCode: 200}, nil
}

// routes are the routes called so far.
func (f *functions) routes() []string {
	f.callsMu.Lock()
	defer f.callsMu.Unlock()
	var out []string
	for _, c := range f.calls {
		out = append(out, c.RequestContext.RouteKey)
	}
	return out
}

// fixture is a gateway that is served.
type fixture struct {
	*Gateway
	t   *testing.T
	url string
	functions
}

func serve(t *testing.T, cfg Config, f *fixture) *fixture {
	if f == nil {
		f = &fixture{}
	}
	cfg.Log = slog.New(slog.NewJSONHandler(io.Discard, nil))
	cfg.Now = time.Now
	f.t = t
	f.Gateway = New(cfg)
	srv := httptest.NewServer(f.Handler(Handlers{Authorize: f.authorize, Socket: f.socket, HTTP: f.request}))
	f.url = srv.URL
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := f.Stop(ctx); err != nil {
			t.Errorf("stop: %v", err)
		}
		srv.Close()
	})
	return f
}

// client is one WebSocket of a test.
type client struct {
	*websocket.Conn
	t  *testing.T
	id string
}

func (f *fixture) dial(opts *websocket.DialOptions) *client {
	f.t.Helper()
	f.callsMu.Lock()
	before := len(f.calls)
	f.callsMu.Unlock()
	conn, _, err := websocket.Dial(f.t.Context(), "ws"+strings.TrimPrefix(f.url, "http")+"/v1/ws?ticket=good", opts) //nolint:bodyclose // Dial closes it
	if err != nil {
		f.t.Fatal(err)
	}
	conn.SetReadLimit(1 << 20)
	f.t.Cleanup(func() { _ = conn.CloseNow() })
	f.callsMu.Lock()
	c := &client{conn, f.t, f.calls[before].RequestContext.ConnectionID}
	f.callsMu.Unlock()
	eventually(f.t, "the socket can be pushed to", func() bool { return f.find(c.id) != nil })
	return c
}

func (c *client) send(frame string) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := c.Write(ctx, websocket.MessageText, []byte(frame)); err != nil {
		c.t.Fatal(err)
	}
}

// next reads one message.
func (c *client) next() (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	_, b, err := c.Read(ctx)
	return string(b), err
}

func (c *client) want(frame string) {
	c.t.Helper()
	got, err := c.next()
	if err != nil || got != frame {
		c.t.Fatalf("got %.100q (%v), want %.100q", got, err, frame)
	}
}

// wantClose reads until the other side closes, and answers what came before.
func (c *client) wantClose(code websocket.StatusCode) []string {
	c.t.Helper()
	var before []string
	for {
		got, err := c.next()
		if err != nil {
			if websocket.CloseStatus(err) != code {
				c.t.Fatalf("ended with %v, want close code %d", err, code)
			}
			return before
		}
		before = append(before, got)
	}
}

// stuff posts frames that are not read until the next cannot be written, and answers how many there were.
func (f *fixture) stuff(c *client, frame []byte) int {
	f.t.Helper()
	s := f.find(c.id)
	for posted := 1; posted < 1000; posted++ {
		if err := f.Post(f.t.Context(), c.id, frame); err != nil {
			f.t.Fatal(err)
		}
		for tries := 0; s.waiting() > 0; tries++ {
			if tries == 50 {
				return posted
			}
			time.Sleep(time.Millisecond) // the point is that nothing happens
		}
	}
	f.t.Fatal("the socket takes everything")
	return 0
}

// eventually polls until ok.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.After(10 * time.Second)
	for !ok() {
		select {
		case <-deadline:
			t.Fatalf("never came: %s", what)
		case <-time.After(time.Millisecond):
		}
	}
}
