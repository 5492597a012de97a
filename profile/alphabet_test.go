package profile

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"sandboxd/pattern"
)

var globParts = []string{"a", "b", "é", "*", "?", "[ab]", "[^a]", "[a-c]", `\*`, `\\`, ".", "[^a-y]", `[\]b]`}

func globs() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		parts := rapid.SliceOfN(rapid.SampledFrom(globParts), 1, 4).
			Draw(t, "parts")
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

// Whatever an element may be called, the alphabet holds one that behaves like
// it: itself, or one that the same patterns match and that no rule spells out.
func TestAlphabetRepresentsEveryElement(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var names []named
		var machines []pattern.Machine
		var spelled []string
		for _, text := range rapid.SliceOfN(globs(), 0, 4).Draw(t, "globs") {
			n, err := newNamed(Rule{Kind: Hide, Path: "/", Name: text})
			if err != nil {
				continue
			}
			names = append(names, n)
			machines = append(machines, n.patterns[0].Machine())
			if literal, ok := n.patterns[0].Literal(); ok {
				spelled = append(spelled, literal)
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
