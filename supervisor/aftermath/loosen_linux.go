package aftermath

import (
	"strconv"

	"golang.org/x/sys/unix"
)

// loosen gives the owner of a directory, which we must be, the permissions of
// mode besides its own, until back is called; nil where there was no need, or no way.
func loosen(parent int, element string, mode uint32) (back func()) {
	fd, err := unix.Openat(parent, element, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	var st unix.Stat_t
	self := "/proc/self/fd/" + strconv.Itoa(fd)
	if unix.Fstat(fd, &st) != nil || st.Uid != uint32(unix.Geteuid()) || st.Mode&mode == mode || unix.Chmod(self, st.Mode&0o7777|mode) != nil {
		unix.Close(fd)
		return nil
	}
	return func() {
		unix.Chmod(self, st.Mode&0o7777)
		unix.Close(fd)
	}
}
