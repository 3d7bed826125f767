// Package dynamo keeps Chips on AWS: engine.Table in one DynamoDB table.
//
//	item      pk                                  sk                 attributes
//	commit    <workspace>                         C#<first>          events ts nonce hash by key main conn cred prev space
//	claim     K#<workspace>#<sender>#<sha256(key)>  -                after
//	row       its own                             its own            body rev ttl due shard
//
// The first seq is written with 12 digits in sk, so that a partition sorts as the log does. Attributes that say nothing are left out.
// Index by-space (space, sk) holds the commits that a room is read by; index by-due (shard, due) the rows that are due. Both
// project all. ttl is the table's time to live.
//
// An append is at most two conditional puts: the claim, then the commit with attribute_not_exists, which is what keeps a slot to one
// commit. A transaction would cost twice as much and be cancelled by every other; it is not needed, for a claim without its commit is
// harmless. The puts of several appends are made one after the other, since a claim may only stand once the commit before it does.
// DynamoDB does not know a log's next slot, so a slot that is no commit's start or end would be written to: engine.Log forbids
// its caller to ask for one.
//
// Every write is tried once. The SDK's retries would hide that the first attempt had been applied, and turn it into a condition that fails;
// for an append the nonce would tell, for a row nothing would. What the outcome of a write that failed is, is the engine's to find out.
// Reads are strongly consistent but on the indexes, and may be retried by the client as it is configured.
package dynamo
