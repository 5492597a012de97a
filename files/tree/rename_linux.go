package tree

import "golang.org/x/sys/unix"

var omitTime = unix.Timespec{Nsec: unix.UTIME_OMIT}

// renameNew renames and refuses to replace (renameat2(2), RENAME_NOREPLACE).
func renameNew(fromDir int, from string, toDir int, to string) error {
	return ignoringEINTR(func() error { return unix.Renameat2(fromDir, from, toDir, to, unix.RENAME_NOREPLACE) })
}

// exchange swaps two names (RENAME_EXCHANGE).
func exchange(fromDir int, from string, toDir int, to string) error {
	return ignoringEINTR(func() error { return unix.Renameat2(fromDir, from, toDir, to, unix.RENAME_EXCHANGE) })
}
