package tree

import (
	"errors"
	"io"
	"os"
	"path"
	"strconv"

	"golang.org/x/sys/unix"

	"sandboxd/files"
)

// Dir is an opened folder of the tree. Names in it are single names; no link is
// followed. Close it.
type Dir struct {
	tree *Tree
	rel  string
	f    *os.File
}

// Dir opens a folder by its real path, as Resolve gives it.
func (t *Tree) Dir(rel string) (*Dir, error) {
	full := path.Join(t.path, rel)
	fd, err := t.openDir(rel)
	if err != nil {
		return nil, conflict(full, err)
	}
	d := &Dir{tree: t, rel: rel, f: os.NewFile(uintptr(fd), full)}
	if err := t.checkMount(fd); err != nil {
		d.Close()
		return nil, conflict(full, err)
	}
	return d, nil
}

func (t *Tree) openDir(rel string) (int, error) {
	root := int(t.root.Fd())
	fd, err := lookup(root, rel, unix.O_RDONLY|unix.O_DIRECTORY)
	if err == unix.EACCES { // without the right to list, names can still be used
		return lookup(root, rel, pathOnly|unix.O_DIRECTORY)
	}
	return fd, err
}

// Close closes the folder.
func (d *Dir) Close() error { return d.f.Close() }

func (d *Dir) fd() int { return int(d.f.Fd()) }

// Path is the absolute path of a name in the folder, for messages.
func (d *Dir) Path(name string) string { return path.Join(d.tree.path, d.rel, name) }

// Stat looks at a name; one that is not there has the kind Absent.
func (d *Dir) Stat(name string) (Stat, error) {
	st, err := fstatat(d.fd(), name)
	return st, conflict(d.Path(name), err)
}

// Self looks at the folder itself.
func (d *Dir) Self() (Stat, error) {
	st, err := fstat(d.fd())
	return st, conflict(d.Path(""), err)
}

// Permits returns the mode of a file that is made here, and in new folders here, with perm: less
// the umask, or by the folder's default access control list, which replaces the umask (acl(5)).
func (d *Dir) Permits(perm, umask uint32) uint32 {
	if most, ok := defaultACL(d.fd()); ok {
		return perm & most
	}
	return perm &^ umask
}

// Target reads a symbolic link.
func (d *Dir) Target(name string) (string, error) {
	target, err := readlinkat(d.fd(), name)
	if err == unix.EINVAL { // not a link now
		return "", changed(d.Path(name), "something else than a symbolic link")
	}
	return target, conflict(d.Path(name), err)
}

// Open opens a regular file for reading. It refuses, before it is opened for
// reading, everything else: a link, a folder, a device, a FIFO, a file on
// another mount, and one with other names unless the tree permits that.
func (d *Dir) Open(name string) (*os.File, Stat, error) {
	for try := 0; ; try++ {
		f, st, again, err := d.open(name)
		if again && try < 20 {
			continue
		}
		return f, st, conflict(d.Path(name), err)
	}
}

// open tries once. again: the name changed hands between two looks.
func (d *Dir) open(name string) (f *os.File, st Stat, again bool, err error) {
	fd, err := lookup(d.fd(), name, pathOnly)
	if err != nil {
		return nil, Stat{}, false, err
	}
	defer unix.Close(fd)
	if st, err = fstat(fd); err != nil {
		return nil, Stat{}, false, err
	}
	if err := d.readable(name, fd, st); err != nil {
		return nil, st, false, err
	}
	const how = unix.O_RDONLY | unix.O_NONBLOCK | unix.O_NOCTTY
	rd, err := lookup(d.fd(), name, how)
	if err == unix.EACCES && d.tree.loose && int(st.UID) == os.Geteuid() && st.Mode&0o400 == 0 {
		if err = chmodFd(fd, st.Mode|0o400); err == nil {
			rd, err = lookup(d.fd(), name, how)
			_ = chmodFd(fd, st.Mode) // its owner's, as before
		}
	}
	if err == unix.ELOOP || err == unix.ENOENT || err == unix.ENXIO {
		return nil, st, true, changed(d.Path(name), "another file under the name while it was opened")
	}
	if err != nil {
		return nil, st, false, err
	}
	f = os.NewFile(uintptr(rd), d.Path(name))
	now, err := fstat(rd)
	if err == nil && (now.ID != st.ID || now.Kind != files.File) {
		again, err = true, changed(d.Path(name), "another file under the name while it was opened")
	}
	if err == nil {
		err = d.readable(name, rd, now)
	}
	if err != nil {
		f.Close()
		return nil, now, again, err
	}
	return f, now, false, nil
}

