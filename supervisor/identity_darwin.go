package supervisor

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// identityOf is which directory dir is, not following a symlink.
func identityOf(dir string) (identity, error) {
	var st unix.Stat_t
	if err := unix.Lstat(dir, &st); err != nil {
		return identity{}, err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		return identity{}, fmt.Errorf("not a directory")
	}
	return identity{Device: uint64(st.Dev), Inode: st.Ino, Born: st.Btim.Nano()}, nil
}
