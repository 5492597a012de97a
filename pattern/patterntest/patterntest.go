// Package patterntest generates elements of path patterns and names that they match or nearly match.
package patterntest

import "pgregory.net/rapid"

var parts = []string{"a", "b", "é", "*", "?", "[ab]", "[^a]", "[a-c]", `\*`, `\\`, ".", "[^a-y]", `[\]b]`}

// Globs returns a generator of elements in which no "*" follows another.
func Globs() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		text := ""
		for _, part := range rapid.SliceOfN(rapid.SampledFrom(parts), 1, 4).Draw(t, "parts") {
			if part != "*" || text == "" || text[len(text)-1] != '*' {
				text += part
			}
		}
		return text
	})
}

// Names returns a generator of names from the runes that Globs uses.
func Names() *rapid.Generator[string] {
	return rapid.StringOfN(rapid.SampledFrom([]rune("ab.é*\\]cz")), 1, 4, -1)
}
