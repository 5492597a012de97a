package aftermath

import (
	"os"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"sandboxd/profile"
	"sandboxd/watch"
)

// view is the cached scan of one writable tree under one profile. Its lock is
// held for a whole scan.
type view struct {
	mu    sync.Mutex
	group *watch.Group
	// age counts how often all knowledge was lost.
	age   uint64
	root  *node
	nodes atomic.Int64 // besides the root
	used  time.Time    // guarded by the cache's lock
}

// viewKey names a tree, as one profile looks at it.
type viewKey struct {
	by   profile.Digest
	path string
}

// node is a directory.
type node struct {
	up *node // nil: the root
	identity
	*listing // nil: it was not read, or not to the end
	// watched at this age of the view; nil: it could not be, and is asked every time.
	watched *watch.Dir
	age     uint64
	// news: something changed since the last scan; moved: the meaning of a name in it, too.
	news, moved bool
	// quiet: neither it nor anything below it matters to a scan, and all of it is watched.
	quiet bool
	sum   int  // entries in it and below, where it is quiet
	flat  bool // it holds files by hash only, and was not read
	stray bool // it is not kept, and so not watched
}

// begin applies the kernel's events since the last scan.
func (v *view) begin() {
	news, lost := v.group.News()
	if lost {
		v.age++
	}
	for _, it := range news {
		n := it.About.(*node)
		n.news, n.moved = true, n.moved || it.Directories
		if it.Removed {
			n.watched, n.age = nil, 0
		}
		for up := n; up != nil && up.quiet; up = up.up {
			up.quiet = false
		}
	}
}

// quietly reports whether a scan needs nothing at a node or below.
func (v *view) quietly(n *node) bool { return n != nil && n.quiet && n.age == v.age }

// watch has the kernel tell of changes of the open directory from now on, where it can.
func (v *view) watch(n *node, fd int) {
	if n.age != v.age && !n.stray {
		n.watched = v.group.Add(fd, n)
	}
	n.age = v.age
}

// clear drops the cached state of a node, and of all below it.
func (v *view) clear(n *node) {
	n.watched.Drop()
	if n.listing != nil {
		for _, e := range n.enter {
			if e.node != nil {
				v.forget(e.node)
			}
		}
	}
	*n = node{up: n.up, stray: n.stray}
}

// forget lets a node go, with all below it.
func (v *view) forget(n *node) {
	v.clear(n)
	v.nodes.Add(-1)
}

// child is the node of a step. Where there are too many it is not kept.
func (v *view) child(n *node, e *step) *node {
	switch {
	case e.node != nil:
		return e.node
	case n.stray || v.nodes.Load() >= maxNodes:
		return &node{up: n, stray: true}
	}
	e.node = &node{up: n}
	v.nodes.Add(1)
	return e.node
}

// follow reuses the nodes of an earlier list of the same directory. The nodes of
// removed names are dropped.
func (v *view) follow(l, earlier *listing) {
	if earlier == nil {
		return
	}
	known := map[string]*step{}
	for i := range earlier.enter {
		known[earlier.enter[i].name] = &earlier.enter[i]
	}
	for i := range l.enter {
		e := &l.enter[i]
		if was := known[e.name]; was != nil && was.store == e.store && was.stored == e.stored {
			e.node = was.node
			delete(known, e.name)
		}
	}
	for _, was := range known {
		if was.node != nil {
			v.forget(was.node)
		}
	}
}

// settle works out whether a scan may skip a node, after all of it was scanned.
func (v *view) settle(n *node) {
	n.quiet = n.watched != nil && n.age == v.age && n.listing != nil && n.whole && !n.repo &&
		len(n.record)+len(n.links) == 0
	if !n.quiet {
		return
	}
	n.sum = n.count
	for i := range n.enter {
		if !v.quietly(n.enter[i].node) {
			n.quiet = false
			return
		}
		n.sum += n.enter[i].node.sum
	}
}

// flatly reports whether a directory holds no other and is no repository itself,
// whose folders could be links. sure: its name leads where it led.
func (w *walker) flatly(parent int, up *node, e *step, at string, sure bool) bool {
	n := e.node
	if sure && w.view.quietly(n) {
		return n.flat
	}
	var st unix.Stat_t
	if unix.Fstatat(parent, e.name, &st, unix.AT_SYMLINK_NOFOLLOW) != nil {
		return false
	}
	if n != nil && n.flat && n.identity != identityOf(&st) {
		w.view.clear(n)
	}
	n = w.view.child(up, e)
	if w.view.quietly(n) {
		return n.flat
	}
	if n.listing != nil || st.Nlink != 2 { // some file systems don't count: look
		return false
	}
	n.flat = true
	if n.age != w.view.age {
		if fd, err := unix.Openat(parent, e.name, dirFlags, 0); err == nil {
			w.view.watch(n, fd)
			err = unix.Fstat(fd, &st)
			unix.Close(fd)
			if err != nil || st.Nlink != 2 {
				return false
			}
		}
	}
	n.identity, n.news, n.moved = identityOf(&st), false, false
	if _, ok := w.cache.get(at, stampOf(&st)); !ok {
		var head unix.Stat_t
		if unix.Fstatat(parent, e.name+"/HEAD", &head, unix.AT_SYMLINK_NOFOLLOW) != unix.ENOENT {
			return false
		}
		w.cache.put(at, stampOf(&st), nil)
	}
	n.quiet, n.sum = n.watched != nil, 0
	return true
}

func identityOf(st *unix.Stat_t) identity { return identity{uint64(st.Dev), st.Ino} }

// still reports whether a name leads to a quiet node still.
func (w *walker) still(n *node, st *unix.Stat_t) bool {
	return w.view.quietly(n) && n.identity == identityOf(st)
}

// listed returns the entries of a directory that matter, as they were read before if it has not
// changed since; nil if no more may be read. sure: names in it lead where they
// led at the last scan.
func (w *walker) listed(f *os.File, at string, s spot, n *node, loose bool) (l *listing, sure bool) {
	fd := int(f.Fd())
	var st unix.Stat_t
	asked := time.Now()
	if err := unix.Fstat(fd, &st); err != nil {
		w.partly = true
		return nil, false
	}
	if n.identity != identityOf(&st) || n.flat {
		w.view.clear(n)
		n.identity = identityOf(&st)
	}
	complete := n.watched != nil && n.age == w.view.age // of every change since it was read
	news, moved := n.news, n.moved
	n.news, n.moved, n.quiet = false, false, false
	if !loose && n.age != w.view.age {
		w.view.watch(n, fd)
		if err := unix.Fstat(fd, &st); err != nil { // once more, now that changes are reported
			w.partly = true
			return nil, false
		}
	}
	if w.known(n, s, &st) {
		return n.listing, true
	}
	entries, whole := w.list(f)
	if w.left <= 0 {
		return nil, false
	}
	l = newListing(at, entries, s)
	l.stamp, l.count = stampOf(&st), len(entries)
	l.whole, l.settled = whole, whole && watch.Settled(st.Ctim.Nano(), asked) &&
		watch.Stamped(int(f.Fd()))
	sure = complete && !moved && (news || n.listing != nil && n.stamp == l.stamp)
	w.view.follow(l, n.listing)
	n.listing = l
	return l, sure
}

// known reports whether a directory has not changed since it was read.
func (w *walker) known(n *node, s spot, st *unix.Stat_t) bool {
	l := n.listing
	if l == nil || !l.settled || l.stamp != stampOf(st) || l.store != s.store || l.count >= w.left {
		return false
	}
	w.left -= l.count
	return true
}
