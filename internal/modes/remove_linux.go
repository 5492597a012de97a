package modes

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// RemoveAll removes a path and all below it, also directories whose modes close them to their owner. Nothing there is
// no error. It has two directories open, and no path of it grows with the depth of the tree: one that a command made
// may be deeper than a path can say (PATH_MAX), and than the limit of open files.
func RemoveAll(path string) error {
	dir, err := os.Open(filepath.Dir(path))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer dir.Close()
	return RemoveAllIn(dir, filepath.Base(path))
}

// RemoveAllIn is [RemoveAll] for an entry of an open directory. It follows no link, and so reaches nothing outside
// while others change the tree.
func RemoveAllIn(dir *os.File, name string) error {
	if removeEntry(int(dir.Fd()), name) {
		return nil
	}
	fd, err := openLoose(int(dir.Fd()), name)
	if err != nil {
		return &os.PathError{Op: "remove", Path: filepath.Join(dir.Name(), name), Err: err}
	}
	top := os.NewFile(uintptr(fd), filepath.Join(dir.Name(), name))
	defer top.Close()
	n := 0
	left, first := top.Readdirnames(-1)
	for len(left) > 0 {
		below := left[len(left)-1]
		left = left[:len(left)-1]
		if removeEntry(fd, below) {
			continue
		}
		moved, err := empty(fd, below, &n)
		left = append(left, moved...)
		if err == nil {
			err = unix.Unlinkat(fd, below, unix.AT_REMOVEDIR)
		}
		if err != nil && err != unix.ENOENT && first == nil {
			first = fmt.Errorf("remove %q in %q: %w", below, top.Name(), err)
		}
	}
	if first == nil {
		first = unix.Unlinkat(int(dir.Fd()), name, unix.AT_REMOVEDIR)
	}
	return first
}

// removeEntry reports whether an entry that is no directory, or an empty one, is gone.
func removeEntry(dir int, name string) bool {
	err := unix.Unlinkat(dir, name, 0)
	return err == nil || err == unix.ENOENT ||
		err == unix.EISDIR && unix.Unlinkat(dir, name, unix.AT_REMOVEDIR) == nil
}

// empty removes the entries of a directory in top but for directories with something in them. It moves these to top,
// under the names that it returns.
func empty(top int, name string, n *int) (moved []string, err error) {
	fd, err := openLoose(top, name)
	if err != nil {
		return nil, err
	}
	dir := os.NewFile(uintptr(fd), name)
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	for _, below := range names {
		if removeEntry(fd, below) {
			continue
		}
		if in, err := openLoose(fd, below); err == nil { // to move a directory needs write permission for it
			unix.Close(in)
		}
		as, moveErr := moveUp(fd, below, top, n)
		switch {
		case moveErr == nil:
			moved = append(moved, as)
		// Of another mount, or in a Landlock domain without that right.
		case os.RemoveAll(fmt.Sprintf("/proc/self/fd/%d/%s", fd, below)) != nil:
			err = moveErr
		}
	}
	return moved, err
}

// moveUp renames an entry to a free name in top.
func moveUp(from int, name string, top int, n *int) (as string, err error) {
	for {
		*n++
		as = fmt.Sprintf(".removed-%d", *n)
		err = unix.Renameat2(from, name, top, as, unix.RENAME_NOREPLACE)
		if err == unix.EINVAL { // of a file system without that
			err = unix.Renameat(from, name, top, as)
		}
		if err != unix.EEXIST && err != unix.ENOTEMPTY && err != unix.ENOTDIR {
			return as, err
		}
	}
}

// openLoose opens a directory with all permissions for its owner from now on.
func openLoose(dir int, name string) (int, error) {
	at, err := unix.Openat(dir, name, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	defer unix.Close(at)
	var st unix.Stat_t
	if unix.Fstat(at, &st) == nil && st.Mode&0o700 != 0o700 {
		_ = unix.Chmod(fmt.Sprintf("/proc/self/fd/%d", at), 0o700) // opening it says where that fails
	}
	return unix.Openat(at, ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
}
