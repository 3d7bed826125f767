package gateway

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
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

// What net/http has read already when the connection is taken over from it is part of the first frame.
func TestFramesFromTheFirstByteOn(t *testing.T) {
	f := serve(t, Config{Faithful: true}, nil)
	conn, err := net.Dial("tcp", strings.TrimPrefix(f.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
	// A frame that reads as a large one by who misses its first byte.
	frame := append([]byte{0x81, 0x80 | 100, 0xff, 0xff, 0xff, 0xff}, bytes.Repeat([]byte{'x' ^ 0xff}, 100)...)
	upgrade := "GET /v1/ws?ticket=good HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n" +
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
	if _, err := conn.Write(append([]byte(upgrade), frame[0])); err != nil {
		t.Fatal(err)
	}
	r := bufio.NewReader(conn)
	resp, err := http.ReadResponse(r, nil)
	if err != nil || resp.StatusCode != http.StatusSwitchingProtocols {
		t.Fatalf("%v, %v", resp, err)
	}
	_ = resp.Body.Close()
	echo := make([]byte, 2+100)
	for _, part := range [][]byte{frame[1:], frame, frame} {
		if _, err := conn.Write(part); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(r, echo); err != nil || echo[0] != 0x81 || string(echo[2:]) != strings.Repeat("x", 100) {
			t.Fatalf("got %q, %v", echo, err)
		}
	}
}
