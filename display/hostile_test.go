package display_test

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	. "sandboxd/display"
	"sandboxd/display/displaytest"
)

func TestHostile(t *testing.T) { // R-UX-05
	if len(displaytest.Hostile) < 40 {
		t.Fatalf("the catalogue has %d strings, want at least 40", len(displaytest.Hostile))
	}
	for _, c := range displaytest.Hostile {
		t.Run(c.Name, func(t *testing.T) {
			if got := Line(c.In); got != c.Line {
				t.Errorf("Line(%q)\n got %q\nwant %q", c.In, got, c.Line)
			}
			if got := Inspect(c.In); got.String() != c.Found {
				t.Errorf("Inspect(%q) = %q, want %q", c.In, got, c.Found)
			}
			checkShown(t, c.In)
		})
	}
}

func TestHonest(t *testing.T) {
	for _, s := range displaytest.Honest {
		if got := Line(s); got != s {
			t.Errorf("Line(%q) = %q, want it unchanged", s, got)
		}
		if got := Inspect(s); got != 0 {
			t.Errorf("Inspect(%q) = %q, want nothing", s, got)
		}
		checkShown(t, s)
	}
}

// checkShown holds for every string whatsoever.
func checkShown(t *testing.T, in string) {
	t.Helper()
	block := strings.Join(Block(in), "\n") + "\n"
	for name, got := range map[string]string{"Line": Line(in), "Prose": Prose(in), "ASCII": ASCII(in), "Block": block} {
		if !utf8.ValidString(got) {
			t.Errorf("%s(%q) = %q: not UTF-8", name, in, got)
		}
		for _, r := range got {
			if r == '\n' && name == "Block" {
				continue
			}
			if !unicode.IsGraphic(r) || unicode.Is(unicode.Bidi_Control, r) || unicode.Is(unicode.Zs, r) && r != ' ' {
				t.Errorf("%s(%q) = %q: %U is not fit to be shown", name, in, got, r)
			}
			if name == "ASCII" && r >= 0x80 {
				t.Errorf("ASCII(%q) = %q: holds %U", in, got, r)
			}
		}
		for line := range strings.SplitSeq(got, "\n") {
			if strings.Contains(strings.TrimLeft(line, " "), strings.Repeat(" ", BlankRun+1)) {
				t.Errorf("%s(%q) = %q: a long run of blanks is left", name, in, got)
			}
		}
	}
	if got := Line(Line(in)); got != Line(in) {
		t.Errorf("Line is not idempotent: %q becomes %q", Line(in), got)
	}
	if got := strings.Join(Block(block), "\n") + "\n"; got != block {
		t.Errorf("Block is not idempotent: %q becomes %q", block, got)
	}
	got := ""
	for _, s := range Spans(in) {
		got += s.Text
	}
	if got != Line(in) {
		t.Errorf("Spans(%q) joins to %q, Line is %q", in, got, Line(in))
	}
	if f := Inspect(Line(in)); f&^RightToLeft != 0 {
		t.Errorf("Inspect(Line(%q)) finds %q", in, f)
	}
}

// FuzzLine looks for any string that comes out unfit to be shown.
func FuzzLine(f *testing.F) {
	for _, c := range displaytest.Hostile {
		f.Add(c.In)
	}
	for _, s := range displaytest.Honest {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) { checkShown(t, s) })
}
