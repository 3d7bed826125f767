package gateway

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/coder/websocket"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestLifeOfASocket(t *testing.T) {
	f := serve(t, Config{}, nil)
	c := f.dial(&websocket.DialOptions{HTTPHeader: http.Header{"X-Test": {"1"}}})
	c.send(`{"a":1}`)
	c.want(`{"a":1}`)
	if err := c.Close(websocket.StatusNormalClosure, "bye"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "$disconnect", func() bool { return len(f.routes()) == 3 })
	if got := f.routes(); !slices.Equal(got, []string{"$connect", "$default", "$disconnect"}) {
		t.Fatalf("called %v", got)
	}
	a, connect, message, gone := f.authorized[0], f.calls[0], f.calls[1], f.calls[2]
	if a.Type != "REQUEST" || a.MethodArn != "arn:aws:execute-api:local:000000000000:local/local/$connect" || a.Headers["X-Test"] != "1" || a.QueryStringParameters["ticket"] != "good" {
		t.Errorf("authorizer was asked %+v", a)
	}
	if connect.RequestContext.EventType != "CONNECT" || connect.Headers["X-Test"] != "1" || connect.QueryStringParameters["ticket"] != "good" {
		t.Errorf("$connect is %+v", connect)
	}
	if message.RequestContext.EventType != "MESSAGE" || message.Body != `{"a":1}` || message.IsBase64Encoded || message.Headers != nil || message.QueryStringParameters != nil {
		t.Errorf("$default is %+v", message)
	}
	if rc := gone.RequestContext; rc.EventType != "DISCONNECT" || rc.DisconnectStatusCode != 1000 || *rc.DisconnectReason != "bye" {
		t.Errorf("$disconnect is %+v", rc)
	}
	for _, e := range f.calls {
		if e.RequestContext.ConnectionID != c.id || c.id == "" || e.RequestContext.RequestID == "" {
			t.Errorf("ids of %s are %q and %q", e.RequestContext.RouteKey, e.RequestContext.ConnectionID, e.RequestContext.RequestID)
		}
		if d := cmp.Diff(map[string]any{"principalId": "hrn_1", "id": "hrn_1"}, e.RequestContext.Authorizer); d != "" {
			t.Errorf("%s: %s", e.RequestContext.RouteKey, d)
		}
	}
}

func TestBinaryIsBase64(t *testing.T) {
	f := serve(t, Config{}, nil)
	c := f.dial(nil)
	if err := c.Write(t.Context(), websocket.MessageBinary, []byte{1, 2}); err != nil {
		t.Fatal(err)
	}
	c.want("AQI=")
}

