package seatbelt

import (
	"path"
	"strings"
	"testing"
	"unicode/utf8"
)

// table is patterns, and names that they match or do not.
var table = []struct {
	pattern, name string
	match         bool
}{
	{"a", "a", true}, {"a", "A", true}, {"a", "b", false}, {"k", "\u212a", true}, {"\u212a", "K", true},
	{"s", "\u017f", true},
	{".env*", ".env", true}, {".env*", ".ENV.local", true}, {".env*", "env", false}, {".env*", "xenv", false},
	{"*", "", true},
	{"?", "a", true}, {"?", "ab", false}, {"?", "\u00e9", true}, {"?", "\U0001f600", true}, {"?", "/", false},
	{"*", "a/b", false},
	{"[ab]", "b", true}, {"[ab]", "B", true}, {"[ab]", "c", false}, {"[^a]", "b", true}, {"[^a]", "a", false},
	{"[^a]", "\u00e9", true},
	{"[a-c]x", "bx", true}, {"[a-c]x", "dx", false}, {"[\\]]", "]", true}, {"[\\-a]", "-", true}, {"[+-.]", "-", true},
	{"[\\^]", "^", true},
	{"[[]", "[", true}, {"[\u00e0-\u00ff]", "\u00e9", true}, {"\\*", "*", true}, {"\\*", "x", false},
	{"\\[a]", "[a]", true},
	{"a.b", "axb", false}, {"a+b", "aab", false}, {"a+b", "a+b", true}, {"(a|b)", "(a|b)", true}, {"(a|b)", "a", false},
	{"{2}$^", "{2}$^", true},
	{"a\"b", "a\"b", true}, {"\\\\", "\\", true}, {"a\nb", "a\nb", true}, {"[\n]", "\n", true}, {"[^ -~]", "\x01", true},
}

func matchesName(t *testing.T, p, name string) bool {
	t.Helper()
	r, err := translate("^(" + element(p) + ")$")
	if err != nil {
		t.Fatalf("%q became %q: %v", p, element(p), err)
	}
	return r.MatchString(name)
}

func TestPattern(t *testing.T) {
	for _, c := range table {
		if got := matchesName(t, c.pattern, c.name); got != c.match {
			t.Errorf("%q became %q, which says %v of %q", c.pattern, element(c.pattern), got, c.name)
		}
	}
}

// What a pattern matches, its expression matches: a rule by name never holds less here.
func FuzzPattern(f *testing.F) {
	for _, c := range table {
		f.Add(c.pattern, c.name)
	}
	f.Fuzz(func(t *testing.T, p, name string) {
		ok, err := path.Match(p, name)
		if err != nil || strings.Contains(p, "/") || !utf8.ValidString(p+name) || strings.Contains(p+name, "\x00") {
			return
		}
		if got := matchesName(t, p, name); ok && !got {
			t.Errorf("%q matches %q, and %q does not", p, name, element(p))
		}
	})
}

func TestNamesAreSplit(t *testing.T) {
	var long []string
	for range 100 {
		long = append(long, strings.Repeat("x", 50))
	}
	var n int
	for _, r := range names("^/", long, "$") {
		if len(r) > longest+60 {
			t.Errorf("%d bytes", len(r))
		}
		n += strings.Count(r, strings.Repeat("x", 50))
	}
	if n != len(long) {
		t.Errorf("%d of %d alternatives", n, len(long))
	}
}
