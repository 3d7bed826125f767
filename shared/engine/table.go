package engine

import (
	"context"
	"errors"
	"time"

	"github.com/chipschat/chips-aws/shared/protocol"
)

// Table is the store: the logs of workspaces, and rows beside them. Its adapters are shared/dynamo and shared/embedded; one suite,
// shared/porttest, holds them to this comment.
//
// What returns nil error is durable: it survives the process being killed at once.
// Reads see every write that returned before they began, but for RoomCommits, Glance and Due.
// Any method may fail with ErrThrottled (the write that was refused is not done) or with another error, after which a write may
// have been applied, may yet be applied, or may never be: the outcome is unknown.
//
// Ids and the keys of rows are UTF-8, not empty (but where said) and without a NUL; a Claim's Key may be any UTF-8 of 1 to 255 bytes; limits are at least 1. A commit's TS and a row's Due are kept
// to the millisecond, a row's Expires to the second, rounded up. What a method is given it does not change, and what it answers
// is the caller's.
type Table interface {
	Log
	Rows
}

// Log holds each workspace's commits.
type Log interface {
	// Append writes appends of one workspace in order, each at the slot its commit names, and stops before the first that cannot
	// be written: nothing of those after it is done, not even their claims, which would point past where their commits may come to
	// stand. It answers one result for each it came to; the last may be one that was not written.
	//
	// A slot is 1, or the seq after the last of a commit that is known to be in the log or that stands before it in appends. Such a
	// slot is the next one or the start of a commit, whatever others write meanwhile. No other may be asked for: an adapter
	// may refuse it (with no Winner) or not notice.
	//
	// A commit and its claim are never torn in a way a reader of the log could see: a claim without its commit is harmless, a commit
	// without its claim never is (but where no claim was asked for).
	// With an error the results are those known before it, and the outcome of the next append is unknown: not done at all where
	// the error is ErrThrottled, but that its claim may stand.
	// So the same append may be made again, as often as it takes: its own commit is then the Winner, and its own claim is in nobody's way.
	Append(ctx context.Context, appends []Append) ([]Result, error)

	// Commits answers the commits of a workspace from the last whose first seq is at most from (or the very first, when there is
	// none) in rising order, at most limit of them and at most about 1 MB as stored, but at least one where there is one. The end is
	// where an answer holds nothing after the commit it was asked from. It is cheapest from the first seq of a commit.
	Commits(ctx context.Context, workspace string, from int64, limit int) ([]Commit, error)

	// Head answers the newest commit; false when the workspace has none.
	Head(ctx context.Context, workspace string) (Commit, bool, error)

	// RoomCommits answers the commits indexed under a room whose first seq is below before, newest first, at most limit and at
	// most about 1 MB as stored. It may lag and so miss the newest, and it finds a commit of several rooms under one of
	// them only: the reader checks each commit's Prev. An empty answer where Prev names an older one is lag too.
	RoomCommits(ctx context.Context, workspace, space string, before int64, limit int) ([]Commit, error)

	// ReadClaim answers the claim of a key; false when there is none.
	ReadClaim(ctx context.Context, workspace, sender, key string) (Claim, bool, error)
}

// Commit is one item of a log: 1 to workspace.MaxEvents events written together.
type Commit struct {
	Workspace string
	// First is the seq of the first event; the others follow without a hole.
	First int64
	// TS is the time of all its events; it never goes back within a workspace.
	TS time.Time
	// Events are the events as protocol.Event.AppendStored writes them.
	Events [][]byte
	// Sender and Key are whose write it was, and their idempotency key: "" for what Chips wrote, or what was written without a key.
	Sender, Key string
	// Payload is a hash of what was sent, to tell a repeat with another body.
	Payload [16]byte
	// Primary is the index of the event that the ack names.
	Primary int
	// Nonce tells this attempt from all others; its first five bytes are the random part of the ids of the events.
	Nonce [10]byte
	// Connection and Credential are what it came by. They are part of no event.
	Connection, Credential string
	// Prev says of each room that it writes a line in the seq of the room's line before this commit, 0 for none.
	Prev map[string]int64
	// Space is the room it is indexed under, one of those in Prev, or "".
	Space string
}

// Last is the seq of the commit's last event.
func (c Commit) Last() int64 { return c.First + int64(len(c.Events)) - 1 }

