package embedded

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"time"

	"go.etcd.io/bbolt"

	"github.com/chipschat/chips-aws/shared/engine"
)

// maxBody is how large a row's body may be: what fits DynamoDB's 400 KB beside the rest.
const maxBody = 350 << 10

// volatile says of a pk whether its rows are kept in memory alone; see the package comment.
func volatile(pk string) bool {
	return strings.HasPrefix(pk, "X#") || strings.HasPrefix(pk, "L#") || strings.HasPrefix(pk, "F#")
}

// holds says whether a condition holds for a row at a revision, 0 where there is none.
func holds(cond engine.Cond, rev int64) bool { return cond == engine.Always || cond.Rev() == rev }

// Get reads a row.
func (t *Table) Get(ctx context.Context, pk, sk string) (engine.Row, bool, error) {
	if volatile(pk) {
		row, ok := t.memory.get(pk, sk)
		return row, ok, ctx.Err()
	}
	var row engine.Row
	var some bool
	err := t.view(ctx, "get row", func(tx *bbolt.Tx) (err error) {
		row, some, err = getRow(tx, pk, sk)
		return err
	})
	return row, some && err == nil, err
}

func getRow(tx *bbolt.Tx, pk, sk string) (engine.Row, bool, error) {
	v := tx.Bucket(rowsBucket).Get(rowKey(pk, sk))
	if v == nil {
		return engine.Row{}, false, nil
	}
	row, err := decodeRow(pk, sk, v)
	return row, err == nil, err
}

// Put writes a row.
func (t *Table) Put(ctx context.Context, row engine.Row, cond engine.Cond) (int64, error) {
	if err := checkNames(row.PK, row.SK); err != nil {
		return 0, err
	}
	if len(row.Body) > maxBody {
		return 0, fmt.Errorf("a row's body is %d bytes, at most %d fit", len(row.Body), maxBody)
	}
	if volatile(row.PK) {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		return t.memory.put(row, cond)
	}
	row.Body = bytes.Clone(row.Body) // the caller may be gone before the committer gets to it
	var refused error
	w := &write{do: func(tx *bbolt.Tx) error {
		old, some, err := getRow(tx, row.PK, row.SK)
		if err != nil {
			return err
		}
		if !holds(cond, old.Rev) {
			refused = engine.ErrCondition
			return nil
		}
		row.Rev = old.Rev + 1
		if some {
			if err := dropDue(tx, old); err != nil {
				return err
			}
		}
		key := rowKey(row.PK, row.SK)
		if !row.Due.IsZero() {
			if err := tx.Bucket(dueBucket).Put(dueKey(engine.DueShard(row.PK, row.SK), millis(row.Due), key), nil); err != nil {
				return err
			}
		}
		return tx.Bucket(rowsBucket).Put(key, appendRow(nil, row))
	}}
	if err := t.submit(ctx, "put row", w); err != nil {
		return 0, err
	}
	if refused != nil {
		return 0, refused
	}
	return row.Rev, nil
}

// Delete removes a row.
func (t *Table) Delete(ctx context.Context, pk, sk string, cond engine.Cond) (engine.Row, error) {
	if volatile(pk) {
		if err := ctx.Err(); err != nil {
			return engine.Row{}, err
		}
		return t.memory.delete(pk, sk, cond)
	}
	var old engine.Row
	var refused error
	w := &write{do: func(tx *bbolt.Tx) (err error) {
		var some bool
		if old, some, err = getRow(tx, pk, sk); err != nil {
			return err
		}
		if !holds(cond, old.Rev) {
			refused = engine.ErrCondition
			return nil
		}
		if !some {
			return nil
		}
		return deleteRow(tx, old)
	}}
	if err := t.submit(ctx, "delete row", w); err != nil {
		return engine.Row{}, err
	}
	if refused != nil {
		return engine.Row{}, refused
	}
	return old, nil
}

func deleteRow(tx *bbolt.Tx, row engine.Row) error {
	if err := dropDue(tx, row); err != nil {
		return err
	}
	return tx.Bucket(rowsBucket).Delete(rowKey(row.PK, row.SK))
}

// dropDue takes a row out of the index of what is due.
func dropDue(tx *bbolt.Tx, row engine.Row) error {
	if row.Due.IsZero() {
		return nil
	}
	return tx.Bucket(dueBucket).Delete(dueKey(engine.DueShard(row.PK, row.SK), millis(row.Due), rowKey(row.PK, row.SK)))
}

