package profile

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"sandboxd/pattern"
	"sandboxd/profile/abspath"
)

// parseName splits a name into patterns, each in its plainest spelling.
func parseName(name string) ([]pattern.Element, error) {
	var out []pattern.Element
	for _, text := range strings.Split(name, "/") {
		switch text {
		case "", ".", "..":
			return nil, fmt.Errorf("name %q is not a clean relative path", name)
		}
		if strings.ContainsRune(text, 0) {
			return nil, fmt.Errorf("name %q holds a NUL", name)
		}
		if strings.Contains(text, "**") {
			return nil, fmt.Errorf("name %q: ** is not needed, a name matches at any depth", name)
		}
		p, err := pattern.ParseElement(text)
		if err != nil {
			return nil, fmt.Errorf("name %q: %w", name, err)
		}
		if _, literal := p.Literal(); !literal && utf8.RuneCountInString(text) > pattern.MaxMachine {
			return nil, fmt.Errorf("name %q: a pattern is longer than %d characters", name, pattern.MaxMachine)
		}
		out = append(out, p)
	}
	return out, nil
}

// named is a rule by name, ready to match.
type named struct {
	rule     Rule
	patterns []pattern.Element
}

func newNamed(r Rule) (named, error) {
	patterns, err := parseName(r.Name)
	if err != nil {
		return named{}, err
	}
	texts := make([]string, len(patterns))
	for i, p := range patterns {
		texts[i] = p.String()
	}
	r.Name = strings.Join(texts, "/")
	return named{r, patterns}, nil
}

// covers reports whether n makes m superfluous: wherever m begins to apply,
// n begins to apply too and is at least as strict.
func (n named) covers(m named) bool {
	if n.rule.Kind < m.rule.Kind || !abspath.Contains(n.rule.Path, m.rule.Path) || len(n.patterns) > len(m.patterns) {
		return false
	}
	tail := m.patterns[len(m.patterns)-len(n.patterns):]
	for i, p := range n.patterns {
		if !p.Covers(tail[i]) {
			return false
		}
	}
	return true
}

// anchors reports whether n begins to apply exactly at the path p.
func (n named) anchors(p string) bool {
	if p == n.rule.Path || !abspath.Contains(n.rule.Path, p) {
		return false
	}
	below := abspath.Elements(p)[len(abspath.Elements(n.rule.Path)):]
	if len(below) < len(n.patterns) {
		return false
	}
	for i, element := range below[len(below)-len(n.patterns):] {
		if !n.patterns[i].Match(element) {
			return false
		}
	}
	return true
}

// reduceNames sorts names and drops those that others cover.
func reduceNames(names []named) []named {
	names = slices.Clone(names)
	slices.SortStableFunc(names, func(a, b named) int { return compareRules(a.rule, b.rule) })
	names = slices.CompactFunc(names, func(a, b named) bool { return compareRules(a.rule, b.rule) == 0 })
	// A pattern that covers another ends in the same literal, or in a pattern.
	last := func(n named) string {
		literal, _ := n.patterns[len(n.patterns)-1].Literal()
		return literal // "" if it has none: no element is empty
	}
	by := map[string][]int{}
	for i, n := range names {
		by[last(n)] = append(by[last(n)], i)
	}
	var kept []named
	for i, n := range names {
		covered := func(j int) bool { return j != i && names[j].covers(n) }
		if !slices.ContainsFunc(by[last(n)], covered) && !slices.ContainsFunc(by[""], covered) {
			kept = append(kept, n)
		}
	}
	return kept
}

// compareRules is the canonical order; Origin does not count.
func compareRules(a, b Rule) int {
	if c := comparePaths(a.Path, b.Path); c != 0 {
		return c
	}
	if c := strings.Compare(a.Name, b.Name); c != 0 {
		return c
	}
	if a.Kind != b.Kind {
		return int(a.Kind) - int(b.Kind)
	}
	return int(a.Access) - int(b.Access)
}
