package aftermath

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"sandboxd/git"
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

// linked looks through folders of dependencies to which a symbolic link outside of them leads: by that
// link a person opens them like any folder of the project. Where they hold protected names, the
// link is noted as well, as it may be newer than the names.
func (w *walker) linked(root string, s spot) {
	links := w.links[root]
	w.linking = true
	defer func() { w.links[root], w.linking = links, false }() // links in dependencies are not followed
	for _, link := range slices.Clone(links) {
		at, missing, err := git.Resolve(w.host(), link)
		if err != nil || missing || !abspath.Contains(root, at) || !inDependencies(at+"/.", []string{root}) {
			continue
		}
		here := spot{cursor: s.cursor}
		for element := range strings.SplitSeq(strings.TrimPrefix(at[len(root):], "/"), "/") {
			here.cursor = here.cursor.Child(element)
		}
		if w.disk != nil {
			w.after(at, here, nil, 0)
		} else if fd, shut, err := openDir(unix.AT_FDCWD, at); err == nil { // else a file, or gone
			w.dir(fd, at, here, &node{stray: true}, 0, shut != nil)
			if shut != nil {
				shut()
			}
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

// byLink has an entry that is about to be noted count as one to which only a link leads.
func (w *walker) byLink(at string) {
	if _, known := w.entries[at]; w.linking && !known {
		w.apart = append(w.apart, at)
	}
}

// note records a symbolic link by itself.
func (w *walker) note(link string) {
	var st unix.Stat_t
	w.byLink(link)
	w.toOthers[link] = true
	if w.disk != nil {
		w.recordAfter(link, link, 0)
		return
	}
	text, err := os.Readlink(link)
	if err != nil || unix.Lstat(link, &st) != nil {
		w.partly = true
		return
	}
	w.entries[link] = entry{stamp: stampOf(&st), anchor: link, content: []byte(text)}
}
