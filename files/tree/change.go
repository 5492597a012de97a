package tree

import (
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"sandboxd/files"
	"sandboxd/files/internal/fault"
)

// MadeError is a failure after a complete change: the folder could not be synced, or the replaced
// file not be removed.
type MadeError struct{ Err error }

func (e *MadeError) Error() string { return e.Err.Error() + " (after the change was made)" }

func (e *MadeError) Unwrap() error { return e.Err }

func made(err error) error {
	if err == nil {
		return nil
	}
	return &MadeError{err}
}

// Place gives the file a free name.
func (n *Fresh) Place(name string) error {
	fault.Point("place")
	if err := n.name(name); err != nil {
		return conflict(n.dir.Path(name), err)
	}
	n.named = false // also where it had the name already: it stays
	fault.Point("placed")
	return made(n.dir.sync())
}

// Replace exchanges the file with old, and removes old. The entry must still be old, unchanged: the
// two names are exchanged first, and exchanged back if the result is not old.
func (n *Fresh) Replace(name string, old Stat) error {
	fault.Point("replace")
	if err := n.name(n.temp); err != nil {
		return conflict(n.dir.Path(n.temp), err)
	}
	fault.Point("replace-named")
	ours, err := n.Stat()
	if err != nil {
		return err
	}
	left, err := n.dir.swap(n.temp, ours, n.dir, name, old)
	if made := (*MadeError)(nil); err == nil || errors.As(err, &made) {
		n.named = false // the entry at temp is not ours now
	}
	if err != nil {
		return err
	}
	fault.Point("replace-exchanged")
	if left {
		if err := unlink(n.dir.fd(), n.temp); err != nil {
			return made(conflict(n.dir.Path(n.temp), err))
		}
	}
	fault.Point("replaced")
	return made(n.dir.sync())
}

// swap exchanges from, which is ours, with to in another folder or the same, which is old. left:
// old is under from afterwards. On a file system that cannot exchange names it is deleted.
//
// Another process's entry that comes out instead is not lost: it goes back, or where that fails
// stays as from, and the error says so.
func (d *Dir) swap(from string, ours Stat, toDir *Dir, to string, old Stat) (left bool, err error) {
	old = toDir.doubt(to, old)
	err = exchange(d.fd(), from, toDir.fd(), to)
	if unsupported(err) {
		return false, d.replaceChecked(from, toDir, to, old)
	}
	if err != nil {
		return false, d.lost(toDir, to, err)
	}
	if d.untouched(from, old) {
		return true, nil
	}
	fault.Point("swap-lost")
	found := "another version, written while this change was under way"
	back := func() error { return patiently(func() error { return exchange(d.fd(), from, toDir.fd(), to) }) }
	switch err := back(); err {
	case nil:
		if now, err := fstatat(d.fd(), from); err == nil && now.ID == ours.ID {
			return false, changed(toDir.Path(to), found)
		}
		fault.Point("swap-lost-again")
		_ = back() // the entry that came out now is later than the one that went back for it
	case unix.ENOENT: // ours was taken away
		if patiently(func() error { return d.renameFree(from, toDir, to) }) == nil {
			return false, changed(toDir.Path(to), found)
		}
	}
	return false, made(changed(toDir.Path(to), found+", and the earlier file, which is now "+d.Path(from)))
}

func unsupported(err error) bool {
	return err == unix.EINVAL || err == unix.ENOSYS || err == unix.ENOTSUP || err == unix.EOPNOTSUPP
}

// lost explains a missing name.
func (d *Dir) lost(toDir *Dir, to string, err error) error {
	if err == unix.ENOENT {
		return changed(toDir.Path(to), "no file under the name")
	}
	return conflict(toDir.Path(to), err)
}

// replaceChecked is swap for file systems that cannot exchange names: a check, then a rename that
// replaces. Old is deleted; the undo store has its copy.
func (d *Dir) replaceChecked(from string, toDir *Dir, to string, old Stat) error {
	if !toDir.untouched(to, old) {
		return changed(toDir.Path(to), "another version, written while this change was under way")
	}
	return conflict(toDir.Path(to), ignoringEINTR(func() error { return unix.Renameat(d.fd(), from, toDir.fd(), to) }))
}

// untouched reports whether a name is still the same file with the same content, as far as that can
// be found without reading it. The change time cannot be compared: a rename changes it. Nor can, on
// a file system of layers, device and inode: there the content is read, as it is where its times
// would not reveal a change.
func (d *Dir) untouched(name string, old Stat) bool {
	now, err := fstatat(d.fd(), name)
	if err != nil || now.Kind != old.Kind || now.Size != old.Size || now.ModTime != old.ModTime ||
		now.Mode != old.Mode || now.UID != old.UID || now.GID != old.GID {
		return false
	}
	if now.ID == old.ID && !(old.Young && old.Hash != "") {
		return true
	}
	if old.Hash == "" {
		return false
	}
	f, _, err := d.Open(name)
	if err != nil {
		return false
	}
	defer f.Close()
	sum, _, err := Hash(f)
	return err == nil && sum == old.Hash
}

