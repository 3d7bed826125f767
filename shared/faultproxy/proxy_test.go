package faultproxy_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/chipschat/chips-aws/shared/faultproxy"
)

// target notes what reaches it.
type target struct {
	mu      sync.Mutex
	done    []string
	reached chan struct{}
}

func (s *target) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done = append(s.done, r.Method+" "+r.URL.RequestURI()+" "+string(body))
	select {
	case s.reached <- struct{}{}:
	default:
	}
	w.Header().Set("X-From", "the target")
	w.WriteHeader(http.StatusAccepted)
	_, _ = io.WriteString(w, "0123456789")
}

func (s *target) take() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	done := s.done
	s.done = nil
	return done
}

func TestEachFault(t *testing.T) {
	behind := &target{reached: make(chan struct{}, 1)}
	server := httptest.NewServer(behind)
	t.Cleanup(server.Close)
	at, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	proxy := faultproxy.New(at)
	front := httptest.NewServer(proxy)
	t.Cleanup(front.Close)
	put := func(patient bool) (int, string, error) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if !patient {
			go func() {
				<-behind.reached
				cancel()
			}()
		}
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, front.URL+"/a?b=c", strings.NewReader(`{"Item":{"sk":{"S":"x"}}}`))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("X-Amz-Target", "DynamoDB_20120810.PutItem")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return 0, "", err
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		return resp.StatusCode, string(body), err
	}
	once := []string{`POST /a?b=c {"Item":{"sk":{"S":"x"}}}`}
	for _, c := range []struct {
		fault  faultproxy.Fault
		status int
		ends   bool
		done   []string
	}{
		{faultproxy.None, http.StatusAccepted, false, once},
		{faultproxy.Refused, http.StatusBadRequest, false, nil},
		{faultproxy.Broken, http.StatusInternalServerError, false, nil},
		{faultproxy.Gone, http.StatusGone, false, nil},
		{faultproxy.Dropped, 0, true, nil},
		{faultproxy.BrokenReply, http.StatusInternalServerError, false, once},
		{faultproxy.LostReply, 0, true, once},
		{faultproxy.HalfReply, http.StatusAccepted, true, once},
		{faultproxy.Hung, 0, true, once},
		{faultproxy.Late, 0, true, nil},
	} {
		asked := make(chan faultproxy.Call, 1)
		proxy.Set(func(call faultproxy.Call) faultproxy.Fault { asked <- call; return c.fault })
		status, body, err := put(c.fault != faultproxy.Hung)
		if status != c.status || (err != nil) != c.ends || c.fault == faultproxy.Hung != errors.Is(err, context.Canceled) {
			t.Errorf("%q: %d %q, %v", c.fault, status, body, err)
		}
		if diff := cmp.Diff(c.done, behind.take()); diff != "" {
			t.Errorf("%q: done %s", c.fault, diff)
		}
		if call := <-asked; call != (faultproxy.Call{Operation: "PutItem", Key: "x"}) || c.fault != faultproxy.None && proxy.Seen()[c.fault] != 1 {
			t.Errorf("%q: asked about %+v, seen %v", c.fault, call, proxy.Seen())
		}
		select {
		case <-behind.reached:
		default:
		}
	}
	proxy.Set(nil)
	if _, _, err := put(true); err != nil || len(behind.take()) != 2 {
		t.Errorf("what is late is not done after the next call: %v", err)
	}
	if proxy.Release(); len(behind.take()) != 0 {
		t.Error("what was late is done twice")
	}
}

// A connection's calls are told apart by its id, and refused in its own words.
func TestConnections(t *testing.T) {
	proxy := faultproxy.New(&url.URL{Scheme: "http", Host: "127.0.0.1:1"})
	front := httptest.NewServer(proxy)
	t.Cleanup(front.Close)
	asked := make(chan faultproxy.Call, 1)
	proxy.Set(func(call faultproxy.Call) faultproxy.Fault { asked <- call; return faultproxy.Refused })
	for _, at := range []string{"/prod/@connections/a%3D", "/prod/%40connections/a%3D"} {
		resp, err := http.Post(front.URL+at, "", nil)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if call := <-asked; resp.StatusCode != http.StatusTooManyRequests || call != (faultproxy.Call{Operation: "PostToConnection", Key: "a="}) {
			t.Errorf("%s: %d %+v", at, resp.StatusCode, call)
		}
	}
}
