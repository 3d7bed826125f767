package apigw

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"testing"
	"time"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/smithy-go/middleware"
)

// held is a connection that has written the last of a body only when the caller has the head of the answer and let go of the body.
type held struct {
	net.Conn
	last   []byte
	letGo  chan struct{}
	giveUp <-chan struct{}
}

func (h held) Write(p []byte) (int, error) {
	n, err := h.Conn.Write(p)
	if bytes.HasSuffix(p, h.last) {
		select {
		case <-h.letGo:
		case <-h.giveUp:
		}
	}
	return n, err
}

// A call is done when the service answers it, though net/http has not had its last look at the body yet: for each client that is made
// from the configuration, one with a transport of its own too.
func TestAnsweredBeforeTheLastLook(t *testing.T) {
	cfg, err := Config(lambdaEnvironment())
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) }))
	t.Cleanup(server.Close)
	frame := []byte(`"` + string(bytes.Repeat([]byte("x"), 9<<10)) + `"`) // more than net/http holds back before its last look
	for what, call := range map[string]func(ctx context.Context, client *awshttp.BuildableClient, seen func(*middleware.Stack) error) error{
		"a service": func(ctx context.Context, client *awshttp.BuildableClient, seen func(*middleware.Stack) error) error {
			function := "chips-replay"
			_, err := lambda.NewFromConfig(cfg).Invoke(ctx, &lambda.InvokeInput{FunctionName: &function, Payload: frame}, func(o *lambda.Options) {
				o.BaseEndpoint, o.HTTPClient, o.APIOptions = &server.URL, client, append(o.APIOptions, seen)
			})
			return err
		},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		letGo := make(chan struct{})
		client := awshttp.NewBuildableClient().WithTransportOptions(func(tr *http.Transport) {
			dial := tr.DialContext
			tr.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
				conn, err := dial(ctx, network, address)
				return held{conn, frame[len(frame)-100:], letGo, t.Context().Done()}, err
			}
		})
		// The SDK has let go of the body when what is innermost returns.
		answered := func(stack *middleware.Stack) error {
			return stack.Deserialize.Add(middleware.DeserializeMiddlewareFunc("answered", func(
				ctx context.Context, in middleware.DeserializeInput, next middleware.DeserializeHandler,
			) (middleware.DeserializeOutput, middleware.Metadata, error) {
				out, metadata, err := next.HandleDeserialize(ctx, in)
				close(letGo)
				return out, metadata, err
			}), middleware.After)
		}
		looked := make(chan error, 1)
		ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteRequest: func(w httptrace.WroteRequestInfo) { looked <- w.Err }})
		if err := call(ctx, client, answered); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		select {
		case err := <-looked:
			if err != nil {
				t.Errorf("%s: net/http takes the end of the body for a failure: %v", what, err)
			}
		case <-ctx.Done():
			t.Errorf("%s: the body was never looked at again", what)
		}
		cancel()
	}
}
