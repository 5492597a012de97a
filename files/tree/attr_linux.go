package tree

import (
	"strconv"

	"golang.org/x/sys/unix"
)

const errNoAttr = unix.ENODATA

// setTimesFd sets an opened file's modification time. The system call takes a
// name; an empty one with the descriptor needs Linux 5.8 (utimensat(2)), so it
// falls back to /proc.
func setTimesFd(fd int, ns int64) error {
	ts := []unix.Timespec{omitTime, unix.NsecToTimespec(ns)}
	err := ignoringEINTR(func() error { return unix.UtimesNanoAt(fd, "", ts, unix.AT_EMPTY_PATH) })
	if err == nil {
		return nil
	}
	link := "/proc/self/fd/" + strconv.Itoa(fd)
	return ignoringEINTR(func() error { return unix.UtimesNanoAt(unix.AT_FDCWD, link, ts, 0) })
}
