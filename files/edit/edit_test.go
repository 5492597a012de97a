package edit

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestReplace(t *testing.T) {
	for _, c := range []struct {
		name, text string
		list       []Replacement
		want       string // or the error
	}{
		{"once", "a b c", []Replacement{{Find: "b", Replace: "x"}}, "a x c"},
		{"as often as said", "a b a", []Replacement{{Find: "a", Replace: "x", Count: 2}}, "x b x"},
		{"to nothing", "a b", []Replacement{{Find: " b"}}, "a"},
		{"one after the other", "a", []Replacement{{Find: "a", Replace: "b"}, {Find: "b", Replace: "c"}}, "c"},
		{"more often", "a b a", []Replacement{{Find: "a", Replace: "x"}}, "error: found 2 times, not 1 (lines [1 1])"},
		{"less often", "a", []Replacement{{Find: "a", Replace: "x", Count: 3}}, "error: found 1 times, not 3 (lines [1])"},
		{"not overlapping", "aaa", []Replacement{{Find: "aa", Replace: "b"}}, "ba"},
		{"all or nothing", "a b", []Replacement{{Find: "a", Replace: "x"}, {Find: "q", Replace: "y"}},
			"error: text not found"},
		{"nothing to find", "a", []Replacement{{Replace: "x"}}, "error: nothing to find"},
		{"nothing to change", "a", []Replacement{{Find: "a", Replace: "a"}}, "error: find and replace are the same"},
		{"line ends follow", "a\r\nb\r\n", []Replacement{{Find: "a\nb", Replace: "x\ny\nz"}}, "x\r\ny\r\nz\r\n"},
		{"line ends as written", "a\r\nb\r\n", []Replacement{{Find: "a\r\nb", Replace: "x"}}, "x\r\n"},
		{"mixed line ends stay", "a\r\nb\nc\n", []Replacement{{Find: "b\nc", Replace: "x\ny"}}, "a\r\nx\ny\n"},
		{"mixed line ends are not guessed", "a\r\nb\nc\n", []Replacement{{Find: "a\nb", Replace: "x"}},
			"error: text not found; line 1 is like it: only the line ends differ"},
		{"not a regular expression", "a.c abc", []Replacement{{Find: "a.c", Replace: "x"}}, "x abc"},
		{"no template", "a", []Replacement{{Find: "a", Replace: "$0\\1"}}, "$0\\1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			out, _, err := Replace([]byte(c.text), c.list, 1<<20)
			got := string(out)
			if err != nil {
				got = "error: " + err.Error()
			}
			if got != c.want {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
		})
	}
}

// R-FS-07: a conflict says what is nearest and in what it differs.
func TestNearest(t *testing.T) {
	const text = "package main\n\nfunc main() {\n\tfmt.Println(\"hello\")\n\tos.Exit(0)\n}\n\nfunc Other() int { return " +
		"1 }\n"
	for _, c := range []struct {
		name, find string
		line       int
		hint       string
	}{
		{"indentation", "    fmt.Println(\"hello\")\n    os.Exit(0)\n", 4,
			"only the indentation differs (the file has tabs)"},
		{"end of line", "func main() {  \n\tfmt.Println(\"hello\")", 3, "only white space at the end of lines differs"},
		{"inner blanks", "func  main()  {", 3, "only white space differs"},
		{"case", "func other() int { return 1 }", 8, "only upper and lower case differ"},
		{"quotation marks", "\tfmt.Println(“hello”)", 4, "only the kind of quotation marks or dashes differs"},
		{"a slip", "\tfmt.Printl(\"helo\")", 4, ""},
		{"nothing like it", "SELECT * FROM users WHERE name = ?", 0, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, _, err := Replace([]byte(text), []Replacement{{Find: c.find, Replace: "x"}}, 1<<20)
			var m *Mismatch
			if !errors.As(err, &m) {
				t.Fatalf("no mismatch: %v", err)
			}
			if m.Near.Line != c.line || m.Near.Hint != c.hint {
				t.Errorf("got line %d, %q (%q), want line %d, %q", m.Near.Line, m.Near.Hint, m.Near.Text, c.line, c.hint)
			}
		})
	}
}

