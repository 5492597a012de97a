package shell

import (
	"path"
	"slices"

	"sandboxd/shell/analysis"
	"sandboxd/shell/carried"
	"sandboxd/shell/pattern"
)

// covers says whether words of the configuration that permit a call also cover the rest of it: no further word brings
// code, a program or a file along, and it runs in the project's root, the directory that a rule is written for.
// sandboxes are those of a rule's paths, which it is written for, too. anywhere: another condition names the directory.
func (j *judging) covers(c *analysis.Call, words pattern.Words, by string, sandboxes []string, anywhere bool) bool {
	state := j.calls[c]
	if state.use != nil {
		return true // it only reads, wherever it runs
	}
	argv, _ := c.Argv()
	kinds := carried.All
	if len(sandboxes) > 0 {
		kinds &^= carried.File // every path has been found to lie in them
	}
	for _, w := range carried.Find(argv, kinds, words.Spelled) {
		if w.IfFile == "" || j.isFile(c, w.IfFile) {
			state.uncovered = orElse(state.uncovered, by+" allows it, but "+oneLine(w.Why()))
			return false
		}
	}
	if anywhere || carried.Placeless(argv) || j.inRoot(c, argv, sandboxes) {
		return true
	}
	where := "a directory that is not known"
	if !c.Dirs.Unknown && len(c.Dirs.Paths) > 0 {
		where = j.cmd.show(c.Dirs.Paths[0])
	}
	state.uncovered = orElse(state.uncovered, by+" is for the project's root, and this runs in "+where)
	return false
}

// inRoot says whether a call runs in the project's root, or in one of the sandboxes; git, in the root's repository.
func (j *judging) inRoot(c *analysis.Call, argv []string, sandboxes []string) bool {
	root := path.Clean(j.cmd.project())
	if c.Dirs.Unknown || len(c.Dirs.Paths) == 0 {
		return false
	}
	for _, dir := range c.Dirs.Paths {
		dir = path.Clean(dir)
		switch {
		case dir == root:
		case len(sandboxes) > 0 && j.inSandbox(dir, sandboxes):
		case argv[0] == "git" && within(dir, root) && j.sameRepository(dir, root):
		default:
			return false
		}
	}
	return true
}

// sameRepository says whether git uses the same repository in two directories.
func (j *judging) sameRepository(a, b string) bool {
	one, ok := j.facts.Git[a]
	two, also := j.facts.Git[b]
	if !ok {
		j.need(FactGit, a)
	}
	if !also {
		j.need(FactGit, b)
	}
	return ok && also && one.Err == "" && two.Err == "" && one.Repository == two.Repository && one.Dir == two.Dir &&
		one.Worktree == two.Worktree
}

// isFile says whether a name means a regular file where a call runs, or might.
func (j *judging) isFile(c *analysis.Call, name string) bool {
	if len(name) > 4096 {
		return true
	}
	paths, ok := c.Dirs.Resolve(name)
	return !ok || slices.ContainsFunc(paths, func(abs string) bool {
		fact, ok := j.facts.Paths[abs]
		if !ok {
			j.need(FactPath, abs)
			return false
		}
		return fact.Err != "" || fact.Exists && !fact.Dir && !fact.Special
	})
}
