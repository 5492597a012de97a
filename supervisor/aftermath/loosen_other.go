//go:build !linux

package aftermath

import (
	"time"

	"golang.org/x/sys/unix"
)

// loosen needs descriptors that name a directory without opening it.
func loosen(int, string, uint32, uint32) func() { return nil }

// widen gives a directory, or a file that has no other name, permissions besides its own.
func widen(name string, kind, mode uint32) {
	var st unix.Stat_t
	if unix.Lstat(name, &st) == nil && uint32(st.Mode)&unix.S_IFMT == kind && (kind == unix.S_IFDIR || st.Nlink == 1) &&
		uint32(st.Mode)&mode != mode {
		unix.Fchmodat(unix.AT_FDCWD, name, uint32(st.Mode)&0o7777|mode, unix.AT_SYMLINK_NOFOLLOW)
	}
}

func birth(string) (at time.Time, known bool) { return time.Time{}, false }
