package workspace

import (
	"bytes"
	"slices"
	"sort"
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// span is a part of a text, in bytes.
type span struct{ start, stop int }

// silentSpans are the parts of a text where a mention does not count, in order: code spans, code blocks and quoted lines, as CommonMark
// reads them. All else is words: links, and HTML too, which is nothing special in a message.
func silentSpans(s string) []span {
	if !strings.ContainsAny(s, "`~>\t") && !strings.Contains(s, "    ") {
		return nil
	}
	src := forParsing(s)
	var out []span
	quoted := 0
	_ = ast.Walk(markdown.Parse(text.NewReader(src)), func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if _, ok := n.(*ast.Blockquote); ok {
			if entering {
				quoted++
			} else {
				quoted--
			}
			return ast.WalkContinue, nil
		}
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.FencedCodeBlock:
			if n.Info != nil {
				out = append(out, span{n.Info.Segment.Start, n.Info.Segment.Stop})
			}
			out = appendLines(out, n.Lines())
		case *ast.CodeBlock:
			out = appendLines(out, n.Lines())
		case *ast.CodeSpan:
			for c := n.FirstChild(); c != nil; c = c.NextSibling() {
				if t, ok := c.(*ast.Text); ok {
					out = append(out, span{t.Segment.Start, t.Segment.Stop})
				}
			}
		default:
			if quoted > 0 && n.Type() == ast.TypeBlock {
				out = appendQuoted(out, src, n.Lines())
			}
		}
		return ast.WalkContinue, nil
	})
	return merged(out)
}

// markdown reads blocks and code spans only.
var markdown = parser.NewParser(
	parser.WithBlockParsers(
		util.Prioritized(parser.NewSetextHeadingParser(), 100),
		util.Prioritized(parser.NewThematicBreakParser(), 200),
		util.Prioritized(parser.NewListParser(), 300),
		util.Prioritized(parser.NewListItemParser(), 400),
		util.Prioritized(parser.NewCodeBlockParser(), 500),
		util.Prioritized(parser.NewATXHeadingParser(), 600),
		util.Prioritized(parser.NewFencedCodeBlockParser(), 700),
		util.Prioritized(parser.NewBlockquoteParser(), 800),
		util.Prioritized(parser.NewParagraphParser(), 1000),
	),
	parser.WithInlineParsers(util.Prioritized(parser.NewCodeSpanParser(), 100)),
)

// maxMarkers is how many bytes of a line's start may open or continue blocks. What is nested deeper is read as words: the parser's
// time grows with the square of the depth.
const maxMarkers = 128

// forParsing is s as it is given to the parser, byte for byte in the same places: a lone CR is a line's end, and depth is bounded.
func forParsing(s string) []byte {
	src := []byte(s)
	start := 0
	for i, c := range src {
		if c == '\r' && (i+1 == len(src) || src[i+1] != '\n') {
			src[i], c = '\n', '\n'
		}
		switch {
		case c == '\n':
			start = i + 1
		case start < 0:
		case !strings.ContainsRune(" \t>-+*.)0123456789", rune(c)):
			start = -1
		case i-start >= maxMarkers:
			src[i] = 'x'
		}
	}
	return src
}

func appendLines(out []span, lines *text.Segments) []span {
	for _, l := range lines.Sliced(0, lines.Len()) {
		out = append(out, span{l.Start, l.Stop})
	}
	return out
}

// appendQuoted adds the lines that have a > before them. A line without one may go on a quoted paragraph, but its writer did not quote it.
func appendQuoted(out []span, src []byte, lines *text.Segments) []span {
	for _, l := range lines.Sliced(0, lines.Len()) {
		start := bytes.LastIndexByte(src[:l.Start], '\n') + 1
		if bytes.IndexByte(src[start:l.Start], '>') >= 0 {
			out = append(out, span{l.Start, l.Stop})
		}
	}
	return out
}

// merged are the spans in order, those that overlap as one.
func merged(spans []span) []span {
	slices.SortFunc(spans, func(a, b span) int { return a.start - b.start })
	out := spans[:0]
	for _, s := range spans {
		if n := len(out); n > 0 && s.start < out[n-1].stop {
			out[n-1].stop = max(out[n-1].stop, s.stop)
			continue
		}
		out = append(out, s)
	}
	return out
}

// within says whether a place is in one of the merged spans.
func within(spans []span, at int) bool {
	i := sort.Search(len(spans), func(i int) bool { return spans[i].stop > at })
	return i < len(spans) && spans[i].start <= at
}
