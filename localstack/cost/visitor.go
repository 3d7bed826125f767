package main

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/chipschat/chips-aws/shared/deadline"
	"github.com/chipschat/chips-aws/shared/dynamo"
	"github.com/chipschat/chips-aws/shared/dynamo/dynamotest"
	"github.com/chipschat/chips-aws/shared/engine"
	"github.com/chipschat/chips-aws/shared/workspace"
)

// visitor is somebody with a token and, once open, a socket. space is the room they are in.
type visitor struct {
	token, workspace, space, id string
	caller                      workspace.Caller
	ticket, socket              string
	writes                      int
}

// made is what the HTTP API answers of what it makes.
type made struct {
	WorkspaceID string `json:"workspace_id"`
	PersonID    string `json:"person_id"`
	Key         string `json:"key"`
	HarnessID   string `json:"harness_id"`
	Token       string `json:"token"`
	SpaceID     string `json:"space_id"`
	Space       struct {
		SpaceID string `json:"space_id"`
	} `json:"space"`
}

// house makes a workspace with people and harnesses, the owner first. All are in one room, with an agent of each harness.
func (c *cloud) house(ctx context.Context, people, harnesses int) ([]*visitor, error) {
	var w, room made
	if err := c.request(ctx, http.MethodPost, "/v1/workspaces", adminToken, `{"name":"Acme","owner":{"name":"Arjun"}}`, &w); err != nil {
		return nil, err
	}
	if err := c.request(ctx, http.MethodPost, "/v1/spaces", w.Key, `{"title":"Plans"}`, &room); err != nil {
		return nil, err
	}
	space := room.SpaceID + room.Space.SpaceID
	all := []*visitor{{token: w.Key, id: w.PersonID}}
	join := func(path, body string) error {
		var m made
		if err := c.request(ctx, http.MethodPost, path, w.Key, body, &m); err != nil {
			return err
		}
		all = append(all, &visitor{token: m.Key + m.Token, id: m.PersonID + m.HarnessID})
		return c.request(ctx, http.MethodPost, "/v1/spaces/"+space+"/members", w.Key, `{"participant_id":"`+all[len(all)-1].id+`"}`, nil)
	}
	for i := 1; i < people; i++ {
		if err := join("/v1/people", fmt.Sprintf(`{"name":"Priya %d","role":"member"}`, i)); err != nil {
			return nil, err
		}
	}
	for i := range harnesses {
		if err := join("/v1/harnesses", fmt.Sprintf(`{"display_name":"Scout %d","capabilities":["agents"]}`, i)); err != nil {
			return nil, err
		}
	}
	for i, v := range all {
		v.workspace, v.space, v.socket = w.WorkspaceID, space, fmt.Sprintf("S2b3kcXzFiACI%02d=", i)
	}
	return all, nil
}

// issue buys a ticket.
func (c *cloud) issue(ctx context.Context, v *visitor) error {
	var out struct {
		Ticket string `json:"ticket"`
	}
	err := c.request(ctx, http.MethodPost, "/v1/socket-tickets", v.token, "", &out)
	v.ticket = out.Ticket
	return err
}

// spend is the authorizer of an upgrade.
func (c *cloud) spend(ctx context.Context, v *visitor) error {
	return c.invoke(func() (err error) {
		v.caller, err = c.credentials.Upgrade(ctx, "", v.ticket, "")
		return err
	})
}

func (c *cloud) connect(ctx context.Context, v *visitor) error {
	return c.invoke(func() error { return c.sessions.Connect(ctx, v.socket, v.caller) })
}

func (c *cloud) disconnect(ctx context.Context, v *visitor) error {
	return c.invoke(func() error { return c.sessions.Disconnect(ctx, v.socket, v.caller) })
}

