package gateway

import (
	"encoding/binary"
	"net"
)

// frameGuard watches the frames of one connection go by and reports the first above 32 KB, which the library under the socket does not show.
type frameGuard struct {
	net.Conn
	over func()

	header []byte // of the frame that begins, as far as it has come
	left   uint64 // of the payload of the frame that goes by
	fired  bool
}

// Read reads on, looking.
func (g *frameGuard) Read(p []byte) (int, error) {
	n, err := g.Conn.Read(p)
	g.watch(p[:n])
	return n, err
}

func (g *frameGuard) watch(p []byte) {
	for len(p) > 0 && !g.fired {
		if g.left > 0 {
			n := min(g.left, uint64(len(p)))
			g.left -= n
			p = p[n:]
			continue
		}
		g.header = append(g.header, p[0])
		p = p[1:]
		if size, whole := frameSize(g.header); whole {
			g.header, g.left = g.header[:0], size
			if size > frameLimit {
				g.fired = true
				go g.over()
			}
		}
	}
}

// frameSize is the payload's size, once the header (RFC 6455, 5.2) is whole.
func frameSize(h []byte) (uint64, bool) {
	if len(h) < 2 {
		return 0, false
	}
	size, more := uint64(h[1]&0x7f), 0
	switch size {
	case 126:
		more = 2
	case 127:
		more = 8
	}
	mask := 0
	if h[1]&0x80 != 0 {
		mask = 4
	}
	if len(h) < 2+more+mask {
		return 0, false
	}
	switch more {
	case 2:
		size = uint64(binary.BigEndian.Uint16(h[2:]))
	case 8:
		size = binary.BigEndian.Uint64(h[2:])
	}
	return size, true
}
