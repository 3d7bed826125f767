// Package awscall calls AWS the short way: with the SDK's own shapes, wire format, signature, retries and errors, and without the chain of
// some thirty steps that the SDK's clients build for each call. The chain is as much work as all the rest of a call, and what a function of
// ours does for an event are two or four calls (docs/adr/0010-short-calls.md).
//
// It is for the calls made for each event: the table's and the sockets'.
package awscall
