package tree

import (
	"os"

	"golang.org/x/sys/unix"
)

// Quiet reports whether no process has an opened file open for writing, or mapped for writing: a read
// lease is granted only then (fcntl(2), F_SETLEASE). Where the file system has no leases, or the file
// belongs to another user, it is false.
func Quiet(f *os.File) bool {
	_, err := unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_RDLCK)
	if err != nil {
		return false
	}
	_, err = unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_UNLCK)
	return err == nil
}
