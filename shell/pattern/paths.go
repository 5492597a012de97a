package pattern

import (
	"fmt"
	"path"
	"strings"

	"sandboxd/shell/analysis"
)

// Path is a pattern over files: an absolute path, one below the home directory ("~/.ssh"), or a
// name at any depth (".env*", ".git/hooks"). It covers the files that it names and everything
// below them.
type Path struct {
	elems    []string
	absolute bool
	text     string
	home     bool
}

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
	p.elems = strings.Split(rest, "/")
	for _, e := range p.elems {
		if _, err := path.Match(e, ""); err != nil {
			return Path{}, fmt.Errorf("path pattern %q: %w", text, err)
		}
	}
	return p, nil
}

// String returns the pattern as written.
func (p Path) String() string { return p.text }

// elements returns the elements of the pattern with the home directory inserted. It returns
// false if home is needed and empty.
func (p Path) elements(home string) ([]string, bool) {
	if !p.home {
		return p.elems, true
	}
	if home == "" {
		return nil, false
	}
	return append(split(home), p.elems...), true
}

func split(abs string) []string {
	abs = strings.Trim(abs, "/")
	if abs == "" {
		return nil
	}
	return strings.Split(abs, "/")
}

// Covers reports whether the pattern names the absolute clean path abs or one of its parents.
func (p Path) Covers(abs, home string) bool {
	return p.covers(split(abs), home, func(pattern, name string) bool {
		ok, err := path.Match(pattern, name)
		return err == nil && ok
	})
}

// MayCover is Covers for a path with globs: it reports whether a matching file could be
// covered.
func (p Path) MayCover(abs, home string) bool {
	return p.covers(split(abs), home, mayMatch)
}

func (p Path) covers(elems []string, home string, match func(pattern, name string) bool) bool {
	want, ok := p.elements(home)
	if !ok || len(elems) < len(want) {
		return false
	}
	last := len(elems) - len(want)
	if p.absolute {
		last = 0
	}
next:
	for start := 0; start <= last; start++ {
		for i, w := range want {
			if !match(w, elems[start+i]) {
				continue next
			}
		}
		return true
	}
	return false
}

// mayMatch reports whether two patterns of one path element can match the same name. Bracket
// expressions count as any character.
func mayMatch(a, b string) bool {
	if strings.HasPrefix(b, "*") || strings.HasPrefix(b, "?") || strings.HasPrefix(b, "[") {
		// A glob matches a leading dot only if it spells out the dot.
		if strings.HasPrefix(a, ".") {
			return false
		}
	}
	return overlap(tokens(a), tokens(b))
}

type token struct {
	c    byte
	any  bool // one character
	many bool
}

func tokens(s string) []token {
	var out []token
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '*':
			out = append(out, token{many: true})
		case '?':
			out = append(out, token{any: true})
		case '[':
			end, _ := analysis.BracketEnd(s, i)
			if end < 0 {
				out = append(out, token{c: '['})
				continue
			}
			out = append(out, token{any: true})
			i = end - 1
		case '\\':
			if i+1 < len(s) {
				i++
			}
			out = append(out, token{c: s[i]})
		default:
			out = append(out, token{c: s[i]})
		}
	}
	return out
}

func overlap(a, b []token) bool {
	// row[j]: the tokens of a so far and b[:j] have a text in common.
	row := make([]bool, len(b)+1)
	row[0] = true
	for j := range b {
		row[j+1] = row[j] && b[j].many
	}
	for _, x := range a {
		next := make([]bool, len(b)+1)
		next[0] = row[0] && x.many
		for j, y := range b {
			switch {
			case x.many:
				next[j+1] = row[j+1] || next[j] || row[j]
			case y.many:
				next[j+1] = next[j] || row[j+1] || row[j]
			default:
				next[j+1] = row[j] && (x.any || y.any || x.c == y.c)
			}
		}
		row = next
	}
	return row[len(b)]
}
