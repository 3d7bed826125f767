package gateway

import (
	"bufio"
	"context"
	"encoding/base64"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/coder/websocket"

	"github.com/chipschat/chips-aws/shared/protocol"
)

// upgrade opens a socket. What is no proper upgrade never reaches the authorizer: a ticket is spent by a socket, not by a look.
func (g *Gateway) upgrade(w http.ResponseWriter, r *http.Request) {
	if status, e := checkUpgrade(r); e != nil {
		w.Header().Set("Upgrade", "websocket")
		w.Header().Set("Sec-WebSocket-Version", "13")
		refuse(w, status, e)
		return
	}
	if !g.enter() {
		refuse(w, http.StatusServiceUnavailable, protocol.Refuse(protocol.Busy, "the server is stopping"))
		return
	}
	s := g.admit(w, r)
	if s == nil {
		g.running.Done()
		return
	}
	// Not in this goroutine: returning frees what net/http holds for the request.
	go func() {
		defer g.running.Done()
		s.serve()
	}()
}

// admit asks the authorizer and $connect and answers the upgrade; nil when it was refused.
func (g *Gateway) admit(w http.ResponseWriter, r *http.Request) *socket {
	defer g.recoverTo(func() {
		refuse(w, http.StatusInternalServerError, protocol.Refuse(protocol.Internal, "the upgrade failed"))
	})
	ctx, cancel := context.WithTimeout(r.Context(), socketWait)
	defer cancel()
	s := &socket{g: g, id: newID(), connectedAt: g.cfg.Now().UnixMilli(), sourceIP: sourceIP(r), userAgent: r.UserAgent(), host: r.Host}
	connect := s.event("CONNECT", "$connect")
	connect.Headers, connect.MultiValueHeaders = headersOf(r)
	connect.QueryStringParameters, connect.MultiValueQueryStringParameters = queryOf(r)

	answer, err := g.handlers.Authorize(ctx, authorizerEvent(connect))
	switch {
	case err != nil && err.Error() == "Unauthorized":
		refuse(w, http.StatusUnauthorized, protocol.Refuse(protocol.Unauthorized, "a ticket or token that stands is needed to open a socket"))
		return nil
	case err != nil:
		g.cfg.Log.ErrorContext(ctx, "the authorizer failed", "connection", s.id, "error", err)
		refuse(w, http.StatusInternalServerError, protocol.Refuse(protocol.Internal, "the upgrade failed"))
		return nil
	case !allows(answer):
		refuse(w, http.StatusForbidden, protocol.Refuse(protocol.Forbidden, "the upgrade is not allowed"))
		return nil
	}
	s.authorizer = map[string]any{"principalId": answer.PrincipalID}
	for k, v := range answer.Context {
		s.authorizer[k] = v
	}
	connect.RequestContext.Authorizer = s.authorizer

	resp, err := g.handlers.Socket(ctx, connect)
	if err != nil {
		g.cfg.Log.ErrorContext(ctx, "$connect failed", "connection", s.id, "error", err)
		resp.StatusCode = http.StatusInternalServerError
	}
	switch {
	case resp.StatusCode == http.StatusUnauthorized: // taken back meanwhile
		refuse(w, resp.StatusCode, protocol.Refuse(protocol.Unauthorized, "the credential does not stand any more"))
		return nil
	case resp.StatusCode/100 != 2:
		refuse(w, resp.StatusCode, protocol.Refuse(protocol.Internal, "the upgrade failed"))
		return nil
	}
	if !s.accept(w, r) {
		s.disconnect(websocket.StatusAbnormalClosure, "")
		return nil
	}
	return s
}

// accept answers 101; false when the other side is gone, or the gateway is stopping.
func (s *socket) accept(w http.ResponseWriter, r *http.Request) bool {
	h := &hijacker{ResponseWriter: w, socket: s}
	conn, err := websocket.Accept(h, r, &websocket.AcceptOptions{
		InsecureSkipVerify: true, // any origin: no cookie is a credential
		OnPingReceived:     func(context.Context, []byte) bool { s.heard(); return true },
		OnPongReceived:     func(context.Context, []byte) { s.heard() },
	})
	if err != nil {
		return false
	}
	conn.SetReadLimit(MessageLimit)
	s.conn = conn
	s.startTimers()
	if !s.g.add(s) {
		s.stopTimers()
		_ = conn.Close(websocket.StatusGoingAway, "the server is stopping")
		return false
	}
	return true
}

// kernelBuffer is how much of what is sent the kernel may hold for one socket, in bytes.
const kernelBuffer = 256 << 10

// hijacker keeps the connection under a WebSocket, to cut it where a close may wait, and looks into it where Faithful.
type hijacker struct {
	http.ResponseWriter
	socket *socket
}

// Hijack takes the connection over from net/http.
func (h *hijacker) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rw, err := http.NewResponseController(h.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	_ = conn.SetDeadline(time.Time{})
	if tcp, ok := conn.(*net.TCPConn); ok {
		// What the kernel takes is not seen as waiting, and is memory too.
		_ = tcp.SetWriteBuffer(kernelBuffer)
	}
	if h.socket.g.cfg.Faithful {
		guard := &frameGuard{Conn: conn, over: h.socket.frameTooLarge}
		// The answer is on its way already, and the first byte of what follows it may have been read.
		begun, _ := rw.Peek(rw.Reader.Buffered())
		guard.watch(begun)
		conn = guard
	}
	h.socket.net = conn
	if rw.Reader.Buffered() == 0 {
		// net/http's buffers are 4 KB each, most of what an idle socket holds.
		rw = bufio.NewReadWriter(bufio.NewReaderSize(conn, 1<<10), bufio.NewWriterSize(conn, 1<<10))
	}
	return conn, rw, nil
}

// checkUpgrade says why a request does not open a WebSocket, with the status of the answer.
func checkUpgrade(r *http.Request) (int, *protocol.Error) {
	refusal := func(status int, why string) (int, *protocol.Error) {
		return status, protocol.Refuse(protocol.InvalidRequest, "%s", why)
	}
	key, err := base64.StdEncoding.DecodeString(strings.TrimSpace(r.Header.Get("Sec-WebSocket-Key")))
	switch {
	case r.Method != http.MethodGet:
		return http.StatusMethodNotAllowed, protocol.Refuse(protocol.MethodNotAllowed, "/v1/ws takes GET, as a WebSocket upgrade")
	case !r.ProtoAtLeast(1, 1) || !hasToken(r.Header, "Connection", "upgrade") || !hasToken(r.Header, "Upgrade", "websocket"):
		return refusal(http.StatusUpgradeRequired, "/v1/ws is a WebSocket: the headers Connection: Upgrade and Upgrade: websocket are missing")
	case r.Header.Get("Sec-WebSocket-Version") != "13":
		return refusal(http.StatusBadRequest, "Sec-WebSocket-Version must be 13")
	case len(r.Header.Values("Sec-WebSocket-Key")) != 1 || err != nil || len(key) != 16:
		return refusal(http.StatusBadRequest, "Sec-WebSocket-Key must be 16 bytes in base64, once")
	}
	return 0, nil
}

func hasToken(h http.Header, name, token string) bool {
	for _, v := range h.Values(name) {
		for t := range strings.SplitSeq(v, ",") {
			if strings.EqualFold(strings.TrimSpace(t), token) {
				return true
			}
		}
	}
	return false
}

func allows(answer events.APIGatewayCustomAuthorizerResponse) bool {
	allowed := false
	for _, s := range answer.PolicyDocument.Statement {
		if s.Effect != "Allow" {
			return false
		}
		allowed = true
	}
	return allowed
}
