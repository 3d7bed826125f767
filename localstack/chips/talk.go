package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/chipschat/chips-aws/shared/client"
	"github.com/chipschat/chips-aws/shared/protocol"
)

// who is the server a command talks to, and as whom.
type who struct {
	URL  string `help:"The server; the demo's when left out." env:"CHIPS_URL"`
	Key  string `help:"A person's key or a harness's token; yours in the demo when left out." env:"CHIPS_KEY"`
	Data string `help:"The data folder that the demo is in." env:"CHIPS_DATA" default:".chips" type:"path"`
}

// find fills in from the demo what was not given, and answers the demo's room where it is the demo.
func (w *who) find() (room string, err error) {
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
  chips listen --url https://HOST --key "$CHIPS_HARNESS_TOKEN"   as a harness`
}

// Run prints events until ctx ends.
func (c *listenCommand) Run(ctx context.Context, t *terminal) error {
	if _, err := c.find(); err != nil {
		return err
	}
	return client.New(client.Config{
		URL: c.URL, Credential: client.Bearer(c.Key), Name: "chips-listen", Since: c.Since,
		OnEvent: func(_ context.Context, e client.Event) { fmt.Fprintf(t.out, "%s\n", e.Raw) },
		OnState: tell(t),
	}).Run(ctx)
}

// tell says on standard error when the connection is lost, and when it is back.
func tell(t *terminal) func(client.State, error) {
	lost := false
	return func(s client.State, err error) {
		switch {
		case s == client.Lost && !lost:
			lost = true
			fmt.Fprintf(t.err, "chips: not connected, trying again: %v\n", err)
		case s == client.Subscribed && lost:
			lost = false
			fmt.Fprintln(t.err, "chips: connected")
		}
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
	conn := client.New(client.Config{URL: c.URL, Credential: client.Bearer(c.Key), Name: "chips-send", WriteOnly: true, OnState: tell(t)})
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
	_, err = fmt.Fprintf(t.out, "%s\n", b)
	return err
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
