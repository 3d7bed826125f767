package embedded

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"go.etcd.io/bbolt"

	"github.com/chipschat/chips-aws/shared/engine"
)

// maxPage is how many bytes of stored commits one read answers at most, but for the first.
const maxPage = 1 << 20

// fillPercent is how full pages are left that split. Logs grow at their ends alone, so room within them would stay empty.
const fillPercent = 0.9

// Append puts claims and commits in one transaction.
func (t *Table) Append(ctx context.Context, appends []engine.Append) ([]engine.Result, error) {
	values := make([][]byte, len(appends))
	for i, a := range appends {
		if err := checkAppend(a, appends[0].Commit.Workspace); err != nil {
			return nil, err
		}
		values[i] = appendCommit(nil, a.Commit)
	}
	appends = slices.Clone(appends) // the caller may be gone before the committer gets to them
	var results []engine.Result
	w := &write{}
	w.do = func(tx *bbolt.Tx) error {
		for i, a := range appends {
			r, err := appendOne(tx, a, values[i])
			if err != nil {
				return err
			}
			results = append(results, r)
			if !r.Written {
				break
			}
			w.commits = append(w.commits, a.Commit)
		}
		return nil
	}
	if err := t.submit(ctx, "append", w); err != nil {
		return nil, err
	}
	return results, nil
}

func checkAppend(a engine.Append, workspace string) error {
	c := a.Commit
	if err := checkNames(c.Workspace); err != nil {
		return err
	}
	if c.Workspace != workspace {
		return errors.New("appends of two workspaces in one call")
	}
	if c.First < 1 || len(c.Events) == 0 || c.Primary < 0 || c.Primary >= len(c.Events) {
		return errors.New("a commit without a slot, events or a primary event among them")
	}
	if c.Space != "" {
		if err := checkNames(c.Space); err != nil {
			return err
		}
	}
	if a.Claim != nil {
		if a.Claim.Workspace != c.Workspace {
			return errors.New("a claim of another workspace")
		}
		if k := a.Claim.Key; k == "" || len(k) > maxName { // it is the last part of its name here, so a NUL in it does no harm
			return fmt.Errorf("%.40q is not a key: 1 to %d bytes", k, maxName)
		}
		return checkNames(a.Claim.Sender)
	}
	return nil
}

// appendOne makes one append within a transaction, as far as its conditions hold.
func appendOne(tx *bbolt.Tx, a engine.Append, value []byte) (engine.Result, error) {
	var r engine.Result
	if a.Claim != nil {
		taken, ok, err := putClaim(tx, *a.Claim, a.Replaces)
		if err != nil || !ok {
			return engine.Result{Taken: taken}, err
		}
		r.Claimed = true
	}
	ws, first := a.Commit.Workspace, a.Commit.First
	commits := tx.Bucket(commitsBucket)
	commits.FillPercent = fillPercent
	prefix := join(ws)
	key := appendSeq(prefix, first)
	cursor := commits.Cursor()
	k, v := cursor.Seek(key)
	if bytes.Equal(k, key) {
		winner, err := decodeCommit(ws, first, v)
		r.Winner = &winner
		return r, err
	}
	if bytes.HasPrefix(k, prefix) {
		return r, nil // within a commit
	}
	next := int64(1)
	if k, v = before(cursor, key); bytes.HasPrefix(k, prefix) {
		n, err := countEvents(v)
		if err != nil {
			return r, err
		}
		next = seqOf(k) + n
	}
	if first != next {
		return r, nil
	}
	if err := commits.Put(key, value); err != nil {
		return r, err
	}
	if a.Commit.Space != "" {
		spaces := tx.Bucket(spacesBucket)
		spaces.FillPercent = fillPercent
		if err := spaces.Put(appendSeq(join(ws, a.Commit.Space), first), nil); err != nil {
			return r, err
		}
	}
	r.Written = true
	return r, nil
}

// putClaim puts or moves a claim; else it answers false and the claim that stands, if one does.
func putClaim(tx *bbolt.Tx, c engine.Claim, replaces int64) (*engine.Claim, bool, error) {
	claims := tx.Bucket(claimsBucket)
	key := claimKey(c.Workspace, c.Sender, c.Key)
	standing, some, err := readClaim(claims, key)
	if err != nil {
		return nil, false, err
	}
	switch {
	case some && standing == c.After:
		return nil, true, nil
	case some && standing != replaces:
		return &engine.Claim{Workspace: c.Workspace, Sender: c.Sender, Key: c.Key, After: standing}, false, nil
	case !some && replaces >= 0:
		return nil, false, nil
	}
	return nil, true, claims.Put(key, binary.BigEndian.AppendUint64(nil, uint64(c.After)))
}

