//go:build unix

package tree

import "golang.org/x/sys/unix"

// setTimes sets a name's modification time and leaves the access time
// (utimensat(2), UTIME_OMIT).
func setTimes(dir int, name string, ns int64) error {
	ts := []unix.Timespec{omitTime, unix.NsecToTimespec(ns)}
	return ignoringEINTR(func() error { return unix.UtimesNanoAt(dir, name, ts, unix.AT_SYMLINK_NOFOLLOW) })
}
