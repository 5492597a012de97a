//go:build unix

package tree

import (
	"strings"

	"golang.org/x/sys/unix"
)

// walk opens a relative path one name at a time, following no link. It needs
// no help of the kernel beyond O_NOFOLLOW.
func walk(dir int, rel string, flags int) (int, error) {
	parts := strings.Split(rel, "/")
	at := dir
	for i, name := range parts {
		if name == ".." || name == "" {
			closeUnless(at, dir)
			return -1, unix.EXDEV
		}
		how := unix.O_RDONLY | unix.O_DIRECTORY
		if i == len(parts)-1 {
			how = flags
		}
		next := -1
		err := ignoringEINTR(func() (err error) {
			next, err = unix.Openat(at, name, how|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0)
			return err
		})
		closeUnless(at, dir)
		if err != nil {
			return -1, err
		}
		at = next
	}
	return at, nil
}

func closeUnless(fd, keep int) {
	if fd != keep {
		unix.Close(fd)
	}
}
