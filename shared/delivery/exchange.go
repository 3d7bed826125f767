package delivery

import (
	"strconv"

	"github.com/chipschat/chips-aws/shared/protocol"
	"github.com/chipschat/chips-aws/shared/workspace"
)

// exchange is what a taker is told of how far agents have gone on by themselves, nil where there is nothing to mind.
func exchange(s *workspace.State, room *workspace.Room) *protocol.Exchange {
	if room == nil {
		return nil
	}
	x := s.Exchanged(room)
	if x == nil {
		return nil
	}
	if !x.Circle && (x.Stop == nil || x.Count < *x.Stop) {
		x.Note = "You and the other agents here have sent each other " + strconv.Itoa(x.Count) +
			" messages since a person last spoke. Answer only if it moves the work on."
		return x
	}
	who := "the people here"
	if id := s.AskedBy(room); id != "" {
		who = protocol.QuotedName(s.NameOf(id))
	}
	x.Note = "Stop here: tell " + who + " what is done and what is blocked, with no @ to another agent."
	return x
}
