//go:build unix

package facts

import (
	"os"
	"slices"
	"syscall"
)

// ownedBySystem says whether nobody but root can change or replace a file.
func ownedBySystem(name string) bool {
	info, err := os.Stat(name)
	if err != nil {
		return false
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || st.Uid != 0 {
		return false
	}
	mode := info.Mode()
	return mode&0o002 == 0 && (mode&0o020 == 0 || st.Gid == 0 || !member(int(st.Gid)))
}

// member says whether this process belongs to a group.
func member(gid int) bool {
	groups, err := os.Getgroups()
	return err != nil || os.Geteuid() != 0 && (os.Getegid() == gid || slices.Contains(groups, gid))
}
