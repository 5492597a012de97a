package aftermath

import (
	"path"
	"slices"
	"time"

	"sandboxd/profile/abspath"

	"golang.org/x/sys/unix"
)

const unknown = "unknown"

// notOurs says why something is not the run's doing, or "".
func (c *check) notOurs(at string, e entry, had bool) string {
	changed, begun := time.Unix(0, e.ctime), c.run.Start.Add(-clock)
	switch {
	case c.ahead:
		return ""
	case c.after(e.ctime):
		return "it changed after the command had ended"
	case c.run.holds(at) && !e.aliased && !c.was.entries[at].aliased:
		return "it changed while the command ran, but the sandbox kept the command from it"
	case c.run.Late && changed.Before(begun) && c.movedLater(at):
		return "it may have come here after the command had ended"
	case had && changed.Before(begun) && !changed.Before(time.Unix(0, c.was.begun).Add(-clock)):
		return "it changed before the command began"
	case !had && changed.Before(begun) && c.was.partly && !c.touched(path.Dir(at)):
		return unknown // it may have been there, where nobody looked
	}
	return ""
}

// settledByOther: another check dealt with it, or it is in a tree that came later.
func (c *check) settledByOther(at string) bool {
	return c.run.Dealt[at] || c.run.Late && !c.sameRoot(c.rootOf(at))
}

// after: it changed when the run had ended.
func (c *check) after(ctime int64) bool { return time.Unix(0, ctime).After(c.run.End.Add(clock)) }

// changedLater: the directory, or something in it, changed when the run had ended.
func (c *check) changedLater(dir string) bool {
	return c.after(c.now.entries[dir].ctime) || slices.ContainsFunc(c.below(dir),
		func(at string) bool { return c.after(c.now.entries[at].ctime) })
}

// movedLater reports whether a directory above may have been moved here when the run had ended: it changed then, but
// its entries did not. The path does not show that.
func (c *check) movedLater(at string) bool {
	root := c.rootOf(at)
	for dir := path.Dir(at); dir != root && abspath.Contains(root, dir); dir = path.Dir(dir) {
		var st unix.Stat_t
		if unix.Lstat(dir, &st) != nil || c.after(st.Ctim.Nano()) && !c.after(st.Mtim.Nano()) {
			return true
		}
	}
	return false
}

// removedLater: the nearest directory above that is there changed when the run
// had ended.
func (c *check) removedLater(at string) bool {
	root := c.rootOf(at)
	for dir := path.Dir(at); abspath.Contains(root, dir); dir = path.Dir(dir) {
		var st unix.Stat_t
		if unix.Lstat(dir, &st) == nil {
			return c.after(st.Ctim.Nano())
		}
	}
	return true
}

// sameRoot: the tree is the one that the run had.
func (c *check) sameRoot(root string) bool {
	was, now := slices.Index(c.was.roots, root), slices.Index(c.now.roots, root)
	return was >= 0 && now >= 0 && c.was.ids[was] == c.now.ids[now]
}
