// Package managed is what people see and change of a harness from Chips: the files of an agent's context, its model, its heartbeat, its
// context window, and the harness's own jobs. The harness has the thing itself; Chips keeps the copy that the harness sends, whole, and
// takes a person's wish for a change to it.
//
//	PUT     the harness's copy: cleaned by the kind's shape, kept where it differs from the one before
//	ask     a person's change: it waits in the copy's row, then its frame goes to each socket that listens, now or never
//	answer  with a copy that says answers or refuses; or nobody's, when its time is over
//	tell    managed.answered in the log, to the asker alone
//
// Kinds are descriptions (kinds.go): a shape with its limits, a capability, the word of the hello, and what may be asked by which frame.
// All else is written once.
//
// # One row a copy
//
// A copy and the changes asked of it are one row, M#<workspace>#<agent or harness> and the kind, written at its revision: a copy and the
// answer that comes with it are seen together, and what became of a change is decided once, by whichever write came first. A copy that is
// too long for the row lies beside it in parts, under a name that is new each time; the row names the parts that count. Parts are announced in
// the row before they are written, so that those of a writer who died are found by the next; those that counted before go last, and a reader
// who misses one reads the row again.
//
// Telling comes after deciding: the row keeps an outcome as untold, and due, until it is in the log under the change's id as its key. So a
// process that dies in between leaves something the sweep finds, and the log says each outcome once.
//
// # What a page reads
//
// A page asks for five copies one after another. Each is read as it is now, with its changes, for one read unit: who asks reads what they
// wrote. Who may see it is decided on a state that was looked at in the last three seconds, if there is one in this process, and again on
// the newest before it is refused: whoever was given access has it at once, and whoever lost it (left the room, became a guest, the grant
// was taken back) may read a copy for three seconds more, in another process than the one that wrote it. A person or a harness that was
// removed has no credential from then on, and one is looked up for each request. Whether a socket listens is told by an eventually
// consistent read. So a page of small copies is ten read units at most where one process answers it (TestUnitsOfAPage), and one more for
// each further process. A workspace with more than ten sockets or so reads half a unit more for each copy and ten of them.
//
// # Runs of jobs
//
// Each run is a row of its own, by when it started, with a row beside it that says where the run is, for when it is posted again. Both name
// the stay of their job: from the copy that first had it to the one that left it out. What has no stay in the copy is not read any more,
// so a job goes with its runs in one write, and the rows go at the end of their ninety days.
//
// # Turned down
//
// Asked changes as events: the log would be replayed to harnesses that heard the change already or never will. Deadlines folded from the
// log, for the same reason: there is nothing in it to fold. A row for each change: an answer and its copy could be seen apart.
package managed
