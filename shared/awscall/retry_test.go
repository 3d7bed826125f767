package awscall_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

func standard(attempts int) aws.Retryer {
	return retry.NewStandard(func(o *retry.StandardOptions) {
		o.MaxAttempts = attempts
		o.Backoff = retry.BackoffDelayerFunc(func(int, error) (time.Duration, error) { return time.Millisecond, nil })
	})
}

// What the retryer takes for curable is tried as often as it says, what it does not take for it once.
func TestTriesAgain(t *testing.T) {
	for _, c := range []struct {
		what     string
		attempts int
		reply    func(n int, w http.ResponseWriter)
		calls    int
		fails    bool
	}{
		{"cured at the third", 3, func(n int, w http.ResponseWriter) {
			if n < 3 {
				w.WriteHeader(500)
			}
			_, _ = io.WriteString(w, `{}`)
		}, 3, false},
		{"not cured", 3, func(_ int, w http.ResponseWriter) { w.WriteHeader(500); _, _ = io.WriteString(w, `{}`) }, 3, true},
		{"a lost connection", 2, func(n int, w http.ResponseWriter) {
			if n == 1 {
				panic(http.ErrAbortHandler)
			}
			_, _ = io.WriteString(w, `{}`)
		}, 2, false},
		{"not curable", 3, func(_ int, w http.ResponseWriter) {
			w.WriteHeader(400)
			_, _ = io.WriteString(w, `{"__type":"ValidationException"}`)
		}, 1, true},
		{"once", 1, func(_ int, w http.ResponseWriter) { w.WriteHeader(500); _, _ = io.WriteString(w, `{}`) }, 1, true},
	} {
		w := newWire(t, c.reply)
		s := w.service("dynamodb", "")
		err := s.Call(t.Context(), getItem, get(), new(dynamodb.GetItemOutput), standard(c.attempts))
		if (err != nil) != c.fails || len(w.requests()) != c.calls {
			t.Errorf("%s: %d calls, %v", c.what, len(w.requests()), err)
		}
	}
}

// What went out on a connection that was used before, and was not answered, does not go out again by itself: it may have been done.
func TestSentOnce(t *testing.T) {
	w := newWire(t, func(n int, w http.ResponseWriter) {
		if n == 2 {
			panic(http.ErrAbortHandler)
		}
		_, _ = io.WriteString(w, `{}`)
	})
	s := w.service("dynamodb", "")
	for n, fails := range []bool{false, true, false} {
		err := s.Call(t.Context(), getItem, get(), new(dynamodb.GetItemOutput), aws.NopRetryer{})
		if (err != nil) != fails || len(w.requests()) != n+1 {
			t.Errorf("%d: %d went out, %v", n, len(w.requests()), err)
		}
	}
}

// A caller who has gone waits for no further attempt, and is told so, whatever became of the last one.
func TestStopsWithItsCaller(t *testing.T) {
	for what, reply := range map[string]func(w http.ResponseWriter, stop <-chan struct{}){
		"answered with an error": func(w http.ResponseWriter, _ <-chan struct{}) { w.WriteHeader(500) },
		"not answered":           func(_ http.ResponseWriter, stop <-chan struct{}) { <-stop },
		"answered by half":       func(w http.ResponseWriter, stop <-chan struct{}) { halfAnswer(w); <-stop },
	} {
		ctx, cancel := context.WithCancelCause(t.Context())
		stop := make(chan struct{})
		w := newWire(t, func(_ int, w http.ResponseWriter) { cancel(errors.New("the socket closed")); reply(w, stop) })
		s := w.service("dynamodb", "")
		err := s.Call(ctx, getItem, get(), new(dynamodb.GetItemOutput), retry.NewStandard())
		if !errors.Is(err, context.Canceled) || len(w.requests()) != 1 {
			t.Errorf("%s: %d calls, %v", what, len(w.requests()), err)
		}
		close(stop)
	}
}

func halfAnswer(w http.ResponseWriter) {
	w.Header().Set("Content-Length", "100")
	_, _ = io.WriteString(w, `{"Item":`)
	_ = http.NewResponseController(w).Flush()
}

// Retries are paid for, by what each leaves, and by calls that need none: where all fail no more are made, and they are again once calls succeed.
func TestPaysForItsRetries(t *testing.T) {
	fails := true
	w := newWire(t, func(_ int, w http.ResponseWriter) {
		if fails {
			w.WriteHeader(500)
		}
		_, _ = io.WriteString(w, `{}`)
	})
	s := w.service("dynamodb", "")
	retryer := retry.NewStandard(func(o *retry.StandardOptions) {
		o.RateLimiter, o.RetryCost, o.MaxAttempts = ratelimit.NewTokenRateLimit(2), 2, 2
	})
	for n, step := range []struct {
		fails bool
		calls int
	}{{true, 2}, {true, 1}, {false, 1}, {true, 1}, {false, 1}, {true, 2}, {true, 1}} {
		fails = step.fails
		before := len(w.requests())
		err := s.Call(t.Context(), getItem, get(), new(dynamodb.GetItemOutput), retryer)
		if calls := len(w.requests()) - before; calls != step.calls || (err != nil) != step.fails {
			t.Errorf("%d: %d calls and not %d, %v", n, calls, step.calls, err)
		}
	}
}
