package attachment

import (
	"bytes"
	"encoding/binary"
	"image"
	"image/jpeg"
	"image/png"
	"testing"
)

// photo is a JPEG of 40 by 20, with EXIF that names a turn in a byte order unless there is none.
func photo(t *testing.T, order binary.AppendByteOrder, turn uint16) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := jpeg.Encode(&b, image.NewGray(image.Rect(0, 0, 40, 20)), nil); err != nil {
		t.Fatal(err)
	}
	if order == nil {
		return b.Bytes()
	}
	tiff := []byte("MM\x00\x2a")
	if order.String() == "LittleEndian" {
		tiff = []byte("II\x2a\x00")
	}
	tiff = order.AppendUint16(order.AppendUint32(tiff, 8), 2)
	for _, e := range [][2]uint16{{0x010f, 7}, {0x0112, turn}} { // the maker, and the turn
		tiff = order.AppendUint32(order.AppendUint16(order.AppendUint16(tiff, e[0]), 3), 1)
		tiff = append(order.AppendUint16(tiff, e[1]), 0, 0)
	}
	segment := append([]byte("Exif\x00\x00"), tiff...)
	out := append([]byte{}, b.Bytes()[:2]...)
	out = append(out, 0xff, 0xe0, 0, 4, 1, 2) // another segment goes before
	out = append(out, 0xff, 0xe1)
	out = binary.BigEndian.AppendUint16(out, uint16(len(segment)+2))
	return append(append(out, segment...), b.Bytes()[2:]...)
}

// An image is as large as it is shown, a photo that lies down turned (contract U-150).
// covers: HLD-11, FILE-25
func TestSizesOfImages(t *testing.T) {
	var small bytes.Buffer
	if err := png.Encode(&small, image.NewGray(image.Rect(0, 0, 7, 5))); err != nil {
		t.Fatal(err)
	}
	webp := "RIFF\x1e\x00\x00\x00WEBPVP8X\x0a\x00\x00\x00\x00\x00\x00\x00\x63\x00\x00\x31\x00\x00"
	for name, c := range map[string]struct {
		body          []byte
		width, height int
	}{
		"PNG": {small.Bytes(), 7, 5}, "GIF": {[]byte("GIF89a\x03\x00\x04\x00\x00\x00\x00"), 3, 4}, "WebP": {[]byte(webp), 100, 50},
		"JPEG": {photo(t, nil, 0), 40, 20}, "upright": {photo(t, binary.BigEndian, 1), 40, 20}, "upside down": {photo(t, binary.LittleEndian, 3), 40, 20},
		"to the right": {photo(t, binary.BigEndian, 6), 20, 40}, "to the left": {photo(t, binary.LittleEndian, 8), 20, 40}, "no turn there is": {photo(t, binary.BigEndian, 9), 40, 20},
		"words": {[]byte("words"), 0, 0}, "nothing": {nil, 0, 0}, "a PNG that ends": {small.Bytes()[:12], 0, 0},
	} {
		if w, h := measure(c.body); w != c.width || h != c.height {
			t.Errorf("%s: %d by %d, want %d by %d", name, w, h, c.width, c.height)
		}
	}
}

// Whatever bytes come, they are described.
func FuzzDescribe(f *testing.F) {
	f.Add([]byte("\xff\xd8\xff\xe1\x00\x20Exif\x00\x00MM\x00\x2a\xff\xff\xff\xff"))
	f.Add([]byte("<!--<svg"))
	f.Add([]byte("RIFF\x1e\x00\x00\x00WEBPVP8X"))
	f.Fuzz(func(t *testing.T, body []byte) {
		if w, h := measure(body); w < 0 || h < 0 {
			t.Errorf("%d by %d", w, h)
		}
		lyingDown(body)
		if sniff(body) == "" {
			t.Error("of no type")
		}
		name := CleanFilename(string(body))
		if name == "" || len(name) > maxFilename || CleanFilename(name) != name {
			t.Errorf("%q is kept as %q, and that as %q", body, name, CleanFilename(name))
		}
	})
}
