//go:build unix

package supervisor

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// identity is the device and inode of a directory, not following a symlink.
func identity(dir string) (dev, ino uint64, err error) {
	var st unix.Stat_t
	if err := unix.Lstat(dir, &st); err != nil {
		return 0, 0, err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		return 0, 0, fmt.Errorf("not a directory")
	}
	return uint64(st.Dev), uint64(st.Ino), nil
}
