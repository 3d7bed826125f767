package workspace

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/chipschat/chips-aws/shared/protocol"
)

// The limits on names and titles, in characters (contract U-125).
const (
	MaxName  = 80
	MaxTitle = 120
)

// CleanName is s as a name is kept: trimmed and in NFC, 1 to max characters, with something visible and nothing that hides or
// reorders text (contract U-142). The error is InvalidRequest and names the field; within an event the caller says InvalidEvent.
func CleanName(field, s string, max int) (string, *protocol.Error) {
	if !utf8.ValidString(s) {
		return "", protocol.Refuse(protocol.InvalidRequest, "%s is not UTF-8", field)
	}
	s = norm.NFC.String(strings.TrimSpace(s))
	if s == "" {
		return "", protocol.Refuse(protocol.InvalidRequest, "%s is empty: it takes 1 to %d characters", field, max)
	}
	if n := utf8.RuneCountInString(s); n > max {
		return "", protocol.Refuse(protocol.InvalidRequest, "%s has %d characters: it takes 1 to %d", field, n, max)
	}
	seen := false
	for _, r := range s {
		if what := refused(r); what != "" {
			return "", protocol.Refuse(protocol.InvalidRequest, "%s holds %s (U+%04X)", field, what, r)
		}
		seen = seen || visible(r)
	}
	if !seen {
		return "", protocol.Refuse(protocol.InvalidRequest, "%s has nothing visible in it", field)
	}
	return s, nil
}

// validKey checks an idempotency key or an agent's key: 1 to 255 bytes.
func validKey(field, s string) *protocol.Error {
	if s == "" || len(s) > protocol.MaxKey {
		return protocol.Refuse(protocol.InvalidRequest, "%s has %d bytes: it takes 1 to %d", field, len(s), protocol.MaxKey)
	}
	return nil
}

// The joiners are the two format characters that names may hold: Persian, Indian scripts and emoji are written with them.
const (
	nonJoiner = '\u200c'
	joiner    = '\u200d'
)

// refused says what kind of character r is that no name holds, "" when a name may.
func refused(r rune) string {
	switch {
	case r == nonJoiner || r == joiner:
		return ""
	case unicode.IsControl(r):
		return "a control character"
	case unicode.In(r, unicode.Zl, unicode.Zp):
		return "a line or paragraph separator"
	case unicode.Is(unicode.Cf, r):
		return "a format character"
	case !unicode.IsOneOf(assigned, r):
		return "a character that Unicode does not know"
	}
	return ""
}

// Hides says whether r is a character that no name holds, since it hides or reorders text, or is none.
func Hides(r rune) bool { return refused(r) != "" }

var assigned = []*unicode.RangeTable{unicode.L, unicode.M, unicode.N, unicode.P, unicode.S, unicode.Z, unicode.Co}

// blank are letters and symbols that are drawn as nothing; what is to be ignored by default (U+3164, U+115F …) is in Unicode's table.
var blank = map[rune]bool{0x2800: true, 0x13441: true, 0x13442: true, 0x1d159: true}

// visible says whether r on its own shows: not a space, a mark, a joiner or a blank letter.
func visible(r rune) bool {
	return !blank[r] && !ignorable(r) && !unicode.IsMark(r) && !unicode.IsSpace(r)
}

// ignorable says whether r is drawn as nothing and means nothing to a reader who compares names.
func ignorable(r rune) bool {
	return r >= utf8.RuneSelf && unicode.In(r, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

// inHandle says whether a handle keeps r: letters, combining marks and digits.
func inHandle(r rune) bool {
	return (unicode.IsLetter(r) || unicode.IsMark(r) || unicode.IsDigit(r)) && !ignorable(r) && !blank[r]
}

// HandleOf is the @handle of a name: its letters, combining marks and digits, "" where they are under two characters. A mark whose
// letter is not kept goes with it.
func HandleOf(name string) string {
	var b strings.Builder
	n, kept := 0, false
	b.WriteByte('@')
	for _, r := range norm.NFC.String(name) {
		if ignorable(r) {
			continue
		}
		kept = inHandle(r) && (kept || !unicode.IsMark(r))
		if kept {
			b.WriteRune(r)
			n++
		}
	}
	if n < 2 {
		return ""
	}
	return b.String()
}

// nameKey is equal for names that are one name: case and spaces aside (AGT-6).
func nameKey(name string) string {
	return fold(strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return -1
		}
		return r
	}, name))
}

// sameName says whether two names are one, case and spaces aside.
func sameName(a, b string) bool { return a == b || nameKey(a) == nameKey(b) }

// fold is s in NFC and without case: characters that differ only in case become the same one.
func fold(s string) string { return norm.NFC.String(strings.Map(foldRune, norm.NFC.String(s))) }

// NameKey is what names are ordered by.
func NameKey(name string) string { return fold(name) }

// CompareNames orders names without case, and those that are equal then by their bytes.
func CompareNames(a, b string) int {
	if c := strings.Compare(fold(a), fold(b)); c != 0 {
		return c
	}
	return strings.Compare(a, b)
}

// foldRune is the smallest of the characters that differ from r only in case.
func foldRune(r rune) rune {
	if 'a' <= r && r <= 'z' {
		return r - 'a' + 'A'
	}
	if r < utf8.RuneSelf {
		return r
	}
	r = unicode.ToLower(r)
	least := r
	for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
		least = min(least, f)
	}
	return least
}

// numbered is the name with the first number from 2 behind it that makes it free; the name is cut where both would pass 80 characters.
func numbered(name string, taken func(name string) bool) string {
	return firstFree(name, " ", MaxName, taken)
}

// numberedHandle is the handle with the first number from 2 behind it that makes it free.
func numberedHandle(handle string, taken func(handle string) bool) string {
	return firstFree(handle, "", MaxName+1, taken)
}

func firstFree(base, space string, max int, taken func(string) bool) string {
	for n := 2; ; n++ {
		end := space + strconv.Itoa(n)
		if s := cut(base, max-len(end)) + end; !taken(s) {
			return s
		}
	}
}

// cut is the first max characters of s at most, without the space before the cut and without half a letter: a letter keeps its marks
// or goes with them.
func cut(s string, max int) string {
	r := []rune(s)
	if len(r) <= max {
		return s
	}
	for max > 1 && (unicode.IsMark(r[max]) || r[max] == joiner || r[max-1] == joiner) {
		max--
	}
	return strings.TrimRightFunc(string(r[:max]), unicode.IsSpace)
}
