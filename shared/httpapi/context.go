package httpapi

import (
	"slices"
	"strconv"

	"github.com/chipschat/chips-aws/shared/delivery"
	"github.com/chipschat/chips-aws/shared/protocol"
	"github.com/chipschat/chips-aws/shared/session"
	"github.com/chipschat/chips-aws/shared/workspace"
)

// How many lines of a room are answered when nobody says how many, and at most.
const (
	defaultLines = 40
	maxLines     = 200
)

// linesLimit reads how many lines are asked for. Whatever is no number from 1 to the maximum is the maximum.
func (q query) linesLimit() int {
	text, ok := q["limit"]
	if !ok {
		return defaultLines
	}
	n, err := strconv.ParseUint(text, 10, 31)
	if err != nil || n == 0 {
		return maxLines
	}
	return min(int(n), maxLines)
}

// readContext answers the newest lines of a room below before, to a harness that is in it now: words and names as they read now.
func (a *api) readContext(c *call) (any, error) {
	q, err := readQuery(c)
	if err != nil {
		return nil, err
	}
	before, err := q.seq("before")
	if err != nil {
		return nil, err
	}
	id := c.params[protocol.PrefixSpace]
	var opened, last int64
	var marks workspace.Marks
	err = a.see(c, func(st *workspace.State) error {
		room, err := roomFor(st, c.caller, id)
		if err != nil {
			return err
		}
		opened, last, marks = room.OpenedSeq, room.LastLine, slices.Clone(room.Marks)
		if before < 0 || before > st.Seq {
			before = st.Seq + 1
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	line, err := a.Engine.LineBelow(c.ctx, c.caller.Workspace, id, before, last)
	if err != nil {
		return nil, err
	}
	want := delivery.Past(id, opened, before, line, q.linesLimit(), marks)
	var read session.Lines
	lines, err := read.Of(c.ctx, a.Engine, c.caller.Workspace, want)
	if err != nil {
		return nil, err
	}
	var answer *protocol.Context
	err = a.see(c, func(st *workspace.State) error {
		if _, err := roomFor(st, c.caller, id); err != nil {
			return err
		}
		r := delivery.Recipient{Kind: c.caller.Kind, ID: c.caller.ID}.At(st)
		answer = want.Context(st, r, lines, maxPageBytes)
		return nil
	})
	return answer, err
}
