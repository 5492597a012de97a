package tree

import (
	"os"

	"golang.org/x/sys/unix"
)

// Quiet reports whether no process has an opened file open for writing, or mapped for writing: a read
// lease is granted only then (fcntl(2), F_SETLEASE). Where the file system has no leases, or the file
// belongs to another user, it is false.
func Quiet(f *os.File) bool { return leased(f, unix.F_RDLCK) }

// Unopened reports whether nobody else has an opened file open, for reading neither: who has can open it again for
// writing by its descriptor in /proc. A write lease is granted only then. It is false where [Quiet] would be.
func Unopened(f *os.File) bool { return leased(f, unix.F_WRLCK) }

func leased(f *os.File, kind int) bool {
	_, err := unix.FcntlInt(f.Fd(), unix.F_SETLEASE, kind)
	if err != nil {
		return false
	}
	_, err = unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_UNLCK)
	return err == nil
}