// readable refuses files that are not this tree's own.
func (d *Dir) readable(name string, fd int, st Stat) error {
	full := d.Path(name)
	switch {
	case st.Kind == files.Symlink:
		return unix.ELOOP
	case st.Kind == files.Dir:
		return &files.Conflict{Path: full, Reason: files.NotAFile}
	case st.Kind != files.File:
		return &files.Conflict{Path: full, Reason: files.Special}
	case st.Links > 1 && !d.tree.links:
		return &files.Conflict{Path: full, Reason: files.ManyNames,
			Hint: "files.hard_links = \"read\" permits reading such files"}
	}
	return d.tree.checkMount(fd)
}

// Names reads the names in the folder, unsorted, at most limit of them; more reports that there are
// others. It needs the right to list, but not, as opening the folder again would, the right to
// search.
func (d *Dir) Names(limit int) (names []string, more bool, err error) {
	if _, err := d.f.Seek(0, io.SeekStart); err != nil {
		if errors.Is(err, unix.EBADF) { // opened by path only
			err = unix.EACCES
		}
		return nil, false, conflict(d.Path(""), err)
	}
	limit = max(limit, 0)
	for len(names) <= limit {
		batch, err := d.f.Readdirnames(min(1024, limit+1-len(names)))
		names = append(names, batch...)
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, false, conflict(d.Path(""), err)
		}
	}
	if len(names) > limit {
		return names[:limit], true, nil
	}
	return names, false, nil
}

// sync makes the names in the folder last.
func (d *Dir) sync() error {
	if d.tree.bulk {
		return nil
	}
	err := ignoringEINTR(func() error { return unix.Fsync(d.fd()) })
	if err == unix.EBADF || err == unix.EINVAL { // opened by path only, or not a file system that does this
		return nil
	}
	return conflict(d.Path(""), err)
}

// SetModTime sets the folder's own modification time, in nanoseconds.
func (d *Dir) SetModTime(ns int64) error {
	return conflict(d.Path(""), setTimes(d.fd(), ".", ns))
}

// Dress gives the folder mode, owner, attributes and modification time of want.
func (d *Dir) Dress(want files.State) error {
	return conflict(d.Path(""), dress(d.fd(), d.tree.reachable(d.fd(), want)))
}

// Loosen lets the folder's owner list and change it.
func (d *Dir) Loosen() error {
	st, err := fstat(d.fd())
	if err != nil {
		return conflict(d.Path(""), err)
	}
	return d.Chmod(st.Mode | 0o700)
}

// Chmod gives the folder a mode, by its path, as the descriptor may be one for the path only.
func (d *Dir) Chmod(mode uint32) error {
	return conflict(d.Path(""), unix.Chmod("/proc/self/fd/"+strconv.Itoa(d.fd()), mode))
}

// Mounted reports whether a name is on another mount than the tree, and not one that shows what the tree has there. It
// is true of a name that can't be looked up.
func (d *Dir) Mounted(name string) bool {
	fd, err := lookup(d.fd(), name, pathOnly)
	if err != nil {
		return true
	}
	defer unix.Close(fd)
	return d.tree.checkMount(fd) != nil
}

// SameMount reports whether a rename between two folders can be.
func (d *Dir) SameMount(e *Dir) bool {
	a, errA := mountOf(d.fd())
	b, errB := mountOf(e.fd())
	return errA == nil && errB == nil && a == b
}

// Xattrs reads the folder's own extended attributes.
func (d *Dir) Xattrs() (map[string][]byte, error) {
	x, err := readXattrs(d.fd())
	return x, conflict(d.Path(""), err)
}

// DirState is all that undo needs to make a folder again.
func (t *Tree) DirState(rel string) (files.State, error) {
	d, err := t.Dir(rel)
	if err != nil {
		return files.State{}, err
	}
	defer d.Close()
	st, err := d.Self()
	if err != nil {
		return files.State{}, err
	}
	st.Xattrs, err = d.Xattrs()
	return st.State, err
}
