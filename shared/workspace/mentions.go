package workspace

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// mentions is which of the handles, by index, a text @-mentions (contract U-30, U-140): in NFC and without case, the longest handle
// that the text goes on with, and not in code or in a quoted line. Handles start with @; "" is mentioned nowhere. Two that are the
// same are mentioned together. Its time grows with the text's length alone, whatever the text is.
func mentions(text string, handles []string) map[int]bool {
	if !strings.Contains(text, "@") || len(handles) == 0 {
		return nil
	}
	book := handleBook(handles)
	var found map[int]bool
	var silent []span
	parsed := false
	for at := 0; ; at++ {
		next := strings.IndexByte(text[at:], '@')
		if next < 0 {
			return found
		}
		at += next
		hit := book.match(text[at+1:])
		if hit == nil || !mayFollow(text[:at]) {
			continue
		}
		if !parsed {
			silent, parsed = silentSpans(text), true
		}
		if within(silent, at) {
			continue
		}
		if found == nil {
			found = map[int]bool{}
		}
		for _, i := range hit {
			found[i] = true
		}
	}
}

// handlesByText finds handles by their folded text without the @, of the lengths (in characters) that there are, longest first.
type handlesByText struct {
	of      map[string][]int
	lengths []int
}

func handleBook(handles []string) handlesByText {
	b := handlesByText{of: make(map[string][]int, len(handles))}
	for i, h := range handles {
		key := fold(strings.TrimPrefix(h, "@"))
		if key == "" {
			continue
		}
		b.of[key] = append(b.of[key], i)
		if n := utf8.RuneCountInString(key); !slices.Contains(b.lengths, n) {
			b.lengths = append(b.lengths, n)
		}
	}
	slices.SortFunc(b.lengths, func(x, y int) int { return y - x })
	return b
}

// match is the handles that the text after an @ starts with. Only the longest counts, so that @OpenClaw2 is never @OpenClaw.
func (b handlesByText) match(after string) []int {
	word := []rune(fold(handleWord(after)))
	for _, n := range b.lengths {
		if n > len(word) {
			continue
		}
		hit := b.of[string(word[:n])]
		if hit == nil {
			continue
		}
		if n < len(word) && !spaceless(word[n]) {
			return nil
		}
		return hit
	}
	return nil
}

// handleWord is the characters at the start of s that a handle may hold; joiners among them do not count.
func handleWord(s string) string {
	end, plain := len(s), true
	for i, r := range s {
		if ignorable(r) {
			plain = false
		} else if !inHandle(r) {
			end = i
			break
		}
	}
	if plain {
		return s[:end]
	}
	return strings.Map(func(r rune) rune {
		if ignorable(r) {
			return -1
		}
		return r
	}, s[:end])
}

// mayFollow says whether an @ may mention after before: not after a letter or digit, nor inside an address. A mark belongs to the
// letter it stands on.
func mayFollow(before string) bool {
	for before != "" {
		r, size := utf8.DecodeLastRuneInString(before)
		before = before[:len(before)-size]
		if unicode.IsMark(r) || ignorable(r) {
			continue
		}
		return spaceless(r) || !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("._-+%", r)
	}
	return true
}

// spaceless says whether r is a letter of a script that is written without spaces, where a mention may touch other words.
func spaceless(r rune) bool {
	if r == 'ー' || r == 'ｰ' {
		return true // the long vowels of kana, which Unicode gives to no script
	}
	return unicode.IsLetter(r) && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul,
		unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}
