package embedded

import (
	"bytes"
	"encoding/binary"
	"time"

	"github.com/chipschat/chips-aws/shared/engine"
)

// format is the first byte of every value.
const format = 1

// appendCommit writes a commit but for its workspace and first seq, which its key says: format, number of events, time, primary, nonce, payload,
// the length of the strings and the strings, and the packed events.
func appendCommit(b []byte, c engine.Commit) []byte {
	b = append(b, format)
	b = binary.AppendUvarint(b, uint64(len(c.Events)))
	b = binary.AppendVarint(b, c.TS.UnixMilli())
	b = binary.AppendUvarint(b, uint64(c.Primary))
	b = append(b, c.Nonce[:]...)
	b = append(b, c.Payload[:]...)
	var words []byte
	for _, s := range []string{c.Sender, c.Key, c.Connection, c.Credential, c.Space} {
		words = appendWord(words, s)
	}
	for space, prev := range c.Prev {
		words = binary.AppendUvarint(appendWord(words, space), uint64(prev))
	}
	b = binary.AppendUvarint(b, uint64(len(words)))
	b = append(b, words...)
	return engine.PackEvents(b, c.Events)
}

func appendWord(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// countEvents reads how many events a commit's value says it holds.
func countEvents(v []byte) (int64, error) {
	if len(v) == 0 || v[0] != format {
		return 0, errCorrupt
	}
	n, size := binary.Uvarint(v[1:])
	if size <= 0 || n == 0 || n > 1<<20 {
		return 0, errCorrupt
	}
	return int64(n), nil
}

// decodeCommit reads what appendCommit wrote and keeps no part of v.
func decodeCommit(workspace string, first int64, v []byte) (engine.Commit, error) {
	c := engine.Commit{Workspace: workspace, First: first}
	r := reader[[]byte]{rest: v}
	if f := r.take(1); !r.bad && f[0] != format {
		r.bad = true
	}
	n := r.uvarint()
	c.TS = time.UnixMilli(r.varint()).UTC()
	c.Primary = int(r.uvarint())
	copy(c.Nonce[:], r.take(len(c.Nonce)))
	copy(c.Payload[:], r.take(len(c.Payload)))
	// The strings share one piece of memory, the events another.
	words := reader[string]{rest: string(r.word())}
	c.Sender, c.Key, c.Connection, c.Credential, c.Space = words.word(), words.word(), words.word(), words.word(), words.word()
	for !words.bad && words.rest != "" {
		if c.Prev == nil {
			c.Prev = make(map[string]int64, 1)
		}
		space := words.word()
		c.Prev[space] = int64(words.uvarint())
	}
	if r.bad || words.bad {
		return engine.Commit{}, errCorrupt
	}
	events, err := engine.UnpackEvents(bytes.Clone(r.rest))
	if err != nil {
		return engine.Commit{}, err
	}
	if uint64(len(events)) != n || c.Primary < 0 || c.Primary >= len(events) {
		return engine.Commit{}, errCorrupt
	}
	c.Events = events
	return c, nil
}

// appendRow writes a row but for its keys.
func appendRow(b []byte, r engine.Row) []byte {
	b = append(b, format)
	b = binary.AppendUvarint(b, uint64(r.Rev))
	b = binary.AppendVarint(b, expiry(r.Expires))
	b = binary.AppendVarint(b, millis(r.Due))
	return append(b, r.Body...)
}

// decodeRow reads what appendRow wrote and keeps no part of v.
func decodeRow(pk, sk string, v []byte) (engine.Row, error) {
	row := engine.Row{PK: pk, SK: sk}
	r := reader[[]byte]{rest: v}
	if f := r.take(1); !r.bad && f[0] != format {
		r.bad = true
	}
	row.Rev = int64(r.uvarint())
	row.Expires = fromExpiry(r.varint())
	row.Due = fromMillis(r.varint())
	if r.bad || row.Rev < 1 {
		return engine.Row{}, errCorrupt
	}
	row.Body = bytes.Clone(r.rest)
	return row, nil
}

// expiry is a time in seconds, rounded up, 0 for never.
func expiry(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.Add(time.Second - 1).Unix()
}

func fromExpiry(s int64) time.Time {
	if s == 0 {
		return time.Time{}
	}
	return time.Unix(s, 0).UTC()
}

// millis is a time in milliseconds, 0 for never.
func millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

func fromMillis(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}

// reader cuts values off the front of bytes or a string. Once it is bad all it answers is zero.
type reader[T string | []byte] struct {
	rest T
	bad  bool
}

func (r *reader[T]) take(n int) T {
	if r.bad || n < 0 || n > len(r.rest) {
		var zero T
		r.bad = true
		return zero
	}
	b := r.rest[:n]
	r.rest = r.rest[n:]
	return b
}

func (r *reader[T]) uvarint() uint64 {
	var v uint64
	for i := 0; i < len(r.rest) && i < binary.MaxVarintLen64; i++ {
		b := r.rest[i]
		v |= uint64(b&0x7f) << (7 * i)
		if b < 0x80 {
			r.rest = r.rest[i+1:]
			return v
		}
	}
	r.bad = true
	return 0
}

func (r *reader[T]) varint() int64 {
	u := r.uvarint()
	return int64(u>>1) ^ -int64(u&1)
}

// word reads a length and that many bytes.
func (r *reader[T]) word() T {
	n := r.uvarint()
	if n > uint64(len(r.rest)) {
		r.bad = true
		n = 0
	}
	return r.take(int(n))
}
