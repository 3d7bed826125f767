// Package delivery says what each recipient is sent for an event: whether they are sent it at all (Covers), how it reads on their
// socket (Render) and over HTTP (Logged), and the hello a connection begins with.
//
// It is pure, and a function of the log up to the event, so that a live delivery, a replay and a restart write the same bytes
// (contract U-86). The state it is given is the one just after the event for what the words are, and for whom they are:
//
//   - live, an event goes to whom Covers it just before or just after it, and to the first members of a room it opens;
//   - a replay and GET go by the state at the head: a room that was lost never comes back (contract U-82).
//
// A turn comes with its context: what was said in the room since its taker last spoke there. The state says where that starts
// (workspace.State.ContextFrom), not what was said: Wants says which lines are needed, the caller reads them (session.Lines), and Render is
// given them. The words are those of the log, those of the newest edit by then where the state marks one, and the names those of the state,
// so the lines too are the same live, replayed and after a restart (CTX-7; TestToldTheSame of package fanout). Past is the same for whoever
// reads on downwards over HTTP, by the state at the head.
//
// With it come who is in the room and a note for each taker (members.go, notes.go), who is at work (work.go), how far agents went on by
// themselves (exchange.go), the room's files and what the job has spent. What is of the moment it is handed over, and not of the log, Finish
// fills in: people's clocks, signed URLs, and which of the turns that went on then go on still. What would not fit into a frame is left
// out in the order of contract U-123: lines first, then files, then names in notes, and at the very end members, rules and notes.
//
// A harness that has not declared agents is shown the view of before agents (contract U-99): rewrite is the one place that knows it,
// type by type. What only a harness itself may see is left out in hide. The sender's idempotency_key stays for everybody the event
// goes to: a key is the sender's own and worth nothing to others (WRT-7), and a receipt names the message by it (RCPT-7).
package delivery
