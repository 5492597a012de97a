package aftermath

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"sandboxd/profile"
	"sandboxd/profile/abspath"
)

var dependencies = profile.Dependencies()

// below returns the spot of an entry, at which the profile's cursor is child.
func (s spot) below(name string, child profile.Cursor) spot {
	return spot{cursor: child, others: s.others || slices.Contains(dependencies, name)}
}

// inDependencies reports whether a path below one of the roots is in a folder of dependencies.
func inDependencies(at string, roots []string) bool {
	return slices.ContainsFunc(roots, func(root string) bool {
		rel, below := strings.CutPrefix(filepath.Dir(at), strings.TrimSuffix(root, "/")+"/")
		return below && slices.ContainsFunc(strings.Split(rel, "/"), func(name string) bool {
			return slices.Contains(dependencies, name)
		})
	})
}

// Others reports whether a path below root that the rule by name protects is in a folder of dependencies, where the
// name means other people's settings.
func Others(at, root, name string) bool {
	return !profile.HeldInDependencies(name) && inDependencies(at, []string{root})
}

// linked looks through folders of dependencies to which a symbolic link outside of them leads: by that
// link a person opens them like any folder of the project. Where they hold protected names, the
// link is noted as well, as it may be newer than the names.
func (w *walker) linked(root string, s spot) {
	for _, link := range w.links {
		at, err := filepath.EvalSymlinks(link)
		if err != nil || !abspath.Contains(root, at) || !inDependencies(at+"/.", []string{root}) {
			continue
		}
		fd, shut, err := openDir(unix.AT_FDCWD, at)
		if err != nil {
			continue // a file, or gone
		}
		here := spot{cursor: s.cursor}
		for element := range strings.SplitSeq(strings.TrimPrefix(at[len(root):], "/"), "/") {
			here.cursor = here.cursor.Child(element)
		}
		w.dir(fd, at, here, &node{stray: true}, 0, shut != nil)
		if shut != nil {
			shut()
		}
		if w.holds(at) {
			w.note(link)
		}
	}
}

// holds reports whether something under a protected name was noted in a folder.
func (w *walker) holds(dir string) bool {
	for at := range w.entries {
		if abspath.Contains(dir, at) {
			return true
		}
	}
	return false
}

// note records a symbolic link by itself.
func (w *walker) note(link string) {
	var st unix.Stat_t
	text, err := os.Readlink(link)
	if err != nil || unix.Lstat(link, &st) != nil {
		w.partly = true
		return
	}
	w.entries[link] = entry{stamp: stampOf(&st), anchor: link, content: []byte(text)}
}
