package shell

import (
	"path"
	"slices"
	"strings"

	"sandboxd/pattern"
	"sandboxd/profile/abspath"
	"sandboxd/shell/analysis"
	"sandboxd/shell/carried"
	"sandboxd/shell/safelist"
)

// covers reports whether the words of a rule or permission that match the start of a call also
// cover the rest of it. They do if no further word names code, a program or a file, and the
// call runs in the project's root, for which the rule is written, or in one of the rule's
// sandboxes. cwdGiven is true if another condition matches the directory; then any directory is
// covered.
func (j *judging) covers(c *analysis.Call, words pattern.Words, by string, sandboxes []string, cwdGiven bool) bool {
	state := j.calls[c]
	if state.use != nil {
		return true // it only reads, in any directory
	}
	argv, _ := c.Argv()
	kinds := beyond(words, argv)
	if len(sandboxes) > 0 {
		kinds &^= carried.File // inSandboxes has checked every path
	}
	for _, w := range carried.Find(argv, kinds, words.Spelled) {
		if w.IfFile == "" || j.isFile(c, w.IfFile) {
			state.uncoveredWhy = orElse(state.uncoveredWhy, by+" allows it, but "+oneLine(w.Why()))
			return false
		}
	}
	if script := sedScript(argv, words.Spelled); script != "" {
		state.uncoveredWhy = orElse(state.uncoveredWhy, by+" allows it, but the script "+oneLine(script)+
			" may do more than edit its input")
		return false
	}
	if cwdGiven || carried.Placeless(argv) || j.inRoot(c, argv, sandboxes) {
		return true
	}
	where := "a directory that is not known"
	if !c.Dirs.Unknown && len(c.Dirs.Paths) > 0 {
		where = j.cmd.show(c.Dirs.Paths[0])
	}
	state.uncoveredWhy = orElse(state.uncoveredWhy, by+" is for the project's root, and this runs in "+where)
	return false
}

// beyond returns the kinds of words that a pattern does not permit unless it spells them out. Where it permits curl
// alone, which names no host, it permits one URL as well as several.
func beyond(words pattern.Words, argv []string) carried.Kind {
	if len(argv) > 0 && carried.Base(argv[0]) == "curl" && words.Bare() {
		return carried.All &^ carried.Host
	}
	return carried.All
}

// sedScript returns a script among the words of sed that the pattern does not spell, and that may run a program or
// write a file; "" for none, and for other commands.
func sedScript(argv []string, spelled func(at int) bool) string {
	for at, script := range sedScripts(argv) {
		if !spelled(at) && !safelist.SedPrints(script) {
			return script
		}
	}
	return ""
}

// sedScripts returns the scripts among the words of sed, by the index of their word; nil for other commands.
func sedScripts(argv []string) map[int]string {
	if len(argv) == 0 || carried.Base(argv[0]) != "sed" {
		return nil
	}
	scripts, operand := map[int]string{}, 0
	for at := 1; at < len(argv); at++ {
		w := argv[at]
		switch {
		case !strings.HasPrefix(w, "-") || w == "-":
			if operand == 0 {
				operand = at
			}
		case strings.HasPrefix(w, "--e"):
			if _, value, joined := strings.Cut(w, "="); joined {
				scripts[at] = value
			} else if at++; at < len(argv) {
				scripts[at] = argv[at]
			}
		case w[1] != '-' && strings.Contains(w, "e") && !strings.ContainsAny(w[:strings.Index(w, "e")], "fil"):
			if value := w[strings.Index(w, "e")+1:]; value != "" {
				scripts[at] = value
			} else if at++; at < len(argv) {
				scripts[at] = argv[at]
			}
		case w == "-f" || w == "-l" || w == "--file" || w == "--line-length":
			at++
		}
	}
	if len(scripts) == 0 && operand > 0 {
		scripts[operand] = argv[operand]
	}
	return scripts
}

// inRoot reports whether a call runs in the project's root or in one of the sandboxes. For git,
// any directory of the root's repository is in the root.
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
		case argv[0] == "git" && abspath.Contains(root, dir) && j.sameRepository(dir, root):
		default:
			return false
		}
	}
	return true
}

// sameRepository reports whether git uses the same repository in two directories.
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

// isFile reports whether name is, or may be, a regular file in a directory of the call.
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
