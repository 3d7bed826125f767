// Package embedded keeps Chips on one machine: engine.Table in one file of a folder, by way of go.etcd.io/bbolt.
//
// One goroutine, the committer, makes every write. It drains what waits for it, checks each write's condition in turn within one
// bbolt transaction, syncs once, and then answers them all: a condition that fails is that write's answer and nobody
// else's concern. So a write waits for one sync, and many writers share one. A lock around bbolt's own Update would make each wait for
// all before it; bbolt's Batch runs a failed function again alone, which conditions that fail all day would make the rule.
// An append is its claim and its commit in one transaction.
//
// Reads are bbolt's read transactions, straight from the mapped file, and see every write that was answered. They copy what
// they answer: the map moves as the file grows.
//
// Rows of connections (X#, and L#, which workspaces have any) and fan-out cursors (F#) are kept in memory alone, behind the same methods. A connection cannot
// outlive the process that holds its socket, and with the connections goes all that a cursor says has been sent: after a
// start there is nobody who could be sent anything twice. They change with every subscribe and every range that is sent, and would
// double the syncs.
//
// The index by space is a bucket beside the commits, written with them, and so never behind. The feed (Feed) stands in for DynamoDB's
// stream: what it tells of is durable.
//
// Buckets and their keys, numbers in big-endian so that they sort:
//
//	commits  workspace 0 first                 -> commit
//	spaces   workspace 0 space 0 first         -> nothing
//	claims   workspace 0 sender 0 key          -> after
//	rows     pk 0 sk                           -> row
//	due      shard due pk 0 sk                 -> nothing
package embedded
