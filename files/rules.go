package files

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"sandboxd/pattern"
	"sandboxd/profile"
)

// Root is one named sandbox with its folder.
type Root struct {
	Name string
	// Path is the folder: absolute and free of symbolic links.
	Path string
	// Writable: mode is rw.
	Writable bool
	// Suffixes are the only endings that may be touched; empty is every name.
	Suffixes []string
	// WriteApproval and ReadApproval are those of Sandbox.
	WriteApproval, ReadApproval *bool
}

// Rules judge requests. They are a value: compiled once from the section
// [files], safe for concurrent use, and they open nothing.
type Rules struct {
	project   string
	roots     []Root // longest path first
	autoSafe  bool
	safe      []pattern.Path
	protected Names
	watched   Names
	hidden    Names
	readOnly  Names
	maxFile   int64
	keepBytes int64
}

// MaxFile is the largest file that is read whole or changed.
func (r *Rules) MaxFile() int64 { return r.maxFile }

// KeepBytes is how much old content the undo store keeps in all; 0 is no bound.
func (r *Rules) KeepBytes() int64 { return r.keepBytes }

// TempPrefix begins the names of files that are being written.
const TempPrefix = ".sandboxd-"

// Place is where a session works.
type Place struct {
	// Project is the folder that relative paths start from; real and absolute.
	Project string
	// Roots are the folders of Config.Paths by name, real and absolute.
	Roots map[string]string
	// Hidden and ReadOnly are names in addition to Config's, in the same form.
	Hidden, ReadOnly []string
}

// NewRules compiles the section for a session.
func NewRules(c Config, at Place) (*Rules, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	if !filepath.IsAbs(at.Project) {
		return nil, fmt.Errorf("file rules: project %q is not an absolute path", at.Project)
	}
	r := &Rules{
		project: path.Clean(at.Project), autoSafe: c.AutoSafe,
		maxFile: cmp.Or(c.MaxFile, defaultMaxFile), keepBytes: c.Undo.KeepBytes,
	}
	for _, text := range c.Safe {
		p, err := pattern.ParsePath(text)
		if err != nil {
			return nil, fmt.Errorf("file rules: %w", err)
		}
		r.safe = append(r.safe, p)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Paths)) {
		s := c.Paths[name]
		at, ok := at.Roots[name]
		if !ok || !filepath.IsAbs(at) {
			return nil, fmt.Errorf("file rules: sandbox %q has no folder", name)
		}
		r.roots = append(r.roots, Root{
			Name: name, Path: path.Clean(at), Writable: s.Mode == "rw",
			Suffixes: s.Suffixes, WriteApproval: s.WriteApproval, ReadApproval: s.ReadApproval,
		})
	}
	slices.SortStableFunc(r.roots, func(a, b Root) int { return len(b.Path) - len(a.Path) })
	lift := func(list []string) []string {
		return slices.DeleteFunc(slices.Clone(list), func(p string) bool {
			return slices.ContainsFunc(c.Unprotected, func(u string) bool { return SameName(u, p) })
		})
	}
	for _, list := range []struct {
		into     *Names
		patterns []string
	}{
		{&r.protected, slices.Concat(alwaysProtected, lift(c.Protected))},
		{&r.watched, lift(profile.ProtectedNames(profile.Watched))},
		{&r.hidden, slices.Concat(c.Hidden, at.Hidden)}, {&r.readOnly, slices.Concat(c.ReadOnly, at.ReadOnly)},
	} {
		names, err := NewNames(list.patterns)
		if err != nil {
			return nil, fmt.Errorf("file rules: %w", err)
		}
		*list.into = names
	}
	return r, nil
}

// Roots are the sandboxes, the longest path first.
func (r *Rules) Roots() []Root { return slices.Clone(r.roots) }

// Locate finds the sandbox of an absolute, clean path: the one with the most
// specific root. rel is the path below it.
func (r *Rules) Locate(abs string) (root Root, rel string, ok bool) {
	for _, root := range r.roots {
		if below(root.Path, abs) {
			rel := strings.TrimPrefix(strings.TrimPrefix(abs, root.Path), "/")
			return root, cmp.Or(rel, "."), true
		}
	}
	return Root{}, "", false
}

// Absolute checks a path as it was asked for and makes it absolute and clean.
// dir reports that it can only mean a folder.
func (r *Rules) Absolute(asked string) (abs string, dir bool, err error) {
	clean, dir, c := cleanPath(asked)
	if c != nil {
		return "", false, c
	}
	if !path.IsAbs(clean) {
		clean = path.Join(r.project, clean)
	}
	return clean, dir, nil
}

// matches looks for a name in the part of a path below its sandbox's root: naming a root inside
// ".git" permits it. The name may begin in a sandbox around it, so that "config/keys" holds in a
// sandbox of the root "config", too.
func (r *Rules) matches(n Names, abs string) (string, bool) {
	inner, _, _ := r.Locate(abs)
	for _, root := range r.roots {
		if !below(root.Path, abs) {
			continue
		}
		folders := strings.Count(inner.Path, "/") - strings.Count(root.Path, "/")
		if pattern, ok := n.matchBelow(strings.TrimPrefix(strings.TrimPrefix(abs, root.Path), "/"), folders); ok {
			return pattern, true
		}
	}
	return "", false
}

// hasSuffix reports whether a sandbox permits a file name.
func (r Root) hasSuffix(name string) bool {
	if len(r.Suffixes) == 0 {
		return true
	}
	return slices.ContainsFunc(r.Suffixes, func(s string) bool {
		return strings.HasSuffix(name, s) && len(name) > len(s)-boolInt(strings.HasPrefix(s, "."))
	})
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// Sensitive reports whether an absolute, real path is hidden, protected or read-only, or another
// sandbox: an operation on a folder must not include one unseen.
func (r *Rules) Sensitive(abs string) bool {
	if r.IsRoot(abs) {
		return true
	}
	for _, n := range []Names{r.protected, r.hidden, r.readOnly} {
		if _, ok := r.matches(n, abs); ok {
			return true
		}
	}
	return false
}

// Hidden reports whether an absolute, real path is hidden.
func (r *Rules) Hidden(abs string) bool {
	_, ok := r.matches(r.hidden, abs)
	return ok
}

// Suffix reports whether the sandbox of a file permits the ending of its name.
func (r *Rules) Suffix(abs string) bool {
	root, _, ok := r.Locate(abs)
	return ok && root.hasSuffix(path.Base(abs))
}

// IsRoot reports whether an absolute, real path is the folder of a sandbox.
func (r *Rules) IsRoot(abs string) bool {
	root, _, ok := r.Locate(abs)
	return ok && root.Path == abs
}