func TestSizes(t *testing.T) {
	f := serve(t, Config{}, nil)
	c, neighbour := f.dial(nil), f.dial(nil)
	for _, size := range []int{0, 1, 32 << 10, 65536, 97 << 10, MessageLimit} {
		text := strings.Repeat("x", size)
		c.send(text)
		if size > 0 {
			c.want(text)
		}
	}
	// As fragments, which are one message.
	w, err := c.Writer(t.Context(), websocket.MessageText)
	if err != nil {
		t.Fatal(err)
	}
	for range 10 {
		if _, err := w.Write(bytes.Repeat([]byte("y"), 9700)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	c.want(strings.Repeat("y", 97000))

	_ = c.Write(t.Context(), websocket.MessageText, bytes.Repeat([]byte("z"), 3*MessageLimit))
	c.wantClose(websocket.StatusMessageTooBig)
	neighbour.send("still here")
	neighbour.want("still here")
}

func TestFaithfulFrames(t *testing.T) {
	f := serve(t, Config{Faithful: true}, nil)
	c := f.dial(nil)
	w, err := c.Writer(t.Context(), websocket.MessageText)
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if _, err := w.Write(bytes.Repeat([]byte("y"), frameLimit)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	c.want(strings.Repeat("y", 3*frameLimit))
	_ = c.Write(t.Context(), websocket.MessageText, bytes.Repeat([]byte("z"), frameLimit+1))
	c.wantClose(websocket.StatusMessageTooBig)
}

// covers: KEEP-1, KEEP-2, KEEP-7
func TestPingsAndSilence(t *testing.T) {
	f := serve(t, Config{Ping: 20 * time.Millisecond, Silent: 300 * time.Millisecond}, nil)
	var pings atomic.Int32
	answering := f.dial(&websocket.DialOptions{OnPingReceived: func(context.Context, []byte) bool { pings.Add(1); return true }})
	writing := f.dial(&websocket.DialOptions{OnPingReceived: func(context.Context, []byte) bool { return false }})
	silent := f.dial(&websocket.DialOptions{OnPingReceived: func(context.Context, []byte) bool { return false }})
	stop := make(chan struct{})
	go func() { // a frame of any kind is a sign of life
		for {
			select {
			case <-stop:
				return
			case <-time.After(50 * time.Millisecond):
				_ = writing.Write(context.Background(), websocket.MessageText, []byte("x"))
			}
		}
	}()
	answered := make(chan error, 1)
	go func() {
		_, err := answering.next()
		answered <- err
	}()
	go func() {
		for {
			if _, err := writing.next(); err != nil {
				return
			}
		}
	}()
	began := time.Now()
	silent.wantClose(websocket.StatusGoingAway)
	if d := time.Since(began); d < 200*time.Millisecond {
		t.Errorf("closed after %v", d)
	}
	if pings.Load() < 5 {
		t.Errorf("%d pings", pings.Load())
	}
	if f.find(answering.id) == nil || f.find(writing.id) == nil {
		t.Error("a socket that was heard is closed")
	}
	close(stop)
	if err := f.Post(t.Context(), answering.id, []byte("x")); err != nil {
		t.Error(err)
	}
	if err := <-answered; err != nil {
		t.Error(err)
	}
}

func TestIdleAndLifetime(t *testing.T) {
	f := serve(t, Config{Faithful: true, Idle: 100 * time.Millisecond}, nil)
	f.dial(nil).wantClose(websocket.StatusNormalClosure)
	f = serve(t, Config{Lifetime: 100 * time.Millisecond}, nil)
	f.dial(nil).wantClose(websocket.StatusGoingAway)
}

func TestAFailedFunctionIsNoAnswer(t *testing.T) {
	for name, message := range map[string]func(context.Context, events.APIGatewayWebsocketProxyRequest) (events.APIGatewayProxyResponse, error){
		"error": func(context.Context, events.APIGatewayWebsocketProxyRequest) (events.APIGatewayProxyResponse, error) {
			return events.APIGatewayProxyResponse{StatusCode: 200}, errors.New("x")
		},
		"status": func(context.Context, events.APIGatewayWebsocketProxyRequest) (events.APIGatewayProxyResponse, error) {
			return events.APIGatewayProxyResponse{StatusCode: 500, Body: "secret"}, nil
		},
		"panic": func(context.Context, events.APIGatewayWebsocketProxyRequest) (events.APIGatewayProxyResponse, error) {
			panic("x")
		},
	} {
		t.Run(name, func(t *testing.T) {
			for _, faithful := range []bool{false, true} {
				f := &fixture{}
				f.message = func(ctx context.Context, e events.APIGatewayWebsocketProxyRequest) (events.APIGatewayProxyResponse, error) {
					if e.Body == "fail" {
						return message(ctx, e)
					}
					return events.APIGatewayProxyResponse{StatusCode: 200, Body: e.Body}, nil
				}
				serve(t, Config{Faithful: faithful}, f)
				c, neighbour := f.dial(nil), f.dial(nil)
				c.send("fail")
				if !faithful {
					if got := c.wantClose(websocket.StatusTryAgainLater); len(got) > 0 {
						t.Errorf("sent %v", got)
					}
				} else if got, err := c.next(); err != nil || !strings.Contains(got, `"message":"Internal server error"`) || strings.Contains(got, `"frame"`) {
					t.Errorf("faithful: got %s (%v)", got, err)
				}
				neighbour.send("fine")
				neighbour.want("fine")
			}
		})
	}
}

// A connection's frames are handled one at a time by default, and side by side where that is asked for.
func TestOrderOfFrames(t *testing.T) {
	for _, shuffle := range []bool{false, true} {
		var under, most atomic.Int32
		f := &fixture{}
		f.message = func(_ context.Context, e events.APIGatewayWebsocketProxyRequest) (events.APIGatewayProxyResponse, error) {
			n := under.Add(1)
			defer under.Add(-1)
			most.Store(max(most.Load(), n))
			if shuffle {
				time.Sleep(time.Millisecond)
			}
			return events.APIGatewayProxyResponse{StatusCode: 200, Body: e.Body}, nil
		}
		cfg := Config{}
		if shuffle {
			cfg.Shuffle = rand.New(rand.NewPCG(1, 2))
		}
		serve(t, cfg, f)
		c := f.dial(nil)
		var sent, got []string
		for i := range 100 {
			sent = append(sent, fmt.Sprint(i))
			c.send(sent[i])
		}
		for range 100 {
			frame, err := c.next()
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, frame)
		}
		if inOrder := slices.Equal(sent, got); inOrder == shuffle || (most.Load() > 1) != shuffle {
			t.Errorf("shuffle %v: in order %v, at most %d at once", shuffle, inOrder, most.Load())
		}
		if d := cmp.Diff(sent, got, cmpopts.SortSlices(func(a, b string) bool { return a < b })); d != "" {
			t.Error(d)
		}
	}
}

func TestStop(t *testing.T) {
	f := serve(t, Config{}, nil)
	var clients []*client
	for range 5 {
		clients = append(clients, f.dial(nil))
	}
	stopped := make(chan error, 1)
	go func() { stopped <- f.Stop(context.Background()) }()
	for _, c := range clients {
		c.wantClose(websocket.StatusGoingAway)
	}
	if err := <-stopped; err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, r := range f.routes() {
		if r == "$disconnect" {
			n++
		}
	}
	if n != 5 {
		t.Errorf("%d calls of $disconnect before Stop returned", n)
	}
	if _, _, err := websocket.Dial(t.Context(), f.url+"/v1/ws?ticket=good", nil); err == nil { //nolint:bodyclose // Dial closes it
		t.Error("a socket opened after the stop")
	}
}
