package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/chipschat/chips-aws/shared/embedded"
	"github.com/chipschat/chips-aws/shared/settings"
)

type serveCommand struct {
	Addr      string `help:"Where to listen; port 0 takes a free one." env:"CHIPS_ADDR" default:"127.0.0.1:8787"`
	Data      string `help:"The folder for everything it keeps." env:"CHIPS_DATA" default:".chips" type:"path"`
	PublicURL string `help:"Where clients reach it, for the URLs of files; where it listens when not given." name:"public-url" env:"CHIPS_PUBLIC_URL"`
	Demo      bool   `help:"Make a workspace to try, once, and say what to try."`
	Gateway   string `help:"How the stand-in for API Gateway behaves: ordered, as the documents say; shuffled, frames of a socket side by side; faithful, with API Gateway's own limits." env:"CHIPS_GATEWAY" enum:"ordered,shuffled,faithful" default:"ordered"`
	LogLevel  string `help:"debug, info, warn or error." env:"CHIPS_LOG_LEVEL" enum:"debug,info,warn,error" default:"info"`
}

// Help teaches the command.
func (serveCommand) Help() string {
	return `Everything is in one process: sockets and HTTP on one port, the log in one file
under the data folder, durable before it is acked. One line on standard output
says that requests are answered; logs are JSON lines on standard error. SIGTERM or
SIGINT ends it in order.

The admin token makes workspaces. It is CHIPS_ADMIN_TOKEN, or made once and kept in
the data folder. With it, by hand:

  curl -s http://127.0.0.1:8787/v1/workspaces -H "Authorization: Bearer $TOKEN" \
    -d '{"name":"Acme","owner":{"name":"Arjun"}}'

answers the owner's key, with which people, rooms and harnesses are made.

What the environment sets, with its default:
  CHIPS_TICKET_TTL_MS=30000    how long a socket ticket is good
  CHIPS_PING_MS=20000          between two pings of a socket
  CHIPS_SILENT_MS=60000        silence after which a socket is closed, and time
                               without one after which a harness is away
  CHIPS_BACKLOG_FRAMES=1000    frames a socket may be behind before it is closed
  CHIPS_EVENTS_PER_FRAME=500   events in one frame, 500 at most
  CHIPS_ACCEPT_URL_TOKEN=1     a token in the socket's URL is taken; 0: only tickets
  CHIPS_PERSON_KEYS=1          a person's key is taken as a bearer token
  CHIPS_ATTACHMENT_URL_MS=600000  how long a URL of a file is good
  CHIPS_ALLOWED_ORIGINS=       web origins that may read answers, by commas; none: any
  CHIPS_PRICES=                {"MODEL":{"input_usd":3,"output_usd":15}}, dollars for
                               a million tokens, put over the shipped examples
  FORK_WAIT_MS=60000           how long a room waits for a copy of an agent
  NEW_AGENT_WAIT_MS=60000      how long a room waits for a new agent
  CHIPS_RESTART_WAIT_MS=180000 how long a harness is waited for that restarts
  CHIPS_LEAD_IDLE_MS=20000     nobody working, then the lead is handed the words
  CHIPS_TURN_QUIET_MS=600000   silence after which a turn does not count as going
  CHIPS_MANAGED_WAIT_MS=60000  how long a harness may take to answer a change`
}

// stopWait is how long an orderly end may take.
const stopWait = 3 * time.Second

// Run serves until ctx ends.
func (c *serveCommand) Run(ctx context.Context, t *terminal) error {
	var level slog.Level
	if err := level.UnmarshalText([]byte(c.LogLevel)); err != nil {
		return err
	}
	log := slog.New(slog.NewJSONHandler(t.err, &slog.HandlerOptions{Level: level}))
	set, err := settings.FromEnv(localEnv)
	if err != nil {
		return err
	}
	if c.Demo && !set.PersonKeys {
		return errors.New("CHIPS_PERSON_KEYS is off, and the demo needs a key for you")
	}
	folder, err := openFolder(c.Data)
	if err != nil {
		return err
	}
	table, err := embedded.Open(c.Data)
	if errors.Is(err, embedded.ErrInUse) {
		return fmt.Errorf("another chips is running on the data folder %s", c.Data)
	}
	if err != nil {
		return fmt.Errorf("open the data folder %s: %w", c.Data, err)
	}
	token, made, err := folder.adminToken(os.Getenv("CHIPS_ADMIN_TOKEN"))
	if err != nil {
		return errors.Join(err, table.Close())
	}
	listener, err := net.Listen("tcp", c.Addr)
	if errors.Is(err, syscall.EADDRINUSE) {
		err = fmt.Errorf("%w; another port: --addr 127.0.0.1:0", err)
	}
	if err != nil {
		return errors.Join(err, table.Close())
	}
	blobs, err := embedded.OpenBlobs(folder.path("blobs"))
	if err != nil {
		return errors.Join(err, listener.Close(), table.Close())
	}
	url := "http://" + listener.Addr().String()
	s := newStack(table, blobs, cmp.Or(strings.TrimRight(c.PublicURL, "/"), url), set, token, c.Gateway, log)
	server := &http.Server{
		Handler: s.handler, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: time.Minute, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 32 << 10,
		WriteTimeout: 5 * time.Minute, // whoever does not read an answer does not keep it; sockets have clocks of their own
		ErrorLog:     slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
	served := make(chan error, 1)
	s.start()
	go func() { served <- server.Serve(listener) }()

	if made {
		fmt.Fprintf(t.out, "chips: admin token %s (kept in %s)\n", token, folder.path(adminTokenFile))
	}
	fmt.Fprintf(t.out, "chips: listening on %s\n", url)
	if c.Demo {
		if err = s.demo(ctx, folder, url, token, t.out); err != nil && ctx.Err() == nil {
			err = fmt.Errorf("make the demo: %w", err)
		} else {
			err = nil
		}
	}
	if err == nil {
		select {
		case <-ctx.Done():
		case err = <-served:
		}
	}
	return errors.Join(err, shutDown(server, s))
}

// shutDown ends everything in order: nothing new comes in, what is under way is finished, the sockets are closed, the file is closed.
func shutDown(server *http.Server, s *stack) error {
	ctx, cancel := context.WithTimeout(context.Background(), stopWait)
	defer cancel()
	requests := make(chan struct{})
	go func() {
		defer close(requests)
		_ = server.Shutdown(ctx)
	}()
	s.stop(ctx)
	<-requests
	_ = server.Close()
	return s.table.Close()
}

// localEnv is the environment with what is otherwise here than on AWS: people's keys are on.
func localEnv(name string) string {
	v := os.Getenv(name)
	if name == "CHIPS_PERSON_KEYS" {
		return cmp.Or(v, "1")
	}
	return v
}
