// Package deadline has deadlines fire. Which there are, and when each is due, is folded from the log (workspace.State.Deadlines); this
// package sees to it that somebody looks when one is due. It owns the port of alarms (Alarms), as nothing here waits.
//
// # From the log to the log
//
//	commit -> Arm: a row D#<workspace>, <kind>#<id>, due when the deadline is; then an alarm
//	alarm  -> Fire: fold to the head, decide (workspace.FireDraft), append; then the row goes
//
// Arm is rung by every commit (shared/fanout) and is about the commit's own deadlines, so a commit that rings again arms again. A ring
// that brings no commits is about all that are pending. Most commits can set no deadline, and those cost a look at their types.
//
// # Twice, early, never
//
// Firing decides on the state and the clock, as every rule does. An alarm that rings twice or too late finds nothing pending; one that rings
// early finds it not due and is set again; so does one whose deadline was moved. What cures a deadline in the same moment and its firing are
// two commands on one log: whichever commits first is what the other is decided on. An alarm that never rings leaves its row, which
// is found by when it is due (Sweep) and fired. The row goes last, and only if nobody wrote it meanwhile, so that a process that dies
// anywhere on the way leaves something that rings.
//
// # Who is away
//
// How long a harness has had no socket is told by rows of connections and not by the log, so its deadline is a row that whoever sees a socket
// go puts before (Watch.Left), and the look at it (Keeper.look) is a command on the log like a firing. It and a hello may meet in any order:
// the hello has its row before it reads how its harness is, and the look asks for the sockets once more after it has written.
// A harness that leaves while it is looked at has put a newer row by the time its connection is gone. TestLookAgainstTheSocket takes both
// through every order of what they do to the table.
//
// # Turned down
//
// The due time in the event that sets a deadline: deadlines that ordinary messages set would make each of those larger, and one that
// moves would need an event to say so. The wait is read when a deadline is armed and when it is decided instead, never when folding; where it is changed
// in between, the firing finds the deadline not due yet and sets the alarm anew. An alarm set by whoever appends: a process that dies after
// its append would leave none, where the stream tries again.
package deadline
