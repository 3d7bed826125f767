package engine

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
)

// A pack is a commit's events as a table stores them: one byte that says how, then the number of events and each with its length before it.
const (
	packPlain = 1
	packZstd  = 2
)

// packAbove is from how many bytes on compressing pays: with less, an item is billed as 1 KB anyhow, all that a commit says beside its
// events included.
const packAbove = 640

// maxUnpacked bounds what a pack may grow to when it is read, far above the 256 KB of events that a commit holds.
const maxUnpacked = 4 << 20

var errPack = errors.New("events are not packed as a commit's")

// PackEvents writes a commit's events after b as one value, compressed above 640 bytes where that makes it smaller. Table adapters store it.
func PackEvents(b []byte, events [][]byte) []byte {
	size := binary.MaxVarintLen64
	for _, e := range events {
		size += len(e) + binary.MaxVarintLen32
	}
	start := len(b)
	if size <= packAbove {
		return appendPlain(append(b, packPlain), events)
	}
	plain := appendPlain(make([]byte, 0, size), events)
	b = zstdEncoder.EncodeAll(plain, append(b, packZstd))
	if len(b)-start > len(plain) {
		b = append(append(b[:start], packPlain), plain...)
	}
	return b
}

func appendPlain(b []byte, events [][]byte) []byte {
	b = binary.AppendUvarint(b, uint64(len(events)))
	for _, e := range events {
		b = binary.AppendUvarint(b, uint64(len(e)))
		b = append(b, e...)
	}
	return b
}

// UnpackEvents reads what PackEvents wrote. The events may share the memory of pack.
func UnpackEvents(pack []byte) ([][]byte, error) {
	if len(pack) == 0 {
		return nil, errPack
	}
	rest := pack[1:]
	switch pack[0] {
	case packPlain:
	case packZstd:
		var err error
		if rest, err = zstdDecoder.DecodeAll(rest, nil); err != nil {
			return nil, fmt.Errorf("decompress events: %w", err)
		}
	default:
		return nil, errPack
	}
	n, rest, ok := cutUvarint(rest)
	// Each event takes a byte at least, so a false count allocates nothing much.
	if !ok || n == 0 || n > uint64(len(rest)) {
		return nil, errPack
	}
	events := make([][]byte, n)
	for i := range events {
		var size uint64
		if size, rest, ok = cutUvarint(rest); !ok || size > uint64(len(rest)) {
			return nil, errPack
		}
		events[i], rest = rest[:size:size], rest[size:]
	}
	if len(rest) != 0 {
		return nil, errPack
	}
	return events, nil
}

func cutUvarint(b []byte) (uint64, []byte, bool) {
	v, n := binary.Uvarint(b)
	if n <= 0 {
		return 0, nil, false
	}
	return v, b[n:], true
}

// DueShard is the due shard of a row, for the table adapters.
func DueShard(pk, sk string) int {
	h := fnv.New32a()
	h.Write([]byte(pk))
	h.Write([]byte{0})
	h.Write([]byte(sk))
	return int(h.Sum32() % DueShards)
}
