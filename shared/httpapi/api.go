package httpapi

import (
	"context"
	"crypto/rand"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"github.com/chipschat/chips-aws/shared/attachment"
	"github.com/chipschat/chips-aws/shared/auth"
	"github.com/chipschat/chips-aws/shared/engine"
	"github.com/chipschat/chips-aws/shared/managed"
	"github.com/chipschat/chips-aws/shared/protocol"
	"github.com/chipschat/chips-aws/shared/session"
	"github.com/chipschat/chips-aws/shared/workspace"
)

// Engine decides writes and answers what workspaces are; *engine.Engine is it, and its methods say what these do.
type Engine interface {
	Do(ctx context.Context, workspace string, cmd workspace.Command) (engine.Outcome, error)
	Read(ctx context.Context, workspace string, fn func(*workspace.State) error) error
	Commits(ctx context.Context, workspace string, from int64, limit int) ([]engine.Commit, error)
	LineBelow(ctx context.Context, workspace, space string, seq, last int64) (int64, error)
	session.RoomLog
}

// Sessions are the open sockets: of what was taken back, and of harnesses that are told something.
type Sessions interface {
	CloseCredential(ctx context.Context, workspace, credential string) error
	CloseHolder(ctx context.Context, workspace, id string) error
	// Listens says whether a socket of a harness accepts a word, and Tell sends those that do a frame, now or never.
	Listens(ctx context.Context, workspace, harness, accepts string) (bool, error)
	Tell(ctx context.Context, workspace, harness, accepts string, frame []byte) (took int, err error)
}

// Config is what the handler is made of; all but Origins has to be given.
type Config struct {
	Engine   Engine
	Auth     *auth.Service
	Sessions Sessions
	// Files is who keeps the files; the Engine is to be its own (attachment.Service.Engine).
	Files *attachment.Service
	// Managed is who keeps what is managed from Chips.
	Managed *managed.Service
	Log     *slog.Logger
	// Now is the clock.
	Now func() time.Time
	// Version is what GET /v1/health says.
	Version string
	// Origins are the web origins whose pages may read answers; none given is any.
	Origins []string
}

// api is the handler.
type api struct {
	Config
	routes []route
	scan   scanLimits
}

// New is the HTTP API. A request's X-Request-Id header is taken over where it is made of plain characters; who stands in front sets it,
// or passes on none.
func New(c Config) http.Handler {
	a := &api{Config: c, scan: scanLimits{calls: 8, commits: 500, bytes: 4 << 20}}
	a.routes = a.table()
	return a
}

// call is one request on its way.
type call struct {
	ctx    context.Context
	r      *http.Request
	route  *route
	params map[string]string
	body   []byte
	caller workspace.Caller
	// key is the Idempotency-Key, "" for none.
	key string
}

// ServeHTTP answers one request and writes one line of log about it.
func (a *api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	start := a.Now()
	id := requestID(r.Header.Get("X-Request-Id"))
	w.Header().Set("X-Request-Id", id)
	a.allowOrigin(w.Header(), r.Header.Get("Origin"))
	c := &call{ctx: r.Context(), r: r}
	status := a.respond(w, r, a.answer(c, w, id))
	route := ""
	if c.route != nil {
		route = c.route.pattern
	}
	a.Log.InfoContext(c.ctx, "request", "request_id", id, "method", r.Method, "route", route, "status", status,
		"ms", a.Now().Sub(start).Milliseconds(), "workspace_id", c.caller.Workspace, "caller", c.caller.ID)
}

// answer runs the request and turns whatever went wrong into what may be shown. What is not the caller's fault is logged here, once.
func (a *api) answer(c *call, w http.ResponseWriter, id string) (res result) {
	defer func() {
		if p := recover(); p != nil {
			a.Log.ErrorContext(c.ctx, "panic", "request_id", id, "panic", p, "stack", string(debug.Stack()))
			res = result{err: fault()}
		}
	}()
	value, err := a.serve(c, w)
	if err == nil {
		return result{value: value}
	}
	shown := show(err)
	switch shown.Code {
	case protocol.Internal:
		a.Log.ErrorContext(c.ctx, "request failed", "request_id", id, "error", err.Error())
	case protocol.Busy:
		a.Log.WarnContext(c.ctx, "request not answered for now", "request_id", id, "error", err.Error())
	}
	return result{err: shown}
}

// serve finds the route and takes the request through it.
func (a *api) serve(c *call, w http.ResponseWriter) (any, error) {
	found, methods, params := a.match(c.r.Method, c.r.URL.Path)
	if len(methods) == 0 {
		return nil, protocol.Refuse(protocol.NotFound, "no such route")
	}
	if c.r.Method == http.MethodOptions {
		a.preflight(w.Header(), methods)
		return nothing{}, nil
	}
	if found == nil {
		w.Header().Set("Allow", strings.Join(methods, ", "))
		return nil, protocol.Refuse(protocol.MethodNotAllowed, "this route takes %s", strings.Join(methods, ", "))
	}
	c.route, c.params = found, params
	if err := c.readBody(w); err != nil {
		return nil, err
	}
	if err := a.admit(c); err != nil {
		return nil, err
	}
	return found.handle(c)
}

// admit says who calls, and whether the route is for such a caller.
func (a *api) admit(c *call) (err error) {
	if c.route.who == anyone {
		return nil
	}
	if c.caller, err = a.Auth.Authenticate(c.ctx, c.r, c.body); err != nil {
		return err
	}
	if !c.route.who.includes(c.caller.Kind) {
		return protocol.Refuse(protocol.Forbidden, "this route is for %s", c.route.who)
	}
	if err := c.checkParams(); err != nil {
		return err
	}
	return c.readKey()
}

// requestID is the id given, if it is plain, else a new one.
func requestID(given string) string {
	plain := func(r rune) bool {
		return r < 0x80 && (r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_.=:", r))
	}
	if given != "" && len(given) <= 128 && strings.IndexFunc(given, func(r rune) bool { return !plain(r) }) < 0 {
		return given
	}
	return rand.Text()
}