// Claim says where a key may be found: in a commit after After, if anywhere.
type Claim struct {
	Workspace, Sender, Key string
	After                  int64
}

// Append is one commit to be written, with the claim that has to stand first.
type Append struct {
	Commit Commit
	// Claim is nil where none is needed. It is of the commit's workspace.
	Claim *Claim
	// Replaces is the After of a claim that stands already and is to be moved up to Claim.After; -1 puts the claim where there is none.
	// A claim that stands with Claim.After already is as asked, whoever put it.
	Replaces int64
}

// Result says what became of one Append.
type Result struct {
	// Written says that the commit is in the log by this call.
	Written bool
	// Claimed says that the claim stands as asked by this call, whether or not the commit was written.
	Claimed bool
	// Taken is the claim that stood in the way; nothing was written then, and no Winner is looked for. Where there was none to be
	// moved it is nil, as is all else here.
	Taken *Claim
	// Winner is the commit that starts at the slot already: another's, or this very one by an earlier call (its Nonce says so).
	Winner *Commit
}

// Rows are small records beside the log, for what is no event: secrets' hashes, connections, cursors, snapshots.
type Rows interface {
	// Get answers a row; false when there is none. A row past its Expires may still be there.
	Get(ctx context.Context, pk, sk string) (Row, bool, error)
	// Put writes a row if cond holds, else fails with ErrCondition and does nothing. It answers the row's new revision.
	Put(ctx context.Context, row Row, cond Cond) (int64, error)
	// Delete removes a row if cond holds (Always is satisfied by no row), else fails with ErrCondition. It answers what the row was,
	// the zero Row where there was none.
	Delete(ctx context.Context, pk, sk string, cond Cond) (Row, error)
	// Query answers the rows of pk with sk above after, in rising order of sk (byte order), at most limit. Fewer than limit means there are no more.
	Query(ctx context.Context, pk, after string, limit int) ([]Row, error)
	// Glance is Query that may lag, for half the price.
	Glance(ctx context.Context, pk, after string, limit int) ([]Row, error)
	// Due answers rows of any pk in a due shard (0 to DueShards-1) whose Due is set and not after before, oldest first, at most limit. It may lag.
	Due(ctx context.Context, shard int, before time.Time, limit int) ([]Row, error)
}

// DueShards is into how many parts rows with a Due are spread.
const DueShards = 16

// Row is one record beside the log. PK says what kind of thing it is by its first letter and '#'.
type Row struct {
	PK, SK string
	// Body is the record, JSON unless its owner says otherwise; 350 KB at most.
	Body []byte
	// Rev counts the writes of this row, from 1 and anew once it was deleted; set by the table.
	Rev int64
	// Expires is when the row stops being of use; the table may delete it some time after. Zero is never.
	Expires time.Time
	// Due is when something is to be done about the row. Zero is never.
	Due time.Time
}

// Cond is what must hold for a row to be written.
type Cond struct{ rev int64 }

// Conditions on a row: any state, no such row, or exactly this revision of it.
var (
	Always = Cond{-1}
	Absent = Cond{0}
)

// IfRev is the condition that the row is at revision rev, at least 1.
func IfRev(rev int64) Cond { return Cond{rev} }

// Rev is the revision asked for, 0 for none such row, -1 for any.
func (c Cond) Rev() int64 { return c.rev }

// Errors of a table that steer what its callers do.
var (
	// ErrCondition says a condition did not hold and nothing was written.
	ErrCondition = errors.New("condition does not hold")
	// ErrThrottled says the table refused for now; what it refused is not done.
	ErrThrottled = errors.New("throttled")
)

// Decode answers the commit's events with their envelopes filled in.
func (c Commit) Decode() ([]protocol.Event, error) {
	events := make([]protocol.Event, len(c.Events))
	var random [5]byte
	copy(random[:], c.Nonce[:5])
	for i, raw := range c.Events {
		e, err := protocol.DecodeStored(raw)
		if err != nil {
			return nil, err
		}
		e.Seq = c.First + int64(i)
		e.WorkspaceID = c.Workspace
		e.TS = protocol.At(c.TS)
		e.ID = protocol.EventID(c.TS, e.Seq, random)
		if i == c.Primary {
			e.IdempotencyKey = c.Key
			e.Via = protocol.Via{Credential: c.Credential}
		}
		events[i] = e
	}
	return events, nil
}
