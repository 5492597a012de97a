package profile

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"sandboxd/profile/abspath"
)

// maxPattern bounds an element that is no literal: its positions fit in 64 bits.
const maxPattern = 60

// pattern is one element of a name.
type pattern struct {
	text    string
	literal string // if exact, the one name that matches; if prefix, how names begin that do
	exact   bool
	prefix  bool
}

func (p pattern) match(element string) bool {
	switch {
	case p.exact:
		return p.literal == element
	case p.prefix:
		return strings.HasPrefix(element, p.literal)
	}
	ok, err := path.Match(p.text, element)
	return err == nil && ok
}

// covers reports whether p surely matches everything that q matches.
func (p pattern) covers(q pattern) bool {
	return p.text == q.text || q.exact && p.match(q.literal)
}

// parseName splits a name into patterns, each in its plainest spelling.
func parseName(name string) ([]pattern, error) {
	var out []pattern
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
		if _, err := path.Match(text, "x"); err != nil {
			return nil, fmt.Errorf("name %q: %w", name, err)
		}
		p := pattern{text: text}
		if literal, ok := unescape(text); ok {
			p = pattern{text: escape(literal), literal: literal, exact: true}
		} else if utf8.RuneCountInString(text) > maxPattern {
			return nil, fmt.Errorf("name %q: a pattern is longer than %d characters", name, maxPattern)
		} else if literal, ok := unescape(strings.TrimSuffix(text, "*")); ok && !strings.HasSuffix(text, `\*`) {
			p.prefix, p.literal = true, literal
		}
		out = append(out, p)
	}
	return out, nil
}

// unescape returns the only string that text matches, if there is just one
// and it can be read off.
func unescape(text string) (string, bool) {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '*', '?', '[':
			return "", false
		case '\\':
			i++
		}
		b.WriteByte(text[i])
	}
	return b.String(), true
}

func escape(literal string) string {
	if !strings.ContainsAny(literal, `*?[\`) {
		return literal
	}
	var b strings.Builder
	for i := 0; i < len(literal); i++ {
		if strings.IndexByte(`*?[\`, literal[i]) >= 0 {
			b.WriteByte('\\')
		}
		b.WriteByte(literal[i])
	}
	return b.String()
}

// named is a rule by name, ready to match.
type named struct {
	rule     Rule
	patterns []pattern
}

func newNamed(r Rule) (named, error) {
	patterns, err := parseName(r.Name)
	if err != nil {
		return named{}, err
	}
	texts := make([]string, len(patterns))
	for i, p := range patterns {
		texts[i] = p.text
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
		if !p.covers(tail[i]) {
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
		if !n.patterns[i].match(element) {
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
		if p := n.patterns[len(n.patterns)-1]; p.exact {
			return p.literal
		}
		return "" // no element is empty
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