// doubt marks old as unverified if the change time changed: a writer may have restored the
// modification time. Call it before a rename, which changes that.
func (d *Dir) doubt(name string, old Stat) Stat {
	if now, err := fstatat(d.fd(), name); err != nil || now.ChangeTime != old.ChangeTime {
		old.Young = true
	}
	return old
}

// patiently retries f for a moment while a name is busy, because something is mounted over it.
func patiently(f func() error) error {
	for wait := time.Microsecond; ; wait *= 2 {
		err := ignoringEINTR(f)
		if err != unix.EBUSY || wait > 200*time.Millisecond {
			return err
		}
		time.Sleep(wait)
	}
}

func unlink(dir int, name string) error {
	return patiently(func() error { return unix.Unlinkat(dir, name, 0) })
}

// Remove takes a file or link away, which must still be old: it is renamed to
// temp, looked at, and only then gone.
func (d *Dir) Remove(name, temp string, old Stat) error {
	fault.Point("remove")
	old = d.doubt(name, old)
	if err := d.renameFree(name, d, temp); err != nil {
		return d.lost(d, name, err)
	}
	fault.Point("remove-renamed")
	if !d.untouched(temp, old) {
		if err := patiently(func() error { return d.renameFree(temp, d, name) }); err != nil {
			return made(changed(d.Path(name), "another version, which is now beside it as "+temp))
		}
		return changed(d.Path(name), "another version, written while this change was under way")
	}
	if err := unlink(d.fd(), temp); err != nil {
		if err := patiently(func() error { return d.renameFree(temp, d, name) }); err != nil {
			return made(conflict(d.Path(name), err))
		}
		return conflict(d.Path(name), err)
	}
	fault.Point("removed")
	return made(d.sync())
}

// renameFree renames to a name that is free. On a file system that cannot
// promise that, a file is linked and then unlinked; a folder is refused.
func (d *Dir) renameFree(from string, toDir *Dir, to string) error {
	err := renameNew(d.fd(), from, toDir.fd(), to)
	if !unsupported(err) {
		return err
	}
	return d.linkFree(from, toDir, to)
}

// linkFree links a file to the other name and unlinks the first, if that is still the same file and
// not another process's.
func (d *Dir) linkFree(from string, toDir *Dir, to string) error {
	was, err := fstatat(d.fd(), from)
	if err != nil || was.Kind == files.Dir {
		return unix.ENOTSUP
	}
	if err := ignoringEINTR(func() error { return unix.Linkat(d.fd(), from, toDir.fd(), to, 0) }); err != nil {
		return err
	}
	fault.Point("linked")
	now, err := fstatat(d.fd(), from)
	if err != nil {
		return err
	}
	linked, err := fstatat(toDir.fd(), to)
	if err != nil {
		return err
	}
	if now.ID != was.ID && now.ID != linked.ID {
		return nil // theirs
	}
	err = unix.Unlinkat(d.fd(), from, 0)
	if err != nil {
		_ = unlink(toDir.fd(), to)
	}
	return err
}

// Rename moves a name, which must still be old, to a name that is free.
func (d *Dir) Rename(name string, old Stat, toDir *Dir, to string) error {
	fault.Point("rename")
	if now, err := fstatat(d.fd(), name); err != nil || now.ID != old.ID {
		return changed(d.Path(name), "another file under the name")
	}
	if err := d.renameFree(name, toDir, to); err != nil {
		switch err {
		case unix.EXDEV:
			return &files.Conflict{Path: d.Path(name), Reason: files.Unsupported, Found: "the two lie on different mounts"}
		case unix.ENOTSUP:
			return &files.Conflict{Path: d.Path(name), Reason: files.Unsupported,
				Found: "a folder, and its file system cannot keep what takes the new name meanwhile"}
		}
		return conflict(toDir.Path(to), err)
	}
	fault.Point("renamed")
	if now, err := fstatat(toDir.fd(), to); err == nil && now.ID != old.ID {
		if err := patiently(func() error { return toDir.renameFree(to, d, name) }); err != nil {
			return made(conflict(toDir.Path(to), err))
		}
		return changed(d.Path(name), "another file under the name")
	}
	return made(d.syncBoth(toDir))
}

// RenameOver moves a name onto another one, which is displaced, and removes that, by temp as Remove
// does.
func (d *Dir) RenameOver(name, temp string, old Stat, toDir *Dir, to string, displaced Stat) error {
	fault.Point("rename-over")
	if now, err := fstatat(d.fd(), name); err != nil || now.ID != old.ID {
		return changed(d.Path(name), "another file under the name")
	}
	left, err := d.swap(name, old, toDir, to, displaced)
	if err != nil {
		return err
	}
	fault.Point("rename-over-exchanged")
	if now, err := fstatat(toDir.fd(), to); left && (err != nil || now.ID != old.ID) {
		if err := patiently(func() error { return exchange(d.fd(), name, toDir.fd(), to) }); err != nil {
			return made(conflict(d.Path(name), err))
		}
		return changed(d.Path(name), "another file under the name")
	}
	if left {
		err := d.Remove(name, temp, displaced)
		if partly := (*MadeError)(nil); errors.As(err, &partly) {
			return err
		}
		if err != nil && !errors.Is(err, &files.Conflict{Reason: files.Changed}) {
			return made(err)
		} // else somebody has put something there since, or taken it away: that is theirs
	}
	fault.Point("renamed-over")
	return made(d.syncBoth(toDir))
}

