package profile

import (
	"path"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func globs() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		parts := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "é", "*", "?", "[ab]", "[^a]", "[a-c]", `\*`, `\\`, ".", "[^a-y]", `[\]b]`}), 1, 4).Draw(t, "parts")
		text := ""
		for _, part := range parts {
			if part != "*" || text == "" || text[len(text)-1] != '*' {
				text += part
			}
		}
		return text
	})
}

func texts() *rapid.Generator[string] {
	return rapid.StringOfN(rapid.SampledFrom([]rune("ab.é*\\]cz")), 1, 4, -1)
}

// The machines that reason about patterns match what path.Match matches, and
// so do the short cuts of pattern.match.
func TestGlobMatchesLikePathMatch(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text, name := globs().Draw(t, "glob"), texts().Draw(t, "name")
		want, err := path.Match(text, name)
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		if got := combination([]glob{parseGlob(text)}, name) == "\x01"; got != want {
			t.Fatalf("%q on %q: %v, want %v", text, name, got, want)
		}
		if text == "." {
			return
		}
		patterns, err := parseName(text)
		if err != nil {
			return // "..", "**"
		}
		if got := patterns[0].match(name); got != want {
			t.Fatalf("%q on %q: %v, want %v", text, name, got, want)
		}
	})
}

// Whatever an element may be called, the alphabet holds one that behaves like
// it: itself, or one that the same patterns match and that no rule spells out.
func TestAlphabetStandsForEveryElement(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var names []named
		var machines []glob
		var spelled []string
		for _, text := range rapid.SliceOfN(globs(), 0, 4).Draw(t, "globs") {
			n, err := newNamed(Rule{Kind: Hide, Path: "/", Name: text})
			if err != nil {
				continue
			}
			names = append(names, n)
			machines = append(machines, parseGlob(n.patterns[0].text))
			if n.patterns[0].exact {
				spelled = append(spelled, n.patterns[0].literal)
			}
		}
		tr := newTree(names)
		children := rapid.SliceOfN(texts(), 0, 4).Draw(t, "children")
		for _, child := range children {
			if child != "." && child != ".." {
				tr.insert("/x/" + child) // spelled out, but elsewhere
			}
		}
		alphabet := newAlphabet(tr)
		element := texts().Draw(t, "element")
		if element == "." || element == ".." || slices.Contains(alphabet, element) {
			return
		}
		want := combination(machines, element)
		if !slices.ContainsFunc(alphabet, func(a string) bool {
			return combination(machines, a) == want && !slices.Contains(spelled, a) && a != "x"
		}) {
			t.Fatalf("nothing in %q is like %q", alphabet, element)
		}
	})
}
