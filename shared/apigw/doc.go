// Package apigw stands between Lambda and Chips: it turns the events Lambda is invoked with into calls of auth, session, fanout and
// the HTTP handler, and their answers into what API Gateway, the event source mappings and the scheduler expect. It also holds the
// adapter that reaches back to sockets, and what every main needs to reach AWS.
//
// Each function here makes one handler for lambda.Start and keeps nothing between calls. What Chips answers is decided elsewhere;
// what is decided here is what a failure looks like to the caller AWS puts in front of us:
//
//   - An upgrade that is refused is the error "Unauthorized", the only way to have API Gateway answer 401 (a Deny policy is a 403).
//     Lambda counts it as an error of the function, so that count tells nothing; the log has a refusal at INFO, a fault at ERROR.
//   - The answer to a frame is the body of the $default route's response. A frame after which the socket must close goes out through
//     the management API instead, as the last thing before the deletion: a body would be sent after the function has returned, and
//     nothing would order it before the close. Such a route response has no body.
//   - A fault that is nobody's answers no key: the socket is closed, so that the client resends (contract U-79).
//   - A stream record is a doorbell. A workspace whose ringing fails is rung again through a queue, so that it holds up no other; only
//     when that queue cannot be reached does its record fail the batch, by its sequence number.
package apigw
