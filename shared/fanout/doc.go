// Package fanout sends each event to the live subscriptions of its workspace. It is rung (Ring) by whatever sees commits: the
// table's stream, the embedded table's feed, a queue that rings again.
//
// # A ring is a doorbell
//
// A stream delivers at least once and promises order only per item, so a ring means "workspace W has reached n" and nothing else. What
// the ring carries is taken as a copy of the log where it fits, and read from the log where it does not. For each range a ring
//
//  1. knows the cursor row F#<workspace>, then reads the connections and writes behind = n into every replaying one: it may go live only
//     from n on. One that went live meanwhile is taken as live;
//  2. claims the range (claimed, n] in the cursor, at the revision known before the connections were read, before a frame is sent;
//  3. sends to each live connection what is above its live_from and for it, in order; connections side by side;
//  4. confirms done. While more rings wait, the next claim carries the done of the last.
//
// A range found claimed and not done, by anybody but ourselves, was cut short: what was sent of it is unknown, and who claimed it may be
// slow and not dead. So the live connections it was for are closed, and those whose live subscription a second subscribe has just
// replaced, since it may still be sending to them; they resume by since. The same goes for one push whose outcome is unknown. So nothing
// is sent twice and nothing is missed. TestFanoutModel takes this through random interleavings with crashes: a cursor written after
// sending sends twice, and one written before, without the cut, loses.
//
// With no live connection below n there is nothing to send, nothing is folded and the cursor stays: whoever is live later was brought
// to n by a replay, since its row was either marked in step 1 or written after the log had reached n.
//
// # What is sent
//
// A state per workspace is kept folded along the ranges. An event goes to who is covered just before or just after it (package delivery),
// and is written once for all recipients who read it alike. A connection whose hello accepts batches (and events) is sent what a range
// holds for it in events frames, each one push and one metered message; others one event frame for each event. An event that cannot be
// written raises an alarm and is passed over. TestToldTheSame holds what is sent, live, replayed and after restarts, to the log, byte for
// byte. One bad connection never stops the others: each has its own deadline, and in the end is cut.
package fanout
