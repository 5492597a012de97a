package display_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	. "sandboxd/display"
	"sandboxd/display/displaytest"
)

func ExampleLine() {
	fmt.Println(Line("touch x #\x1b[2K\rls"))
	// Output: touch x #\x1b[2K\rls
}

func ExampleBlock() {
	for _, line := range Block("a\n\n\n\n\nb\tc\r\n") {
		fmt.Println("| " + line)
	}
	// Output:
	// | a
	// | [4 empty lines]
	// | b    c
}

func TestProse(t *testing.T) {
	in := "It’s “fine” – really （yes）"
	if got := Prose(in); got != in {
		t.Errorf("Prose(%q) = %q, want it unchanged", in, got)
	}
	if got, want := Prose("a\n[Allow] [Deny]\x1b[8m"), `a\n[Allow] [Deny]\x1b[8m`; got != want {
		t.Errorf("Prose = %q, want %q", got, want)
	}
}

func TestSpansMarkEscapes(t *testing.T) {
	got := Spans("a\x1bb\\x1b")
	want := []Span{{Text: "a"}, {Text: `\x1b`, Marked: true}, {Text: `b\x1b`}}
	if !slices.Equal(got, want) {
		t.Errorf("Spans = %+v, want %+v", got, want)
	}
}

func TestASCII(t *testing.T) {
	if got, want := ASCII("Zürich 日"), `Z\u00fcrich \u65e5`; got != want {
		t.Errorf("ASCII = %q, want %q", got, want)
	}
}

func TestBlockKeepsIndents(t *testing.T) {
	in := "func f() {\n\t\tif x {\n" + strings.Repeat(" ", 41) + "y\n}\n"
	want := []string{"func f() {", "        if x {", "[41 blanks] y", "}"}
	if got := Block(in); !slices.Equal(got, want) {
		t.Errorf("Block = %q, want %q", got, want)
	}
}

func TestClip(t *testing.T) { // R-UX-05: more than 50 lines says how many more
	lines := make([]string, 73)
	if shown, more := Clip(lines, MaxLines); len(shown) != 50 || more != 23 {
		t.Errorf("Clip = %d lines and %d more, want 50 and 23", len(shown), more)
	}
	if shown, more := Clip(lines[:50], MaxLines); len(shown) != 50 || more != 0 {
		t.Errorf("Clip = %d lines and %d more, want 50 and 0", len(shown), more)
	}
	if shown, more := Clip(lines, 0); len(shown) != 73 || more != 0 {
		t.Errorf("Clip = %d lines and %d more, want all", len(shown), more)
	}
}

func TestBinary(t *testing.T) { // R-UX-05: binary shows type and size
	for _, c := range []struct{ in, want string }{
		{"text\n", ""}, {"esc \x1b[1m", ""}, {"", ""},
		{"\x7fELF\x02\x00", "ELF program, 6 B"},
		{"\x89PNG\r\n\x1a\n" + strings.Repeat("\xff", 12292), "PNG image, 12.3 kB"},
		{"\xff\xfe", "binary data, 2 B"},
		{"a\x00b", "binary data, 3 B"},
	} {
		got, binary := Binary([]byte(c.in))
		if got != c.want || binary != (c.want != "") {
			t.Errorf("Binary(%.20q) = %q, %v, want %q", c.in, got, binary, c.want)
		}
	}
}

func TestSize(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0 B", 999: "999 B", 1000: "1.0 kB", 999_949: "999.9 kB", 999_950: "1.0 MB", 1 << 40: "1.1 TB", -5: "-5 B",
	} {
		if got := Size(n); got != want {
			t.Errorf("Size(%d) = %q, want %q", n, got, want)
		}
	}
}

func TestWidth(t *testing.T) {
	for s, want := range map[string]int{"": 0, "abc": 3, "日本": 4, "e\u0301": 1, "🚀": 2, "│": 1, "한": 2} {
		if got := Width(s); got != want {
			t.Errorf("Width(%q) = %d, want %d", s, got, want)
		}
	}
}

func TestWrapLosesNothing(t *testing.T) {
	texts := slices.Clone(displaytest.Honest)
	for _, c := range displaytest.Hostile {
		texts = append(texts, Line(c.In))
	}
	for _, s := range texts {
		for _, width := range []int{0, 1, 2, 7, 24, 80} {
			lines := Wrap(s, width)
			if got := strings.Join(lines, ""); got != s {
				t.Errorf("Wrap(%q, %d) joins to %q", s, width, got)
			}
			for _, line := range lines {
				if Width(strings.TrimSuffix(line, " ")) > max(width, 2) {
					t.Errorf("Wrap(%q, %d): %q has %d cells", s, width, line, Width(line))
				}
			}
		}
	}
	want := []string{"git commit ", "-m message"}
	if got := Wrap("git commit -m message", 10); !slices.Equal(got, want) {
		t.Errorf("Wrap = %q, want %q", got, want)
	}
}

// TestLongText: a text of a megabyte took minutes when spans grew by
// concatenation.
func TestLongText(t *testing.T) {
	in := strings.Repeat("é", 1<<19)
	if got := Line(in); got != in {
		t.Errorf("Line changed a long text of honest letters")
	}
}

func TestArgv(t *testing.T) {
	got := Argv([]string{"git", "commit", "-m", "it's", "", "a=b/c", "$x", "~"})
	if want := `git commit -m 'it'\''s' '' a=b/c '$x' '~'`; got != want {
		t.Errorf("Argv = %s, want %s", got, want)
	}
}
