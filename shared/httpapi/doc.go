// Package httpapi is the HTTP side of Chips: one table of routes (routes.go) behind one http.Handler, the same for the Lambda and for
// the local gateway.
//
// A request goes: request id, cross-origin headers, route (404, 405, or OPTIONS), body (413), credential (401), which kinds of caller the
// route is for (403), ids in the path, handler. A handler answers a value or an error; one place writes both. Every error body is
// {code, message, ...} with the status of its code.
//
// A write is a workspace.Command: a draft of the event it causes. What it may do, and to whom, is decided by workspace.Decide on the state
// at the head, never here: a route says only which kinds of caller may call at all. Rooms and members are drafted just as a client
// drafts them by POST /v1/events; what only Chips writes (people, harnesses, agents, settings) is drafted as an operation. A refusal
// that is invalid_event in an event is invalid_request on a route of its own.
//
// # Repeats
//
// Any writing route takes an Idempotency-Key header: it is the command's key, so a repeat answers from what was written and says
// "duplicate": true. Secrets are issued after the event and shown once, so a repeat carries none: when the first answer was lost, or the
// call died between the two, ask for a new one (POST /v1/people/:id/pairing-codes, POST /v1/harnesses/:id/tokens). A repeat of
// POST /v1/workspaces does carry a new pairing code, since nobody else could ever let its owner in. A route that writes no event
// (pairing codes, tokens, tickets, devices) does not look at the header: a repeat makes one more.
//
// # Taking back
//
// Removing a person or a harness decides first, then takes their credentials back, then closes their sockets. So the rules (the last
// owner stays, who may remove whom) are held to as the event is written, and from then on the fold refuses whatever their credentials
// still try. The other order would need the rights checked ahead, and two owners who remove each other at once would both be out. A
// call that dies half-way is finished by calling again, which is not_found and takes back all the same.
package httpapi
