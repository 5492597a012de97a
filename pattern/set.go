package pattern

import "strings"

// Set is a list of path patterns, indexed to find the one that covers a path. A nil Set covers
// nothing.
type Set struct {
	all       []Path
	literal   map[string]string // absolute, no wildcards: path → pattern
	home      map[string]string // below the home directory, no wildcards
	globs     []Path            // absolute or below home, with wildcards
	names     map[string][]Path // at any depth, by their literal first element
	nameGlobs []Path            // at any depth, the first element has wildcards
	fold      func(string) string
}

// NewSet parses path patterns. It returns an error if one is invalid.
func NewSet(lists ...[]string) (*Set, error) { return NewFolded(nil, lists...) }

// NewFolded returns a set in which the names are equal that fold maps to the same text. A nil
// fold maps each name to itself.
func NewFolded(fold func(string) string, lists ...[]string) (*Set, error) {
	s := &Set{literal: map[string]string{}, home: map[string]string{}, names: map[string][]Path{}, fold: fold}
	for _, list := range lists {
		for _, text := range list {
			p, err := ParsePath(s.folded(text))
			if err != nil {
				return nil, err
			}
			p.text = text
			s.add(p)
		}
	}
	return s, nil
}

func (s *Set) folded(text string) string {
	if s.fold == nil {
		return text
	}
	return s.fold(text)
}

func (s *Set) add(p Path) {
	if !p.absolute {
		// A set covers at any depth, and everything below.
		for len(p.parts) > 1 && p.parts[0].deep {
			p.parts = p.parts[1:]
		}
		for len(p.parts) > 1 && p.parts[len(p.parts)-1].deep {
			p.parts = p.parts[:len(p.parts)-1]
		}
	}
	s.all = append(s.all, p)
	path, literal := p.literal()
	switch {
	case p.home && literal:
		s.home[path] = p.text
	case p.absolute && literal:
		s.literal["/"+path] = p.text
	case p.absolute:
		s.globs = append(s.globs, p)
	default:
		if first, ok := p.parts[0].Literal(); ok {
			s.names[first] = append(s.names[first], p)
		} else {
			s.nameGlobs = append(s.nameGlobs, p)
		}
	}
}

// literal returns the only path that p names, without its start. It returns false if p has
// wildcards.
func (p Path) literal() (string, bool) {
	elems := make([]string, len(p.parts))
	for i, part := range p.parts {
		text, ok := part.Literal()
		if !ok {
			return "", false
		}
		elems[i] = text
	}
	return strings.Join(elems, "/"), true
}

// Covers returns the first pattern found that names the absolute clean path abs or one of its
// parents, or "".
func (s *Set) Covers(abs, home string) string {
	if s == nil {
		return ""
	}
	abs = s.folded(abs)
	if text := prefixes(s.literal, abs); text != "" {
		return text
	}
	if home != "" && strings.HasPrefix(abs, home+"/") {
		if text := prefixes(s.home, abs[len(home)+1:]); text != "" {
			return text
		}
	}
	for i := range s.globs {
		p := &s.globs[i]
		if first, ok := p.parts[0].Literal(); ok && !p.home && !strings.HasPrefix(abs, "/"+first) {
			continue
		}
		if p.Covers(abs, home) {
			return p.text
		}
	}
	return s.named(abs, 0)
}

// CoversBelow is Covers for a match that ends below the first elements of abs, and for patterns
// that are relative and have no ** in their middle.
func (s *Set) CoversBelow(abs string, elements int) string {
	if s == nil {
		return ""
	}
	return s.named(s.folded(abs), elements)
}

func (s *Set) named(abs string, elements int) string {
	rest := strings.TrimPrefix(abs, "/")
	for at := 0; rest != ""; at++ {
		elem, next, _ := strings.Cut(rest, "/")
		for _, list := range [][]Path{s.names[elem], s.nameGlobs} {
			for i := range list {
				if p := &list[i]; at+len(p.parts) > elements && p.begins(rest) {
					return p.text
				}
			}
		}
		rest = next
	}
	return ""
}

// MayCover is Covers for a path whose elements are patterns: it returns a pattern that covers a
// file which may match, or "".
func (s *Set) MayCover(abs, home string) string {
	for _, p := range s.all {
		if p.MayCover(abs, home) {
			return p.text
		}
	}
	return ""
}

// prefixes returns the value of the shortest leading part of p that is in m, or "".
func prefixes(m map[string]string, p string) string {
	for i := 1; i <= len(p); i++ {
		if i == len(p) || p[i] == '/' {
			if text, ok := m[p[:i]]; ok {
				return text
			}
		}
	}
	return ""
}

// begins reports whether the pattern matches the first elements of rest.
func (p *Path) begins(rest string) bool {
	for i, want := range p.parts {
		if want.deep {
			return match(append(p.parts[i:len(p.parts):len(p.parts)], deep), split(rest), Element.Match)
		}
		elem, next, more := strings.Cut(rest, "/")
		if !want.Match(elem) || !more && i < len(p.parts)-1 {
			return false
		}
		rest = next
	}
	return true
}
