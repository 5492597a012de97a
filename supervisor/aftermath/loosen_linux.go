package aftermath

import (
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// loosen gives the owner of a directory or file, which we must be, the permissions of
// mode besides its own, until back is called; nil where there was no need, or no way.
// kind is the required type (S_IFDIR or S_IFREG).
func loosen(parent int, element string, kind, mode uint32) (back func()) {
	fd, err := unix.Openat(parent, element, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	var st unix.Stat_t
	self := "/proc/self/fd/" + strconv.Itoa(fd)
	if unix.Fstat(fd, &st) != nil || st.Mode&unix.S_IFMT != kind || st.Uid != uint32(unix.Geteuid()) ||
		st.Mode&mode == mode || unix.Chmod(self, st.Mode&0o7777|mode) != nil {
		unix.Close(fd)
		return nil
	}
	return func() {
		unix.Chmod(self, st.Mode&0o7777)
		unix.Close(fd)
	}
}

// widen is loosen for good, of a file that has no other name.
func widen(name string, kind, mode uint32) {
	fd, err := unix.Open(name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if unix.Fstat(fd, &st) == nil && st.Mode&unix.S_IFMT == kind && (kind == unix.S_IFDIR || st.Nlink == 1) &&
		st.Mode&mode != mode {
		unix.Chmod("/proc/self/fd/"+strconv.Itoa(fd), st.Mode&0o7777|mode)
	}
}

// birth returns when a directory was made; known is false where its file system does not say.
func birth(dir string) (at time.Time, known bool) {
	var st unix.Statx_t
	err := unix.Statx(unix.AT_FDCWD, dir, unix.AT_SYMLINK_NOFOLLOW, unix.STATX_BTIME, &st)
	return time.Unix(st.Btime.Sec, int64(st.Btime.Nsec)), err == nil && st.Mask&unix.STATX_BTIME != 0
}
