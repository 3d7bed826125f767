package attachment

import (
	"bytes"
	"image"
	_ "image/gif" // formats that are measured
	_ "image/jpeg"
	_ "image/png"
	"net/http"
	"strings"
	"unicode/utf8"

	_ "golang.org/x/image/webp"
	"golang.org/x/text/unicode/norm"

	"github.com/chipschat/chips-aws/shared/workspace"
)

// sniff says which type bytes have, without parameters: what Go's http.DetectContentType says, but for markup that it does not know,
// HTML after a byte order mark and SVG.
func sniff(body []byte) string {
	media, _, _ := strings.Cut(http.DetectContentType(body), ";")
	if media != "text/plain" && media != "text/xml" && media != "text/html" {
		return media
	}
	text := bytes.TrimPrefix(body, []byte("\xef\xbb\xbf"))
	if root := rootElement(text[:min(len(text), 16<<10)]); root != "" {
		return map[string]string{"svg": "image/svg+xml", "html": "text/html"}[root]
	}
	if media == "text/plain" {
		media, _, _ = strings.Cut(http.DetectContentType(text), ";")
	}
	return media
}

// rootElement is svg or html where that is the first element of a document, "" for all else.
func rootElement(text []byte) string {
	for {
		text = bytes.TrimLeft(text, " \t\r\n\f")
		var end string
		switch {
		case bytes.HasPrefix(text, []byte("<!--")):
			end = "-->"
		case bytes.HasPrefix(text, []byte("<?")), bytes.HasPrefix(text, []byte("<!")):
			end = ">"
		default:
			for _, name := range []string{"svg", "html"} {
				if rest, ok := cutPrefixFold(text, "<"+name); ok && (len(rest) == 0 || strings.IndexByte(" \t\r\n\f/>", rest[0]) >= 0) {
					return name
				}
			}
			return ""
		}
		_, rest, ok := bytes.Cut(text, []byte(end))
		if !ok {
			return ""
		}
		text = rest
	}
}

func cutPrefixFold(text []byte, prefix string) (rest []byte, ok bool) {
	if len(text) < len(prefix) || !strings.EqualFold(string(text[:len(prefix)]), prefix) {
		return nil, false
	}
	return text[len(prefix):], true
}

// measure is how large an image is as it is shown, by its header; 0 for what is no image that can be read.
func measure(body []byte) (width, height int) {
	c, format, err := image.DecodeConfig(bytes.NewReader(body))
	if err != nil {
		return 0, 0
	}
	if format == "jpeg" && lyingDown(body) {
		return c.Height, c.Width
	}
	return c.Width, c.Height
}

// maxFilename is how many bytes a name has at most.
const maxFilename = 300

// CleanFilename is a name as it is kept: the last part of a path, in NFC, without what hides or reorders text, 300 bytes at most with its
// extension kept; "file" where nothing is left.
func CleanFilename(name string) string {
	name = strings.ToValidUTF8(name, "")
	if i := strings.LastIndexAny(name, `/\`); i >= 0 {
		name = name[i+1:]
	}
	name = strings.Map(func(r rune) rune {
		if workspace.Hides(r) {
			return -1
		}
		return r
	}, name)
	name = strings.TrimSpace(norm.NFC.String(name))
	if len(name) > maxFilename {
		base, ext := name, ""
		if i := strings.LastIndexByte(name, '.'); i > 0 && len(name)-i <= 32 {
			base, ext = name[:i], name[i:]
		}
		name = strings.TrimSpace(cut(base, maxFilename-len(ext))) + ext
	}
	if strings.Trim(name, ". ") == "" {
		return "file"
	}
	return name
}

// cut is text of at most n bytes, whole characters.
func cut(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}
