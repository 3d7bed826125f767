package workspace

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestMentions(t *testing.T) {
	handles := []string{"@Scout", "@Scout2", "@Ledger", "", "@小明", "@हिन्दी", "@की", "@Éclair", "@scout", "@ไทย"}
	const scout = "@Scout @scout" // one handle, two holders
	for _, c := range []struct{ text, want string }{
		{"hello", ""},
		{"@Scout go", scout},
		{"@SCOUT", scout},
		{"(@Scout)", scout},
		{"@Scout, @Ledger: go", scout + " @Ledger"},
		{"@Scout2 go", "@Scout2"},
		{"@Scout3 go", ""},
		{"@Scouts", ""},
		{"@Scout's turn", scout},
		{"@Scout-2", scout},
		{"@Scout.", scout},
		{"@@Scout", scout},
		{"@ Scout", ""},
		{"**@Scout**", scout},
		{"@Scout_x", scout},

		// Addresses.
		{"a@Scout", ""},
		{"a@Scout.example", ""},
		{"x.@Scout", ""},
		{"x_@Scout", ""},
		{"x-@Scout", ""},
		{"x+@Scout", ""},
		{"x%@Scout", ""},
		{"7@Scout", ""},
		{"é@Scout", ""},
		{"e\u0301@Scout", ""},
		{"ते@Scout", ""},
		{"/@Scout", scout},
		{"❤\ufe0f@Scout", scout},

		// Case BR-01: code.
		{"`@Scout`", ""},
		{"see `x @Scout y`", ""},
		{"```\n@Scout go\n```", ""},
		{"```\n@Scout go", ""},
		{"`a` @Scout `b`", scout},
		{"``a ` @Scout``", ""},
		{"`a\n@Scout` b", ""},
		{"` @Scout", scout},
		{"\\`@Scout\\`", scout},
		{"~~~\n@Scout\n~~~\n@Ledger", "@Ledger"},
		{"```@Scout\nx\n```", ""},
		{"````\n```\n@Scout\n````", ""},
		{"    @Scout", ""},
		{"\t@Scout", ""},
		{"words\n    @Scout", scout},
		{"words\n\n    @Scout", ""},
		{"- a\n\n      @Scout", ""},
		{"- a\n\n  @Scout", scout},
		{"- ```\n  @Scout\n  ```\n- @Ledger", "@Ledger"},
		{"`a\n\n@Scout`", scout},
		{"x\r```\r@Scout\r```\r@Ledger", "@Ledger"},
		{"x\r```\r@Scout", ""},
		{"x\r\n```\r\n@Scout\r\n```\r\n@Ledger", "@Ledger"},

		// Quoted lines.
		{"> @Scout", ""},
		{">@Scout", ""},
		{"   > @Scout", ""},
		{"> > x\n> @Scout", ""},
		{"> # @Scout", ""},
		{"> @Scout\n===", ""},
		{"- > @Scout", ""},
		{"> - @Scout\n>   @Scout", ""},
		{"> x\n@Scout", scout},
		{"> x\n\n@Scout", scout},
		{"a > @Scout", scout},
		{"> @Ledger said\n\n@Scout what of it?", scout},

		// Links and HTML are words.
		{"[@Scout](https://example.org)", scout},
		{"<b>@Scout</b>", scout},
		{"<div>\n@Scout\n</div>", scout},
		{"# @Scout", scout},
		{"@Scout\n===", scout},

		// Case BR-04: no spaces between words.
		{"请，@Scout，看一下", scout},
		{"请@Scout看一下", scout},
		{"@Scoutさん、お願い", scout},
		{"スカウトー@Scoutー", scout},
		{"안녕@Scout에게", scout},
		{"ที่@Scoutครับ", scout},
		{"请@Scout2看", "@Scout2"},
		{"问@小明吧", "@小明"},
		{"@ไทย", "@ไทย"},
		{"@ไทยั", ""},
		{"@小明3", ""},

		// Case BR-05: marks.
		{"@हिन्दी जी", "@हिन्दी"},
		{"@हिन्द", ""},
		{"@का", ""},
		{"@की", "@की"},
		{"@कीं", ""},
		{"@E\u0301CLAIR", "@Éclair"},
		{"@Eclair", ""},
		{"@हिन्\u200dदी", "@हिन्दी"},
		{"@Scout\u0301", ""},
	} {
		var got []string
		for _, i := range slices.Sorted(maps.Keys(mentions(c.text, handles))) {
			got = append(got, handles[i])
		}
		want := strings.Fields(c.want)
		slices.SortFunc(want, func(a, b string) int { return slices.Index(handles, a) - slices.Index(handles, b) })
		slices.SortFunc(got, func(a, b string) int { return slices.Index(handles, a) - slices.Index(handles, b) })
		if d := cmp.Diff(want, got, cmp.Transformer("join", func(s []string) string { return strings.Join(s, " ") })); d != "" {
			t.Errorf("%q: %s", c.text, d)
		}
	}
}

