package display_test

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	. "sandboxd/display"
	"sandboxd/display/displaytest"
)

func through(t *testing.T, chunks ...string) string {
	t.Helper()
	var out bytes.Buffer
	s := Stream{W: &out}
	for _, c := range chunks {
		if n, err := s.Write([]byte(c)); n != len(c) || err != nil {
			t.Fatalf("Write(%q) = %d, %v", c, n, err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestStream(t *testing.T) { // apb-244: what a person sees of the output
	for _, c := range []struct{ in, want string }{
		{"plain\ttext\r\n", "plain\ttext\r\n"},
		{"größe 日本 🚀", "größe 日本 🚀"},
		{"\x1b[1;31mred\x1b[0m", "\x1b[1;31mred\x1b[0m\x1b[0m"},
		{"\x1b[38:5:1mx\x1b[m", "\x1b[38:5:1mx\x1b[m\x1b[0m"},
		{"50%\r100%\b", "50%\r100%\b"},
		{"\x1b]52;c;cm0=\a", `\x1b]52;c;cm0=` + "\a"},
		{"\x1b]0;title\x1b\\", `\x1b]0;title\x1b\`},
		{"\x1b[2J\x1b[H", `\x1b[2J\x1b[H`},
		{"\x1b[6n\x1bc", `\x1b[6n\x1bc`},
		{"\x1b[>1m", `\x1b[>1m`}, // a query's private form is no colour
		{"\x1bP+q544e\x1b\\", `\x1bP+q544e\x1b\`},
		{"a\x9b2Jb\u009bc", `a\x9b2Jb\u009bc`},
		{"a\u202eb\u2066c", `a\u202eb\u2066c`},
		{"\x0e\x0f\x00\x7f", `\x0e\x0f\x00\x7f`},
		{"end\x1b", `end\x1b`},
		{"end\x1b[3", `end\x1b[3`},
		{"end\xe2\x82", `end\xe2\x82`},
		{"\x1b[" + strings.Repeat("1;", 50) + "m", `\x1b[` + strings.Repeat("1;", 50) + "m"},
	} {
		if got := through(t, c.in); got != c.want {
			t.Errorf("Stream(%q)\n got %q\nwant %q", c.in, got, c.want)
		}
	}
}

var ours = regexp.MustCompile(`\x1b\[[0-9:;]*m`)

// checkStream: it does not matter how the output is cut, and no control
// sequence but a colour comes through.
func checkStream(t *testing.T, in string, cut int) {
	t.Helper()
	whole := through(t, in)
	cut = max(0, min(cut, len(in)))
	if parts := through(t, in[:cut], in[cut:]); parts != whole {
		t.Errorf("Stream(%q) in two parts is %q, as one %q", in, parts, whole)
	}
	rest := ours.ReplaceAllString(whole, "")
	for _, r := range rest {
		if r < 0x20 && !strings.ContainsRune("\n\t\r\b\a", r) || r >= 0x7f && r < 0xa0 || r == 0x202e {
			t.Errorf("Stream(%q) = %q: holds %U", in, whole, r)
		}
	}
	if !utf8.ValidString(whole) {
		t.Errorf("Stream(%q) = %q: not UTF-8", in, whole)
	}
}

func FuzzStream(f *testing.F) {
	for _, c := range displaytest.Hostile {
		f.Add(c.In, 3)
	}
	f.Add("\x1b[1;31mx\x1b[0m", 4)
	f.Fuzz(checkStream)
}
