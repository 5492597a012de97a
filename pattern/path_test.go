package pattern

import (
	"path"
	"strings"
	"testing"
)

// pathTable is patterns and what they cover or match.
var pathTable = []struct {
	pattern, path   string // path is absolute for covers, relative for matches
	covers, matches bool
}{
	{".git/hooks", "a/.git/hooks/x", true, false},
	{".git/hooks", ".git/hooks", true, true},
	{".git/hooks", ".git/hooksx", false, false},
	{"**/.git/hooks/**", "a/.git/hooks/x", true, true},
	{".env*", "a/.env.local", true, true},
	{".env*", "a/env", false, false},
	{"/a/b", "a/b/c", true, false},
	{"/a/b", "x/a/b", false, false},
	{"/a/**/k", "a/x/y/k/z", true, false},
	{"/a/**/k", "a/k", true, true},
	{"/*/b", "a/b", true, true},
	{"~/.ssh", "home/u/.ssh/id", true, false},
	{"~/.ssh", "x/home/u/.ssh/id", false, false},
	{"*.md", "docs/a.md", true, true},
	{"docs/*.md", "docs/x/a.md", false, false},
	{"docs/**/*.md", "docs/x/y/a.md", true, true},
	{"docs/**/*.md", "docs/a.md", true, true},
	{"docs/**/*.md", "docs/a.py", false, false},
	{"docs/**", "docs/x/y", true, true},
	{"docs/**", "doc", false, false},
	{"**", "a/b", true, true},
	{`\*`, "*", true, true},
	{`\*`, "a", false, false},
	{"[^a]x", "bx", true, true},
	{"[^a]x", "ax", false, false},
}

func TestPath(t *testing.T) {
	const home = "/home/u"
	for _, c := range pathTable {
		p, err := ParsePath(c.pattern)
		if err != nil {
			t.Fatal(err)
		}
		s, err := NewSet([]string{c.pattern})
		if err != nil {
			t.Fatal(err)
		}
		if got := p.Covers("/"+c.path, home); got != c.covers {
			t.Errorf("%q covers %q: got %v, want %v", c.pattern, c.path, got, c.covers)
		}
		if got := s.Covers("/"+c.path, home); (got == c.pattern) != c.covers {
			t.Errorf("set of %q covers %q: got %q, want %v", c.pattern, c.path, got, c.covers)
		}
		if got := p.Matches(c.path); got != c.matches && !p.home {
			t.Errorf("%q matches %q: got %v, want %v", c.pattern, c.path, got, c.matches)
		}
	}
	for _, text := range []string{"", "/", "~/", "a//b", "../a", "a/", "[a", "."} {
		if p, err := ParsePath(text); err == nil {
			t.Errorf("%q: got %v, want an error", text, p)
		}
	}
	if p, _ := ParsePath("~/.ssh"); p.Covers("/.ssh", "") {
		t.Error("without a home directory nothing is below it")
	}
}

func TestMayCover(t *testing.T) {
	for _, c := range []struct {
		pattern, glob string
		want          bool
	}{
		{".env*", "/p/*", false}, // a glob matches no leading dot
		{".env*", "/p/.*", true},
		{".env*", "/p/.[a-f]*", true},
		{".env*", "/p/.a*", false},
		{"*.pem", "/p/*", true},
		{"*.pem", "/p/*.p??", true},
		{"*.pem", "/p/*.go", false},
		{"~/.ssh", "/home/*/.ssh/id", true},
		{"/a/*/k", "/a/?/?", true},
		{"/a/*/k", "/a/k", false},
		{"é", "/??", true}, // two bytes
	} {
		s, err := NewSet([]string{c.pattern})
		if err != nil {
			t.Fatal(err)
		}
		if got := s.MayCover(c.glob, "/home/u"); (got != "") != c.want {
			t.Errorf("%q may cover %q: got %q, want %v", c.pattern, c.glob, got, c.want)
		}
	}
}

func TestCoversBelow(t *testing.T) {
	s, err := NewFolded(strings.ToLower, []string{".git/hooks", "KEY"})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		rel   string
		below int
		want  string
	}{
		{"a/.GIT/Hooks", 0, ".git/hooks"},
		{"a/.git/hooks", 2, ".git/hooks"},
		{"a/.git/hooks/x", 3, ""},
		{"a/key", 0, "KEY"},
		{"key/a", 1, ""},
	} {
		if got := s.CoversBelow(c.rel, c.below); got != c.want {
			t.Errorf("%q below %d: got %q, want %q", c.rel, c.below, got, c.want)
		}
	}
	if got := (*Set)(nil).CoversBelow("a", 0); got != "" {
		t.Errorf("no set: got %q", got)
	}
}

// FuzzPath: a pattern and a set of it agree, what is below a covered path is covered, and what
// surely is covered may be.
func FuzzPath(f *testing.F) {
	for _, c := range pathTable {
		f.Add(c.pattern, c.path, "x")
	}
	f.Add("a/**/**/b", "a/a/a/b", "b")
	f.Fuzz(func(t *testing.T, text, rel, more string) {
		abs, below := path.Clean("/"+rel), path.Clean("/"+rel+"/"+more)
		p, err := ParsePath(text)
		if err != nil || !strings.HasPrefix(below, strings.TrimSuffix(abs, "/")+"/") {
			return
		}
		s, err := NewSet([]string{text})
		if err != nil {
			t.Fatal(err)
		}
		covered := p.Covers(abs, "/home/u")
		if got := s.Covers(abs, "/home/u") != ""; got != covered && abs != "/" {
			t.Errorf("%q covers %q: the pattern says %v, the set %v", text, abs, covered, got)
		}
		if covered && !p.Covers(below, "/home/u") {
			t.Errorf("%q covers %q and not %q", text, abs, below)
		}
		if covered && !p.MayCover("/"+escape(abs[1:]), "/home/u") {
			t.Errorf("%q covers %q, and may not", text, abs)
		}
		if !p.absolute && p.Matches(abs[1:]) && abs != "/" && !p.Covers(abs, "") {
			t.Errorf("%q matches %q and does not cover it", text, abs)
		}
	})
}
