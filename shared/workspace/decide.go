package workspace

import (
	"github.com/chipschat/chips-aws/shared/protocol"
)

// Decide answers what a command causes on a state, or why it is refused. It does not change the state.
func Decide(s *State, c Command) (Decision, *protocol.Error) {
	return Decision{}, protocol.Refuse(protocol.Internal, "not decided yet")
}
