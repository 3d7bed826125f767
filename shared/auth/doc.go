// Package auth says who is calling. It keeps every credential of Chips (harness tokens, devices' keys, people's keys), hands out what
// is used once (tickets, pairing codes), and takes all of it back. What a caller may do is not decided here: roles come from the fold.
//
// # Rows
//
//	A#<credential id>        -              who holds it, and the secret's hash or the device's public key
//	H#<ws id>#<holder id>    <credential>   what a person or a harness holds; "!removed" once they are gone
//	T#<hash of the ticket>   -              the credential behind it, and until when
//	P#<hash of the code>     -              the person it pairs for, and until when
//	N#<device id>            <nonce hash>   a nonce that was used, and until when it is remembered
//
// A bearer secret starts with the id of its credential, so knowing who calls is one read by key (1 RRU), asking whether a credential
// still stands is the same read, and taking it back is one delete that counts from the next request on. Nothing is cached, because
// a cache would have to be told. Secrets have 256 random bits, so their plain SHA-256 is kept; hashes are compared in constant time.
//
// Tickets and codes are spent by a conditional delete that answers what the row was: of twenty at once one gets it. The credential behind
// a ticket is read after that, so one taken back in between opens nothing.
//
// An issue writes the holder's row, then the credential, then looks whether the holder was removed meanwhile; a removal marks the holder
// first and then reads what they hold. One of the two sees the other, so a removed holder never keeps a credential.
//
// A socket is let in before its connection's row is written, so one whose credential is taken back in between would be found by nobody:
// whoever writes such a row asks Stands after it.
//
// Rows that end (T, P, N) say when in Expires and have no Due: an entry in the due index would double the writes of each signed request,
// and nothing has to happen when they end. DynamoDB deletes them by its TTL; another table may by Expires. What decides is the
// time in the body, so a row that outlives it does no harm.
//
// # Signatures
//
// A device signs by RFC 9421 with Ed25519 (contract U-1). The one library for Go that does the whole of it and can be had
// here, yaronf/httpsign v0.3.2, was tried and turned down: it brings jwx and six more modules (+0.4 MB in a Lambda; its version list is no longer
// served) and still leaves most of U-1 to us: it hands out neither nonce nor created, reads time.Now by itself, checks Content-Digest only
// in its own handler, and changes the request's URL. What is easy to get wrong is reading and writing structured fields, so that
// is dunglas/httpsfv (RFC 9651; no dependencies, +0.07 MB, kept, fuzzed against the working group's own tests); the signature base on top of
// it is a page of code, held to the RFC's own example.
package auth
