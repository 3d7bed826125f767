// Package gateway stands in for API Gateway on one machine: it speaks WebSocket and HTTP, and calls the functions behind it with the
// events Lambda would invoke them with.
//
// A GET of /v1/ws that is a proper upgrade goes to the authorizer, then to $connect, and only then is answered 101; every message is a
// call of $default, whose answer is sent back; the end is a call of $disconnect. Everything else is a request of the HTTP function.
// The functions reach a socket through Post and Close, as through the management API.
//
// By default it does what the product's documents ask of a server and API Gateway cannot: it keeps the frames of a connection in order,
// pings, closes a silent socket, knows when a consumer is behind, and closes with a code that says why. Config.Faithful gives API Gateway's
// own behaviour instead; Config.Shuffle handles a connection's frames side by side and out of order, as API Gateway may.
//
// Each connection has one queue and, while that holds something, one writer, so answers and pushes go out in the order of the calls.
// The queue is bounded by frames (then the connection is behind for certain, and is cut) and by bytes (then pushes are throttled).
// Nothing is shared between connections but the map that finds them. Requests share Config.AtOnce places; those above it wait, since what
// is written for one may be megabytes; and bodies that are long share fewer, as they are read before anybody knows who sends them.
package gateway