// Query reads rows of one pk.
func (t *Table) Query(ctx context.Context, pk, after string, limit int) ([]engine.Row, error) {
	if volatile(pk) {
		return t.memory.query(pk, after, limit), ctx.Err()
	}
	var rows []engine.Row
	err := t.view(ctx, "query rows", func(tx *bbolt.Tx) error {
		prefix, start := join(pk), rowKey(pk, after)
		cursor := tx.Bucket(rowsBucket).Cursor()
		k, v := cursor.Seek(start)
		if bytes.Equal(k, start) {
			k, v = cursor.Next()
		}
		for ; bytes.HasPrefix(k, prefix) && len(rows) < limit; k, v = cursor.Next() {
			row, err := decodeRow(pk, string(k[len(prefix):]), v)
			if err != nil {
				return err
			}
			rows = append(rows, row)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return rows, nil
}

// Glance is Query: nothing lags here.
func (t *Table) Glance(ctx context.Context, pk, after string, limit int) ([]engine.Row, error) {
	return t.Query(ctx, pk, after, limit)
}

// Due reads rows by the index of what is due, which is never behind here.
func (t *Table) Due(ctx context.Context, shard int, until time.Time, limit int) ([]engine.Row, error) {
	rows := t.memory.due(shard, until, limit)
	err := t.view(ctx, "read what is due", func(tx *bbolt.Tx) error {
		cursor := tx.Bucket(dueBucket).Cursor()
		end := dueKey(shard, until.UnixMilli()+1, nil)
		kept := 0
		for k, _ := cursor.Seek([]byte{byte(shard)}); k != nil && bytes.Compare(k, end) < 0 && kept < limit; k, _ = cursor.Next() {
			if len(k) < 9 {
				return errCorrupt
			}
			pk, sk, _ := strings.Cut(string(k[9:]), "\x00")
			row, some, err := getRow(tx, pk, sk)
			if err != nil {
				return err
			}
			if some {
				rows = append(rows, row)
				kept++
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return oldest(rows, limit), nil
}

// purgePage is how many rows Purge looks at in one read transaction, which holds pages back from reuse as long as it goes on.
const purgePage = 1000

// purgePages is how many such pages one Purge looks at.
const purgePages = 10

// Purge deletes rows whose Expires is not after now, and answers how many. It looks at 10,000 rows at most and goes on from there when
// it is called again, round and round. DynamoDB does that by itself, some time after.
func (t *Table) Purge(ctx context.Context, now time.Time) (int, error) {
	t.purging.Lock()
	defer t.purging.Unlock()
	gone := t.memory.purge(now)
	from := t.purged
	for range purgePages {
		var expired [][]byte
		err := t.view(ctx, "purge", func(tx *bbolt.Tx) error {
			cursor := tx.Bucket(rowsBucket).Cursor()
			k, v := cursor.Seek(from)
			for n := 0; k != nil && n < purgePage; n++ {
				if isExpired(v, now) {
					expired = append(expired, bytes.Clone(k))
				}
				k, v = cursor.Next()
			}
			from = bytes.Clone(k)
			return nil
		})
		if err != nil {
			return gone, err
		}
		if len(expired) > 0 {
			n, err := t.purgeKeys(ctx, expired, now)
			gone += n
			if err != nil {
				return gone, err
			}
		}
		if t.purged = from; from == nil {
			break
		}
	}
	return gone, nil
}

// purgeKeys deletes those of the rows that are still past their time.
func (t *Table) purgeKeys(ctx context.Context, keys [][]byte, now time.Time) (int, error) {
	gone := 0
	w := &write{do: func(tx *bbolt.Tx) error {
		for _, k := range keys {
			v := tx.Bucket(rowsBucket).Get(k)
			if v == nil || !isExpired(v, now) {
				continue
			}
			pk, sk, _ := strings.Cut(string(k), "\x00")
			row, err := decodeRow(pk, sk, v)
			if err != nil {
				return err
			}
			if err := deleteRow(tx, row); err != nil {
				return err
			}
			gone++
		}
		return nil
	}}
	err := t.submit(ctx, "purge", w)
	if err != nil {
		gone = 0
	}
	return gone, err
}

// isExpired reads no more of a row's value than it has to.
func isExpired(v []byte, now time.Time) bool {
	r := reader[[]byte]{rest: v[min(1, len(v)):]}
	r.uvarint()
	at := r.varint()
	return !r.bad && at != 0 && at <= now.Unix()
}