func TestNearestIsBounded(t *testing.T) {
	text := []byte(strings.Repeat("some line of a text that is long enough to compare\n", 40_000))
	start := time.Now()
	_, _, err := Replace(text, []Replacement{{Find: "sume line of a txt that is lung enough to cumpare\nx\ny",
		Replace: "x"}}, 4<<20)
	if err == nil || time.Since(start) > 5*time.Second {
		t.Errorf("%v after %s", err, time.Since(start))
	}
}

func TestInsert(t *testing.T) {
	for _, c := range []struct {
		name, text string
		at         Place
		content    string
		want       string
	}{
		{"after a line", "a\nb\n", Place{Line: 1}, "x", "a\nx\nb\n"},
		{"before a line", "a\nb\n", Place{Line: 2, Before: true}, "x\n", "a\nx\nb\n"},
		{"at the start", "a\n", Place{Before: true}, "x", "x\na\n"},
		{"at the end", "a\n", Place{}, "x", "a\nx\n"},
		{"at the end, the last line open", "a", Place{}, "x", "a\nx"},
		{"after the last line, open", "a\nb", Place{Line: 2}, "x\ny\n", "a\nb\nx\ny"},
		{"into nothing", "", Place{}, "x", "x\n"},
		{"nothing", "a\nb", Place{Line: 1}, "", "a\nb"},
		{"line that is not there", "a\n", Place{Line: 2}, "x", "error: there is no line 2; the text has 1"},
		{"negative line", "a\n", Place{Line: -1}, "x", "error: there is no line -1; the text has 1"},
		{"after an anchor", "f(a)", Place{Anchor: "a"}, ", b", "f(a, b)"},
		{"before an anchor", "f(a)", Place{Anchor: "a", Before: true}, "b, ", "f(b, a)"},
		{"anchor twice", "a a", Place{Anchor: "a"}, "x", "error: found 2 times, not 1 (lines [1 1])"},
		{"no anchor", "a", Place{Anchor: "zz"}, "x", "error: text not found"},
		{"line ends follow", "a\r\nb\r\n", Place{Line: 1}, "x\ny", "a\r\nx\r\ny\r\nb\r\n"},
		{"anchor over line ends", "a\r\nb\r\n", Place{Anchor: "a\nb"}, "!", "a\r\nb!\r\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			out, err := Insert([]byte(c.text), c.at, []byte(c.content))
			got := string(out)
			if err != nil {
				got = "error: " + err.Error()
			}
			if got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestForm(t *testing.T) {
	for text, want := range map[string]Form{
		"": Text, "plain\n": Text, "grüße": Text, "\xef\xbb\xbfbom": Text,
		"\xff\xfea\x00": Wide, "\xfe\xff\x00a": Wide, "caf\xe9 au lait\n": Legacy,
		"\x7fELF\x00\x01": Binary, "\x89PNG\r\n\x1a\n\x00": Binary, "\x01\x02\x03\xff\xfe\xfd": Binary,
		strings.Repeat("a", binaryHead) + "\x00": Binary,
	} {
		if got := FormOf([]byte(text)); got != want {
			t.Errorf("%.20q: got %d, want %d", text, got, want)
		}
	}
}

// Properties: what is taken out and put back is the same; a text with only
// "\r\n" keeps to it; several edits are one after the other.
func TestReplaceProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`([a-c ]{0,4}\n){0,6}[a-c]{0,3}`).Draw(t, "text")
		if rapid.Bool().Draw(t, "crlf") {
			text = strings.ReplaceAll(text, "\n", "\r\n")
		}
		find := rapid.StringMatching(`[a-c\n]{1,3}`).Draw(t, "find")
		mark := "Q"
		searched := find
		if allCRLF([]byte(text)) {
			searched = toCRLF(find)
		}
		n := strings.Count(text, searched)
		out, replaced, err := Replace([]byte(text), []Replacement{{Find: find, Replace: mark, Count: n}}, 1<<20)
		if n == 0 {
			if err == nil && strings.Count(text, searched) != 1 {
				t.Fatalf("replaced what is not there: %q", out)
			}
			return
		}
		if err != nil || replaced != n {
			t.Fatal(replaced, err)
		}
		if back := bytes.ReplaceAll(out, []byte(mark), []byte(searched)); string(back) != text {
			t.Fatalf("got %q back, had %q", back, text)
		}
		if allCRLF([]byte(text)) && bytes.Contains(out, []byte("\n")) && !allCRLF(out) {
			t.Fatalf("mixed line ends: %q", out)
		}
	})
}
