package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/chipschat/chips-aws/shared/client"
	"github.com/chipschat/chips-aws/shared/protocol"
)

// world is a server with a room that holds Arjun, who owns the workspace, and the harness Scout.
type world struct {
	*server
	data      string
	env       []string
	url       string
	workspace client.Workspace
	arjun     client.API
	scout     client.Harness
	room      string
}

func newWorld(t *testing.T, env ...string) *world {
	t.Helper()
	w := &world{data: t.TempDir(), env: append(env, "CHIPS_ADMIN_TOKEN="+adminToken, "CHIPS_ADDR=127.0.0.1:0")}
	w.server = launch(t, w.data, w.env)
	w.url = w.await()
	var err error
	if w.workspace, err = as(w.url, adminToken).CreateWorkspace(t.Context(), "Acme", "Arjun"); err != nil {
		t.Fatal(err)
	}
	w.arjun = as(w.url, w.workspace.Key)
	if w.scout, err = w.arjun.AddHarness(t.Context(), "Scout"); err != nil {
		t.Fatal(err)
	}
	w.room = w.scout.SpaceID
	return w
}

// restart ends the server in order or with SIGKILL, and starts it again where it was.
func (w *world) restart(sig syscall.Signal) {
	w.t.Helper()
	if sig == syscall.SIGKILL {
		w.kill()
	} else if err := w.stop(sig); err != nil {
		w.t.Fatal(err)
	}
	w.server = launch(w.t, w.data, w.env, "--addr", strings.TrimPrefix(w.url, "http://"))
	w.await()
}

// post is the frame of a message.
func (w *world) post(key, text string) string {
	return fmt.Sprintf(`{"frame":"event","event":{"type":"message.post","space_id":%q,"text":%q,"idempotency_key":%q}}`, w.room, text, key)
}

