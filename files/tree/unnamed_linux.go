package tree

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// openUnnamed makes a file without a name (open(2), O_TMPFILE).
func openUnnamed(dir int, perm uint32) (fd int, err error) {
	err = ignoringEINTR(func() (err error) {
		fd, err = unix.Openat(dir, ".", unix.O_RDWR|unix.O_TMPFILE|unix.O_CLOEXEC, perm)
		return err
	})
	return fd, err
}

// linkUnnamed gives it one. AT_EMPTY_PATH wants CAP_DAC_READ_SEARCH before
// Linux 6.10, /proc does not (linkat(2)).
func linkUnnamed(f *os.File, dir int, name string) error {
	err := ignoringEINTR(func() error { return unix.Linkat(int(f.Fd()), "", dir, name, unix.AT_EMPTY_PATH) })
	if err == nil || err == unix.EEXIST {
		return err
	}
	link := "/proc/self/fd/" + strconv.Itoa(int(f.Fd()))
	return ignoringEINTR(func() error { return unix.Linkat(unix.AT_FDCWD, link, dir, name, unix.AT_SYMLINK_FOLLOW) })
}
