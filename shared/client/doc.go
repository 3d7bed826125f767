// Package client is the Go client of the protocol: a stream that loses nothing and writes that land once, over sockets that come and go.
//
// Run holds one socket at a time. On each it buys a ticket with its credential, says hello, sends again whatever the server has not
// answered, and only then subscribes, with the seq of the last event it was handed. So whatever dies in between, a write lands once
// and each event is handed over once, in order of seq.
//
// Post keeps an event until the server has answered for its key. A context that ends takes away the wait, never the event: it goes
// on being sent, and a Post under the same key waits for it again. Silence, a closed socket and a frame without a name (API Gateway's
// own error) are no answers.
//
// It answers ping frames, and gives a socket up that is silent for too long: soon where the other end is known to answer WebSocket pings,
// else when it was quiet for longer than a server behind API Gateway ever is (Config.Idle, Config.Quiet).
//
// What of a harness is managed from Chips (Config.Managed) it listens for, sends the copies of on each new socket, and answers in time.
//
// One write is under way at a time, because behind API Gateway two frames of one socket may overtake each other; Pipelined gives that
// up. The events callback runs beside the reader, so it may Post. What it has not taken yet is bounded: past the bound the socket is
// given up, and the next one subscribes when there is room. Buffering on would hold whatever the server sends.
package client
