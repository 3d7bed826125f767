package httpapi

import (
	"cmp"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/chipschat/chips-aws/shared/delivery"
	"github.com/chipschat/chips-aws/shared/protocol"
	"github.com/chipschat/chips-aws/shared/workspace"
)

// writeEvent takes an event whole, as a socket does, and answers what the ack would say (contract U-13). The key is the event's own.
func (a *api) writeEvent(c *call) (any, error) {
	e, refused := protocol.DecodeClient(c.body)
	if refused != nil {
		err := a.Engine.Read(c.ctx, c.caller.Workspace, func(st *workspace.State) error {
			refused = workspace.Unreadable(st, c.caller, e, refused)
			return nil
		})
		return nil, cmp.Or(err, error(refused))
	}
	out, err := a.Engine.Do(c.ctx, c.caller.Workspace, workspace.Command{By: c.caller, Draft: e})
	if err != nil {
		return nil, err
	}
	ack := out.Ack()
	if c.caller.Kind == protocol.KindPerson && !out.NothingToDo() {
		err = a.see(c, func(s *workspace.State) error {
			ack.Disposition = s.Disposition(out.Events[out.Commit.Primary])
			return nil
		})
	}
	return ack, err
}

// eventsQuery is what of the log is asked for.
type eventsQuery struct {
	// since is the seq that everything asked for is above.
	since int64
	// before is the seq that everything asked for is below, and the newest of it is meant; -1 for none.
	before int64
	// space is the room asked for, "" for all there is.
	space string
	limit int
}

func readEventsQuery(c *call) (eventsQuery, error) {
	q, err := readQuery(c)
	if err != nil {
		return eventsQuery{}, err
	}
	since, err := q.seq("since")
	if err != nil {
		return eventsQuery{}, err
	}
	before, err := q.seq("before")
	if err != nil {
		return eventsQuery{}, err
	}
	space, inSpace := q["space_id"]
	switch {
	case inSpace && !protocol.ValidID(protocol.PrefixSpace, space):
		return eventsQuery{}, notInSpace()
	case before >= 0 && !inSpace:
		return eventsQuery{}, protocol.Refuse(protocol.InvalidRequest, "before: goes with space_id")
	}
	return eventsQuery{since: max(since, 0), before: before, space: space, limit: q.limit()}, nil
}

// eventsPage is a part of the log, rising.
type eventsPage struct {
	Events []jsontext.Value `json:"events"`
	// LastSeq is how far up the answer is complete: what to ask on from with since. It is the head when there is no more.
	LastSeq int64 `json:"last_seq"`
	// FirstSeq is, for a question with before, how far down it is complete: what to ask on from with before. 0 when there is no more.
	FirstSeq *int64 `json:"first_seq,omitzero"`
}

// listEvents answers the events of the log that the caller may see, as they were logged (SUB-14).
func (a *api) listEvents(c *call) (any, error) {
	q, err := readEventsQuery(c)
	if err != nil {
		return nil, err
	}
	s := &scan{api: a, call: c, eventsQuery: q, recipient: delivery.Recipient{Kind: c.caller.Kind, ID: c.caller.ID, Credential: c.caller.Credential}}
	if q.before >= 0 {
		return s.down()
	}
	return s.up()
}
