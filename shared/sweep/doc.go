// Package sweep does, from time to time, what nobody else came to do: rows whose time for something has come (engine.Row.Due), and
// whatever else is to be done once in a while beside them.
//
// What is due stays due until somebody has done it: a handler looks at the row anew, since what is due may be told late, does it, and
// deletes the row or moves its Due. So a run may end at any line, and the next goes on where it stopped.
//
// A run is bounded. Each shard of the index is gone through by itself, its oldest rows first, so a shard that is full or slow holds up
// no other; no row is begun that could outlast the run. A row that fails holds up nobody either: it is put off, for a minute and
// then for twice as long each time, up to an hour, as long as this process remembers it. To put it off costs three write units (the row, and its
// place in the index left and taken), which is why it is not done for rows that succeed.
package sweep