func readClaim(claims *bbolt.Bucket, key []byte) (int64, bool, error) {
	v := claims.Get(key)
	if v == nil {
		return 0, false, nil
	}
	if len(v) != 8 {
		return 0, false, errCorrupt
	}
	return int64(binary.BigEndian.Uint64(v)), true, nil
}

// ReadClaim reads a claim.
func (t *Table) ReadClaim(ctx context.Context, workspace, sender, key string) (engine.Claim, bool, error) {
	c := engine.Claim{Workspace: workspace, Sender: sender, Key: key}
	var some bool
	err := t.view(ctx, "read claim", func(tx *bbolt.Tx) (err error) {
		c.After, some, err = readClaim(tx.Bucket(claimsBucket), claimKey(workspace, sender, key))
		return err
	})
	if err != nil || !some {
		return engine.Claim{}, false, err
	}
	return c, true, nil
}

// Commits reads a stretch of a log.
func (t *Table) Commits(ctx context.Context, workspace string, from int64, limit int) ([]engine.Commit, error) {
	var commits []engine.Commit
	err := t.view(ctx, "read commits", func(tx *bbolt.Tx) error {
		prefix := join(workspace)
		cursor := tx.Bucket(commitsBucket).Cursor()
		start := appendSeq(prefix, max(from, 0))
		k, v := cursor.Seek(start)
		if !bytes.Equal(k, start) {
			if k, v = before(cursor, start); !bytes.HasPrefix(k, prefix) {
				k, v = cursor.Seek(start) // none begins before it: the very first
			}
		}
		// Commits are large structs: they are laid out once it is known how many there are.
		var found []stored
		for size := 0; bytes.HasPrefix(k, prefix) && len(found) < limit; k, v = cursor.Next() {
			if size += len(v); size > maxPage && len(found) > 0 {
				break
			}
			found = append(found, stored{seqOf(k), v})
		}
		return decodeAll(&commits, workspace, found)
	})
	return commits, err
}

// stored is a commit's first seq and its value, which is good within its transaction only.
type stored struct {
	first int64
	value []byte
}

// decodeAll sets commits to what is stored, or to nil.
func decodeAll(commits *[]engine.Commit, workspace string, all []stored) error {
	decoded := make([]engine.Commit, len(all))
	for i, s := range all {
		var err error
		if decoded[i], err = decodeCommit(workspace, s.first, s.value); err != nil {
			return err
		}
	}
	*commits = decoded
	return nil
}

// Head reads the newest commit.
func (t *Table) Head(ctx context.Context, workspace string) (engine.Commit, bool, error) {
	var c engine.Commit
	var some bool
	err := t.view(ctx, "read head", func(tx *bbolt.Tx) (err error) {
		prefix := join(workspace)
		k, v := before(tx.Bucket(commitsBucket).Cursor(), appendSeq(prefix, maxSeq))
		if some = bytes.HasPrefix(k, prefix); some {
			c, err = decodeCommit(workspace, seqOf(k), v)
		}
		return err
	})
	return c, some && err == nil, err
}

// RoomCommits reads by the index of rooms, which is never behind here.
func (t *Table) RoomCommits(ctx context.Context, workspace, space string, below int64, limit int) ([]engine.Commit, error) {
	var commits []engine.Commit
	err := t.view(ctx, "read room", func(tx *bbolt.Tx) error {
		log := tx.Bucket(commitsBucket)
		prefix := join(workspace, space)
		cursor := tx.Bucket(spacesBucket).Cursor()
		var found []stored
		k, _ := before(cursor, appendSeq(prefix, max(below, 0)))
		for size := 0; bytes.HasPrefix(k, prefix) && len(found) < limit; k, _ = cursor.Prev() {
			first := seqOf(k)
			v := log.Get(appendSeq(join(workspace), first))
			if size += len(v); size > maxPage && len(found) > 0 {
				break
			}
			found = append(found, stored{first, v})
		}
		return decodeAll(&commits, workspace, found)
	})
	return commits, err
}

// Workspaces answers the ids of all workspaces that have a log, in order: after a start nothing in memory knows of them.
func (t *Table) Workspaces(ctx context.Context) ([]string, error) {
	var all []string
	err := t.view(ctx, "read workspaces", func(tx *bbolt.Tx) error {
		cursor := tx.Bucket(commitsBucket).Cursor()
		for k, _ := cursor.First(); k != nil; {
			ws, _, ok := bytes.Cut(k, []byte{0})
			if !ok {
				return errCorrupt
			}
			all = append(all, string(ws))
			k, _ = cursor.Seek(append(ws[:len(ws):len(ws)], 1))
		}
		return nil
	})
	return all, err
}
