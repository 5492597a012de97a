package profile

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"sandboxd/pattern"
	"sandboxd/pattern/patterntest"
)

// Whatever an element may be called, the alphabet holds one that behaves like
// it: itself, or one that the same patterns match and that no rule spells out.
func TestAlphabetRepresentsEveryElement(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var names []named
		var machines []pattern.Machine
		var spelled []string
		for _, text := range rapid.SliceOfN(patterntest.Globs(), 0, 4).Draw(t, "globs") {
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
		children := rapid.SliceOfN(patterntest.Names(), 0, 4).Draw(t, "children")
		for _, child := range children {
			if child != "." && child != ".." {
				tr.insert("/x/" + child) // spelled out, but elsewhere
			}
		}
		alphabet := newAlphabet(tr)
		element := patterntest.Names().Draw(t, "element")
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
