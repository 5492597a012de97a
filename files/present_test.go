package files

import (
	"fmt"
	"strings"
	"testing"

	"sandboxd/approval"
)

func preview(old, new string) Preview {
	return Preview{Old: []byte(old), OldSize: int64(len(old)), New: []byte(new), NewSize: int64(len(new))}
}

func present(t *testing.T, req Request, f Facts, p Preview, kind approval.Kind,
	wants ...string) *approval.Presentation {
	t.Helper()
	out := Presentation(req, f, p)
	if out.Kind != kind {
		t.Errorf("%s: kind %s, want %s", req.Op, out.Kind, kind)
	}
	for _, w := range wants {
		if !strings.Contains(out.Content, w) {
			t.Errorf("%s: no %q in:\n%s", req.Op, w, out.Content)
		}
	}
	return out
}

// R-UX-05 and the first specification's table of presentations: a diff for an
// edit, the content of a new file with its language, type and size of what is
// binary, a cut that says how much is missing, and all of it for the pager.
//
//   - Row 000-04 yes: presentation language, and metadata.full_content of what is cut
func TestPresentation(t *testing.T) {
	edit := facts("/p/a.go", File)
	d := present(t, Request{Op: Edit}, edit, preview("one\ntwo\nthree\n", "one\n2\nthree\n"), approval.KindDiff,
		"--- a/p/a.go", "+++ b/p/a.go", "@@", "-two\n", "+2\n")
	if d.Language != "go" {
		t.Errorf("language %q", d.Language)
	}
	present(t, Request{Op: Write}, edit, preview("a\n", "b\n"), approval.KindDiff, "-a\n", "+b\n")
	present(t, Request{Op: Write}, edit, preview("a", "a\n"), approval.KindDiff, "No newline at end of file")

	created := facts("/p/x/Makefile", Absent)
	p := preview("", "all:\n\ttrue\n")
	p.OldSize = -1
	c := present(t, Request{Op: Create}, created, p, approval.KindFileContent, "all:\n\ttrue\n")
	if c.Language != "makefile" || c.Metadata["size"] != int64(11) {
		t.Errorf("language %q, %v", c.Language, c.Metadata)
	}

	long := strings.Repeat("line\n", 80)
	p = preview("", long)
	p.OldSize = -1
	c = present(t, Request{Op: Create}, created, p, approval.KindFileContent, "... [30 more lines]")
	if c.Metadata["full_content"] != long || c.Metadata["more_lines"] != 30 || strings.Count(c.Content, "line\n") != 50 {
		t.Errorf("cut: %v", c.Metadata["more_lines"])
	}

	deleted := Preview{Old: []byte(long), OldSize: int64(len(long)), NewSize: -1}
	present(t, Request{Op: Delete}, facts("/p/a.txt", File), deleted, approval.KindText, "Delete file: /p/a.txt",
		"size: 400 bytes", "lines: 80", "... [70 more lines]")
	png := "\x89PNG\r\n\x1a\n" + strings.Repeat("\x00", 2300)
	present(t, Request{Op: Delete}, facts("/p/a.png", File),
		Preview{Old: []byte(png), OldSize: int64(len(png)), NewSize: -1}, approval.KindText, "image/png", "2.3 KiB")
	b := present(t, Request{Op: Write}, facts("/p/a.png", File), preview(png, "text\n"), approval.KindText,
		"old: image/png (2.3 KiB)", "new: text (5 bytes)")
	if strings.Contains(b.Content, "\x00") {
		t.Error("raw binary is shown")
	}
	present(t, Request{Op: Write}, edit, Preview{Old: []byte("a"), OldSize: 9 << 20, New: []byte("b"), NewSize: 1},
		approval.KindText, "9.0 MiB", "too large to show the difference")
	present(t, Request{Op: Delete}, facts("/p/l", Symlink), Preview{OldSize: -1, NewSize: -1}, approval.KindText,
		"Delete symbolic link: /p/l")
	present(t, Request{Op: Mkdir}, facts("/p/d", Absent), Preview{OldSize: -1, NewSize: -1}, approval.KindText,
		"Make folder: /p/d")
	tree := facts("/p/d", Dir)
	tree.Path.Holds = []string{".git/hooks"}
	present(t, Request{Op: Rmdir, Recursive: true}, tree,
		Preview{OldSize: -1, NewSize: -1, Entries: []string{"/p/d/a"}, More: true},
		approval.KindText, "protected in it: .git/hooks", "  a\n", "and more")
	present(t, Request{Op: Move}, facts("/p/a", File, fact("/p/b", File)), preview("old\n", "new\n"), approval.KindDiff,
		"a/p/b", "-old", "+new")
	present(t, Request{Op: Move}, facts("/p/a", File, fact("/p/b", Absent)),
		Preview{OldSize: 3, Old: []byte("abc"), NewSize: -1}, approval.KindText, "Move file: /p/a to /p/b")
}

// The parts of a line that differ are marked, in whole characters.
func TestMarks(t *testing.T) {
	for _, c := range []struct {
		old, new string
		want     string
	}{
		{"enabled = True\n", "enabled = False\n", `[[3 10 13] [4 10 14]]`},
		{"a ä b\n", "a ö b\n", `[[3 2 4] [4 2 4]]`},
		{"foo(a)\n", "foo(a, b)\n", `[[4 5 8]]`},
		{"completely\n", "different\n", `[]`},
		{"a 1\nb 1\n", "a 2\nb 2\n", `[[3 2 3] [5 2 3] [4 2 3] [6 2 3]]`},
		{"one\ntwo\n", "one\n", `[]`},
	} {
		diff := unified("/f", c.old, c.new)
		got := fmt.Sprint(marks(diff))
		if got != c.want {
			t.Errorf("%q to %q: got %s, want %s in\n%s", c.old, c.new, got, c.want, diff)
		}
		lines := strings.Split(diff, "\n")
		for _, m := range marks(diff) {
			if text := lines[m[0]][1:]; m[1] < 0 || m[2] > len(text) || m[1] >= m[2] {
				t.Errorf("mark %v is outside %q", m, text)
			}
		}
	}
}
