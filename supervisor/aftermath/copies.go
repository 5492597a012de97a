package aftermath

import (
	"fmt"
	"os"
	"path"
	"slices"
	"strings"

	"sandboxd/git"
	"sandboxd/profile"
	"sandboxd/profile/abspath"
)

// copied reports whether a new entry means what one from before meant that had its content: in a work tree that is
// new, at the same path from its top as in one from before or its index, and in a folder that was moved as a whole.
// Elsewhere the same text finds other files beside it, or acts on other programs.
func (c *check) copied(at string, e entry) bool {
	key, ok := copyKey(path.Base(at), e)
	if !ok {
		return false
	}
	if c.copies == nil {
		c.copies = map[string][]string{}
		for at, e := range c.was.entries {
			if key, ok := copyKey(path.Base(at), e); ok && !e.doubtful {
				c.copies[key] = append(c.copies[key], at)
			}
		}
	}
	if len(c.copies[key]) == 0 {
		return false
	}
	var froms []string // the paths from which a copy means the same
	for u := range c.now.uses {
		if rel, below := strings.CutPrefix(at, u.dir+"/"); below && !c.was.uses[u] && c.isNew(u.dir, true) {
			for from := range c.was.uses {
				if git.Tracks(c.was.host(), git.Repository{Dir: from.git}, rel, e.content) {
					return true
				}
				froms = append(froms, path.Join(from.dir, rel))
			}
		}
	}
	if to := c.packageOf(e.anchor); c.isNew(to, false) {
		for _, at1 := range c.copies[key] {
			from := c.packageOf(c.was.entries[at1].anchor)
			if at[len(to):] == at1[len(from):] && !c.now.there(from) {
				froms = append(froms, at1)
			}
		}
	}
	return slices.ContainsFunc(c.copies[key], func(at string) bool { return slices.Contains(froms, at) })
}

// copyKey returns what copies of a file share.
func copyKey(base string, e entry) (key string, ok bool) {
	if e.directory() || e.content == nil {
		return "", false
	}
	return fmt.Sprintf("%s\x00%o\x00%s", base, e.kind()|e.mode&0o111, e.content), true
}

// packageOf returns the folder to which an entry under a protected name that begins at anchor belongs. Folders with a
// dot and those that are a part of protected names belong to another themselves: .github to the project around it.
func (c *check) packageOf(anchor string) string {
	dir := c.rootOf(anchor)
	for element := range strings.SplitSeq(strings.TrimPrefix(path.Dir(anchor)[len(dir):], "/"), "/") {
		if element == "" || element[0] == '.' || firstElements[element] {
			break
		}
		dir = path.Join(dir, element)
	}
	return dir
}

// firstElements are the folders with which protected names begin.
var firstElements = func() map[string]bool {
	out := map[string]bool{}
	for _, name := range profile.ProtectedNames(profile.Executed) {
		if first, _, below := strings.Cut(name, "/"); below {
			out[first] = true
		}
	}
	return out
}()

// isNew reports whether a folder was not there before. After a run it is known by what was noted below it, and of a
// folder that was made, not moved, by the time of its birth, which no program can set.
func (c *check) isNew(dir string, made bool) bool {
	if slices.Contains(c.now.roots, dir) {
		return false
	}
	if c.ahead {
		return !c.was.there(dir)
	}
	for at := range c.was.entries {
		if abspath.Contains(dir, at) {
			return false
		}
	}
	born, known := birth(dir)
	return !made || !known || !born.Before(c.run.Start.Add(-clock))
}

// there reports whether something is at a path.
func (f *found) there(at string) bool {
	_, err := f.host().Lstat(at)
	return !os.IsNotExist(err)
}
