package gateway

import (
	"bytes"
	"encoding/binary"
	"testing"
)

// FuzzFrameGuard reads the same bytes whole and one by one: what is found does not depend on how they arrive.
func FuzzFrameGuard(f *testing.F) {
	frame := func(size int, masked bool) []byte {
		var mask byte
		if masked {
			mask = 0x80
		}
		b := []byte{0x81}
		switch {
		case size < 126:
			b = append(b, mask|byte(size))
		case size < 1<<16:
			b = binary.BigEndian.AppendUint16(append(b, mask|126), uint16(size))
		default:
			b = binary.BigEndian.AppendUint64(append(b, mask|127), uint64(size))
		}
		if masked {
			b = append(b, 1, 2, 3, 4)
		}
		return append(b, bytes.Repeat([]byte("x"), size)...)
	}
	for _, size := range []int{0, 1, 125, 126, 32 << 10, 32<<10 + 1, 1 << 16} {
		for _, masked := range []bool{false, true} {
			f.Add(append(frame(5, masked), frame(size, masked)...))
		}
	}
	f.Add([]byte{0x81, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		found := func(step int) bool {
			g := &frameGuard{over: func() {}}
			for rest := b; len(rest) > 0; {
				n := min(step, len(rest))
				g.watch(rest[:n])
				rest = rest[n:]
			}
			return g.fired
		}
		if whole, single := found(len(b)), found(1); whole != single {
			t.Fatalf("whole %v, byte by byte %v", whole, single)
		}
	})
}
