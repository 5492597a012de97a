//go:build unix

package facts

import (
	"os"
	"slices"
	"syscall"
)

// ownedBySystem says whether nobody but root can change or replace a file.
func ownedBySystem(name string) bool {
	var st syscall.Stat_t
	if stat(name, &st) != nil || st.Uid != 0 {
		return false
	}
	return st.Mode&0o002 == 0 && (st.Mode&0o020 == 0 || st.Gid == 0 || !member(int(st.Gid)))
}

// stat is stat(2), which a file system in user space may interrupt. Of os.Stat's
// FileInfo nothing would be needed.
func stat(name string, st *syscall.Stat_t) error {
	for {
		if err := syscall.Stat(name, st); err != syscall.EINTR {
			return err
		}
	}
}

// member says whether this process belongs to a group.
func member(gid int) bool {
	groups, err := os.Getgroups()
	return err != nil || os.Geteuid() != 0 && (os.Getegid() == gid || slices.Contains(groups, gid))
}
