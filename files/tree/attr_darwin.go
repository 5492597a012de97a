package tree

import (
	"golang.org/x/sys/unix"

	"sandboxd/files"
)

const errNoAttr = unix.ENOATTR

func setTimesFd(fd int, ns int64) error {
	at, err := fstat(fd)
	if err != nil {
		return err
	}
	return unix.Futimes(fd, []unix.Timeval{unix.NsecToTimeval(at.ModTime), unix.NsecToTimeval(ns)})
}

// chownLink gives a link its owner and group.
func chownLink(dir int, name string, want files.State) error {
	return ignoringEINTR(func() error {
		return unix.Fchownat(dir, name, int(want.UID), int(want.GID),
			unix.AT_SYMLINK_NOFOLLOW)
	})
}

// chmodFd sets the mode of an opened file.
func chmodFd(fd int, mode uint32) error {
	return ignoringEINTR(func() error { return unix.Fchmod(fd, mode) })
}

func defaultACL(int) (mode uint32, ok bool) { return 0, false }
