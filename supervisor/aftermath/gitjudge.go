package aftermath

import (
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"sandboxd/git"
	"sandboxd/profile/abspath"
)

// config judges a configuration of git: that of the repository at repo, or, where repo is "", a file that one
// includes. The age of a file does not count in a repository that is new: a run may complete what an earlier one
// has prepared.
func (c *check) config(at, repo string, was entry, had bool, e entry) {
	c.dealt = append(c.dealt, at)
	root := c.rootOf(at)
	born := repo != "" && !c.was.repos[repo]
	if (born || repo == "" && !had) && c.copied(at, e) && portable(e.content, root) {
		return
	}
	if !e.regular() || e.content == nil {
		c.replace(at, e, was, had && !born, "it is no configuration that can be read")
		return
	}
	if !born && (!had || was.content != nil) {
		if why := configWhy(was.content, e.content, repo, root); why != "" {
			c.replace(at, e, was, had, why)
		}
		return
	}
	clean, taken, err := cleanConfig(e.content, repo, root)
	switch {
	case err != nil:
		c.replace(at, e, was, false, "it can't be understood: "+err.Error())
	case len(taken) > 0:
		if c.replace(at, e, was, false, "it may name programs: "+some(taken)) {
			c.restore(at, entry{stamp: e.stamp, anchor: e.anchor, content: clean}, "those settings are taken out")
		}
	}
}

// replace takes out the entry and restores the earlier one; it reports whether it took it out.
func (c *check) replace(at string, e, was entry, had bool, why string) bool {
	if reason := c.notOurs(at, e, had); reason == unknown {
		c.keep(at, e, "it was not looked at before the command began; "+why)
		return false
	} else if reason != "" {
		c.keep(at, e, reason+"; "+why)
		return false
	}
	if had && c.run.holds(at) {
		why = throughLink + "; " + why
	}
	if !c.take(at, e, why) {
		return false
	}
	if had {
		c.restore(at, was, isBack)
	}
	return true
}

// portable reports whether the settings of a configuration mean the same in a copy as in the original: none
// leads to a file in the tree at root.
func portable(text []byte, root string) bool {
	settings, err := git.ParseConfig(text)
	return err == nil && !slices.ContainsFunc(settings, func(s git.Setting) bool {
		if git.MayChange(s, root, root) || s.Name == "worktree" {
			return false
		}
		if s.Section == "include" || s.Section == "includeif" || s.Name == "hookspath" {
			return !path.IsAbs(s.Value) && !strings.HasPrefix(s.Value, "~/") || abspath.Contains(root, path.Clean(s.Value))
		}
		return slices.ContainsFunc(strings.Fields(s.Value), func(word string) bool {
			word = strings.Trim(word, `'"!`)
			return strings.Contains(word, "/") && (!path.IsAbs(word) || abspath.Contains(root, path.Clean(word)))
		})
	})
}

// gitLink judges a .git file, or a link in its place: one that was there leads where it led, and one that is new to a
// repository of the trees, or to one that was used before.
func (c *check) gitLink(at string, was entry, had bool, e entry) {
	u := use{path.Dir(at), c.now.leadsTo(at)}
	switch {
	case c.granted(at):
	case had && u.git != "" && c.was.uses[u]:
	case !had && c.mayUse(u):
	case had:
		c.replace(at, e, was, true, "it leads git to another repository than before")
	default:
		c.replace(at, e, was, false, "it leads git to a repository outside of the project")
	}
}

// mayUse reports whether a new use of a git directory is none of another repository outside of the trees.
func (c *check) mayUse(u use) bool {
	common := c.now.common(u)
	return u.git == "" || c.was.commons[common] || c.now.rootAbove(common) != "" && c.now.rootAbove(u.git) != ""
}

// layout judges the files commondir and gitdir of a linked work tree's git directory.
func (c *check) layout(at, repo, part string, was entry, had bool, e entry) {
	born := !c.was.repos[repo]
	switch {
	case part == "gitdir" && c.leadsBack(at, repo):
	case part == "gitdir" && !had:
	case part == "commondir" && born && c.mayUse(use{git: repo}):
	case had:
		c.replace(at, e, was, true, "it leads git elsewhere than before")
	default:
		c.replace(at, e, was, false, "it leads git elsewhere")
	}
}

// leadsBack reports whether the file gitdir of a git directory names a .git file in the trees that names it in turn.
func (c *check) leadsBack(at, repo string) bool {
	e := c.now.entries[at]
	to := strings.TrimRight(string(e.content), "\n")
	if !path.IsAbs(to) {
		to = path.Join(repo, to)
	}
	return e.regular() && c.now.rootAbove(to) != "" && c.now.uses[use{path.Dir(to), repo}]
}

// newlyUsed reports whether the run made a repository from before the run use the file at a path. The uses of a new
// repository are removed from its configuration instead.
func (c *check) newlyUsed(at string) bool {
	return slices.ContainsFunc(c.now.named[at].by, func(u use) bool {
		return !c.was.uses[u] && c.was.commons[c.now.common(u)]
	})
}

// replaced puts back a .git file that the run replaced by a directory, which goes to the trash.
func (c *check) replaced(at string, was entry) bool {
	if !gitLink(at, was) {
		return false
	}
	defer unlock(c.rootOf(at), path.Dir(at))()
	if !c.now.folder(at) {
		return false
	}
	if !c.done(at) {
		var st unix.Stat_t
		_ = unix.Lstat(at, &st) // ahead, it is not there yet
		c.replace(at, entry{stamp: stampOf(&st), anchor: at}, was, true,
			"it replaces a file that leads git to another repository")
	}
	return true
}

// touched reports whether the repository at dir, or a directory above it, changed during the run.
func (c *check) touched(dir string) bool {
	names := []string{dir}
	for _, part := range []string{"HEAD", "objects", "refs", "commondir"} {
		names = append(names, path.Join(dir, part))
	}
	for up := path.Dir(dir); c.now.rootAbove(up) != ""; up = path.Dir(up) {
		names = append(names, up)
	}
	return slices.ContainsFunc(names, func(name string) bool {
		info, err := c.now.host().Lstat(name)
		return err == nil && !info.ModTime().Before(c.run.Start.Add(-clock))
	})
}
