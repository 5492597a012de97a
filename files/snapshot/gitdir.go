package snapshot

import (
	"path"

	"sandboxd/files"
	"sandboxd/git"
)

// GitDirs finds the git directories of a change: those on disk, and those that the change has removed.
type GitDirs struct {
	known map[string]bool
	steps map[string]bool // their paths
	rules *files.Rules
}

// NewGitDirs returns those of the steps, in the sandboxes of the rules.
func NewGitDirs(rules *files.Rules, steps []files.Step) *GitDirs {
	g := &GitDirs{known: map[string]bool{}, steps: map[string]bool{}, rules: rules}
	for _, s := range steps {
		g.steps[s.Path] = true
	}
	return g
}

// Of returns the nearest git directory at or above a path.
func (g *GitDirs) Of(at string) (dir string, ok bool) { return git.Enclosing(at, g.Has) }

// Has reports whether a directory is one.
func (g *GitDirs) Has(dir string) bool {
	is, asked := g.known[dir]
	if !asked {
		_, _, is = g.rules.Locate(dir)
		is = is && git.IsDir(dir, func(name string) bool {
			_, err := git.Disk.Lstat(name)
			return err == nil || g.steps[name]
		})
		g.known[dir] = is
	}
	return is
}

// SelectWhole returns the indexes of the steps that Select returns for the paths, and of the other ones in the same git
// directories, since a part of one can contradict the rest.
func (g *GitDirs) SelectWhole(steps []files.Step, paths []string) (chosen []int) {
	units := map[string]bool{}
	selected := make([]bool, len(steps))
	for i, s := range steps {
		if selected[i] = len(Select([]files.Step{s}, paths)) > 0; selected[i] {
			if dir, ok := g.Of(s.Path); ok {
				units[dir] = true
			}
		}
	}
	for i, s := range steps {
		dir, ok := g.Of(s.Path)
		if selected[i] || ok && units[dir] {
			chosen = append(chosen, i)
		}
	}
	return chosen
}

// Reference reports whether a path is that of a file of references, and returns its git directory.
func (g *GitDirs) Reference(at string) (dir string, ok bool) {
	if dir, ok = g.Of(path.Dir(at)); !ok {
		return "", false
	}
	return dir, git.IsReference(at[len(dir)+1:])
}
