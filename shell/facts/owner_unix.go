//go:build unix

package facts

import (
	"os"
	"slices"
	"syscall"
)

// ownedBySystem reports whether only root can change or replace a file.
func ownedBySystem(name string) bool {
	var st syscall.Stat_t
	if stat(name, &st) != nil || st.Uid != 0 {
		return false
	}
	return st.Mode&0o002 == 0 && (st.Mode&0o020 == 0 || st.Gid == 0 || !member(int(st.Gid)))
}

// stat is stat(2), repeated if a file system in user space interrupts it.
func stat(name string, st *syscall.Stat_t) error {
	for {
		if err := syscall.Stat(name, st); err != syscall.EINTR {
			return err
		}
	}
}

// member reports whether this process belongs to a group.
func member(gid int) bool {
	groups, err := os.Getgroups()
	return err != nil || os.Geteuid() != 0 && (os.Getegid() == gid || slices.Contains(groups, gid))
}
