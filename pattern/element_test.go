package pattern

import (
	"path"
	"testing"

	"pgregory.net/rapid"
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

func accepts(m Machine, name string) bool {
	at := m.Start()
	for _, r := range name {
		at = m.Step(at, r)
	}
	return m.Accepts(at)
}

// An element and its machine match what path.Match matches, whatever short cut is taken.
func TestElementMatchesLikePathMatch(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text, name := globs().Draw(t, "glob"), texts().Draw(t, "name")
		want, err := path.Match(text, name)
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		e, err := ParseElement(text)
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		if got := e.Match(name); got != want {
			t.Fatalf("%q on %q: got %v, want %v", text, name, got, want)
		}
		if got := accepts(e.Machine(), name); got != want {
			t.Fatalf("machine of %q on %q: got %v, want %v", text, name, got, want)
		}
	})
}
