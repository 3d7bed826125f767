package workspace

import "strings"

// part is one of the commands that a line of a shell runs: its words, without their quotes. An unknown one may run anything.
type part struct {
	words   []string
	unknown bool
}

// partsOf are the commands of a line: what stands between &&, ||, |, ;, & and ends of lines outside of quotes. Whatever this does not
// read for certain (substitutions, redirections, groups, open quotes) brings an unknown part with it: what looks harmless must be.
func partsOf(line string) []part {
	r := shellReader{line: line}
	for r.at < len(r.line) {
		r.next()
	}
	r.end()
	if r.unknown || len(r.parts) == 0 {
		r.parts = append(r.parts, part{unknown: true})
	}
	return r.parts
}

// shellReader reads a line from left to right.
type shellReader struct {
	line  string
	at    int
	parts []part
	words []string
	word  strings.Builder
	// inWord says that a word has begun, which may be empty so far.
	inWord, unknown bool
}

// next reads one character, or all that is quoted.
func (r *shellReader) next() {
	c := r.line[r.at]
	r.at++
	switch c {
	case ' ', '\t':
		r.endWord()
	case '\n', '\r', ';', '|', '&':
		r.end()
	case '\\':
		if r.at == len(r.line) {
			r.unknown = true
			return
		}
		if r.line[r.at] != '\n' { // a line that goes on
			r.inWord = true
			r.word.WriteByte(r.line[r.at])
		}
		r.at++
	case '\'':
		r.quoted('\'')
	case '"':
		r.quoted('"')
	case '`', '(', ')', '<', '>', '{', '}':
		r.unknown = true
	case '$':
		// $(, ${, $' and $" are read by rules of their own.
		r.unknown = r.unknown || r.at < len(r.line) && strings.IndexByte("({'\"", r.line[r.at]) >= 0
		fallthrough
	default:
		r.inWord = true
		r.word.WriteByte(c)
	}
}

// quoted reads up to the quote that ends what one began.
func (r *shellReader) quoted(quote byte) {
	r.inWord = true
	for r.at < len(r.line) {
		c := r.line[r.at]
		r.at++
		if c == quote {
			return
		}
		if quote == '"' {
			switch {
			case c == '`' || c == '$' && r.at < len(r.line) && strings.IndexByte("({", r.line[r.at]) >= 0:
				r.unknown = true
			case c == '\\' && r.at < len(r.line) && strings.IndexByte("\\\"$`", r.line[r.at]) >= 0:
				c = r.line[r.at]
				r.at++
			}
		}
		r.word.WriteByte(c)
	}
	r.unknown = true
}

func (r *shellReader) endWord() {
	if r.inWord {
		r.words = append(r.words, r.word.String())
	}
	r.word.Reset()
	r.inWord = false
}

func (r *shellReader) end() {
	r.endWord()
	if len(r.words) > 0 {
		r.parts = append(r.parts, part{words: r.words})
	}
	r.words = nil
}

// startsOf are the starts that stand for all parts of a command, each whole: what a rule made by an answer allows is the command that was
// shown. None where that cannot be written as starts.
func startsOf(command string) (starts []string, ok bool) {
	for _, p := range partsOf(command) {
		for _, w := range p.words {
			if w == "" || strings.Trim(w, plain) != "" {
				return nil, false
			}
		}
		start := strings.Join(p.words, " ")
		if p.unknown || len(start) > maxMatch || len(starts) == maxRuleWords {
			return nil, false
		}
		starts = append(starts, start)
	}
	return starts, true
}

// plain are the characters that a word has which means itself.
const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:=@,+%"

// globs says whether a glob is of a whole name: * stands for any bytes, ? for one.
func globs(glob, name string) bool {
	g, n, star, from := 0, 0, -1, 0
	for n < len(name) {
		switch {
		case g < len(glob) && glob[g] == '*':
			star, from = g, n
			g++
		case g < len(glob) && (glob[g] == '?' || glob[g] == name[n]):
			g++
			n++
		case star >= 0:
			from++
			g, n = star+1, from
		default:
			return false
		}
	}
	return strings.Trim(glob[g:], "*") == ""
}
