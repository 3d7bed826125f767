package attachment

import (
	"bytes"
	"encoding/binary"
)

// lyingDown says whether a JPEG's EXIF has it turned by a quarter, so that its width is shown as its height.
func lyingDown(jpeg []byte) bool {
	turn := orientation(exif(jpeg))
	return turn >= 5 && turn <= 8
}

// exif is the TIFF in a JPEG's EXIF segment, nil for none.
func exif(jpeg []byte) []byte {
	rest := jpeg[min(2, len(jpeg)):] // after the start of the image
	for len(rest) >= 4 && rest[0] == 0xff {
		marker, size := rest[1], int(binary.BigEndian.Uint16(rest[2:]))
		switch {
		case marker == 0xff: // a byte of filling
			rest = rest[1:]
			continue
		case marker == 0xda || size < 2 || len(rest) < 2+size: // the pixels, or damage
			return nil
		}
		segment := rest[4 : 2+size]
		if tiff, ok := bytes.CutPrefix(segment, []byte("Exif\x00\x00")); marker == 0xe1 && ok {
			return tiff
		}
		rest = rest[2+size:]
	}
	return nil
}

// orientation is the turn that a TIFF's first directory names, 0 for none.
func orientation(tiff []byte) uint16 {
	const header, entry, orientationTag, short = 8, 12, 0x0112, 3
	if len(tiff) < header {
		return 0
	}
	var order binary.ByteOrder = binary.BigEndian
	if string(tiff[:2]) == "II" {
		order = binary.LittleEndian
	}
	at := int64(order.Uint32(tiff[4:]))
	if at+2 > int64(len(tiff)) {
		return 0
	}
	directory := tiff[at+2:]
	for range order.Uint16(tiff[at:]) {
		if len(directory) < entry {
			return 0
		}
		if order.Uint16(directory) == orientationTag && order.Uint16(directory[2:]) == short {
			return order.Uint16(directory[8:])
		}
		directory = directory[entry:]
	}
	return 0
}
