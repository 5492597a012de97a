package pattern

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// Path is a pattern over files: an absolute path, one below the home directory ("~/.ssh"), or a
// relative one (".env*", ".git/hooks", "docs/**").
type Path struct {
	parts    []part
	absolute bool
	home     bool
	text     string
}

// part is an Element, or ** if deep.
type part struct {
	Element
	deep bool
}

var deep = part{deep: true}

// ParsePath parses a path pattern. It returns an error if text is not a clean path.
func ParsePath(text string) (Path, error) {
	p := Path{text: text}
	rest := text
	switch {
	case strings.HasPrefix(text, "~/"):
		p.home, p.absolute, rest = true, true, text[2:]
	case strings.HasPrefix(text, "/"):
		p.absolute, rest = true, text[1:]
	}
	if rest == "" || path.Clean("/"+rest) != "/"+rest {
		return Path{}, fmt.Errorf("path pattern %q: it is not a clean path", text)
	}
	for e := range strings.SplitSeq(rest, "/") {
		if e == "**" {
			p.parts = append(p.parts, deep)
			continue
		}
		element, err := ParseElement(e)
		if err != nil {
			return Path{}, fmt.Errorf("path pattern %q: %w", text, err)
		}
		p.parts = append(p.parts, part{Element: element})
	}
	return p, nil
}

// String returns the pattern as written.
func (p Path) String() string { return p.text }

// Matches reports whether the pattern matches the whole relative path rel, or its base name if
// the pattern has one element.
func (p Path) Matches(rel string) bool {
	if len(p.parts) == 1 && !p.parts[0].deep {
		rel = path.Base(rel)
	}
	return match(p.parts, strings.Split(rel, "/"), Element.Match)
}

// Covers reports whether the pattern names the absolute clean path abs or one of its parents.
func (p Path) Covers(abs, home string) bool {
	return p.covers(split(abs), home, Element.Match)
}

// MayCover is Covers for a path whose elements are patterns themselves: it reports whether a
// matching file could be covered.
func (p Path) MayCover(abs, home string) bool {
	return p.covers(split(abs), home, mayMatch)
}

func (p Path) covers(elems []string, home string, test func(Element, string) bool) bool {
	var want []part
	switch {
	case p.home && home == "":
		return false
	case p.home:
		for _, e := range split(home) {
			want = append(want, part{Element: Element{escape(e), e, exact}})
		}
	case !p.absolute:
		want = append(want, deep)
	}
	return match(append(slices.Concat(want, p.parts), deep), elems, test)
}

// match reports whether parts match all elements. It backtracks only to the last **, so it takes
// at most quadratic time.
func match(parts []part, elems []string, test func(Element, string) bool) bool {
	p, i, behind, mark := 0, 0, -1, 0
	for i < len(elems) {
		switch {
		case p < len(parts) && parts[p].deep:
			p++
			behind, mark = p, i
			if p == len(parts) {
				return true
			}
		case p < len(parts) && test(parts[p].Element, elems[i]):
			p, i = p+1, i+1
		case behind < 0:
			return false
		default:
			mark++
			p, i = behind, mark
		}
	}
	return !slices.ContainsFunc(parts[p:], func(p part) bool { return !p.deep })
}

func split(abs string) []string {
	abs = strings.Trim(abs, "/")
	if abs == "" {
		return nil
	}
	return strings.Split(abs, "/")
}

// mayMatch reports whether e and the glob of a shell can match the same name. A glob matches a
// leading dot only if it spells out the dot.
func mayMatch(e Element, glob string) bool {
	f, err := ParseElement(glob)
	switch {
	case err != nil:
		return true
	case f.kind == exact:
		return e.Match(f.literal)
	}
	if strings.HasPrefix(e.text, ".") && strings.IndexByte(`*?[`, glob[0]) >= 0 {
		return false
	}
	return overlap(e.Machine(), f.Machine())
}