// covers: TKT-1, TKT-3, TKT-4, TKT-5, TKT-6, TKT-7, TKT-10, TKT-11, TKT-12
func TestGettingOn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	works := func(s *socket, status int) {
		t.Helper()
		if s == nil {
			t.Fatalf("refused with %d", status)
		}
		s.hello()
	}
	refused := func(s *socket, status int) {
		t.Helper()
		if s != nil || status != http.StatusUnauthorized {
			t.Errorf("got %d, want a refusal with 401", status)
		}
	}
	ticket := func(api client.API) string {
		t.Helper()
		ticket, err := api.Ticket(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return "?ticket=" + ticket
	}
	works(w.dial("", bearer(w.scout.Token)))
	works(w.dial("", bearer(w.workspace.Key)))
	works(w.dial(ticket(w.arjun), nil))
	scouts := ticket(as(w.url, w.scout.Token))
	works(w.dial(scouts, http.Header{"Origin": {"https://app.example"}}))
	refused(w.dial(scouts, nil))
	refused(w.dial("", nil))
	refused(w.dial("", bearer("nobody")))
	refused(w.dial("?ticket=nothing", nil))

	// A look does not spend a ticket.
	scouts = ticket(as(w.url, w.scout.Token))
	for _, method := range []string{http.MethodGet, http.MethodHead} {
		req, err := http.NewRequest(method, w.url+"/v1/ws"+scouts, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode/100 != 4 {
			t.Errorf("%s got %s", method, resp.Status)
		}
	}
	works(w.dial(scouts, nil))

	// The token in the URL is taken, with a warning each time that does not say it.
	for n := range 2 {
		works(w.dial("?token="+w.scout.Token, nil))
		if got := strings.Count(w.logs.String(), `"level":"WARN"`); got != n+1 {
			t.Errorf("%d warnings after %d uses", got, n+1)
		}
	}
	for _, secret := range []string{w.scout.Token, w.workspace.Key, scouts[len("?ticket="):]} {
		if strings.Contains(w.logs.String(), secret) {
			t.Errorf("a secret was logged")
		}
	}

	strict := newWorld(t, "CHIPS_ACCEPT_URL_TOKEN=0", "CHIPS_TICKET_TTL_MS=1000")
	refused(strict.dial("?token="+strict.scout.Token, nil))
	old := ticket(strict.arjun)
	time.Sleep(1100 * time.Millisecond) // the ticket's life, by the server's clock
	refused(strict.dial(old, nil))
}

// covers: WRT-5, WRT-9
func TestLargeEvents(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.open(w.scout.Token)
	for _, size := range []int{32_768, 40_000, 65_536} {
		key := fmt.Sprint("big-", size)
		s.send(w.post(key, strings.Repeat("x", size)))
		s.want("ack", key)
	}
	large := w.post("fragments", strings.Repeat("x", 65_536))
	writer, err := s.Writer(t.Context(), websocket.MessageText)
	if err != nil {
		t.Fatal(err)
	}
	for chunk := range slices.Chunk([]byte(large), len(large)/10+1) {
		if _, err := writer.Write(chunk); err != nil {
			t.Fatal(err)
		}
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	s.want("ack", "fragments")
	for _, size := range []int{65_537, 97 << 10} {
		key := fmt.Sprint("over-", size)
		s.send(w.post(key, strings.Repeat("x", size)))
		if f := s.want("error", key); f.Code != protocol.InvalidEvent {
			t.Errorf("%d bytes: %+v", size, f)
		}
	}
	s.send(w.post("after", "x"))
	s.want("ack", "after")
	s.send(w.post("too large for a message", strings.Repeat("x", 200<<10)))
	s.wantClose(websocket.StatusMessageTooBig)
}

// Whatever one client sends, another on the same server writes on.
func TestMalformedFramesHarmNobodyElse(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	neighbour := w.open(w.workspace.Key)
	for i, raw := range []string{
		"", "x", "null", "[]", "{}", `{"frame":7}`, `{"frame":"event"}`, `{"frame":"event","event":null}`, `{"frame":"event","event":[]}`,
		`{"frame":"subscribe"}`, `{"frame":"subscribe","workspace_id":"ws_","since":-1}`, `{"frame":"hello","frame":"event"}`, "\xff\xfe",
		strings.Repeat("[", 100_000), `{"frame":"event","event":` + strings.Repeat(`{"a":`, 20_000), `{"frame":"ping"}`, `{"frame":"unknown"}`,
		`{"frame":"event","event":{"type":"hello","idempotency_key":"k"}}`, `{"frame":"event","event":{"type":"message.post","text":7,"idempotency_key":"k"}}`,
	} {
		bad := w.open(w.scout.Token)
		bad.send(raw)
		if err := bad.Write(t.Context(), websocket.MessageBinary, []byte(raw)); err != nil {
			t.Fatal(err)
		}
		key := fmt.Sprint("good-", i)
		neighbour.send(w.post(key, "hi"))
		neighbour.want("ack", key)
		// And the socket itself is of use still.
		bad.send(w.post("own-"+key, "hi"))
		bad.want("ack", "own-"+key)
		_ = bad.CloseNow()
	}
}

// covers: KEEP-3, KEEP-4, KEEP-5, KEEP-7
func TestFallingBehind(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "CHIPS_BACKLOG_FRAMES=20")
	ctx := t.Context()
	slow := w.open(w.workspace.Key, func(o *websocket.DialOptions) {
		// What the kernel would take in for a reader is not what the test is about.
		o.HTTPClient = &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := (&net.Dialer{}).DialContext(ctx, network, addr)
			if err == nil {
				err = conn.(*net.TCPConn).SetReadBuffer(64 << 10)
			}
			return conn, err
		}}}
	})
	slow.send(fmt.Sprintf(`{"frame":"subscribe","workspace_id":%q,"since":0}`, w.workspace.WorkspaceID))

	// Scout talks, and Arjun does not read: first the transport fills, then the frames wait.
	scout := client.New(client.Config{URL: w.url, Credential: client.Bearer(w.scout.Token), WriteOnly: true, Pipelined: true})
	go func() { _ = scout.Run(ctx) }()
	var posts sync.WaitGroup
	const messages = 80
	for i := range messages {
		posts.Go(func() {
			if _, err := scout.Post(ctx, client.Draft{Key: fmt.Sprint(i), SpaceID: w.room, Data: &protocol.MessagePost{Text: strings.Repeat("x", 60_000)}}); err != nil {
				t.Errorf("post: %v", err)
			}
		})
	}
	posts.Wait()

	var last int64
	for {
		f, err := slow.next()
		if err != nil {
			if websocket.CloseStatus(err) != websocket.StatusPolicyViolation {
				t.Errorf("ended with %v", err)
			}
			break
		}
		if f.Frame == "error" {
			if f.Code != protocol.TooFarBehind {
				t.Errorf("error %+v", f)
			}
			continue
		}
		if f.Event.Seq <= last {
			t.Fatalf("seq %d after %d", f.Event.Seq, last)
		}
		last = f.Event.Seq
	}
	head, err := w.arjun.Events(ctx, client.EventsQuery{Since: 1 << 50})
	if err != nil {
		t.Fatal(err)
	}
	if last >= head.LastSeq {
		t.Fatalf("all %d were delivered before the cut", last)
	}
	// It comes back with since, and has everything.
	again := make(chan int64, messages+100)
	c := client.New(client.Config{URL: w.url, Credential: client.Bearer(w.workspace.Key), Since: &last, OnEvent: func(_ context.Context, e client.Event) { again <- e.Seq }})
	go func() { _ = c.Run(ctx) }()
	for want := last + 1; want <= head.LastSeq; want++ {
		select {
		case got := <-again:
			if got != want {
				t.Fatalf("got seq %d, want %d", got, want)
			}
		case <-time.After(20 * time.Second):
			t.Fatalf("seq %d never came", want)
		}
	}
}

