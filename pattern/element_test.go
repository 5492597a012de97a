package pattern

import (
	"path"
	"testing"

	"pgregory.net/rapid"

	"sandboxd/pattern/patterntest"
)

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
		text, name := patterntest.Globs().Draw(t, "glob"), patterntest.Names().Draw(t, "name")
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
