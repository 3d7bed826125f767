package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Managed is one thing of a harness that people see and change from Chips: the client listens, sends its copy on every new socket, and
// answers each change with the copy as it is then.
type Managed struct {
	// Path is where its copy is put: /v1/agents/ID/model, /v1/harnesses/ID/jobs.
	Path string
	// Accepts is the hello's word for it: context, models, heartbeats, context_windows or jobs.
	Accepts string
	// Copy answers the whole copy as it is now, something that becomes a JSON object.
	Copy func(context.Context) (any, error)
	// Change makes a change that a person asked for, by its frame. An error refuses it, in the words of a Refusal where it is one.
	Change func(ctx context.Context, frame string, asked jsontext.Value) error
	// OnError is told what went wrong with a copy or an answer; nil is nobody.
	OnError func(error)
}

// Refusal refuses a change in the harness's words; Reason is changed where a file was changed meanwhile, else "".
type Refusal struct{ Message, Reason string }

func (r *Refusal) Error() string { return r.Message }

// changeWait is how long a change may take: its asker is told after a minute that it was missed.
const changeWait = 50 * time.Second

// listened are the words of hello by the first word of their frames.
var listened = map[string]string{
	"context": "context", "model": "models", "heartbeat": "heartbeats", "context_window": "context_windows", "job": "jobs",
}

// managing is a Managed whose copies go one at a time, so that the last is the newest.
type managing struct {
	Managed
	mu sync.Mutex
}

// SendCopy sends the copy that is registered under a path as it is now: for when the harness has changed it by itself.
func (c *Client) SendCopy(ctx context.Context, path string) error {
	for _, m := range c.managed {
		if m.Path == path {
			return c.sendCopy(ctx, m, nil)
		}
	}
	return fmt.Errorf("nothing is registered under %s", path)
}

// sendCopy sends a copy, with what else its body says.
func (c *Client) sendCopy(ctx context.Context, m *managing, more map[string]any) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	copy, err := m.Copy(ctx)
	if err != nil {
		return err
	}
	raw, err := json.Marshal(copy)
	if err != nil {
		return err
	}
	body := map[string]any{}
	if err := json.Unmarshal(raw, &body); err != nil {
		return fmt.Errorf("the copy of %s is no JSON object: %w", m.Path, err)
	}
	for name, v := range more {
		body[name] = v
	}
	return c.API.Do(ctx, http.MethodPut, m.Path, body, nil)
}

// sendCopies sends every copy, beside the reader.
func (c *Client) sendCopies(ctx context.Context) {
	for _, m := range c.managed {
		go func() { m.report(c.sendCopy(context.WithoutCancel(ctx), m, nil)) }()
	}
}

func (m *managing) report(err error) {
	if err != nil && m.OnError != nil {
		m.OnError(err)
	}
}

// takeChange makes a change that a frame asks for, beside the reader; false where the frame is about nothing that is registered.
func (c *Client) takeChange(ctx context.Context, frame string, raw jsontext.Value) bool {
	var asked struct {
		AgentID  string `json:"agent_id"`
		EditID   string `json:"edit_id"`
		ChangeID string `json:"change_id"`
	}
	first, _, _ := strings.Cut(frame, ".")
	word := listened[first]
	if word == "" || json.Unmarshal(raw, &asked) != nil {
		return false
	}
	of := "/v1/harnesses/"
	if asked.AgentID != "" {
		of = "/v1/agents/" + asked.AgentID + "/"
	}
	for _, m := range c.managed {
		if m.Accepts != word || !strings.HasPrefix(m.Path, of) {
			continue
		}
		raw := raw.Clone()
		go func() {
			// A change that was heard is made and answered, whatever becomes of the socket it came by.
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), changeWait)
			defer cancel()
			m.report(c.sendCopy(ctx, m, answered(m.Change(ctx, frame, raw), asked.EditID, asked.ChangeID)))
		}()
		return true
	}
	return false
}

// answered is what a copy says of a change that went well or, by err, did not.
func answered(err error, edit, change string) map[string]any {
	if err == nil {
		return map[string]any{"answers": edit + change}
	}
	refuses := map[string]string{"message": err.Error()}
	if refusal, ok := errors.AsType[*Refusal](err); ok && refusal.Reason != "" {
		refuses["reason"] = refusal.Reason
	}
	if edit != "" {
		refuses["edit_id"] = edit
	} else {
		refuses["change_id"] = change
	}
	return map[string]any{"refuses": refuses}
}