// A credential that is taken back closes its sockets at once.
func TestTakingBackCloses(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s, other := w.open(w.scout.Token), w.open(w.workspace.Key)
	if err := w.arjun.Do(t.Context(), http.MethodDelete, "/v1/harnesses/"+w.scout.HarnessID+"/tokens/"+w.scout.TokenID, nil, nil); err != nil {
		t.Fatal(err)
	}
	s.wantClose(websocket.StatusPolicyViolation)
	if s, status := w.dial("", bearer(w.scout.Token)); s != nil || status != http.StatusUnauthorized {
		t.Errorf("opened again: %d", status)
	}
	other.send(w.post("k", "x"))
	other.want("ack", "k")
}

// Frames that a client sends without waiting are answered the same whether or not the gateway keeps their order.
func TestFramesSideBySide(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"ordered", "shuffled"} {
		t.Run(mode, func(t *testing.T) {
			w := newWorld(t, "CHIPS_GATEWAY="+mode)
			s, _ := w.dial("", bearer(w.scout.Token))
			s.send(`{"frame":"hello","protocol":{"min":1,"max":1},"client":{"name":"t","version":"1"}}`)
			var keys []string
			for i := range 10 {
				run := protocol.NewID(protocol.PrefixRun, time.Now(), [10]byte{byte(i)})
				for _, e := range []string{`"type":"run.started","space_id":"` + w.room + `"`, `"type":"step.log","step_id":"s1","status":"done","summary":"x"`} {
					key := fmt.Sprint("k", len(keys))
					keys = append(keys, key)
					s.send(fmt.Sprintf(`{"frame":"event","event":{%s,"run_id":%q,"idempotency_key":%q}}`, e, run, key))
				}
			}
			answered := map[string]frame{}
			for len(answered) < len(keys) {
				f, err := s.next()
				if err != nil {
					t.Fatalf("%d of %d answered: %v", len(answered), len(keys), err)
				}
				if f.Key != "" {
					answered[f.Key] = f
				}
			}
			for _, key := range keys {
				if f := answered[key]; f.Frame != "ack" {
					t.Errorf("%s: %s %s %s", key, f.Frame, f.Code, f.Message)
				}
			}
		})
	}
}
