package tree

import "golang.org/x/sys/unix"

const errNoAttr = unix.ENOATTR

func setTimesFd(fd int, ns int64) error {
	at, err := fstat(fd)
	if err != nil {
		return err
	}
	return unix.Futimes(fd, []unix.Timeval{unix.NsecToTimeval(at.ModTime), unix.NsecToTimeval(ns)})
}
