package apigw

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/google/go-cmp/cmp"

	"github.com/chipschat/chips-aws/shared/session"
)

// management answers @connections calls as the service does: by id, with its statuses, its error header and its message.
type management struct {
	mu      sync.Mutex
	calls   []string
	release chan struct{}
}

func (m *management) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	id, ok := strings.CutPrefix(r.URL.EscapedPath(), "/prod/@connections/")
	if !ok {
		id, ok = strings.CutPrefix(r.URL.EscapedPath(), "/prod/%40connections/")
	}
	m.mu.Lock()
	m.calls = append(m.calls, r.Method+" "+id+" "+string(body))
	m.mu.Unlock()
	refuse := func(status int, name, message string) {
		w.Header().Set("Content-Type", "application/json")
		if name != "" {
			w.Header().Set("x-amzn-ErrorType", name)
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, `{"message":"`+message+`"}`)
	}
	switch {
	case !ok || !strings.HasPrefix(r.Header.Get("Authorization"), "AWS4-HMAC-SHA256 "):
		refuse(403, "ForbiddenException", "Forbidden")
	case len(body) > 128<<10:
		refuse(413, "PayloadTooLargeException", "too large")
	case strings.HasPrefix(id, "gone"):
		refuse(410, "GoneException", "")
	case strings.HasPrefix(id, "slow"):
		refuse(429, "LimitExceededException", "client side buffer is full")
	case strings.HasPrefix(id, "throttle"):
		refuse(429, "", "Too Many Requests")
	case strings.HasPrefix(id, "broken"):
		refuse(500, "InternalServerException", "oh")
	case strings.HasPrefix(id, "hang"):
		<-m.release
	case r.Method == http.MethodDelete:
		w.WriteHeader(204)
	case r.Method == http.MethodGet && id == "quiet":
		_, _ = io.WriteString(w, `{"identity":{}}`)
	case r.Method == http.MethodGet:
		_, _ = io.WriteString(w, `{"connectedAt":"2026-11-30T12:00:00.250Z","identity":{"sourceIp":"192.0.2.1","userAgent":"t"},"lastActiveAt":"2026-11-30T12:08:01.125Z"}`)
	}
}

func (m *management) seen() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]string(nil), m.calls...)
}

func newManagement(t *testing.T) (*management, *Push) {
	m := &management{release: make(chan struct{})}
	server := httptest.NewServer(m)
	t.Cleanup(server.Close)
	t.Cleanup(func() { close(m.release) })
	cfg := aws.Config{Region: "eu-central-1", Credentials: credentials.NewStaticCredentialsProvider("AKID", "SECRET", "")}
	return m, NewPush(cfg, server.URL+"/prod")
}

func TestPostOverHTTP(t *testing.T) {
	m, push := newManagement(t)
	for _, c := range []struct {
		id      string
		data    string
		want    error // nil with unknown says that it is any other
		unknown bool
	}{
		{"L0SM9cOFvHcCIhw=", `{"frame":"ack"}`, nil, false},
		{"gone", "x", session.ErrGone, false},
		{"slow", "x", session.ErrThrottled, false},
		{"throttle", "x", session.ErrThrottled, false},
		{"ok", strings.Repeat("x", 128<<10+1), session.ErrTooLarge, false},
		{"broken", "x", nil, true},
		{"hang", "x", nil, true},
	} {
		before := len(m.seen())
		push.timeout = time.Minute
		if c.id == "hang" {
			push.timeout = 300 * time.Millisecond
		}
		err := push.Post(context.Background(), c.id, []byte(c.data))
		switch {
		case c.unknown:
			if err == nil || errors.Is(err, session.ErrGone) || errors.Is(err, session.ErrThrottled) || errors.Is(err, session.ErrTooLarge) {
				t.Errorf("%s: %v, want an error of unknown outcome", c.id, err)
			}
			if !strings.Contains(err.Error(), c.id) {
				t.Errorf("%v names no connection", err)
			}
		case !errors.Is(err, c.want):
			t.Errorf("%s: %v, want %v", c.id, err, c.want)
		}
		if n := len(m.seen()) - before; n != 1 {
			t.Errorf("%s: tried %d times; whether to try again is not the SDK's to say", c.id, n)
		}
	}
	if got := m.seen()[0]; got != `POST L0SM9cOFvHcCIhw%3D {"frame":"ack"}` {
		t.Errorf("the service saw %q", got)
	}
}

func TestLastHeard(t *testing.T) {
	m, push := newManagement(t)
	push.timeout = 100 * time.Millisecond
	at := time.Date(2026, 11, 30, 12, 8, 1, 125_000_000, time.UTC)
	for _, c := range []struct {
		id   string
		want time.Time
		err  error // nil with fails says that it is any other
		fail bool
	}{
		{"a=", at, nil, false},
		{"quiet", time.Time{}, nil, false},
		{"gone", time.Time{}, session.ErrGone, true},
		{"throttle", time.Time{}, session.ErrThrottled, true},
		{"broken", time.Time{}, nil, true},
		{"hang", time.Time{}, context.DeadlineExceeded, true},
	} {
		got, err := push.LastHeard(context.Background(), c.id)
		if !got.Equal(c.want) || (err != nil) != c.fail || c.err != nil && !errors.Is(err, c.err) {
			t.Errorf("%s: %v, %v", c.id, got, err)
		}
	}
	if got := m.seen()[0]; got != "GET a%3D " {
		t.Errorf("the service saw %q", got)
	}
}

func TestCloseSendsTheLastFrameThenDeletes(t *testing.T) {
	m, push := newManagement(t)
	ctx := context.Background()
	for _, c := range []struct {
		id   string
		last []byte
		fail bool
		want []string
	}{
		{"a", []byte("bye"), false, []string{"POST a bye", "DELETE a "}},
		{"b", nil, false, []string{"DELETE b "}},
		{"gone", []byte("bye"), false, []string{"POST gone bye"}},
		{"gone", nil, false, []string{"DELETE gone "}},
		{"slow", []byte("bye"), true, []string{"POST slow bye", "DELETE slow "}}, // one try, and on
	} {
		before := len(m.seen())
		if err := push.Close(ctx, c.id, 1008, "too far behind", c.last); (err != nil) != c.fail {
			t.Errorf("%s: %v", c.id, err)
		}
		if diff := cmp.Diff(c.want, m.seen()[before:]); diff != "" {
			t.Errorf("%s: %s", c.id, diff)
		}
	}
}
