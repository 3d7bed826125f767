package embedded

import (
	"encoding/binary"
	"math"

	"go.etcd.io/bbolt"
)

// maxSeq is above every seq.
const maxSeq = math.MaxInt64

// join writes names, a NUL after each.
func join(names ...string) []byte {
	size := 0
	for _, n := range names {
		size += len(n) + 1
	}
	b := make([]byte, 0, size)
	for _, n := range names {
		b = append(append(b, n...), 0)
	}
	return b
}

// appendSeq answers prefix with a seq behind it, and leaves prefix as it was.
func appendSeq(prefix []byte, seq int64) []byte {
	return binary.BigEndian.AppendUint64(prefix[:len(prefix):len(prefix)], uint64(seq))
}

// seqOf reads the seq at the end of a key.
func seqOf(key []byte) int64 {
	if len(key) < 8 {
		return 0
	}
	return int64(binary.BigEndian.Uint64(key[len(key)-8:]))
}

func claimKey(workspace, sender, key string) []byte {
	return append(join(workspace, sender), key...)
}

func rowKey(pk, sk string) []byte { return append(join(pk), sk...) }

// dueKey sorts rows of a due shard by their time.
func dueKey(shard int, ms int64, rowKey []byte) []byte {
	b := append(make([]byte, 0, 9+len(rowKey)), byte(shard))
	b = binary.BigEndian.AppendUint64(b, uint64(ms)^1<<63)
	return append(b, rowKey...)
}

// before moves a cursor to the last key below key.
func before(cursor *bbolt.Cursor, key []byte) (k, v []byte) {
	if k, _ = cursor.Seek(key); k == nil {
		return cursor.Last()
	}
	return cursor.Prev()
}
