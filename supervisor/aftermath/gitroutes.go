package aftermath

import (
	"maps"
	"path"
	"slices"

	"sandboxd/git"
)

// redirected judges where git would fetch from and push to: of each remote and branch from before, as before. A change
// is judged by its effect, as many settings have it, and most of what writes them is ordinary work.
func (c *check) redirected() {
	for _, u := range slices.SortedFunc(maps.Keys(c.now.routes), use.compare) {
		was, had := c.was.routes[u]
		common := c.now.common(u)
		config := path.Join(common, "config")
		if !had || c.now.rootAbove(config) == "" || c.run.Asked && c.granted(config) {
			continue
		}
		repo := git.Repository{Dir: u.git, Common: common}
		list := was.Redirected(c.now.routes[u], func(branch string) bool {
			return git.HasBranch(c.was.host(), repo, branch)
		})
		if len(list) == 0 {
			continue
		}
		why := "it leads git to another address than before: " + some(list)
		if !c.ahead {
			c.putConfigBack(u, why)
		} else if !slices.ContainsFunc(c.items, func(i Item) bool { return i.Path == config && i.Why == why }) {
			c.items = append(c.items, c.item(config, c.now.entries[config], why, "", false))
		}
	}
}

// putConfigBack puts back each configuration of a repository that the run changed.
func (c *check) putConfigBack(u use, why string) {
	common := c.now.common(u)
	files := []string{path.Join(common, "config"), path.Join(common, "config.worktree"),
		path.Join(u.git, "config.worktree")}
	for at, n := range c.now.named {
		if n.config && slices.Contains(n.by, u) {
			files = append(files, at)
		}
	}
	slices.Sort(files)
	for _, at := range slices.Compact(files) {
		e, there := c.now.entries[at]
		was, had := c.was.entries[at]
		taken := slices.ContainsFunc(c.items, func(i Item) bool { return i.Path == at })
		if there && !taken && !(had && was.same(e)) && (e.aliased || was.aliased || !c.run.holds(at)) {
			c.replace(at, e, was, had, why)
		}
	}
}
