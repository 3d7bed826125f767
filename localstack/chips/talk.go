package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/chipschat/chips-aws/shared/client"
	"github.com/chipschat/chips-aws/shared/protocol"
)

// who is the server a command talks to, and as whom.
type who struct {
	URL       string `help:"The server; the demo's when left out." env:"CHIPS_URL"`
	SocketURL string `name:"socket-url" help:"Where sockets are opened, whole, where it is not /v1/ws of the server: wss://HOST/prod." env:"CHIPS_SOCKET_URL"`
	Key       string `help:"A person's key or a harness's token; yours in the demo when left out." env:"CHIPS_KEY"`
	Data      string `help:"The data folder that the demo is in." env:"CHIPS_DATA" default:".chips" type:"path"`
}

// find fills in from the demo what was not given, and answers the demo's room where it is the demo.
func (w *who) find() (room string, err error) {
	if room, err = w.fill(); err != nil {
		return "", err
	}
	if !isURL(w.URL, "http", "https") {
		return "", fmt.Errorf("the server is given as http://HOST or https://HOST, not %q", w.URL)
	}
	if w.SocketURL != "" && !isURL(w.SocketURL, "ws", "wss") {
		return "", fmt.Errorf("--socket-url is ws://HOST/PATH or wss://HOST/PATH, not %q", w.SocketURL)
	}
	w.URL = strings.TrimRight(w.URL, "/")
	return room, nil
}

func isURL(s string, schemes ...string) bool {
	u, err := url.Parse(s)
	return err == nil && u.Host != "" && slices.Contains(schemes, u.Scheme)
}

func (w *who) fill() (room string, err error) {
	if w.URL != "" && w.Key != "" {
		return "", nil
	}
	d, err := folder(w.Data).readDemo()
	if errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("there is no demo in %s: run chips serve --demo, or give --url and --key", w.Data)
	}
	if err != nil {
		return "", err
	}
	if w.URL == "" {
		w.URL = d.URL
	}
	if w.Key == "" {
		w.Key = d.Key
		return d.SpaceID, nil
	}
	return "", nil
}

type listenCommand struct {
	Since *int64 `help:"Start after this seq: 0 is everything. Left out, only what happens from now on."`
	who
}

// Help teaches the command.
func (listenCommand) Help() string {
	return `It keeps the stream over restarts of the server, and prints each event once.

  chips listen                             from now on
  chips listen --since 0                   everything in your rooms, then what comes
  chips listen | jq -r 'select(.type == "message.post") | .text'
  chips listen --url https://HOST --key "$CHIPS_HARNESS_TOKEN"   as a harness
  chips listen --url "$HttpUrl" --socket-url "$WebSocketUrl" --key "$KEY"
                                           on AWS, by the outputs of its stack`
}

// Run prints events until ctx ends.
func (c *listenCommand) Run(ctx context.Context, t *terminal) error {
	if c.Since != nil && *c.Since < 0 {
		return fmt.Errorf("since %d is below 0, where the log begins", *c.Since)
	}
	if _, err := c.find(); err != nil {
		return err
	}
	line := &line{t: t}
	conn := client.New(client.Config{
		URL: c.URL, SocketURL: c.SocketURL, Credential: client.Bearer(c.Key), Name: "chips-listen", Since: c.Since,
		OnEvent: func(_ context.Context, e client.Event) { fmt.Fprintf(t.out, "%s\n", e.Raw) },
		OnState: line.tell,
	})
	if c.Since != nil {
		line.opened = func() { go warnBeyond(ctx, t, conn.API, *c.Since) }
	}
	return conn.Run(ctx)
}

// warnBeyond says where since is past the log's end: nothing comes until the log has got there.
func warnBeyond(ctx context.Context, t *terminal, api client.API, since int64) {
	page, err := api.Events(ctx, client.EventsQuery{Since: since, Limit: 1})
	if err == nil && page.LastSeq < since {
		fmt.Fprintf(t.err, "chips: since %d is past the log's end (%d)\n", since, page.LastSeq)
	}
}

