// Cost counts what Chips uses on AWS, operation by operation, and prints it with list prices: what a million messages and steps in a
// room cost, a socket that is open for a month, and a month in which nobody is there.
//
// The counts are real. The functions' own handlers run in this process, each function with an engine of its own, on a DynamoDB adapter
// that bills items as DynamoDB does (package dynamo's Metered), with pushes that are only counted; conversations are held through them.
// So units, messages, requests, invocations and bytes are exact, the same in every run, and held by tests.
//
// What cannot be counted without an account is assumed, and is a constant in prices.go with where it is from: how long AWS takes to answer
// a call, which Lambda bills as time, and how often Lambda looks into an empty queue.
//
// No free tier is in a total; what AWS's always free allowances would take off an idle month is told beside it.
package main
