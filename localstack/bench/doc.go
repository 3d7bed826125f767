// Bench measures how fast Chips is on one machine, and prints tables: what was measured on what, the median of several repetitions and
// their spread, the goal and how far from it that is. It asserts no time: a machine that is busy with something else is not a fault of
// Chips. What it does check is that it measured the real thing: that every write was acknowledged once, and that no event of a replay
// was missing.
//
// Speed is that of the real program: `chips serve` as make built it, on a data folder of its own on this disk, over loopback, durable
// before it acknowledges. The load generator is this process, so it shares the cores with the server.
//
// The log's depth (append late in a long log, cold load) and a room's (context in a long one) are measured on the engine over the
// embedded table, without sockets.
//
// The functions are measured as the binaries that Lambda would run, each on a Runtime API in this process: how long they take to start, and
// how much processor time an event costs them.
//
// With -peers the same closed loops run against NATS JetStream and Centrifugo. The clients of those are a Go module of their own
// (localstack/bench/peers), so that the product carries none of it.
package main
