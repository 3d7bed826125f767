// Package engine puts decisions into the log: load, fold, decide, append, in the one retry loop of the house. It owns the port of the
// table (Table) and knows nothing of what the rules say.
//
// # Append
//
// A workspace's log is a row of commits without a hole, each of 1 to workspace.MaxEvents events, and the next slot is the only counter. Do decides on
// the state folded up to n and puts the commit at n+1 if nothing is there. Whoever has the slot already won: the loser folds what it
// missed and decides again, a bounded number of times and after a random wait. So every rule is free of races without a transaction.
// Do reads nothing first: that the state is not the newest is found out by the put.
//
// What may be sent twice has a key, and the key's first commit counts:
//
//   - Before the commit goes its claim: "the key is in the log after n, if at all". A claim that stands already sends Do to look in
//     the log after it. Found is a duplicate; not found means that an attempt died before its commit, so the claim moves up to n and Do goes on.
//   - After each lost slot the key is looked for in what won.
//   - Before a refusal is answered, Do catches up with the head by a consistent read, decides again, and if it is still refused looks
//     the key up: its own commit may be why. So is it done before an answer that there is nothing to do.
//   - Where the answer of a put is lost nothing is known, so the same put is made again, nonce and all, until it is written or has lost.
//     A winner with the attempt's own nonce is its own, and not a duplicate. Time that runs out meanwhile is ErrBusy: no answer at all.
//
// A claim is never put for a seq that is not committed, and never moved past a commit that was not looked at. Keys of the newest commits are
// remembered, so that most look-ups read nothing.
//
// # Several at once
//
// Each warm workspace has one goroutine, while there is something to do, that takes what waits, decides it one after another, each on
// the state the one before leads to, and puts all of it down as one chain in one Append. A chain fails together from its first
// failing commit on; those are decided again. Two states make that cheap to undo: one of what is committed, which is what reads
// see, and one ahead of it, which is thrown away when a chain fails. What is refused while others are on their way is decided again once
// they have landed, alone on what is committed.
//
// # Snapshots
//
// SnapshotIfDue writes the state down, whole or not at all, when the log since the last one outweighs it. A cold engine reads the newest
// and the log after it; StateAt reads the newest at or below its seq.
//
// # Turned down
//
// A transaction of claim, commit and counter: twice the write units, conflicts that are not told apart from throttling, and in a retry one
// still has to ask what became of the first. A counter item: a hot item beside the log that can disagree with it, and one more write
// for each event. A claim written after its commit: a crash between the two lets the key in twice. A lock or a leader for each workspace:
// it has to expire, and whoever held it may still be writing.
package engine
