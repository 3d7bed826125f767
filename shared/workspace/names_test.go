package workspace

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/chipschat/chips-aws/shared/protocol"
)

func TestCleanName(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"Scout", "Scout"},
		{" \t\nScout\u00a0\r\n", "Scout"},
		{"e\u0301clair", "\u00e9clair"},
		{strings.Repeat("é", 80), strings.Repeat("é", 80)},
		{strings.Repeat("e\u0301", 80), strings.Repeat("é", 80)},
		{"\u0646\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645", "\u0646\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645"},
		{"👩\u200d🚀", "👩\u200d🚀"},
		{"❤\ufe0f", "❤\ufe0f"},
		{"Bob (person, @Bob), and you", "Bob (person, @Bob), and you"},
		{"हिन्दी", "हिन्दी"},
		{"\u3164x", "\u3164x"},
		{"x", "x"},
		{"7", "7"},
		{"<script>", "<script>"},
	} {
		got, err := CleanName("name", c.in, MaxName)
		if err != nil || got != c.want {
			t.Errorf("CleanName(%q) = %q, %v; want %q", c.in, got, err, c.want)
		}
	}
	for _, c := range []struct{ in, says string }{
		{"", "1 to 80"},
		{" \u3000\t", "1 to 80"},
		{strings.Repeat("é", 81), "has 81 characters: it takes 1 to 80"},
		{"Sco\nut", "control character (U+000A)"},
		{"Sco\u0000ut", "control character"},
		{"Sco\u0085ut", "control character"},
		{"Sco\u2028ut", "separator (U+2028)"},
		{"Sco\u2029ut", "separator"},
		{"Scout\u200b", "format character (U+200B)"},
		{"\u202etuocS", "format character"},
		{"\ufeffScout", "format character"},
		{"Sco\u00adut", "format character"},
		{"Scout\U000e0041", "format character"},
		{"Scout\u0378", "does not know"},
		{"Scout\uffff", "does not know"},
		{"\u3164\u3164", "nothing visible"},
		{"\u2800", "nothing visible"},
		{"\u115f\u1160 \uffa0", "nothing visible"},
		{"\u200c\u200d", "nothing visible"},
		{"\ufe0f", "nothing visible"},
		{"\u034f", "nothing visible"},
		{"\xff", "UTF-8"},
	} {
		_, err := CleanName("display_name", c.in, MaxName)
		if err == nil || err.Code != protocol.InvalidRequest || !strings.HasPrefix(err.Message, "display_name ") || !strings.Contains(err.Message, c.says) {
			t.Errorf("CleanName(%q): %v; want InvalidRequest with %q", c.in, err, c.says)
		}
	}
	if _, err := CleanName("title", strings.Repeat("x", 120), MaxTitle); err != nil {
		t.Errorf("a title of 120: %v", err)
	}
}

func TestValidKey(t *testing.T) {
	for key, ok := range map[string]bool{"": false, "k": true, strings.Repeat("é", 127): true, strings.Repeat("é", 128): false} {
		if err := validKey("key", key); (err == nil) != ok {
			t.Errorf("validKey of %d bytes: %v", len(key), err)
		}
	}
}

// covers: ADDR-8
func TestHandleOf(t *testing.T) {
	for name, want := range map[string]string{
		"ASCII Art":        "@ASCIIArt",
		"OpenClaw 2":       "@OpenClaw2",
		"Scout":            "@Scout",
		"C++":              "",
		"C++ 2":            "@C2",
		"x":                "",
		"!!":               "",
		"की":               "@की",
		"का":               "@का",
		"हिन्दी":           "@हिन्दी",
		"สวัสดี":           "@สวัสดี",
		"e\u0301a":         "@éa",
		"J. R. O'Neil":     "@JRONeil",
		"小明":               "@小明",
		"❤\ufe0f❤\ufe0f":   "",
		"☃\u0301☃\u0301ab": "@ab",
		"\u3164ab":         "@ab",
		"نمی\u200cخواهم":   "@نمیخواهم",
		"10½":              "@10",
	} {
		if got := HandleOf(name); got != want {
			t.Errorf("HandleOf(%q) = %q, want %q", name, got, want)
		}
	}
}

func TestSameName(t *testing.T) {
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{"Open Claw", "openclaw", true}, {"Scout", " SCOUT", true}, {"ΣΑΣ", "σας", true}, {"É", "e\u0301", true}, {"Straße", "STRAẞE", true},
		{"İstanbul", "istanbul", true}, {"a\u00a0b", "A B", true},
		{"C++", "C#", false}, {"की", "का", false}, {"Scout", "Scout 2", false}, {"Resume", "Résumé", false},
	} {
		if sameName(c.a, c.b) != c.same {
			t.Errorf("sameName(%q, %q) is %v", c.a, c.b, !c.same)
		}
	}
}

func TestNumbered(t *testing.T) {
	taken := func(keys ...string) func(string) bool {
		return func(name string) bool {
			for _, k := range keys {
				if sameName(k, name) {
					return true
				}
			}
			return false
		}
	}
	if got := numbered("OpenClaw", taken("openclaw")); got != "OpenClaw 2" {
		t.Error(got)
	}
	if got := numbered("OpenClaw", taken("OpenClaw", "OPENCLAW2", "Open Claw 3")); got != "OpenClaw 4" {
		t.Error(got)
	}
	if got := numberedHandle("@C", taken("@C", "@C2")); got != "@C3" {
		t.Error(got)
	}
	long := strings.Repeat("ab", 40)
	if got := numbered(long, taken(long)); got != long[:78]+" 2" {
		t.Error(got)
	}
	spaced := strings.Repeat("x", 77) + " yz"
	if got := numbered(spaced, taken()); got != strings.Repeat("x", 77)+" 2" {
		t.Error(got)
	}
	marks := strings.Repeat("x", 77) + "की" + "y"
	if got := numbered(marks, taken()); got != strings.Repeat("x", 77)+" 2" {
		t.Errorf("%q", got)
	}
}

func FuzzCleanName(f *testing.F) {
	for _, s := range []string{"Scout", "e\u0301", "\u202e", "\u3164", "की 2", "\u1ebe\u0323"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		name, err := CleanName("name", s, MaxName)
		if err != nil {
			return
		}
		again, err := CleanName("name", name, MaxName)
		if err != nil || again != name {
			t.Fatalf("cleaning %q twice gives %q, %v", name, again, err)
		}
		n := numbered(name, func(string) bool { return false })
		if again, err := CleanName("name", n, MaxName); err != nil || again != n {
			t.Fatalf("%q is numbered as %q: %q, %v", name, n, again, err)
		}
		if h := HandleOf(name); h != "" && (utf8.RuneCountInString(h) < 3 || HandleOf(h) != h || len(mentions(h, []string{h})) != 1) {
			t.Fatalf("the handle of %q is %q", name, h)
		}
	})
}
