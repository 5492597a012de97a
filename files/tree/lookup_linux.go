package tree

import (
	"time"

	"golang.org/x/sys/unix"
)

// lookup opens a relative path below dir that holds no symbolic link and no
// "..". openat2(2): RESOLVE_BENEATH, RESOLVE_NO_SYMLINKS, RESOLVE_NO_MAGICLINKS.
// Where the kernel, or a filter around us, has no openat2, it goes one name at
// a time, which follows nothing either.
func lookup(dir int, rel string, flags int) (int, error) {
	how := unix.OpenHow{
		Flags:   uint64(flags | unix.O_CLOEXEC | unix.O_NOFOLLOW),
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS,
	}
	for try := 0; ; try++ {
		fd, err := unix.Openat2(dir, rel, &how)
		switch {
		case err == unix.EINTR:
		case err == unix.EAGAIN && try < 100:
			// A rename or mount somewhere made the walk uncertain (openat2(2)).
			time.Sleep(time.Duration(try) * 10 * time.Microsecond)
		case err == unix.ENOSYS:
			return walk(dir, rel, flags)
		default:
			return fd, err
		}
	}
}
