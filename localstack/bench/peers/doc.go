// Peers measures NATS JetStream and Centrifugo by the same closed loops as the bench measures Chips, and prints a JSON object a
// measurement for the bench to read. It is a module of its own, so that the product does not carry their clients.
//
// Both servers are built by go install into a cache folder, run on loopback on ports of their own with data in a temporary folder, and are
// stopped by their process.
//
// JetStream keeps its streams in files with sync_interval: always, which is the durability that Chips has. Centrifugo keeps its channels in
// memory, so its numbers are those of a broker that may forget.
package main
