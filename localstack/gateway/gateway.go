package gateway

import (
	"context"
	"crypto/rand"
	"net"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/coder/websocket"
	"github.com/go-json-experiment/json"

	"github.com/chipschat/chips-aws/shared/protocol"
)

// Gateway holds the sockets of one server. It is made before the functions behind it, since they push through it.
type Gateway struct {
	cfg      Config
	handlers Handlers

	places, large chan struct{} // have one entry for each request that is handled, and for each long body that is in memory

	mu       sync.Mutex
	sockets  map[string]*socket
	stopping bool
	running  sync.WaitGroup // a socket from its upgrade until its $disconnect returned

	throttle  atomic.Pointer[func(connection string) bool]
	shuffleMu sync.Mutex // Config.Shuffle is no generator for many
}

// New makes a gateway that serves nothing yet.
func New(cfg Config) *Gateway {
	cfg = cfg.withDefaults()
	return &Gateway{cfg: cfg, places: make(chan struct{}, cfg.AtOnce), large: make(chan struct{}, largeAtOnce), sockets: map[string]*socket{}}
}

// Handler is the gateway as net/http serves it, with h behind it. It is called once, before anything is served.
func (g *Gateway) Handler(h Handlers) http.Handler {
	g.handlers = h
	return g
}

// ServeHTTP upgrades a GET of /v1/ws and passes everything else to the HTTP function.
func (g *Gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/v1/ws" && r.Method != http.MethodOptions {
		g.upgrade(w, r)
		return
	}
	g.serveHTTP(w, r)
}

// Sockets is how many sockets are open.
func (g *Gateway) Sockets() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.sockets)
}

// Throttle has Post answer session.ErrThrottled for the connections that refuse says, none when it is nil. It is for tests.
func (g *Gateway) Throttle(refuse func(connection string) bool) {
	if refuse == nil {
		g.throttle.Store(nil)
		return
	}
	g.throttle.Store(&refuse)
}

// Stop closes every socket with 1001 and takes no new one. It returns when all of them have ended, or with ctx's error.
func (g *Gateway) Stop(ctx context.Context) error {
	g.mu.Lock()
	g.stopping = true
	var open []*socket
	for _, s := range g.sockets {
		open = append(open, s)
	}
	g.mu.Unlock()
	for _, s := range open {
		s.close(websocket.StatusGoingAway, "the server is stopping", nil, false)
	}
	ended := make(chan struct{})
	go func() { g.running.Wait(); close(ended) }()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// enter counts a socket in before its upgrade; false when the gateway is stopping.
func (g *Gateway) enter() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.stopping {
		return false
	}
	g.running.Add(1)
	return true
}

// add makes a socket known, so that it can be pushed to; false when the gateway began to stop meanwhile.
func (g *Gateway) add(s *socket) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.stopping {
		return false
	}
	g.sockets[s.id] = s
	return true
}

func (g *Gateway) find(id string) *socket {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.sockets[id]
}

func (g *Gateway) remove(s *socket) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.sockets, s.id)
}

const requestIDHeader = "X-Request-Id"

// newID is an id for a request or a connection.
func newID() string { return rand.Text() }

// sourceIP is who the request came from, as far as the socket knows.
func sourceIP(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}

// refuse answers a request that does not reach a function.
func refuse(w http.ResponseWriter, status int, e *protocol.Error) {
	body, err := json.Marshal(e)
	if err != nil {
		body = nil
	}
	w.Header().Set("Content-Type", "application/json")
	if w.Header().Get(requestIDHeader) == "" {
		w.Header().Set(requestIDHeader, newID())
	}
	w.WriteHeader(status)
	_, _ = w.Write(body)
}
