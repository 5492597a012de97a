package worker

import (
	"errors"
	"path"
	"unicode/utf8"

	"sandboxd/files"
	"sandboxd/files/tree"
)

// spot is one resolved path of a request: its folder, and its entry. Close it.
type spot struct {
	fact files.Fact
	tree *tree.Tree
	rel  string // real, below tree
	stat tree.Stat
}

// name is the last name of the real path; "." is the tree's root itself.
func (p spot) name() string { return path.Base(p.rel) }

// parent opens the path's folder.
func (p spot) parent() (*tree.Dir, error) {
	if p.rel == "." {
		return nil, &files.Conflict{Path: p.fact.Real, Reason: files.Invalid, Found: "the root of a sandbox"}
	}
	return p.tree.Dir(path.Dir(p.rel))
}

// folder opens the folder on the way to the path that exists.
func (p spot) folder() (*tree.Dir, error) {
	for ; p.fact.Missing > 0; p.fact.Missing-- {
		p.rel = path.Dir(p.rel)
	}
	return p.parent()
}

// resolve finds out where a path leads. With an error, the fact says as much
// as is known, so that it can be judged.
func (s *server) resolve(asked string, last tree.Last) (spot, error) {
	abs, mustBeDir, err := s.rules.Absolute(asked)
	if err != nil {
		return spot{fact: files.Fact{Asked: asked, Real: asked, Kind: files.Absent}}, err
	}
	p := spot{fact: files.Fact{Asked: abs, Real: abs, Kind: files.Absent}}
	t, rel, err := s.at(abs)
	if err != nil {
		return p, err
	}
	if mustBeDir {
		last = tree.Follow // as in the kernel: a slash at the end follows
	}
	found, err := t.Resolve(rel, last)
	if err != nil {
		return p, err
	}
	p.tree, p.rel, p.stat = t, found.Rel, found.Stat
	p.fact.Real = path.Join(t.Path(), found.Rel)
	if !utf8.ValidString(p.fact.Real) {
		p.fact.Real = abs
		return p, badName(abs)
	}
	p.fact.Missing = found.Missing
	p.fact.Kind = found.Kind
	p.fact.Size, p.fact.Mode = found.Size, found.Mode
	p.fact.Device, p.fact.Inode = found.Device, found.Inode
	// A root inside this one has rules, and perhaps a mount, of its own.
	if root, inner, ok := s.rules.Locate(p.fact.Real); ok && root.Path != t.Path() {
		if nested, ok := s.trees[root.Path]; ok {
			p.tree, p.rel = nested, inner
		}
	}
	if mustBeDir && found.Kind != files.Dir && found.Kind != files.Absent {
		return p, &files.Conflict{Path: abs, Reason: files.NotAFolder, Hint: "take the slash off the end"}
	}
	return p, nil
}

// badName refuses a name that is not UTF-8: frames are JSON, which would change it.
func badName(at string) error {
	return &files.Conflict{Path: at, Reason: files.BadPath, Found: "a name that is not UTF-8",
		Hint: "rename it by a command"}
}

// missing reports a path that has to exist and does not.
func (p spot) missing() error {
	c := &files.Conflict{Path: p.fact.Asked, Reason: files.NotThere}
	if p.fact.Missing > 0 {
		c.Found = "a folder on the way that does not exist either"
	}
	return c
}

// asConflict is the conflict in an error, or one that wraps it.
func asConflict(err error, at string) *files.Conflict {
	if err == nil {
		return nil
	}
	var c *files.Conflict
	if errors.As(err, &c) {
		return c
	}
	return &files.Conflict{Path: at, Reason: files.Failed, Found: err.Error()}
}
