// Package workspace holds the rules of Chips as pure code: what a workspace is after its events (Evolve), and which events a command
// causes (Decide). No I/O, no clock, no randomness: time and entropy come in with the command.
//
// A command is a draft of an event with who sends it. Decide checks it against the state at seq n and answers the events to append
// at n+1, all in one commit; the engine commits them only if n is still the head, so no rule here can lose a race. Decide never
// changes the state. Evolve changes the state in place, is total (whatever was committed is taken), and is the only thing that does.
//
// Faults are found in one order (contract U-120): type, who may write it, fields, run, room, actor, then the one-room and archive
// rules. Each system has a file: spaces.go, members.go, agents.go, runs.go, messages.go, marks.go and addressing.go, files.go, context.go, people.go,
// harnesses.go, restart.go and away.go, spend.go and ceiling.go, autonomy.go (what policy decides), approvals.go and questions.go (what runs ask of
// people), referee.go (how far agents go on with each other), lead.go (who is at work, and what is nobody's turn), turns.go (what is said to
// turns under way), held.go (what an agent says while it is in no room), places.go and replaced.go (rooms that harnesses are asked for, open and
// take each other's place in), asks.go (forks and new agents).
//
// What is so already causes no events, and uses no key up (contract U-119 is about keys of writes, and the log alone knows them). That is so where
// a repeat cannot do harm, as with a message that is deleted for good, and for what HTTP alone sets. What people and harnesses write in rooms and may
// set to and fro (reactions, pins, pauses) is written all the same: it is an act, and its key has to be known when it comes again.
//
// What falls due is told by the state and the waits alone (deadlines.go): a deadline is no event, and deciding again when it fires is all
// that firing is. What a decision needs of what was said, and only the state names, it asks for (Decision.Missing).
//
// Where an agent may be is one rule, mayPlace in agents.go, and every way of putting one in a room asks it; testdata/places.txt has what
// comes of every way into a room and out of it, by whoever asks and in whatever state both are.
package workspace
