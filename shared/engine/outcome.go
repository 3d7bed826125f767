package engine

import (
	"github.com/chipschat/chips-aws/shared/protocol"
)

// Outcome is what became of a command that was not refused.
type Outcome struct {
	// Commit is what is in the log of it, by this attempt or, when Duplicate, by an earlier one with its key. It is the zero Commit
	// where there was nothing to do: things were already so.
	Commit Commit
	// Events are the commit's.
	Events []protocol.Event
	// Duplicate says that the key's write had landed before, and Differs that it then had another body.
	Duplicate, Differs bool

	key  string
	head int64
}

// NothingToDo says that nothing was written, now or before, since things were already so.
func (o Outcome) NothingToDo() bool { return o.Commit.First == 0 }

// Ack is what a client is told. A duplicate's says the same as the first one's did, but for Duplicate and Differs.
// Where there was nothing to do it is a duplicate of nothing: Duplicate, with the seq of the head that says so already. Its key is
// not used up.
func (o Outcome) Ack() protocol.Ack {
	if o.NothingToDo() {
		return protocol.Ack{IdempotencyKey: o.key, Seq: o.head, Duplicate: true}
	}
	ack := protocol.Ack{
		IdempotencyKey: o.Commit.Key, Seq: o.Commit.First + int64(o.Commit.Primary), Duplicate: o.Duplicate, Differs: o.Differs,
	}
	switch e := o.Events[o.Commit.Primary]; d := e.Data.(type) {
	case *protocol.SpaceOpened:
		ack.SpaceID = e.SpaceID
	case *protocol.MessageHeld:
		ack.Waiting = true
	case *protocol.ApprovalResolved:
		ack.Remembered = d.Remembered
	case *protocol.MessagePost:
		ack.Held, ack.Exchange = d.Held, d.Exchange.Acked()
	}
	return ack
}
