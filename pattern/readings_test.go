package pattern

import (
	"path"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"sandboxd/pattern/patterntest"
)

// plainCovers is the definition of Covers for patterns without **: some run of elements matches,
// one by one, and the rest is below.
func plainCovers(text, rel string) bool {
	parts, elems := strings.Split(strings.TrimPrefix(text, "/"), "/"), strings.Split(rel, "/")
	last := len(elems) - len(parts)
	if strings.HasPrefix(text, "/") {
		last = min(last, 0)
	}
	for start := 0; start <= last; start++ {
		matched := true
		for i, p := range parts {
			ok, err := path.Match(p, elems[start+i])
			matched = matched && ok && err == nil
		}
		if matched {
			return true
		}
	}
	return false
}

// deepMatches is the definition of Matches: ** is any number of elements.
func deepMatches(parts, elems []string) bool {
	switch {
	case len(parts) == 0:
		return len(elems) == 0
	case parts[0] == "**":
		return deepMatches(parts[1:], elems) || len(elems) > 0 && deepMatches(parts, elems[1:])
	case len(elems) == 0:
		return false
	}
	ok, err := path.Match(parts[0], elems[0])
	return ok && err == nil && deepMatches(parts[1:], elems[1:])
}

// Paths and sets of them cover, and match, as plain definitions over path.Match say.
func TestPathsMeanTheirDefinition(t *testing.T) {
	t.Parallel()
	element := rapid.OneOf(patterntest.Globs(), rapid.SampledFrom([]string{"a", "b", "*", "a*", "*b"})).
		Filter(func(s string) bool { return s != "." && s != ".." })
	name := patterntest.Names().Filter(func(s string) bool { return s != "." && s != ".." })
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOfN(element, 1, 3).Draw(t, "parts")
		rel := strings.Join(rapid.SliceOfN(name, 1, 4).Draw(t, "names"), "/")
		text := strings.Join(parts, "/")
		if rapid.Bool().Draw(t, "absolute") {
			text = "/" + text
		}
		p, err := ParsePath(text)
		if err != nil {
			t.Fatal(err)
		}
		s, err := NewSet([]string{"unrelated", text})
		if err != nil {
			t.Fatal(err)
		}
		want := plainCovers(text, rel)
		if got := p.Covers("/"+rel, ""); got != want {
			t.Fatalf("%q covers %q: got %v, want %v", text, rel, got, want)
		}
		if got := s.Covers("/"+rel, "") != ""; got != want {
			t.Fatalf("set of %q covers %q: got %v, want %v", text, rel, got, want)
		}
		deep := slices.Insert(parts, rapid.IntRange(0, len(parts)).Draw(t, "at"), "**")
		p, err = ParsePath(strings.Join(deep, "/"))
		if err != nil {
			t.Fatal(err)
		}
		if got, want := p.Matches(rel), deepMatches(deep, strings.Split(rel, "/")); got != want {
			t.Fatalf("%q matches %q: got %v, want %v", p, rel, got, want)
		}
	})
}

// A pattern that forbids matches all that it would match if only * and ? were special: a folder
// called [id] cannot be named past it.
func TestForbiddingReadsBracketsBothWays(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pattern, text   string
		forbids, allows bool
	}{
		{"app/[id]/*", "app/[id]/page.tsx", true, false},
		{"app/[id]/*", "app/i/page.tsx", true, true},
		{`app/\[id\]/*`, "app/[id]/page.tsx", true, true},
		{`app/\[id\]/*`, "app/i/page.tsx", false, false},
		{`C:\*`, `C:\x`, true, false},
		{"app/[id", "app/[id", true, true},
	} {
		if got := WildForbids(c.pattern, c.text); got != c.forbids {
			t.Errorf("%q forbids %q: got %v, want %v", c.pattern, c.text, got, c.forbids)
		}
		if got := Wild(c.pattern, c.text); got != c.allows {
			t.Errorf("%q matches %q: got %v, want %v", c.pattern, c.text, got, c.allows)
		}
	}
	characters := []rune(`ab[]^-\*?/`)
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOfN(rapid.SampledFrom(characters), 0, 8, -1).Draw(t, "text")
		pattern := rapid.StringOfN(rapid.SampledFrom(characters), 0, 8, -1).Draw(t, "pattern")
		if (Wild(pattern, text) || matchSlowly(pattern, text)) != WildForbids(pattern, text) {
			t.Fatalf("%q forbids %q: got %v", pattern, text, WildForbids(pattern, text))
		}
	})
}
