package client

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/go-json-experiment/json"

	"github.com/chipschat/chips-aws/shared/protocol"
)

const workspace = "ws_01K4ZQPX000000000000000001"

// fakeServer is Chips as a test scripts it: it hands each socket to the test, frame by frame.
type fakeServer struct {
	t       *testing.T
	url     string
	sockets chan *peer
	// deaf has it answer no pings; pinged is told of each.
	deaf   atomic.Bool
	pinged chan struct{}
	// head is what GET /v1/events says.
	head atomic.Int64
	// refuse is an error body for the ticket request, "" for none.
	refuse atomic.Pointer[protocol.Error]
	// posted is given the bodies of POST /v1/events; post answers them.
	posted  chan string
	post    func(w http.ResponseWriter)
	tickets atomic.Int64
	// upgraded is the path of the last upgrade.
	upgraded atomic.Value
}

func newFake(t *testing.T) *fakeServer {
	f := &fakeServer{t: t, sockets: make(chan *peer, 8), posted: make(chan string, 8), pinged: make(chan struct{}, 1)}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/socket-tickets", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer secret" {
			t.Errorf("ticket asked for with %q", r.Header.Get("Authorization"))
		}
		if e := f.refuse.Load(); e != nil {
			w.WriteHeader(protocol.HTTPStatus(e.Code))
			_ = json.MarshalWrite(w, e)
			return
		}
		fmt.Fprintf(w, `{"ticket":"tkt-%d","expires_in":30}`, f.tickets.Add(1))
	})
	mux.HandleFunc("GET /v1/events", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, `{"events":[],"last_seq":%d}`, f.head.Load())
	})
	mux.HandleFunc("POST /v1/events", func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		f.posted <- string(b)
		f.post(w)
	})
	upgrade := func(w http.ResponseWriter, r *http.Request) {
		if want := fmt.Sprintf("tkt-%d", f.tickets.Load()); r.URL.Query().Get("ticket") != want || r.Header.Get("Authorization") != "" {
			t.Errorf("upgrade with ticket %q, want %q", r.URL.Query().Get("ticket"), want)
		}
		f.upgraded.Store(r.URL.Path)
		conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{OnPingReceived: func(context.Context, []byte) bool {
			select {
			case f.pinged <- struct{}{}:
			default:
			}
			return !f.deaf.Load()
		}})
		if err != nil {
			return
		}
		conn.SetReadLimit(1 << 20)
		p := &peer{t: t, conn: conn, ended: make(chan struct{})}
		f.sockets <- p
		<-p.ended
	}
	mux.HandleFunc("GET /v1/ws", upgrade)
	mux.HandleFunc("GET /prod", upgrade)
	srv := httptest.NewServer(mux)
	f.url = srv.URL
	t.Cleanup(srv.Close)
	return f
}

// peer is the server's end of one socket.
type peer struct {
	t     *testing.T
	conn  *websocket.Conn
	ended chan struct{}
}

// next is the next socket a client opened.
func (f *fakeServer) next() *peer {
	f.t.Helper()
	select {
	case p := <-f.sockets:
		f.t.Cleanup(p.drop)
		return p
	case <-time.After(5 * time.Second):
		f.t.Fatal("the client opened no socket")
		return nil
	}
}

// greeted is the next socket, with its hello answered.
func (f *fakeServer) greeted() *peer {
	f.t.Helper()
	p := f.next()
	p.expect(`{"frame":"hello"`)
	p.hello()
	return p
}

func (p *peer) hello() {
	p.send(`{"frame":"event","event":{"v":1,"type":"hello","id":"evt_0","ts":"2026-09-02T14:22:15.004Z","workspace_id":"` + workspace + `","actor":{"kind":"system","id":"system"}}}`)
}

// expect reads one frame, which must start with prefix.
func (p *peer) expect(prefix string) string {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	_, b, err := p.conn.Read(ctx)
	if err != nil {
		p.t.Fatalf("want a frame %s…, got %v", prefix, err)
	}
	if !strings.HasPrefix(string(b), prefix) {
		p.t.Fatalf("got frame %s, want %s…", b, prefix)
	}
	return string(b)
}

// expectWrite reads an event frame whose key is key.
func (p *peer) expectWrite(key string) {
	p.t.Helper()
	b := p.expect(`{"frame":"event"`)
	if !strings.Contains(b, `"idempotency_key":"`+key+`"`) {
		p.t.Fatalf("got %s, want the key %s", b, key)
	}
}

// expectSubscribe reads a subscribe with since.
func (p *peer) expectSubscribe(since int) {
	p.t.Helper()
	want := fmt.Sprintf(`{"frame":"subscribe","workspace_id":%q,"since":%d}`, workspace, since)
	if got := p.expect(`{"frame":"subscribe"`); got != want {
		p.t.Fatalf("got %s, want %s", got, want)
	}
}

func (p *peer) send(frame string) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := p.conn.Write(ctx, websocket.MessageText, []byte(frame)); err != nil {
		p.t.Errorf("send %s: %v", frame, err)
	}
}

func (p *peer) ack(key string, seq int, duplicate bool) {
	p.send(fmt.Sprintf(`{"frame":"ack","idempotency_key":%q,"seq":%d,"duplicate":%v}`, key, seq, duplicate))
}

func eventJSON(seq int) string {
	return fmt.Sprintf(`{"v":1,"type":"message.post","id":"evt_%d","ts":"2026-09-02T14:22:15.004Z","workspace_id":%q,"seq":%d,"actor":{"kind":"person","id":"usr_1"},"text":"x"}`, seq, workspace, seq)
}

func (p *peer) event(seq int) { p.send(`{"frame":"event","event":` + eventJSON(seq) + `}`) }

// drop cuts the socket without a word.
func (p *peer) drop() {
	select {
	case <-p.ended:
	default:
		close(p.ended)
		_ = p.conn.CloseNow()
	}
}
