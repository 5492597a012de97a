package files

import (
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// Names is a set of patterns that match at any depth and cover everything below a match: the form
// of protected, hidden and read-only lists. The zero value matches nothing.
type Names struct {
	exact map[string]string // folded single names → pattern as written
	globs []namePattern     // everything else
	texts []string
}

type namePattern struct {
	text  string   // as written
	parts []string // folded; each is a path.Match pattern
}

// NewNames compiles patterns; the error names the first bad one.
func NewNames(patterns []string) (Names, error) {
	n := Names{exact: map[string]string{}}
	for _, p := range patterns {
		if err := checkName(p); err != nil {
			return Names{}, fmt.Errorf("pattern %q: %w", p, err)
		}
		n.texts = append(n.texts, p)
		bare := fold(strings.TrimSuffix(strings.TrimPrefix(p, "**/"), "/**"))
		if !strings.ContainsAny(bare, `/*?[\`) {
			if _, ok := n.exact[bare]; !ok {
				n.exact[bare] = p
			}
			continue
		}
		n.globs = append(n.globs, namePattern{text: p, parts: strings.Split(bare, "/")})
	}
	return n, nil
}

// Match reports whether a relative, clean path, or a folder on the way to it,
// matches, and by which pattern.
func (n Names) Match(rel string) (pattern string, ok bool) { return n.matchBelow(rel, 0) }

// matchBelow is Match for matches that end below the first folders of the path.
func (n Names) matchBelow(rel string, folders int) (pattern string, ok bool) {
	if len(n.texts) == 0 || rel == "" || rel == "." {
		return "", false
	}
	parts := strings.Split(fold(rel), "/")
	for i, part := range parts {
		if p, ok := n.exact[part]; ok && i >= folders {
			return p, true
		}
		for _, g := range n.globs {
			if i+len(g.parts) > folders && g.matchesAt(parts[i:]) {
				return g.text, true
			}
		}
	}
	return "", false
}

// SameName reports whether two patterns are one, as file systems that ignore
// case would have it.
func SameName(a, b string) bool { return fold(a) == fold(b) }

func (g namePattern) matchesAt(parts []string) bool {
	if len(parts) < len(g.parts) {
		return false
	}
	for i, p := range g.parts {
		if ok, err := path.Match(p, parts[i]); !ok || err != nil {
			return false
		}
	}
	return true
}

// checkName refuses patterns that Names, or the profile's name rules in the kernel, cannot express.
func checkName(p string) error {
	if err := checkPattern(p); err != nil {
		return err
	}
	bare := strings.TrimSuffix(strings.TrimPrefix(p, "**/"), "/**")
	switch {
	case strings.Contains(bare, "**"):
		return errors.New("\"**\" inside has no meaning here: the pattern holds at any depth already, and for all below a match")
	case strings.ContainsAny(bare, "{}"):
		return errors.New("braces have no meaning here; write two patterns")
	}
	for part := range strings.SplitSeq(bare, "/") {
		if _, err := path.Match(part, ""); err != nil {
			return errors.New("not a valid glob")
		}
	}
	return nil
}

// checkPattern refuses invalid patterns.
func checkPattern(p string) error {
	switch {
	case p == "":
		return errors.New("empty pattern")
	case strings.ContainsRune(p, 0):
		return errors.New("holds a NUL byte")
	case strings.HasPrefix(p, "/"), strings.HasPrefix(p, "~"):
		return errors.New("patterns are relative to a sandbox's root; for absolute paths use sandbox.hidden or files.paths")
	case p == ".." || strings.HasPrefix(p, "../") || strings.Contains(p, "/../") || strings.HasSuffix(p, "/.."):
		return errors.New("patterns cannot leave the sandbox's root")
	case path.Clean(p) != p:
		return fmt.Errorf("not in its shortest form, which is %q", path.Clean(p))
	case !doublestar.ValidatePattern(p):
		return errors.New("not a valid glob")
	}
	return nil
}

// globs are patterns of the form of the safe list.
type globs []string

// match reports whether a path relative to its root matches: by its base name
// where the pattern has no slash, as a whole where it has.
func (g globs) match(rel string) (pattern string, ok bool) {
	for _, p := range g {
		subject := rel
		if !strings.Contains(p, "/") {
			subject = path.Base(rel)
		}
		if doublestar.MatchUnvalidated(p, subject) {
			return p, true
		}
	}
	return "", false
}