func (d *Dir) syncBoth(toDir *Dir) error {
	if err := toDir.sync(); err != nil {
		return err
	}
	return d.sync()
}

// Mkdir makes a folder with perm less the umask.
func (d *Dir) Mkdir(name string, perm uint32) error {
	fault.Point("mkdir")
	if err := ignoringEINTR(func() error { return unix.Mkdirat(d.fd(), name, perm) }); err != nil {
		return conflict(d.Path(name), err)
	}
	fault.Point("mkdir-made")
	return made(d.sync())
}

// MkdirLike makes a folder with mode, owner and attributes of want: under temp
// first, so that it is never seen without them.
func (d *Dir) MkdirLike(name, temp string, want files.State) error {
	fault.Point("mkdir-like")
	if err := ignoringEINTR(func() error { return unix.Mkdirat(d.fd(), temp, 0o700) }); err != nil {
		return conflict(d.Path(temp), err)
	}
	fault.Point("mkdir-like-temp")
	fd, err := lookup(d.fd(), temp, unix.O_RDONLY|unix.O_DIRECTORY)
	if err == nil {
		err = dress(fd, d.tree.reachable(fd, want))
		unix.Close(fd)
	}
	if err == nil {
		err = renameNew(d.fd(), temp, d.fd(), name)
	}
	if unsupported(err) { // then with a moment in which both are free
		err = ignoringEINTR(func() error { return unix.Renameat(d.fd(), temp, d.fd(), name) })
	}
	if err != nil {
		_ = unix.Unlinkat(d.fd(), temp, unix.AT_REMOVEDIR)
		return conflict(d.Path(name), err)
	}
	fault.Point("mkdir-like-made")
	return made(d.sync())
}

// Rmdir takes an empty folder away.
func (d *Dir) Rmdir(name string) error {
	fault.Point("rmdir")
	if err := ignoringEINTR(func() error { return unix.Unlinkat(d.fd(), name, unix.AT_REMOVEDIR) }); err != nil {
		return conflict(d.Path(name), err)
	}
	fault.Point("rmdir-gone")
	return made(d.sync())
}

// Symlink makes a symbolic link with a free name, and the owner and modification time of want:
// under temp first, so that it is never visible without them. A link that can't be given to its
// owner is not made: whether a link in a folder that everybody writes to is followed depends on its
// owner (protected_symlinks in proc_sys_fs(5)). Its group has no effect.
func (d *Dir) Symlink(name, temp string, want files.State) error {
	fault.Point("symlink")
	if err := ignoringEINTR(func() error { return unix.Symlinkat(want.Target, d.fd(), temp) }); err != nil {
		return conflict(d.Path(temp), err)
	}
	fault.Point("symlink-temp")
	err := d.dressLink(name, temp, want)
	if err == nil {
		err = conflict(d.Path(name), d.renameFree(temp, d, name))
	}
	if err != nil {
		_ = unlink(d.fd(), temp)
		return err
	}
	fault.Point("symlink-made")
	return made(d.sync())
}

// dressLink sets owner and time of the link at temp, for its final name.
func (d *Dir) dressLink(name, temp string, want files.State) error {
	ours, err := fstatat(d.fd(), temp)
	if err != nil {
		return conflict(d.Path(temp), err)
	}
	if ours.UID != want.UID || ours.GID != want.GID {
		if err := chownLink(d.fd(), temp, want); err != nil && ours.UID != want.UID {
			return &files.Conflict{Path: d.Path(name), Reason: files.Unkept,
				Found: fmt.Sprintf("the link to %q belongs to uid %d, and we, uid %d, cannot give it to them (%v)", want.Target,
					want.UID, os.Geteuid(), err),
				Hint: "a user who may can make it by hand, with ln -s"}
		}
	}
	return conflict(d.Path(temp), setTimes(d.fd(), temp, want.ModTime))
}

// PutBack gives the entry at temp its name again, if that is still free.
func (d *Dir) PutBack(temp, name string) error {
	if err := patiently(func() error { return d.renameFree(temp, d, name) }); err != nil {
		return conflict(d.Path(name), err)
	}
	return d.sync()
}

// Discard removes a file or empty folder with a temporary name.
func (d *Dir) Discard(temp string) error {
	err := unlink(d.fd(), temp)
	if err == unix.EISDIR || err == unix.EPERM { // as unlink(2) of POSIX says of a folder
		err = unix.Unlinkat(d.fd(), temp, unix.AT_REMOVEDIR)
	}
	if err != nil {
		return conflict(d.Path(temp), err)
	}
	return d.sync()
}