// hostile are texts of 64 KB that are slow to read for a careless parser.
func hostile() map[string]string {
	const size = 64 << 10
	of := func(s string) string { return strings.Repeat(s, size/len(s)) }
	var runs, list strings.Builder
	for i := 1; runs.Len() < size; i++ {
		runs.WriteString(strings.Repeat("`", i) + " ")
	}
	for i := 0; list.Len() < size; i++ {
		list.WriteString(strings.Repeat(" ", i*128) + strings.Repeat("- ", 64) + "a\n")
	}
	return map[string]string{
		"at": of("@"), "scout": of("@Scout "), "touching": of("@Scout"), "long word": "@" + of("a"), "marks": of("@\u0301"),
		"mark tail": "@Scout" + of("\u0301"), "quotes": of(">") + "@Scout", "quotes apart": of("> ") + "@Scout", "quote lines": of(">>>>>>>>\n") + "@Scout",
		"deep, then lines": strings.Repeat(">", size/2) + strings.Repeat("\nx@Scout @Scout", size/32), "items": of("- ") + "@Scout",
		"mixed": of("- > ") + "@Scout", "numbers": of("1. ") + "@Scout", "brackets": of("[") + "@Scout", "links": of("[@Scout](") + "@Scout",
		"ticks": runs.String() + "@Scout", "tick pairs": of("`@Scout` "), "one tick each": of("`\n\n") + "@Scout", "lists": list.String() + "@Scout",
		"stars": of("*") + "@Scout", "spaces": of(" ") + "@Scout", "tabs": of("\t") + "@Scout", "lines": of("\n@Scout `"), "backslashes": of("\\") + "`@Scout",
		"fences": of("```\n") + "@Scout", "tags": of("<a ") + "@Scout `", "deepening": deepening(size) + "@Scout",
		"decomposed": of("@ệ\u0323\u0302"), "joiners": "@Sc" + of("\u200d") + "out",
	}
}

// deepening is a list that goes one deeper with each line.
func deepening(size int) string {
	var b strings.Builder
	for i := 0; b.Len() < size; i++ {
		b.WriteString(strings.Repeat("  ", i) + "- > `a\n")
	}
	return b.String()
}

// A careless reading of these takes seconds, a linear one some milliseconds; the bound leaves room for a busy machine and -race.
func TestMentionsOfHostileTexts(t *testing.T) {
	handles := make([]string, 0, 300)
	for i := range 300 {
		handles = append(handles, "@Scout"+strings.Repeat("s", i%75))
	}
	for name, text := range hostile() {
		start := time.Now()
		mentions(text, handles)
		took := time.Since(start)
		t.Logf("%-18s %v", name, took.Round(10*time.Microsecond))
		if took > 2*time.Second {
			t.Errorf("%s: %v for %d bytes", name, took, len(text))
		}
	}
}

func FuzzMentions(f *testing.F) {
	for _, s := range []string{"@Scout `@Scout` @Ledger", "> @Scout\n@Ledger", "```\n@Scout", "- > a\n    @Scout", "请@Scout看", "\t`\r@Scout", "1.\n\n    @Scout"} {
		f.Add(s)
	}
	handles := []string{"@Scout", "@Ledger", "@小明", ""}
	f.Fuzz(func(t *testing.T, s string) {
		found := mentions(s, handles)
		for i := range found {
			if !strings.Contains(fold(s), fold(handles[i][1:])) && !strings.ContainsFunc(s, ignorable) {
				t.Fatalf("%q mentions %q", s, handles[i])
			}
		}
		if n := len(mentions("```\n"+strings.ReplaceAll(s, "`", "")+"\n```", handles)); n > 0 {
			t.Fatalf("%q mentions within a code block", s)
		}
		if m := mentions(s+"\n\n@Scout\n", handles); !m[0] && !strings.ContainsAny(s, "`~") {
			t.Fatalf("%q hides a mention of its own paragraph", s)
		}
	})
}

func BenchmarkMentions(b *testing.B) {
	handles := []string{"@Scout", "@Scout2", "@Ledger", "@Arjun", "@Priya", "@ASCIIArt"}
	for name, text := range map[string]string{
		"none":  strings.Repeat("The nightly price check found the sofa 15% off. ", 6),
		"plain": strings.Repeat("The nightly price check found the sofa 15% off. ", 6) + "@Ledger please book it, and tell @Priya.",
		"code":  "Run `make test`, then\n\n```\nmake bench\n```\n\n@Ledger please book it, and tell @Priya.",
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				mentions(text, handles)
			}
		})
	}
}
