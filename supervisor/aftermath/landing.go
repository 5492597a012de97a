package aftermath

import (
	"errors"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"sandboxd/git"
	"sandboxd/profile"
	"sandboxd/profile/abspath"
)

// Landing is a change that has not happened: that of a layer's change set.
type Landing struct {
	// After is the machine as it would be afterwards. A FileInfo of it has a *unix.Stat_t.
	After git.Host
	// Names are the absolute paths that are replaced, each with all below it.
	Names []string
	// Project, Granted and Asked are as in Run.
	Project string
	Granted []string
	Asked   bool
}

// Judge returns the entries that a landing would bring under protected names, change or remove there, by the same rules
// as [Snapshot.After]. It changes nothing. A directory that it could not look through is an item, too.
func (c *Cache) Judge(p profile.Profile, l Landing) Found {
	was := walk(p, c, "", nil)
	s := &Snapshot{profile: p, cache: c, seen: was}
	check := s.check(c.foresee(p, was, l), Run{Project: l.Project, Granted: l.Granted, Asked: l.Asked})
	check.ahead = true
	check.all()
	if check.now.partly {
		check.items = append(check.items, Item{Path: l.Project, Why: "what it changes could not all be looked at"})
	}
	return Found{Items: check.items, Partly: was.partly}
}

// foresee returns what a walk would find after a landing, from what one finds before it.
func (c *Cache) foresee(p profile.Profile, was found, l Landing) found {
	w := walker{found: was.clone(), cache: c, left: maxEntries, toOthers: map[string]bool{}, noted: map[string]bool{}}
	apart := map[string]bool{}
	for _, at := range was.apart {
		apart[at] = true
	}
	maps.DeleteFunc(w.entries, func(_ string, e entry) bool { return apart[e.anchor] })
	w.disk, w.partly, w.apart = l.After, false, nil
	for _, t := range writable(p) {
		if slices.Contains(was.roots, t.root) {
			w.land(t.root, spot{cursor: t.cursor}, l.Names)
		}
	}
	w.git(was.named)
	return w.found
}

// Alone calls f while no other landing is judged by Alone's callers, and no check after a run removes anything: two
// parts of a repository, say, that come in at the same time are not each judged without the other.
func (c *Cache) Alone(f func() error) error {
	c.checks.Lock()
	defer c.checks.Unlock()
	return f()
}

// clone returns a copy whose entries, repositories and links can be changed.
func (f *found) clone() found {
	out := *f
	out.entries, out.repos, out.links = maps.Clone(f.entries), maps.Clone(f.repos), maps.Clone(f.links)
	return out
}

// replaced has the names below a directory that a landing replaces, or below which it replaces one.
type replaced map[string]*replacedName

type replacedName struct {
	whole bool
	below replaced
}

// land looks at the names of one tree that a landing replaces, and at the directories above them.
func (w *walker) land(root string, s spot, names []string) {
	top := replaced{}
	for _, name := range names {
		rel, below := strings.CutPrefix(name, strings.TrimSuffix(root, "/")+"/")
		if !below {
			continue
		}
		in := top
		var at *replacedName
		for element := range strings.SplitSeq(rel, "/") {
			if at = in[element]; at == nil {
				at = &replacedName{below: replaced{}}
				in[element] = at
			}
			in = at.below
		}
		at.whole = true
	}
	has := func(at string) bool { return abspath.Contains(root, at) && at != root && top.has(at[len(root):]) }
	maps.DeleteFunc(w.entries, func(at string, _ entry) bool { return has(at) })
	maps.DeleteFunc(w.repos, func(at string, _ bool) bool { return has(at) })
	w.links[root] = slices.DeleteFunc(slices.Clone(w.links[root]), has)
	if w.root = root; len(top) > 0 {
		w.after(root, s, top, 0)
	}
	w.linked(root, s)
}

// has reports whether a path is replaced, or one above it.
func (r replaced) has(rel string) bool {
	for element := range strings.SplitSeq(strings.TrimPrefix(rel, "/"), "/") {
		switch n := r[element]; {
		case n == nil:
			return false
		case n.whole:
			return true
		default:
			r = n.below
		}
	}
	return false
}

// forget removes the findings at a path and below it, in the tree that is looked through.
func (w *walker) forget(name string) {
	maps.DeleteFunc(w.entries, func(at string, _ entry) bool { return abspath.Contains(name, at) })
	maps.DeleteFunc(w.repos, func(at string, _ bool) bool { return abspath.Contains(name, at) })
	w.links[w.root] = slices.DeleteFunc(slices.Clone(w.links[w.root]),
		func(at string) bool { return abspath.Contains(name, at) })
}

// after looks at a directory after a landing: at the replaced names, and, where names is nil, at all.
func (w *walker) after(at string, s spot, names replaced, depth int) {
	entries, err := w.host().ReadDir(at)
	if w.left -= len(entries); err != nil || w.left <= 0 {
		w.partly = true
		return
	}
	l := newListing(at, entries, s)
	if l.repo != w.repos[at] && names != nil { // each name in it means something else
		names = nil
		w.forget(at)
	}
	if delete(w.repos, at); l.repo {
		w.repos[at] = true
	}
	for _, name := range l.record {
		if full := path.Join(at, name); names == nil || names[name] != nil {
			w.byLink(full)
			w.recordAfter(full, full, depth)
		}
	}
	for _, name := range l.links {
		if names == nil || names[name] != nil {
			w.links[w.root] = append(w.links[w.root], path.Join(at, name))
		}
	}
	for i := range l.enter {
		n, full := names[l.enter[i].name], path.Join(at, l.enter[i].name)
		switch {
		case n == nil && names != nil:
		case depth >= maxDepth:
			w.recordAfter(full, full, depth)
		case n == nil || n.whole:
			w.after(full, l.enter[i].spot, nil, depth+1)
		default:
			w.after(full, l.enter[i].spot, n.below, depth+1)
		}
	}
}

// statOf returns the state in what Lstat answered.
func statOf(info fs.FileInfo, err error) (st *unix.Stat_t, ok bool) {
	if err == nil {
		st, ok = info.Sys().(*unix.Stat_t)
	}
	return st, ok
}

// recordAfter is record after a landing.
func (w *walker) recordAfter(at, anchor string, depth int) {
	if w.protected(at, anchor) {
		return
	}
	info, err := w.host().Lstat(at)
	st, ok := statOf(info, err)
	if !ok {
		w.partly = w.partly || !errors.Is(err, fs.ErrNotExist)
		return
	}
	e := entry{stamp: stampOf(st), anchor: anchor, aliased: info.Mode().IsRegular() && st.Nlink > 1,
		deep: info.IsDir() && depth >= maxDepth}
	switch {
	case e.kind() == unix.S_IFLNK:
		if to, err := w.host().Readlink(at); err == nil {
			e.content = []byte(to)
		}
	case e.regular() && e.size <= maxContent && w.held+e.size <= maxContents:
		w.held += e.size
		if text, err := w.host().ReadFile(at, maxContent); err == nil {
			e.content = text
		}
	}
	w.entries[at] = e
	if !e.directory() || e.deep {
		return
	}
	entries, err := w.host().ReadDir(at)
	if w.left -= len(entries); err != nil || w.left <= 0 {
		w.partly = true
		return
	}
	for _, below := range entries {
		w.recordAfter(path.Join(at, below.Name()), anchor, depth+1)
	}
}
