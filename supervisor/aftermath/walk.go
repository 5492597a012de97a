package aftermath

import (
	"io"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"sandboxd/git"
	"sandboxd/profile"
	"sandboxd/profile/abspath"
)

const (
	// maxEntries bounds how many directory entries one walk looks at.
	maxEntries = 2_000_000
	// maxDepth bounds the walk, which has a descriptor open at every level.
	maxDepth = 200
	// maxContent and maxContents bound the kept bytes of protected files.
	maxContent  = 256 << 10
	maxContents = 32 << 20
)

// stamp distinguishes two states of a file without reading it.
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
	// deep: a directory that is too deep to be checked.
	deep bool
	// doubtful: another run that had not ended may have made or changed it. It is
	// never restored.
	doubtful bool
	// aliased: the file has other names (hard links), through which a run can change it
	// where a mount holds this one.
	aliased bool
}

// same reports whether two states are equal in all that matters to programs which
// execute or trust the file.
func (e entry) same(o entry) bool {
	if e.kind() != o.kind() {
		return false
	}
	if e.directory() {
		return true
	}
	return e.mode == o.mode && e.content != nil && o.content != nil && string(e.content) == string(o.content)
}

// found is the result of one walk.
type found struct {
	entries map[string]entry
	repos   map[string]bool // directories with the parts of a repository, see repository
	gitUse
	roots []string   // that were walked
	ids   []identity // by root
	// begun is when the walk began, in nanoseconds.
	begun int64
	// links are the symbolic links outside of dependencies, by root.
	links map[string][]string
	// apart are the anchors of entries that a walk alone does not meet: a configuration or a link leads there.
	apart []string
	// disk is the machine that was looked at; nil: [git.Disk].
	disk git.Host
	// partly: something was not looked at.
	partly bool
}

// identity distinguishes a directory from another one in its place.
type identity struct{ dev, ino uint64 }

// walker looks through the writable trees of a profile. It follows no link.
type walker struct {
	found
	cache   *Cache
	view    *view // of the tree that is looked through
	root    string
	left    int
	held    int64 // bytes of content
	linking bool  // by a link to a folder of dependencies
	// toOthers are the links to folders of dependencies that are recorded.
	toOthers map[string]bool
	// noted are the anchors of entries that are recorded because they are named.
	noted map[string]bool
	// except is a tree that is not looked through; "": none.
	except string
}

// walk looks through the writable trees of p but for except, and at the files outside of protected names that before
// names.
func walk(p profile.Profile, c *Cache, except string, before map[string]naming) found {
	w := walker{found: found{entries: map[string]entry{}, repos: map[string]bool{}, links: map[string][]string{},
		begun: time.Now().UnixNano()}, cache: c, except: except, left: maxEntries, toOthers: map[string]bool{},
		noted: map[string]bool{}}
	for _, t := range writable(p) {
		if except == "" || !abspath.Contains(except, t.root) {
			w.tree(t.root, spot{cursor: t.cursor}, c.view(viewKey{p.Digest(), t.root}))
		}
	}
	w.git(before)
	return w.found
}

// tree looks through one tree.
func (w *walker) tree(at string, s spot, v *view) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.begin()
	fd, shut, err := openDir(unix.AT_FDCWD, at)
	if err != nil {
		w.partly = w.partly || err == unix.EACCES
		return // not there, or one file
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		w.partly = true
	}
	w.roots, w.ids = append(w.roots, at), append(w.ids, identityOf(&st))
	w.view, w.root = v, at
	w.dir(fd, at, s, v.root, 0, shut != nil)
	w.linked(at, s)
	if shut != nil {
		shut()
	}
}

// writableTree is a tree to scan, and its position in the profile.
type writableTree struct {
	root   string
	cursor profile.Cursor
}

