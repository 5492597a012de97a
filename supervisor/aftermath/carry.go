package aftermath

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"

	"sandboxd/files"
	"sandboxd/files/tree"
)

// move renames, or copies and removes where the two lie on different file
// systems, or theirs can't rename a folder to free names only.
func move(from *tree.Dir, name string, to *tree.Dir, as string) error {
	st, err := from.Stat(name)
	if err != nil {
		return err
	}
	err = from.Rename(name, st, to, as)
	var made *tree.MadeError
	if err == nil || errors.As(err, &made) {
		return nil
	}
	var conflict *files.Conflict
	if !errors.As(err, &conflict) || conflict.Reason != files.Unsupported {
		return err
	}
	return carry(from, name, st, to, as)
}

// carry copies and then removes. An entry that can't be removed is not left in two places.
func carry(from *tree.Dir, name string, st tree.Stat, to *tree.Dir, as string) error {
	switch st.Kind {
	case files.Dir:
		return carryFolder(from, name, st, to, as)
	case files.File:
		if err := copyFile(from, name, to, as); err != nil {
			return err
		}
	case files.Symlink:
		target, err := from.Target(name)
		if err != nil {
			return err
		}
		if err := settledError(to.Symlink(as, tree.TempName(), ownLink(target, st.ModTime))); err != nil {
			return err
		}
	default: // a pipe, a socket: nothing to keep
		return settledError(from.Remove(name, tree.TempName(), st))
	}
	err := settledError(from.Remove(name, tree.TempName(), st))
	if err != nil {
		_ = to.Discard(as)
	}
	return err
}

func carryFolder(from *tree.Dir, name string, st tree.Stat, to *tree.Dir, as string) error {
	in, closeIn, err := openBelow(from, name)
	if err != nil {
		return err
	}
	defer closeIn()
	if err := os.Mkdir(to.Path(as), 0o700); err != nil {
		return err
	}
	widen(to.Path(as), unix.S_IFDIR, st.Mode&0o777) // to be brought back as it was
	out, closeOut, err := openBelow(to, as)
	if err != nil {
		return err
	}
	defer closeOut()
	names, _, err := in.Names(maxEntries)
	for _, n := range names {
		st, serr := in.Stat(n)
		if serr == nil {
			serr = carry(in, n, st, out, n)
		}
		err = errors.Join(err, serr) // its other entries are moved nevertheless
	}
	if err == nil {
		err = settledError(from.Rmdir(name))
	}
	if err != nil {
		_ = to.Discard(as) // only if it is empty
	}
	return err
}

func openBelow(d *tree.Dir, name string) (*tree.Dir, func(), error) {
	lock := unlock(d.Path(""), d.Path(name))
	in, closeIn, err := openFolder(d.Path(""), d.Path(name))
	if err != nil {
		lock()
		return nil, nil, err
	}
	return in, func() { closeIn(); lock() }, nil
}

func copyFile(from *tree.Dir, name string, to *tree.Dir, as string) error {
	if back := loosen(unix.AT_FDCWD, from.Path(name), unix.S_IFREG, 0o400); back != nil {
		defer back() // before it is removed
	}
	src, st, err := from.Open(name)
	if err != nil {
		return err
	}
	defer src.Close()
	fresh, err := begin(to)
	if err != nil {
		return err
	}
	defer fresh.Close()
	if _, err := fresh.CopyFrom(src); err != nil {
		return err
	}
	if err := fresh.Chmod(st.Mode & 0o777); err != nil {
		return err
	}
	if err := fresh.Sync(); err != nil {
		return err
	}
	return settledError(fresh.Place(as))
}

// begin makes an empty file, of which a death leaves nothing where that can be.
func begin(d *tree.Dir) (*tree.Fresh, error) {
	fresh, ok, err := d.Unnamed(tree.TempName(), 0o600)
	if err == nil && !ok {
		fresh, err = d.Named(tree.TempName(), 0o600)
	}
	return fresh, err
}

// ownLink is a symbolic link of our own.
func ownLink(target string, modTime int64) files.State {
	return files.State{Kind: files.Symlink, Target: target, UID: uint32(os.Geteuid()), GID: uint32(os.Getegid()),
		ModTime: modTime}
}

// settledError returns nil for an error of a change that was made nevertheless.
func settledError(err error) error {
	var made *tree.MadeError
	if errors.As(err, &made) {
		return nil
	}
	return err
}
