package aftermath

import (
	"io"
	"os"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"sandboxd/profile"
)

const (
	// maxEntries bounds how many directory entries one walk looks at.
	maxEntries = 2_000_000
	// maxDepth bounds the walk, which has a descriptor open at every level.
	maxDepth = 200
	// maxContent and maxContents bound what is kept of protected files.
	maxContent  = 256 << 10
	maxContents = 32 << 20
)

// stamp is what tells one state of a file from another without reading it.
type stamp struct {
	dev, ino, mode uint64
	size           int64
	mtime, ctime   int64 // nanoseconds
}

func (s stamp) kind() uint64    { return s.mode & unix.S_IFMT }
func (s stamp) regular() bool   { return s.kind() == unix.S_IFREG }
func (s stamp) directory() bool { return s.kind() == unix.S_IFDIR }

// entry is one file or directory under a protected name.
type entry struct {
	stamp
	// anchor is the path at which the protected name begins.
	anchor string
	// content of a regular file or text of a link; nil: not known.
	content []byte
	// deep: a directory that lies too deep to be looked into.
	deep bool
}

// same reports whether two states are one in all that matters to whoever
// executes or trusts the file.
func (e entry) same(o entry) bool {
	if e.kind() != o.kind() {
		return false
	}
	if e.directory() {
		return true
	}
	return e.mode == o.mode && e.content != nil && o.content != nil && string(e.content) == string(o.content)
}

// found is what one walk saw.
type found struct {
	entries map[string]entry
	repos   map[string]bool // directories that git takes for a repository
	roots   []string        // that were walked
	// partly: something was not looked at.
	partly bool
}

// walker looks through the writable trees of a profile. It follows no link.
type walker struct {
	found
	cache *Cache
	left  int
	held  int64 // bytes of content
}

func walk(p profile.Profile, c *Cache) found {
	w := walker{found: found{entries: map[string]entry{}, repos: map[string]bool{}}, cache: c, left: maxEntries}
	for _, root := range writable(p) {
		fd, shut, err := openDir(unix.AT_FDCWD, root)
		if err != nil {
			w.partly = w.partly || err == unix.EACCES
			continue // not there, or one file
		}
		w.roots = append(w.roots, root)
		w.dir(fd, root, cursorAt(p, root), 0)
		shut()
	}
	return w.found
}

// writable returns the outermost trees of the host that p lets be written and
// in which it holds names.
func writable(p profile.Profile) []string {
	var roots []string
	for _, r := range p.PathRules() {
		c := cursorAt(p, r.Path)
		kind, access, _ := c.Effective()
		inside := slices.ContainsFunc(roots, func(root string) bool { return within(r.Path, root) })
		if kind == profile.Allow && access.Has(profile.Write) && !c.Settled() && !inside {
			roots = append(roots, r.Path)
		}
	}
	return roots
}

func cursorAt(p profile.Profile, at string) profile.Cursor {
	c := p.Cursor()
	for _, element := range strings.Split(at, "/") {
		if element != "" {
			c = c.Child(element)
		}
	}
	return c
}

// dir looks at a directory and closes fd.
func (w *walker) dir(fd int, at string, c profile.Cursor, depth int) {
	f := os.NewFile(uintptr(fd), at)
	defer f.Close()
	entries, ok := w.list(f)
	if !ok {
		return
	}
	repo := w.repository(at, entries)
	for _, e := range entries {
		child := c.Child(e.Name())
		kind, access, _ := child.Effective()
		name := path.Join(at, e.Name())
		switch {
		case kind == profile.Protect, repo && gitItem(e.Name()):
			w.record(fd, e.Name(), name, name, depth)
		case kind != profile.Allow || access == 0 || !e.IsDir():
		case repo && e.Name() == "objects":
			w.objects(fd, e.Name(), name, child, depth)
		case !child.Settled():
			w.enter(fd, e.Name(), name, child, depth)
		}
	}
}

func (w *walker) list(f *os.File) ([]os.DirEntry, bool) {
	entries, err := f.ReadDir(w.left + 1)
	if err != nil && err != io.EOF || len(entries) > w.left {
		w.partly = true
	}
	w.left -= len(entries)
	return entries, w.left > 0
}

func (w *walker) enter(parent int, element, at string, c profile.Cursor, depth int) {
	if depth >= maxDepth {
		w.tooDeep(parent, element, at)
		return
	}
	fd, shut, err := openDir(parent, element)
	if err != nil {
		w.partly = w.partly || err != unix.ENOENT
		return
	}
	defer shut()
	w.dir(fd, at, c, depth+1)
}

// tooDeep notes a directory that is not looked into. A link or a .git file could lead there.
func (w *walker) tooDeep(parent int, element, at string) {
	var st unix.Stat_t
	if err := unix.Fstatat(parent, element, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		w.partly = w.partly || err != unix.ENOENT
		return
	}
	w.entries[at] = entry{stamp: stampOf(&st), anchor: at, deep: true}
}