// writable returns the outermost trees of the host that p lets be written and
// in which it holds names.
func writable(p profile.Profile) []writableTree {
	var trees []writableTree
	for _, r := range p.PathRules() {
		c := cursorAt(p, r.Path)
		kind, access, _ := c.Effective()
		inside := slices.ContainsFunc(trees, func(t writableTree) bool { return abspath.Contains(t.root, r.Path) })
		if kind == profile.Allow && access.Has(profile.Write) && !c.Settled() && !inside {
			trees = append(trees, writableTree{r.Path, c})
		}
	}
	return trees
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
func (w *walker) dir(fd int, at string, s spot, n *node, depth int, loose bool) {
	f := os.NewFile(uintptr(fd), at)
	defer f.Close()
	l, sure := w.listed(f, at, s, n, loose)
	if l == nil {
		return
	}
	if l.repo {
		w.repos[at] = true
	}
	for _, name := range l.record {
		full := path.Join(at, name)
		w.byLink(full)
		w.record(fd, name, full, full, depth)
	}
	for _, name := range l.links {
		w.links[w.root] = append(w.links[w.root], path.Join(at, name))
	}
	for i := range l.enter {
		e := &l.enter[i]
		if e := e.node; sure && w.view.quietly(e) && e.sum < w.left {
			w.left -= e.sum
			continue
		}
		full := path.Join(at, e.name)
		if !e.stored || !w.flatly(fd, n, e, full, sure) {
			w.enter(fd, n, e, full, depth)
		}
	}
	w.view.settle(n)
}

// list reads a directory; whole: all of it.
func (w *walker) list(f *os.File) (entries []os.DirEntry, whole bool) {
	entries, err := f.ReadDir(w.left + 1)
	whole = (err == nil || err == io.EOF) && len(entries) <= w.left
	w.partly = w.partly || !whole
	w.left -= len(entries)
	return entries, whole
}

func (w *walker) enter(parent int, up *node, e *step, at string, depth int) {
	if at == w.except {
		return
	}
	if depth >= maxDepth {
		w.tooDeep(parent, e.name, at)
		return
	}
	n := w.view.child(up, e)
	if n.listing != nil && n.age == w.view.age && (n.quiet || n.leaf()) {
		var st unix.Stat_t
		switch err := unix.Fstatat(parent, e.name, &st, unix.AT_SYMLINK_NOFOLLOW); {
		case err != nil:
		case w.still(n, &st) && n.sum < w.left:
			w.left -= n.sum
			return
		case n.leaf() && w.known(n, e.spot, &st): // it holds nothing for us, and has not changed
			n.news, n.moved = false, false
			w.view.settle(n)
			return
		}
	}
	fd, shut, err := openDir(parent, e.name)
	if err != nil {
		w.partly = w.partly || err != unix.ENOENT
		return
	}
	w.dir(fd, at, e.spot, n, depth+1, shut != nil)
	if shut != nil {
		shut()
	}
}

// spot is the position of a directory in the profile.
type spot struct {
	cursor profile.Cursor
	store  bool // it is the object store of a repository
	others bool // it is below a folder of dependencies, see profile.Dependencies
}

// step is a directory to go into.
type step struct {
	name string
	spot
	stored bool  // git keeps files by hash there, and no folders among them
	node   *node // nil: none yet
}

// listing has the entries of a directory that matter to a walk.
type listing struct {
	stamp
	whole   bool // all of it was read
	settled bool // an equal stamp means equal entries
	store   bool // as its spot
	count   int  // entries that it has
	repo    bool
	record  []string // names under which everything is noted
	links   []string // symbolic links outside of dependencies
	enter   []step
}

// leaf: nothing in the directory matters.
func (l *listing) leaf() bool { return !l.repo && len(l.record)+len(l.links)+len(l.enter) == 0 }

func newListing(at string, entries []os.DirEntry, s spot) *listing {
	l := &listing{store: s.store, repo: !s.store && repository(at, entries)}
	for _, e := range entries {
		name := e.Name()
		child := s.cursor.Child(name)
		kind, access, rule := child.Effective()
		below := s.below(name, child)
		switch {
		case s.store: // is looked through only where it is no object store
			if e.IsDir() && !child.Settled() {
				stored := name == "pack" || name == "info" || len(name) == 2 && strings.Trim(name, "0123456789abcdef") == ""
				l.enter = append(l.enter, step{name: name, spot: below, stored: stored})
			}
		case kind == profile.Protect && (!s.others || profile.HeldInDependencies(rule.Name)), l.repo && gitItem(name),
			!e.IsDir() && strings.EqualFold(name, ".git"):
			l.record = append(l.record, name)
		case e.Type() == os.ModeSymlink && !s.others:
			l.links = append(l.links, name)
		case kind != profile.Allow && kind != profile.Protect || access == 0 || !e.IsDir():
		case l.repo && name == "objects":
			below.store = true
			l.enter = append(l.enter, step{name: name, spot: below})
		case !child.Settled():
			l.enter = append(l.enter, step{name: name, spot: below})
		}
	}
	return l
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

// repository reports whether a directory has the names without which git takes none for a repository, nor for the
// part of one that linked work trees share or have to themselves (git.Look). The contents do not matter: a
// later run could make them valid.
func repository(at string, entries []os.DirEntry) bool {
	has := map[string]bool{}
	for _, e := range entries {
		has[strings.ToLower(e.Name())] = true // a file system may not tell the two apart
	}
	return has["objects"] && has["refs"] || has["head"] && (has["commondir"] || strings.EqualFold(path.Base(at), ".git"))
}

// gitItem reports whether a name in a repository can name programs, is one, or leads to another repository.
func gitItem(name string) bool {
	name = strings.ToLower(name)
	return slices.Contains([]string{"hooks", "config", "config.worktree", "commondir", "gitdir", "remotes", "branches"},
		name) ||
		slices.Contains(inProgress, name)
}

// protected reports whether an entry of a folder that is recorded because it is named has a protected name itself.
func (w *walker) protected(at, anchor string) bool {
	_, known := w.entries[at]
	return known && w.noted[anchor]
}

// record records the entry under a protected name, with all below it.
func (w *walker) record(parent int, element, at, anchor string, depth int) {
	if w.protected(at, anchor) {
		return
	}
	var st unix.Stat_t
	if err := unix.Fstatat(parent, element, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		w.partly = w.partly || err != unix.ENOENT
		return
	}
	e := entry{stamp: stampOf(&st), anchor: anchor, aliased: st.Mode&unix.S_IFMT == unix.S_IFREG && st.Nlink > 1}
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
	if shut != nil {
		defer shut()
	}
	f := os.NewFile(uintptr(fd), at)
	defer f.Close()
	entries, _ := w.list(f)
	for _, below := range entries {
		w.record(fd, below.Name(), path.Join(at, below.Name()), anchor, depth+1)
	}
}

func stampOf(st *unix.Stat_t) stamp {
	return stamp{dev: uint64(st.Dev), ino: st.Ino, mode: uint64(st.Mode), size: st.Size, mtime: st.Mtim.Nano(),
		ctime: st.Ctim.Nano()}
}

const dirFlags = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC

// openDir opens a directory. If its mode closes one of our own to us, it is opened until
// shut is called, which else is nil: git and shells reach the entries in it by name nevertheless.
func openDir(parent int, element string) (fd int, shut func(), err error) {
	fd, err = unix.Openat(parent, element, dirFlags, 0)
	var st unix.Stat_t
	switch {
	case err == nil && (unix.Fstat(fd, &st) != nil || st.Mode&0o500 == 0o500):
		return fd, nil, nil
	case err != nil && err != unix.EACCES:
		return fd, nil, err
	}
	if shut = loosen(parent, element, unix.S_IFDIR, 0o500); shut != nil && err != nil {
		if fd, err = unix.Openat(parent, element, dirFlags, 0); err != nil {
			shut() // nobody shuts it if the open failed
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