// line is the connection as the person at the terminal is told of it.
type line struct {
	t      *terminal
	opened func() // called the first time
	once   bool   // it was open once
	lost   bool
	why    error // why it was lost last
}

// tell says on standard error when the connection is lost, and when it is back.
func (l *line) tell(s client.State, err error) {
	switch s {
	case client.Open:
		if !l.once && l.opened != nil {
			l.opened()
		}
		l.once = true
	case client.Lost:
		l.why = err
		if !l.lost {
			fmt.Fprintf(l.t.err, "chips: not connected, trying again: %v\n", err)
		}
		l.lost = true
	case client.Subscribed:
		if l.lost {
			fmt.Fprintln(l.t.err, "chips: connected")
		}
		l.lost = false
	}
}

type sendCommand struct {
	Text string        `arg:"" help:"What to say."`
	Room string        `help:"The room, a spc_ id; left out, the demo's, or the only one you are in."`
	Key_ string        `name:"idempotency-key" help:"The message's key: sent twice under one key it is said once."`
	Wait time.Duration `help:"How long to try." default:"30s"`
	who
}

// Help teaches the command.
func (sendCommand) Help() string {
	return `It prints the server's ack. While the server is away it keeps trying, and the
message is said once however often it was sent.

  chips send "hello, Echo"
  chips send --room spc_01K… "the slot is ours"
  chips send --idempotency-key note-7 "said once, even if you run this twice"`
}

// Run posts the message and prints the ack.
func (c *sendCommand) Run(ctx context.Context, t *terminal) error {
	room, err := c.find()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, c.Wait)
	defer cancel()
	if c.Room == "" {
		c.Room = room
	}
	line := &line{t: t}
	conn := client.New(client.Config{
		URL: c.URL, SocketURL: c.SocketURL, Credential: client.Bearer(c.Key), Name: "chips-send", WriteOnly: true, OnState: line.tell,
	})
	if c.Room == "" {
		if c.Room, err = onlyRoom(ctx, conn.API); err != nil {
			return err
		}
	}
	ended := make(chan error, 1)
	go func() { ended <- conn.Run(ctx) }()
	ack, err := conn.Post(ctx, client.Draft{Key: c.Key_, SpaceID: c.Room, Data: &protocol.MessagePost{Text: c.Text}})
	cancel()
	if stopped := <-ended; errors.Is(err, client.ErrStopped) {
		err = stopped
	}
	if errors.Is(err, context.DeadlineExceeded) && !line.once {
		return fmt.Errorf("never reached the server within %v, so nothing was posted: %w", c.Wait, cmp.Or(line.why, err))
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("no answer within %v: the message may or may not have landed", c.Wait)
	}
	if err != nil {
		return err
	}
	b, err := json.Marshal(ack)
	if err != nil {
		return err
	}
	if _, err = fmt.Fprintf(t.out, "%s\n", b); err != nil {
		return err
	}
	switch {
	case ack.Duplicate && ack.Differs:
		return fmt.Errorf("the key %q was used for another message before (seq %d), and nothing was posted", ack.IdempotencyKey, ack.Seq)
	case ack.Duplicate && c.Key_ != "":
		fmt.Fprintf(t.err, "chips: posted before (seq %d)\n", ack.Seq)
	}
	return nil
}

// onlyRoom is the room the caller is in, if there is one and no more.
func onlyRoom(ctx context.Context, api client.API) (string, error) {
	var page struct {
		Spaces []struct {
			SpaceID string `json:"space_id"`
			Title   string `json:"title"`
		} `json:"spaces"`
	}
	if err := api.Do(ctx, http.MethodGet, "/v1/spaces", nil, &page); err != nil {
		return "", err
	}
	if len(page.Spaces) == 1 {
		return page.Spaces[0].SpaceID, nil
	}
	for _, s := range page.Spaces {
		fmt.Fprintf(os.Stderr, "  %s  %s\n", s.SpaceID, s.Title)
	}
	return "", fmt.Errorf("you are in %d rooms: say which with --room", len(page.Spaces))
}