// look is what the sweep does about a harness that left a minute ago, in an invocation of its own or beside others.
func (c *cloud) look(ctx context.Context, v *visitor) error {
	c.ahead.Add(int64(time.Minute + time.Second))
	rows, err := dynamo.New(dynamotest.API(c.emulator.URL), c.name).Due(ctx, engine.DueShard(deadline.RowPrefix+v.workspace, "away#"+v.id), c.now(), 10)
	if err != nil {
		return err
	}
	for _, row := range rows {
		if row.PK == deadline.RowPrefix+v.workspace {
			return c.swept.Sweep(ctx, row)
		}
	}
	return fmt.Errorf("nobody looks at %s, which left", v.id)
}

func (c *cloud) hello(ctx context.Context, v *visitor) error {
	return c.frame(ctx, v, `{"frame":"hello","protocol":{"min":1,"max":1},"client":{"name":"cost","version":"1"},"accepts":["events","batches","ping"]}`, `"type":"hello"`)
}

func (c *cloud) subscribe(ctx context.Context, v *visitor) error {
	return c.frame(ctx, v, `{"frame":"subscribe","workspace_id":"`+v.workspace+`"}`, "")
}

func (c *cloud) pong(ctx context.Context, v *visitor) error {
	return c.frame(ctx, v, `{"frame":"pong"}`, "")
}

// arrival is what a client does from a token to a live stream.
var arrival = []struct {
	what string
	do   func(*cloud, context.Context, *visitor) error
}{
	{"a socket ticket, issued", (*cloud).issue},
	{"a socket ticket, spent", (*cloud).spend},
	{"a socket, opened ($connect)", (*cloud).connect},
	{"hello", (*cloud).hello},
	{"subscribe, nothing to replay", (*cloud).subscribe},
}

// arrive brings visitors to live streams.
func (c *cloud) arrive(ctx context.Context, all ...*visitor) error {
	for _, v := range all {
		for _, step := range arrival {
			if err := step.do(c, ctx, v); err != nil {
				return fmt.Errorf("%s: %w", step.what, err)
			}
		}
	}
	return nil
}

const filler = "The tests of the parser pass again, and what was slow is the second pass over the tokens; I have a change for it that needs a look before it goes in. "

// writing has somebody write an event, and answers the commit that the table's stream would bring.
type writing = func(*cloud, context.Context, *visitor) (engine.Commit, error)

// say has somebody post 300 characters.
func (c *cloud) say(ctx context.Context, v *visitor) (engine.Commit, error) {
	return c.write(ctx, v, `"type":"message.post","space_id":"`+v.space+`","text":"`+strings.Repeat(filler, 3)[:300]+`"`)
}

const aRun = `"run_id":"run_01K4ZQPX000000000000000001"`

// start has a harness begin a run, and step log a step of it.
func (c *cloud) start(ctx context.Context, v *visitor) (engine.Commit, error) {
	return c.write(ctx, v, `"type":"run.started",`+aRun+`,"space_id":"`+v.space+`","title":"Look"`)
}

func (c *cloud) step(ctx context.Context, v *visitor) (engine.Commit, error) {
	return c.write(ctx, v, `"type":"step.log",`+aRun+`,"step_id":"step-1","status":"done","summary":"ran the tests of the parser, all of them pass"`)
}

// write is the one event of a writing, with fields of its own.
func (c *cloud) write(ctx context.Context, v *visitor, fields string) (engine.Commit, error) {
	v.writes++
	key := fmt.Sprintf("turn-0001-message-%012d", v.writes) // as long as clients' keys are
	err := c.frame(ctx, v, `{"frame":"event","event":{"v":1,"idempotency_key":"`+key+`",`+fields+`}}`, `"duplicate":false`)
	if err != nil {
		return engine.Commit{}, err
	}
	return c.newest(ctx, v.workspace)
}

// ring is an invocation of fan-out with records of the stream.
func (c *cloud) ring(ctx context.Context, v *visitor, commits ...engine.Commit) error {
	return c.invoke(func() error { return c.fanout.Ring(ctx, v.workspace, commits) })
}
