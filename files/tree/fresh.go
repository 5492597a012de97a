package tree

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"sync"

	"golang.org/x/sys/unix"

	"sandboxd/files"
)

// Fresh is a file that is being written, without a final name yet. Place it, or Close it, which
// leaves nothing behind.
type Fresh struct {
	dir   *Dir
	f     *os.File
	temp  string // the name it may take for a moment
	named bool   // its name is temp
}

// TempName is a name that nobody else uses.
func TempName() string {
	var b [8]byte
	rand.Read(b[:]) //nolint:errcheck // never fails (crypto/rand)
	return files.TempPrefix + hex.EncodeToString(b[:]) + ".tmp"
}

// Unnamed makes an empty file without a name (open(2), O_TMPFILE), of which
// nothing is left when we die. temp is a free name that it may take for a
// moment when it is placed. ok is false where the file system cannot do this.
func (d *Dir) Unnamed(temp string, perm uint32) (n *Fresh, ok bool, err error) {
	fd, err := openUnnamed(d.fd(), perm)
	switch {
	case unsupported(err) || err == unix.EISDIR || err == unix.ENOENT:
		return nil, false, nil
	case err != nil:
		return nil, false, conflict(d.Path(temp), err)
	}
	return &Fresh{dir: d, f: os.NewFile(uintptr(fd), d.Path(temp)), temp: temp}, true, nil
}

// Named makes an empty file under the name temp.
func (d *Dir) Named(temp string, perm uint32) (*Fresh, error) {
	fd, err := d.openNamed(temp, perm)
	if err != nil {
		return nil, conflict(d.Path(temp), err)
	}
	return &Fresh{dir: d, f: os.NewFile(uintptr(fd), d.Path(temp)), temp: temp, named: true}, nil
}

// InPlace opens a file of one name, which must still be old, and empties it to be written anew: for one that no other
// can replace, since it has a group that we can't give, or nothing may be made beside it, as by Landlock alone at the
// top of a project. A death leaves a part of the content; the undo store has all of the old one.
func (d *Dir) InPlace(name string, old Stat) (*Fresh, error) {
	if old.Links > 1 || !d.untouched(name, d.doubt(name, old)) {
		return nil, conflict(d.Path(name), unix.EACCES)
	}
	fd, err := lookup(d.fd(), name, unix.O_WRONLY|unix.O_NONBLOCK)
	if err != nil {
		return nil, conflict(d.Path(name), err)
	}
	n := &Fresh{dir: d, f: os.NewFile(uintptr(fd), d.Path(name)), temp: name}
	now, err := n.Stat()
	if err == nil && now.ID != old.ID {
		err = changed(d.Path(name), "another file under the name")
	}
	if err == nil {
		err = conflict(d.Path(name), n.f.Truncate(0))
	}
	if err != nil {
		n.Close()
		return nil, err
	}
	return n, nil
}

func (d *Dir) openNamed(temp string, perm uint32) (fd int, err error) {
	err = ignoringEINTR(func() (err error) {
		fd, err = unix.Openat(d.fd(), temp, unix.O_RDWR|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, perm)
		return err
	})
	return fd, err
}

// Write implements io.Writer.
func (n *Fresh) Write(p []byte) (int, error) {
	c, err := n.f.Write(p)
	return c, conflict(n.dir.Path(n.temp), err)
}

// CopyFrom writes all of src, which the kernel may do without us.
func (n *Fresh) CopyFrom(src io.Reader) (int64, error) {
	c, err := io.Copy(n.f, src)
	return c, conflict(n.dir.Path(n.temp), err)
}

// Sync makes the content last.
func (n *Fresh) Sync() error { return conflict(n.dir.Path(n.temp), n.f.Sync()) }

// SyncTogether makes files last. The file system does that for many at once in little more than the time for one.
func SyncTogether(list []*Fresh) error {
	errs := make([]error, len(list))
	var all sync.WaitGroup
	for i, n := range list {
		all.Go(func() { errs[i] = n.Sync() })
	}
	all.Wait()
	return errors.Join(errs...)
}

// Stat looks at the file.
func (n *Fresh) Stat() (Stat, error) {
	st, err := fstat(int(n.f.Fd()))
	return st, conflict(n.dir.Path(n.temp), err)
}

// Close closes the file; one that was not placed is gone.
func (n *Fresh) Close() error {
	if n.named {
		n.named = false
		_ = unlink(n.dir.fd(), n.temp)
	}
	return n.f.Close()
}

// name gives the file a free name.
func (n *Fresh) name(name string) error {
	if n.named {
		if name == n.temp {
			return nil
		}
		if err := n.dir.renameFree(n.temp, n.dir, name); err != nil {
			return err
		}
		n.named = false
		return nil
	}
	err := linkUnnamed(n.f, n.dir.fd(), name)
	if err == unix.ENOENT || err == unix.EPERM || err == unix.EXDEV {
		// No /proc to name it by, or a file system that gives no second life
		// to an unnamed file: write it again under the temporary name.
		if err := n.again(); err != nil {
			return err
		}
		return n.name(name)
	}
	if err == nil && name == n.temp {
		n.named = true
	}
	return err
}

// again copies an unnamed file to one that has the temporary name, with all it
// has.
func (n *Fresh) again() error {
	st, err := fstat(int(n.f.Fd()))
	if err != nil {
		return err
	}
	xattrs, err := readXattrs(int(n.f.Fd()))
	if err != nil {
		return err
	}
	fd, err := n.dir.openNamed(n.temp, 0o600)
	if err != nil {
		return err
	}
	named := &Fresh{dir: n.dir, f: os.NewFile(uintptr(fd), n.dir.Path(n.temp)), temp: n.temp, named: true}
	if _, err := n.f.Seek(0, io.SeekStart); err != nil {
		named.Close()
		return err
	}
	if _, err := io.Copy(named.f, n.f); err != nil {
		named.Close()
		return err
	}
	st.Xattrs = xattrs
	if err := named.Dress(st.State); err != nil {
		named.Close()
		return err
	}
	if err := named.f.Sync(); err != nil {
		named.Close()
		return err
	}
	n.f.Close()
	*n = *named
	return nil
}

// Dress sets the file's owner, mode, extended attributes and, where want has one, modification
// time. An attribute that cannot be set is a conflict: the replaced file would silently lose it.
func (n *Fresh) Dress(want files.State) error {
	return n.looks(dress(int(n.f.Fd()), n.dir.tree.reachable(int(n.f.Fd()), want)))
}

// Own sets the file's owner and mode, and leaves attributes from its folder, an access control list
// for example.
func (n *Fresh) Own(want files.State) error {
	want = n.dir.tree.reachable(int(n.f.Fd()), want)
	err := own(int(n.f.Fd()), want)
	if err == nil {
		err = owned(int(n.f.Fd()), want)
	}
	return n.looks(err)
}

// Give gives the file to owner and group of want, and reports whether it is theirs.
func (n *Fresh) Give(want files.State) bool {
	st, err := n.Stat()
	return err == nil && (st.UID == want.UID && st.GID == want.GID ||
		unix.Fchown(int(n.f.Fd()), int(want.UID), int(want.GID)) == nil)
}

func (n *Fresh) looks(err error) error {
	c, ok := err.(*files.Conflict)
	if !ok {
		return conflict(n.dir.Path(n.temp), err)
	}
	c.Path = n.dir.Path(n.temp)
	return c
}

// Chmod gives the file a mode.
func (n *Fresh) Chmod(mode uint32) error {
	return conflict(n.dir.Path(n.temp), unix.Fchmod(int(n.f.Fd()), mode))
}
