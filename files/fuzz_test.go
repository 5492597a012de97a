package files

import (
	"path"
	"strings"
	"testing"
)

// Whatever is asked for, a path is refused or comes out absolute, clean, free of
// control characters, and in the sandbox that Locate names.
func FuzzAbsolute(f *testing.F) {
	for _, s := range []string{"", "a", "../x", "/p/../etc", "~", "a\x00", "a//b/./c/", "\xff", strings.Repeat("a/", 3000),
		"/proc/self/root/p/a", "é", "a\u202eb"} {
		f.Add(s)
	}
	r := rulesFor(f, nil, nil)
	f.Fuzz(func(t *testing.T, asked string) {
		abs, _, err := r.Absolute(asked)
		if err != nil {
			return
		}
		if !path.IsAbs(abs) || path.Clean(abs) != abs || strings.ContainsAny(abs, "\x00\n\r\x1b\x7f") {
			t.Errorf("%q becomes %q", asked, abs)
		}
		root, rel, ok := r.Locate(abs)
		if ok && path.Join(root.Path, rel) != abs {
			t.Errorf("%q is %q in %q", abs, rel, root.Path)
		}
		if !ok && (abs == "/p" || strings.HasPrefix(abs, "/p/")) {
			t.Errorf("%q is in no sandbox", abs)
		}
	})
}

// What is below a match matches; neither case nor characters without a width
// make a difference.
func FuzzNames(f *testing.F) {
	f.Add(".git/hooks", "x")
	f.Add("sub/.ENV.local", "y/z")
	f.Add("a/b", "c")
	names, err := NewNames(defaultProtected())
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, p, q string) {
		if path.Clean(p) != p || path.IsAbs(p) || strings.HasPrefix(p, "..") || path.Clean(q) != q ||
			strings.HasPrefix(q, "..") || path.IsAbs(q) {
			return
		}
		_, ok := names.Match(p)
		if _, below := names.Match(path.Join(p, q)); ok && !below {
			t.Errorf("%q is protected and %q below it is not", p, path.Join(p, q))
		}
		if _, deeper := names.Match(path.Join("deep/er", p)); ok && !deeper {
			t.Errorf("%q is protected, and not in a folder", p)
		}
		for _, same := range []string{fold(p), strings.ReplaceAll(p, "g", "g\u200d")} {
			if _, also := names.Match(same); ok != also {
				t.Errorf("%q and %q are not judged alike", p, same)
			}
		}
	})
}
