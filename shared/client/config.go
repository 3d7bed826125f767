package client

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/chipschat/chips-aws/shared/protocol"
)

// Config is what a Client is made of; only URL and Credential are needed, and SocketURL where sockets have a host of their own.
type Config struct {
	// URL is where Chips is: http://127.0.0.1:8787 or https://HOST, without /v1.
	URL string
	// SocketURL is where sockets are opened, whole: wss://ID.execute-api.REGION.amazonaws.com/prod. It is URL with ws for http and /v1/ws
	// behind it when "".
	SocketURL string
	// Credential signs the requests; see Bearer.
	Credential Credential
	// Name and Version are what the client calls itself in its hello.
	Name, Version string
	// Accepts are the optional frames it takes, events and batches (events frames of live events too) when nil. The word ping is always
	// said, since the client answers pings itself.
	Accepts []string
	// Context is how much context it wants with a message; nil is the server's default.
	Context *protocol.ContextBudget

	// Since is the seq after which the stream starts; nil is from now.
	Since *int64
	// WriteOnly says that it subscribes to nothing.
	WriteOnly bool
	// OnEvent is called for each event in order of seq, one at a time. It may Post.
	OnEvent func(context.Context, Event)
	// OnFrame is called for frames that are neither events nor answers (receipt, restart), in order, by the reader: it must not Post.
	OnFrame func(name string, raw jsontext.Value)
	// Managed is what of a harness is managed from Chips; frames about it are not shown to OnFrame.
	Managed []Managed
	// OnState is called when the connection changes, with the error that ended a socket where the state is Lost. It must not block.
	OnState func(State, error)

	// Pipelined sends writes without waiting for the answer to the one before, for those whose order does not matter.
	Pipelined bool
	// NoHTTPWrites sends events of any size over the socket; otherwise those above MaxFrame go by POST /v1/events.
	NoHTTPWrites bool
	// MaxUnanswered is how many events may wait for their answer, 1,000 when 0; Post then fails with ErrFull.
	MaxUnanswered int

	// Idle is how long a socket may be silent before it is given up, 75 seconds when 0: the server pings every 20.
	Idle time.Duration
	// Quiet is the same for a socket on which no WebSocket ping or pong ever came, ten and a half minutes when 0. It may be so behind
	// API Gateway, where the server pings by frames, and each frame is paid for: within ten minutes something comes. A socket that was
	// silent for so long is asked by a ping frame, and given up after another AnswerWait.
	Quiet time.Duration
	// AnswerWait is how long a write may go without an answer before its socket is given up, 30 seconds when 0.
	AnswerWait time.Duration
	// MaxBackoff is the longest pause before a new try, 30 seconds when 0.
	MaxBackoff time.Duration
	// HTTP does the requests and upgrades; http.DefaultClient when nil. The client sets deadlines itself.
	HTTP *http.Client
}

// MaxFrame is the largest event in bytes that goes over the socket: API Gateway takes frames of 32 KB.
const MaxFrame = 30 << 10

// State is how a client's connection is.
type State string

// The states that OnState is told, in their order on one socket.
const (
	Open       State = "open"       // hello was answered
	Subscribed State = "subscribed" // what was unanswered has been sent again, and the stream was asked for
	Lost       State = "lost"       // the socket, or the try to open one, ended, and another will be tried
)

func (c Config) withDefaults() Config {
	if c.Accepts == nil {
		c.Accepts = []string{"events", "batches"}
	}
	for _, m := range c.Managed {
		if !slices.Contains(c.Accepts, m.Accepts) {
			c.Accepts = append(c.Accepts[:len(c.Accepts):len(c.Accepts)], m.Accepts)
		}
	}
	if c.Name == "" {
		c.Name = "chips-go"
	}
	if c.Version == "" {
		c.Version = "0.1.0"
	}
	c.SocketURL = cmp.Or(c.SocketURL, "ws"+strings.TrimPrefix(c.URL, "http")+"/v1/ws")
	c.MaxUnanswered = cmp.Or(c.MaxUnanswered, 1000)
	c.Idle = cmp.Or(c.Idle, 75*time.Second)
	c.Quiet = max(c.Idle, cmp.Or(c.Quiet, 630*time.Second))
	c.AnswerWait = cmp.Or(c.AnswerWait, 30*time.Second)
	c.MaxBackoff = cmp.Or(c.MaxBackoff, 30*time.Second)
	if c.HTTP == nil {
		c.HTTP = http.DefaultClient
	}
	return c
}
