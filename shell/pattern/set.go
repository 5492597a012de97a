package pattern

import (
	"path"
	"strings"
)

// Set is a list of path patterns, indexed to find the one that covers a path.
type Set struct {
	all       []Path
	literal   map[string]string // absolute, no globs: path → pattern
	home      map[string]string // below the home directory, no globs
	globs     []Path            // absolute or below home, with globs
	names     map[string][]Path // at any depth, by their literal first element
	nameGlobs []Path            // at any depth, the first element has globs
}

// NewSet parses path patterns. It returns an error if one is invalid.
func NewSet(lists ...[]string) (*Set, error) {
	s := &Set{literal: map[string]string{}, home: map[string]string{}, names: map[string][]Path{}}
	for _, list := range lists {
		for _, text := range list {
			p, err := ParsePath(text)
			if err != nil {
				return nil, err
			}
			s.add(p)
		}
	}
	return s, nil
}

func (s *Set) add(p Path) {
	s.all = append(s.all, p)
	globs := strings.ContainsAny(p.text, `*?[\`)
	switch {
	case p.absolute && globs:
		s.globs = append(s.globs, p)
	case p.home:
		s.home[strings.Join(p.elems, "/")] = p.text
	case p.absolute:
		s.literal[p.text] = p.text
	case strings.ContainsAny(p.elems[0], `*?[\`):
		s.nameGlobs = append(s.nameGlobs, p)
	default:
		s.names[p.elems[0]] = append(s.names[p.elems[0]], p)
	}
}

// Covers returns the first pattern found that names the absolute clean path abs or one of its
// parents, or "".
func (s *Set) Covers(abs, home string) string {
	if text := prefixes(s.literal, abs); text != "" {
		return text
	}
	if home != "" && strings.HasPrefix(abs, home+"/") {
		if text := prefixes(s.home, abs[len(home)+1:]); text != "" {
			return text
		}
	}
	for _, p := range s.globs {
		if (p.home || strings.HasPrefix(abs, "/"+p.elems[0])) && p.Covers(abs, home) {
			return p.text
		}
	}
	for rest := strings.TrimPrefix(abs, "/"); rest != ""; {
		elem, next, _ := strings.Cut(rest, "/")
		for _, p := range s.names[elem] {
			if p.begins(rest) {
				return p.text
			}
		}
		for i := range s.nameGlobs {
			if p := &s.nameGlobs[i]; likely(p.elems[0], elem) && p.begins(rest) {
				return p.text
			}
		}
		rest = next
	}
	return ""
}

// MayCover is Covers for a path with globs: it returns a pattern that covers a file which may
// match, or "".
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

// likely excludes most names by their first or last byte.
func likely(pattern, name string) bool {
	if c := pattern[0]; c != '*' && c != '?' && c != '[' && c != '\\' {
		return name != "" && name[0] == c
	}
	if c := pattern[len(pattern)-1]; pattern[0] == '*' && c != '*' && c != '?' && c != ']' {
		return name != "" && name[len(name)-1] == c
	}
	return true
}

// begins reports whether the first elements of rest match.
func (p *Path) begins(rest string) bool {
	for i, want := range p.elems {
		elem, next, more := strings.Cut(rest, "/")
		if ok, err := path.Match(want, elem); err != nil || !ok {
			return false
		}
		if !more && i < len(p.elems)-1 {
			return false
		}
		rest = next
	}
	return true
}
