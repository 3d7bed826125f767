package gateway

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/aws/aws-lambda-go/events"
)

// Limits of API Gateway that hold here too, in bytes and time.
const (
	MessageLimit = 128 << 10 // one message, in or out
	frameLimit   = 32 << 10  // one frame inbound, where Faithful
	socketWait   = 29 * time.Second
	httpWait     = 30 * time.Second
)

// Handlers are the functions behind the gateway. Each is called from many goroutines.
type Handlers struct {
	// Authorize answers a policy for an upgrade; the error "Unauthorized" is a 401, a policy that does not allow a 403.
	Authorize func(context.Context, events.APIGatewayCustomAuthorizerRequestTypeRequest) (events.APIGatewayCustomAuthorizerResponse, error)
	// Socket takes $connect, $default and $disconnect.
	Socket func(context.Context, events.APIGatewayWebsocketProxyRequest) (events.APIGatewayProxyResponse, error)
	// HTTP takes every other request.
	HTTP func(context.Context, events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error)
}

// Config is how the gateway behaves. Only Log and Now are needed.
type Config struct {
	Log *slog.Logger
	Now func() time.Time

	// Ping is the time between two pings, 20 seconds when 0; Silent the silence that ends a socket, 60 seconds when 0.
	Ping, Silent time.Duration
	// BacklogFrames is how many frames may wait to be written before a consumer is too far behind, 1,000 when 0.
	BacklogFrames int
	// BacklogBytes is how many bytes may wait before Post is throttled, 8 MB when 0.
	BacklogBytes int
	// Idle is how long nothing at all may pass over a socket, 10 minutes when 0; Lifetime how long one lasts, 2 hours when 0.
	Idle, Lifetime time.Duration
	// BodyLimit is how many bytes an HTTP request may have, 10 MB when 0.
	BodyLimit int64
	// AtOnce is how many HTTP requests are handled at once, 32 when 0: an account's concurrency, which bounds what their answers take of
	// memory. Those above it wait.
	AtOnce int
	// Grace is how long a socket that is being closed may take to be written to, 15 seconds when 0.
	Grace time.Duration

	// Faithful leaves out what API Gateway cannot do (pings, silence, close codes) and puts in what it does: frames of 32 KB at most,
	// and a frame without a name where a function failed.
	Faithful bool
	// Shuffle, when set, handles the frames of a connection side by side, in an order it draws.
	Shuffle *rand.Rand
}

func (c Config) withDefaults() Config {
	orDefault(&c.Ping, 20*time.Second)
	orDefault(&c.Silent, time.Minute)
	orDefault(&c.BacklogFrames, 1000)
	orDefault(&c.BacklogBytes, 8<<20)
	orDefault(&c.Idle, 10*time.Minute)
	orDefault(&c.Lifetime, 2*time.Hour)
	orDefault(&c.BodyLimit, 10<<20)
	orDefault(&c.AtOnce, 32)
	orDefault(&c.Grace, 15*time.Second)
	return c
}

func orDefault[T comparable](v *T, d T) {
	var zero T
	if *v == zero {
		*v = d
	}
}
