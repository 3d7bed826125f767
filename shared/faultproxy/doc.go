// Package faultproxy fails on purpose: a proxy between clients of AWS and what they call, for tests. It shows over the wire what a
// network and a service can do to a call: refuse it, break off before or after it was done, answer half, never or too late.
//
// It knows as much of a call as a rule needs to pick it: the operation, and the key or connection it is about. It forwards one
// request at a time as a whole, so WebSockets do not pass.
package faultproxy
