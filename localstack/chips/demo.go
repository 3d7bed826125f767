package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"text/template"

	"github.com/chipschat/chips-aws/shared/client"
	"github.com/chipschat/chips-aws/shared/protocol"
)

// demo makes the demo where it is not there yet, sets its agent going, and says what to try.
func (s *stack) demo(ctx context.Context, f folder, url, adminToken string, out io.Writer) error {
	d, err := f.readDemo()
	if err == nil {
		err = stands(ctx, url, d)
	}
	if errors.Is(err, fs.ErrNotExist) {
		d, err = makeDemo(ctx, url, adminToken)
	}
	if err != nil {
		return err
	}
	d.URL = url
	if err := f.writeDemo(d); err != nil {
		return err
	}
	s.running.Go(func() { s.echo(d) })
	return tryThis.Execute(out, struct {
		demo
		Chips, Socket string
	}{d, os.Args[0], "ws" + url[len("http"):]})
}

// stands fails with fs.ErrNotExist where the log that a demo was made in is no longer there, so that nobody knows its key.
func stands(ctx context.Context, url string, d demo) error {
	err := client.API{URL: url, Credential: client.Bearer(d.Key)}.Do(ctx, http.MethodGet, "/v1/spaces?limit=1", nil, nil)
	if refusal, ok := errors.AsType[*protocol.Error](err); ok && refusal.Code == protocol.Unauthorized {
		return fs.ErrNotExist
	}
	return err
}

// makeDemo makes a workspace, you as its owner, and an agent that comes with a room that holds the two of you.
func makeDemo(ctx context.Context, url, adminToken string) (demo, error) {
	w, err := client.API{URL: url, Credential: client.Bearer(adminToken)}.CreateWorkspace(ctx, "Demo", "You")
	if err != nil {
		return demo{}, fmt.Errorf("make a workspace: %w", err)
	}
	h, err := client.API{URL: url, Credential: client.Bearer(w.Key)}.AddHarness(ctx, "Echo")
	if err != nil {
		return demo{}, fmt.Errorf("make the agent: %w", err)
	}
	return demo{
		URL: url, WorkspaceID: w.WorkspaceID, PersonID: w.PersonID, Key: w.Key,
		HarnessID: h.HarnessID, Token: h.Token, SpaceID: h.SpaceID,
	}, nil
}

// echo is the agent: it says again what was said to it. It starts from the beginning of its room each time, since its answers' keys
// see to it that nothing is answered twice.
func (s *stack) echo(d demo) {
	var c *client.Client
	var beginning int64
	c = client.New(client.Config{
		URL: d.URL, Credential: client.Bearer(d.Token), Name: "echo", Since: &beginning,
		OnEvent: func(ctx context.Context, e client.Event) {
			if e.Type != "message.new" {
				return
			}
			event, err := e.Decode()
			if err != nil {
				s.log.Error("the echo agent cannot read its message", "event_id", e.ID, "error", err)
				return
			}
			m := event.Data.(*protocol.MessageNew)
			answer := client.Draft{Key: "echo-" + m.MessageID, SpaceID: e.SpaceID, Data: &protocol.MessagePost{Text: "You said: " + m.Text, ReplyTo: m.MessageID}}
			if _, err := c.Post(ctx, answer); err != nil && ctx.Err() == nil {
				s.log.Error("the echo agent was refused", "event_id", e.ID, "error", err)
			}
		},
	})
	if err := c.Run(s.life); err != nil && s.life.Err() == nil {
		s.log.Error("the echo agent ended", "error", err)
	}
}

var tryThis = template.Must(template.New("try").Parse(`
The workspace "Demo" is ready. You own it; Echo is an agent in the room you share.

In another terminal:
  {{.Chips}} listen
  {{.Chips}} send "hello, Echo"

Over HTTP:
  curl -s {{.URL}}/v1/health
  curl -s '{{.URL}}/v1/events?space_id={{.SpaceID}}' -H 'Authorization: Bearer {{.Key}}'
  curl -s {{.URL}}/v1/events -H 'Authorization: Bearer {{.Key}}' \
    -d '{"type":"message.post","space_id":"{{.SpaceID}}","text":"hello","idempotency_key":"try-1"}'

Over a socket, with any client that can set a header:
  websocat -H 'Authorization: Bearer {{.Key}}' {{.Socket}}/v1/ws
and then, a line each:
  {"frame":"hello","protocol":{"min":1,"max":1},"client":{"name":"me","version":"1"}}
  {"frame":"subscribe","workspace_id":"{{.WorkspaceID}}","since":0}
  {"frame":"event","event":{"type":"message.post","space_id":"{{.SpaceID}}","text":"hi","idempotency_key":"try-2"}}

`))