// objects looks through git's object store only where it is not one: git keeps
// files by hash there, and no folders among them.
func (w *walker) objects(parent int, element, at string, c profile.Cursor, depth int) {
	fd, shut, err := openDir(parent, element)
	if err != nil {
		w.partly = w.partly || err != unix.ENOENT
		return
	}
	defer shut()
	f := os.NewFile(uintptr(fd), at)
	defer f.Close()
	entries, _ := w.list(f)
	for _, e := range entries {
		name := e.Name()
		stored := name == "pack" || name == "info" || len(name) == 2 && strings.Trim(name, "0123456789abcdef") == ""
		if child := c.Child(name); e.IsDir() && !child.Settled() && !(stored && w.flat(fd, name, path.Join(at, name))) {
			w.enter(fd, name, path.Join(at, name), child, depth+1)
		}
	}
}

// flat reports whether a directory holds no other and is no repository itself,
// whose folders could be links.
func (w *walker) flat(parent int, element, at string) bool {
	var st unix.Stat_t
	if unix.Fstatat(parent, element, &st, unix.AT_SYMLINK_NOFOLLOW) != nil || st.Nlink != 2 {
		return false // some file systems don't count: look
	}
	if _, ok := w.cache.get(at, stampOf(&st)); ok {
		return true
	}
	var head unix.Stat_t
	if unix.Fstatat(parent, element+"/HEAD", &head, unix.AT_SYMLINK_NOFOLLOW) != unix.ENOENT {
		return false
	}
	w.cache.put(at, stampOf(&st), nil)
	return true
}

// repository reports whether git would take a directory for a repository, or
// for the part of one that a linked worktree has to itself.
func (w *walker) repository(at string, entries []os.DirEntry) bool {
	has := map[string]bool{}
	for _, e := range entries {
		switch e.Name() {
		case "objects", "refs", "HEAD", "commondir":
			has[e.Name()] = true
		case "config":
			has["config"] = !e.IsDir()
		}
	}
	is := has["objects"] && has["refs"] && (has["HEAD"] || has["config"]) || has["HEAD"] && (has["commondir"] || path.Base(at) == ".git")
	if is {
		w.repos[at] = true
	}
	return is
}

// gitItem: the parts of a repository that can name programs, or are some.
func gitItem(name string) bool {
	return name == "hooks" || name == "config" || name == "config.worktree"
}

// record notes what stands under a protected name, with all below it.
func (w *walker) record(parent int, element, at, anchor string, depth int) {
	var st unix.Stat_t
	if err := unix.Fstatat(parent, element, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		w.partly = w.partly || err != unix.ENOENT
		return
	}
	e := entry{stamp: stampOf(&st), anchor: anchor}
	if !e.directory() {
		e.content = w.content(parent, element, at, e.stamp)
		w.entries[at] = e
		return
	}
	if depth >= maxDepth {
		e.deep = true
		w.entries[at] = e
		return
	}
	w.entries[at] = e
	fd, shut, err := openDir(parent, element)
	if err != nil {
		w.partly = true
		return
	}
	defer shut()
	f := os.NewFile(uintptr(fd), at)
	defer f.Close()
	entries, _ := w.list(f)
	for _, below := range entries {
		w.record(fd, below.Name(), path.Join(at, below.Name()), anchor, depth+1)
	}
}

func stampOf(st *unix.Stat_t) stamp {
	return stamp{dev: uint64(st.Dev), ino: st.Ino, mode: uint64(st.Mode), size: st.Size, mtime: st.Mtim.Nano(), ctime: st.Ctim.Nano()}
}

// openDir opens a directory. One of our own that its mode closes to us is opened
// until shut: by name, git and shells reach what lies in it all the same.
func openDir(parent int, element string) (fd int, shut func(), err error) {
	const flags = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC
	shut = func() {}
	fd, err = unix.Openat(parent, element, flags, 0)
	var st unix.Stat_t
	switch {
	case err == nil && (unix.Fstat(fd, &st) != nil || st.Mode&0o500 == 0o500):
		return fd, shut, nil
	case err != nil && err != unix.EACCES:
		return fd, shut, err
	}
	if back := loosen(parent, element, 0o500); back != nil {
		shut = back
		if err != nil {
			fd, err = unix.Openat(parent, element, flags, 0)
		}
	}
	return fd, shut, err
}

// content reads a small file or a link, unless it is known from before.
func (w *walker) content(parent int, element, at string, s stamp) []byte {
	if s.kind() == unix.S_IFLNK {
		buf := make([]byte, unix.PathMax)
		n, err := unix.Readlinkat(parent, element, buf)
		if err != nil || n == len(buf) {
			return nil
		}
		return buf[:n:n]
	}
	if !s.regular() || s.size > maxContent || w.held+s.size > maxContents {
		return nil
	}
	w.held += s.size
	if b, ok := w.cache.get(at, s); ok {
		return b
	}
	fd, err := unix.Openat(parent, element, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	f := os.NewFile(uintptr(fd), at)
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxContent+1))
	var st unix.Stat_t
	if err != nil || len(b) > maxContent || unix.Fstat(fd, &st) != nil || stampOf(&st) != s {
		return nil // it changed under our hands
	}
	w.cache.put(at, s, b)
	return b
}

// within reports whether p is dir or lies below it.
func within(p, dir string) bool {
	return dir == "/" || p == dir || strings.HasPrefix(p, dir) && p[len(dir)] == '/'
}
