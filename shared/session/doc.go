// Package session is one connection's life, whatever carries its frames: hello, writes, a subscription, and its end.
//
// # A connection
//
// Connect writes a row, X#<workspace> and the connection's id; the row is all there is of a connection, so any process may handle any of
// its frames. Frame answers what it can at once, an ack, an error or the hello event; all else is pushed (Push), by fan-out and by
// replays. What goes wrong and is nobody's fault is not answered: the socket is closed, and the client, which keeps every event until
// it is answered, comes back and resends.
//
// # A subscription: no gap and no double
//
// Fan-out is rung with "the workspace has reached n", at least once, in any order, and dies half-way now and then. So a subscription
// is a state in the row, and every step from it is conditional on the row's revision:
//
//  1. subscribe writes {replaying, a new generation, behind 0} and only then reads the head: whatever is appended later finds the row.
//  2. Fan-out sends nothing to a replaying row but writes behind = n into it: up to n it is the replay's.
//  3. Replay reads on from since. Each part is claimed in the row before it is sent, under a new generation, so that of two runs, or
//     of two subscribes, one goes on; and so that whoever comes after a run that died knows that something may have been sent.
//  4. Having sent all up to c, it writes {live, live_from c} if behind is at most c, else it reads on.
//  5. Fan-out sends a live row what is above its live_from.
//
// TestFanoutModel of package fanout walks through these steps in random orders, with this code. A flip in a
// transaction with "nothing is at c+1" was turned down: it costs more, and it loses to every append in a busy workspace.
//
// A second subscribe on a socket replaces the first. What of the first may still be on its way, a part that a run is sending or a range
// of fan-out, is waited for (settle): the two never mix on the socket.
//
// # Closing
//
// A push whose outcome is unknown, and a consumer that is too slow, end in Cut: the socket first and then the row. If the socket cannot
// be closed, the row says so and gets nothing more, and the sweep tries again (Overdue). A client that was cut resumes by since. Before
// a row of a harness goes, however its socket ended, Config.Left is told: a harness without a socket is away after a while.
package session
