package awscall

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go"
	smithytime "github.com/aws/smithy-go/time"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// Service is one service of AWS at one place. It is for any number of goroutines.
type Service struct {
	// Name is what calls are signed for, as dynamodb, and Region where.
	Name, Region string
	// Endpoint answers its URL, the same each time. Its path comes before that of an operation.
	Endpoint    func() (*url.URL, error)
	Credentials aws.CredentialsProvider
	// Protocol is how the service is spoken to, and Errors what it may answer, both as the SDK has them.
	Protocol smithyhttp.ClientProtocol
	Errors   *smithy.TypeRegistry
	// HTTP sends, for all calls over the same connections; HTTP makes one.
	HTTP aws.HTTPClient
}

// HTTP is a client with the connections of b that follows no redirects: AWS sends none, and what is signed and meant for one place is not
// to be sent to another, nor round in circles.
func HTTP(b *awshttp.BuildableClient) *http.Client {
	return &http.Client{Transport: b.GetTransport(), CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// answerBytes is how much of an answer is read: DynamoDB answers 1 MB of items at most, a few as JSON, and more is none of its.
const answerBytes = 16 << 20

// signer may be shared: it keeps the keys that it derives, for a day each.
var signer = v4.NewSigner()

// Call asks a service for an operation, and again as its retryer says. Errors are those of the SDK's clients: a smithy.APIError, with an
// *awshttp.ResponseError around it, for what the service answered with an error; where its status is no 4xx, and after any other error, it is
// not known whether the operation was done. Where the caller's time was over an error is the context's too.
func (s *Service) Call(ctx context.Context, op *smithy.OperationSchema, in smithy.Serializable, out smithy.Deserializable, retryer aws.Retryer) error {
	spent := retryer.GetInitialToken() // what succeeds at once fills up what retries are paid from
	for attempt := 1; ; attempt++ {
		err := s.try(ctx, op, in, out)
		_ = spent(err)
		if err == nil {
			return nil
		}
		again := attempt < retryer.MaxAttempts() && ctx.Err() == nil && retryer.IsErrorRetryable(err)
		if again {
			var none error // so many failed that no more are to be tried again
			spent, none = retryer.GetRetryToken(ctx, err)
			again = none == nil && wait(ctx, retryer, attempt, err)
		}
		if over := ctx.Err(); over != nil && !errors.Is(err, over) {
			err = fmt.Errorf("%w: %w", over, err)
		}
		if !again {
			return fmt.Errorf("%s %s: %w", s.Name, op.ID().Name, err)
		}
	}
}

// wait waits before an attempt after one, and says whether it did so to the end.
func wait(ctx context.Context, retryer aws.Retryer, attempt int, failed error) bool {
	delay, err := retryer.RetryDelay(attempt, failed)
	return err == nil && smithytime.SleepWithContext(ctx, delay) == nil
}

func (s *Service) try(ctx context.Context, op *smithy.OperationSchema, in smithy.Serializable, out smithy.Deserializable) error {
	r, err := s.request(ctx, op, in)
	if err != nil {
		return err
	}
	resp, err := s.HTTP.Do(r)
	if err != nil {
		return &smithyhttp.RequestSendError{Err: err}
	}
	resp.Body = http.MaxBytesReader(nil, resp.Body, answerBytes)
	defer func() {
		_, _ = io.CopyN(io.Discard, resp.Body, 4<<10) // a connection whose answer was read is used again
		_ = resp.Body.Close()
	}()
	answer := &smithyhttp.Response{Response: resp}
	err = s.Protocol.DeserializeResponse(ctx, op, s.Errors, answer, out)
	if err == nil && op.Output != nil && resp.ContentLength == 0 {
		err = errors.New("an answer without a body") // of a read it would say that there is nothing
	}
	if err != nil {
		return &awshttp.ResponseError{
			ResponseError: &smithyhttp.ResponseError{Response: answer, Err: err},
			RequestID:     resp.Header.Get("X-Amzn-Requestid"),
		}
	}
	return nil
}

// request is an operation's request, signed.
func (s *Service) request(ctx context.Context, op *smithy.OperationSchema, in smithy.Serializable) (*http.Request, error) {
	req := smithyhttp.NewStackRequest().(*smithyhttp.Request)
	if err := s.Protocol.SerializeRequest(ctx, op, in, req); err != nil {
		return nil, err
	}
	base, err := s.Endpoint()
	if err != nil {
		return nil, fmt.Errorf("where it is: %w", err)
	}
	at := *base
	if req.URL.RawPath != "" {
		at.RawPath = smithyhttp.JoinPath(at.EscapedPath(), req.URL.RawPath)
	}
	at.Path = smithyhttp.JoinPath(at.Path, req.URL.Path)
	at.RawQuery = req.URL.RawQuery
	r := req.WithContext(ctx)
	r.URL, r.Host = &at, ""
	r.Header.Set("User-Agent", "chips")
	r.Header.Set("Accept-Encoding", "identity") // as the SDK has it: to unpack an answer takes longer than to read it
	sum := sha256.New()
	switch body := req.GetStream().(type) {
	case nil:
		r.ContentLength = 0
	case *bytes.Reader: // which net/http sends together with the head, as it does with no reader it does not know
		r.ContentLength = body.Size()
		// net/http takes another where the connection was closed before anything of this went out, or the server says that it took none of it.
		r.GetBody = func() (io.ReadCloser, error) {
			again := *body
			return io.NopCloser(&again), nil
		}
		r.Body, _ = r.GetBody()
		hashed := *body
		_, _ = hashed.WriteTo(sum)
	default:
		return nil, fmt.Errorf("a body of type %T is not to be sent twice", body)
	}
	credentials, err := s.Credentials.Retrieve(ctx)
	if err != nil {
		return nil, fmt.Errorf("get credentials: %w", err)
	}
	now := time.Now().UTC() //nolint:forbidigo // AWS goes by the time it is
	return r, signer.SignHTTP(ctx, credentials, r, hex.EncodeToString(sum.Sum(nil)), s.Name, s.Region, now)
}
