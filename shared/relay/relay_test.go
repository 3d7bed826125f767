package relay

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/google/go-cmp/cmp"

	"github.com/chipschat/chips-aws/shared/session"
)

// calls is a server that answers every call with a status and tells what it was asked.
func calls(t *testing.T, status int, body string) (aws.Config, *[]string) {
	t.Helper()
	var seen []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, _ := io.ReadAll(r.Body)
		seen = append(seen, r.URL.Path+" "+r.Header.Get("X-Amz-Invocation-Type")+r.Header.Get("X-Amz-Target")+" "+string(raw))
		w.Header().Set("Content-Type", "application/x-amz-json-1.0")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}))
	t.Cleanup(server.Close)
	return aws.Config{
		Region: "eu-central-1", BaseEndpoint: aws.String(server.URL), RetryMaxAttempts: 1,
		Credentials: credentials.NewStaticCredentialsProvider("AKID", "SECRET", ""),
	}, &seen
}

func TestReplaysRunShortOnesAtOnce(t *testing.T) {
	soon, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	invoked := []string{`/2015-03-31/functions/chips-replay/invocations Event {"workspace":"ws_a","connection":"c=","generation":"g","lag":101}`}
	for name, c := range map[string]struct {
		ctx      context.Context
		lag      int64
		noInline bool
		want     []string
	}{
		"short":                   {context.Background(), inlineLag, false, nil},
		"long":                    {context.Background(), inlineLag + 1, false, invoked},
		"short, but no time left": {soon, inlineLag, false, []string{`/2015-03-31/functions/chips-replay/invocations Event {"workspace":"ws_a","connection":"c=","generation":"g","lag":100}`}},
		"short, in replay itself": {context.Background(), inlineLag, true, []string{`/2015-03-31/functions/chips-replay/invocations Event {"workspace":"ws_a","connection":"c=","generation":"g","lag":100}`}},
	} {
		cfg, seen := calls(t, 202, "")
		r := NewReplays(cfg, "chips-replay")
		inline := 0
		if !c.noInline {
			r.Inline = func(context.Context, session.Job) error { inline++; return nil }
		}
		if err := r.Start(c.ctx, session.Job{Workspace: "ws_a", Connection: "c=", Generation: "g", Lag: c.lag}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(c.want, *seen); diff != "" || inline != 1-len(c.want) {
			t.Errorf("%s: inline %d, invoked %s", name, inline, diff)
		}
	}
	cfg, _ := calls(t, 500, `{"message":"oh"}`)
	if err := NewReplays(cfg, "chips-replay").Start(context.Background(), session.Job{Lag: 1000}); err == nil {
		t.Error("an invocation that failed is started")
	}
}

func TestRingQueue(t *testing.T) {
	cfg, seen := calls(t, 200, `{"MessageId":"m-1","MD5OfMessageBody":"6fc1f688cfee1001ba57ed7cead57b3d"}`)
	err := NewRingQueue(cfg, "https://sqs.eu-central-1.amazonaws.com/123456789012/chips-RingQueue").Again(context.Background(), "ws_a")
	want := []string{`/ AmazonSQS.SendMessage {"DelaySeconds":5,"MessageBody":"{\"workspace_id\":\"ws_a\"}","QueueUrl":"https://sqs.eu-central-1.amazonaws.com/123456789012/chips-RingQueue"}`}
	if diff := cmp.Diff(want, *seen); diff != "" || err != nil {
		t.Errorf("%v: %s", err, diff)
	}
}
