package httpapi

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/chipschat/chips-aws/shared/engine"
	"github.com/chipschat/chips-aws/shared/protocol"
	"github.com/chipschat/chips-aws/shared/workspace"
)

// do has a draft decided and written, as the caller's operation under its Idempotency-Key.
func (a *api) do(c *call, draft protocol.Event) (engine.Outcome, error) {
	draft.IdempotencyKey = c.key
	return a.Engine.Do(c.ctx, c.caller.Workspace, workspace.Command{By: c.caller, Draft: draft, Operation: true})
}

// made is the first event of its type that a write caused. A repeat under a key that was used for something else has none.
func made[D protocol.Data](out engine.Outcome) (D, error) {
	for _, e := range out.Events {
		if d, ok := e.Data.(D); ok {
			return d, nil
		}
	}
	var none D
	return none, otherRequest()
}

// otherRequest refuses a repeat of something else.
func otherRequest() *protocol.Error {
	return protocol.Refuse(protocol.InvalidRequest, "Idempotency-Key was used for another request")
}

// repeat is in an answer what says that the write had landed before.
type repeat struct {
	Duplicate bool `json:"duplicate,omitzero"`
	Differs   bool `json:"differs,omitzero"`
}

func repeated(out engine.Outcome) repeat { return repeat{out.Duplicate, out.Differs} }

// see calls fn with the workspace as it is now, for a caller who is in it.
func (a *api) see(c *call, fn func(*workspace.State) error) error {
	return a.Engine.Read(c.ctx, c.caller.Workspace, func(s *workspace.State) error {
		if s.Person(c.caller.ID) == nil && s.Harness(c.caller.ID) == nil {
			return protocol.Refuse(protocol.Unauthorized, "you were removed from this workspace")
		}
		return fn(s)
	})
}

// missing refuses a body without a field that has to be there.
func missing(field string) *protocol.Error {
	return protocol.Refuse(protocol.InvalidRequest, "%s is missing", field)
}

// given is a field that may be left out, null, or a value; the three mean different things.
type given[T any] struct {
	// is says that the field was there; value is nil for null.
	is    bool
	value *T
}

// UnmarshalJSONFrom reads null or a T.
func (g *given[T]) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	g.is = true
	return json.UnmarshalDecode(dec, &g.value)
}
