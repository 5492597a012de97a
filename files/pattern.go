package files

import (
	"errors"
	"fmt"
	"path"
	"strings"

	"sandboxd/pattern"
)

// Names is a set of patterns that match at any depth and cover everything below a match: the form
// of protected, hidden and read-only lists. The zero value matches nothing.
type Names struct{ set *pattern.Set }

// NewNames compiles patterns; the error names the first bad one.
func NewNames(patterns []string) (Names, error) {
	for _, p := range patterns {
		if err := checkName(p); err != nil {
			return Names{}, fmt.Errorf("pattern %q: %w", p, err)
		}
	}
	set, err := pattern.NewFolded(fold, patterns)
	return Names{set}, err
}

// Match reports whether a relative, clean path, or a folder on the way to it,
// matches, and by which pattern.
func (n Names) Match(rel string) (pattern string, ok bool) { return n.matchBelow(rel, 0) }

// matchBelow is Match for matches that end below the first folders of the path.
func (n Names) matchBelow(rel string, folders int) (pattern string, ok bool) {
	if rel != "." {
		pattern = n.set.CoversBelow(rel, folders)
	}
	return pattern, pattern != ""
}

// SameName reports whether two patterns are one, as file systems that ignore
// case would have it.
func SameName(a, b string) bool { return fold(a) == fold(b) }

func checkName(p string) error {
	if err := checkPattern(p); err != nil {
		return err
	}
	bare := strings.TrimSuffix(strings.TrimPrefix(p, "**/"), "/**")
	if strings.Contains(bare, "**") {
		return errors.New("\"**\" inside has no meaning here: the pattern holds at any depth already, and for all below a " +
			"match")
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
	case strings.ContainsAny(p, "{}"):
		return errors.New("braces have no meaning here; write two patterns")
	case strings.Contains(p, "[!"):
		return errors.New("\"[!\" has no meaning here; write \"[^\"")
	}
	if _, err := pattern.ParsePath(p); err != nil {
		return errors.New("not a valid glob")
	}
	return nil
}
