package client

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/chipschat/chips-aws/shared/protocol"
)

// Credential puts the sender's proof on a request whose body is body; a person's device signs, anybody else uses Bearer.
type Credential func(req *http.Request, body []byte) error

// Bearer is a harness's token, a person's key or the admin token in an Authorization header.
func Bearer(token string) Credential {
	return func(req *http.Request, _ []byte) error {
		req.Header.Set("Authorization", "Bearer "+token)
		return nil
	}
}

// API is the HTTP side of Chips under one credential.
type API struct {
	// URL is where Chips is, without /v1.
	URL        string
	Credential Credential
	// HTTP does the requests; http.DefaultClient when nil.
	HTTP *http.Client
}

// responseLimit is the most that is read of an answer in bytes: a page is 4 MB at most.
const responseLimit = 8 << 20

// Do makes one request, with in as its JSON body unless it is nil, and reads the answer into out unless that is nil. A refusal is
// a *protocol.Error.
func (a API) Do(ctx context.Context, method, path string, in, out any) error {
	var body []byte
	var err error
	switch v := in.(type) {
	case nil:
	case jsontext.Value:
		body = v
	default:
		if body, err = json.Marshal(in); err != nil {
			return fmt.Errorf("%s %s: %w", method, path, err)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, a.URL+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	if in != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if a.Credential != nil {
		if err := a.Credential(req, body); err != nil {
			return fmt.Errorf("sign %s %s: %w", method, path, err)
		}
	}
	hc := a.HTTP
	if hc == nil {
		hc = http.DefaultClient
	}
	resp, err := hc.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, responseLimit))
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	if resp.StatusCode >= 300 {
		e := &protocol.Error{}
		if json.Unmarshal(answer, e) == nil && e.Code != "" {
			return e
		}
		return fmt.Errorf("%s %s: %s", method, path, resp.Status)
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(answer, out); err != nil {
		return fmt.Errorf("%s %s: read the answer: %w", method, path, err)
	}
	return nil
}

// Ticket buys the right to open one socket within half a minute.
func (a API) Ticket(ctx context.Context) (string, error) {
	var out struct {
		Ticket string `json:"ticket"`
	}
	err := a.Do(ctx, http.MethodPost, "/v1/socket-tickets", nil, &out)
	return out.Ticket, err
}

// Workspace is a workspace just made. Key is there only where the server takes people's keys.
type Workspace struct {
	WorkspaceID string `json:"workspace_id"`
	PersonID    string `json:"person_id"`
	PairingCode string `json:"pairing_code"`
	Key         string `json:"key"`
}

// CreateWorkspace makes a workspace and its owner; the credential is the admin token.
func (a API) CreateWorkspace(ctx context.Context, name, owner string) (Workspace, error) {
	var out Workspace
	in := map[string]any{"name": name, "owner": map[string]string{"name": owner}}
	err := a.Do(ctx, http.MethodPost, "/v1/workspaces", in, &out)
	return out, err
}

// Person is a person just added. Key is there only where the server takes people's keys.
type Person struct {
	PersonID    string `json:"person_id"`
	PairingCode string `json:"pairing_code"`
	Key         string `json:"key"`
}

// AddPerson adds a person to the workspace.
func (a API) AddPerson(ctx context.Context, name string, role protocol.Role) (Person, error) {
	var out Person
	err := a.Do(ctx, http.MethodPost, "/v1/people", map[string]any{"name": name, "role": role}, &out)
	return out, err
}

// Harness is a harness just made, with its direct room and the agent given to it. Token is shown this once.
type Harness struct {
	HarnessID string `json:"harness_id"`
	Token     string `json:"token"`
	TokenID   string `json:"token_id"`
	SpaceID   string `json:"space_id"`
	AgentID   string `json:"agent_id"`
}

// AddHarness makes a harness that the caller owns.
func (a API) AddHarness(ctx context.Context, name string, capabilities ...string) (Harness, error) {
	var out Harness
	in := map[string]any{"display_name": name}
	if len(capabilities) > 0 {
		in["capabilities"] = capabilities
	}
	err := a.Do(ctx, http.MethodPost, "/v1/harnesses", in, &out)
	return out, err
}

// OpenRoom opens a room with the caller and the participants in it, and answers its id.
func (a API) OpenRoom(ctx context.Context, title string, participants ...string) (string, error) {
	var out struct {
		SpaceID string `json:"space_id"`
	}
	in := map[string]any{"title": title}
	if len(participants) > 0 {
		in["participant_ids"] = participants
	}
	err := a.Do(ctx, http.MethodPost, "/v1/spaces", in, &out)
	return out.SpaceID, err
}

// AddMember puts a person, an agent or a harness into a room.
func (a API) AddMember(ctx context.Context, space, participant string) error {
	return a.Do(ctx, http.MethodPost, "/v1/spaces/"+url.PathEscape(space)+"/members", map[string]string{"participant_id": participant}, nil)
}

// EventsQuery is what to read of the log. Zero values are left out, but Since.
type EventsQuery struct {
	Since   int64
	SpaceID string
	Limit   int
}

// EventsPage is a part of the log; LastSeq is how far it is complete.
type EventsPage struct {
	Events  []jsontext.Value `json:"events"`
	LastSeq int64            `json:"last_seq"`
}

// Events reads a page of the log as it was written.
func (a API) Events(ctx context.Context, q EventsQuery) (EventsPage, error) {
	v := url.Values{"since": {strconv.FormatInt(q.Since, 10)}}
	if q.SpaceID != "" {
		v.Set("space_id", q.SpaceID)
	}
	if q.Limit > 0 {
		v.Set("limit", strconv.Itoa(q.Limit))
	}
	var out EventsPage
	err := a.Do(ctx, http.MethodGet, "/v1/events?"+v.Encode(), nil, &out)
	return out, err
}
