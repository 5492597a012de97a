package tree

import "golang.org/x/sys/unix"

// omitTime is UTIME_OMIT of sys/stat.h.
var omitTime = unix.Timespec{Nsec: -2}

func renameNew(fromDir int, from string, toDir int, to string) error {
	return ignoringEINTR(func() error { return unix.RenameatxNp(fromDir, from, toDir, to, unix.RENAME_EXCL) })
}

func exchange(fromDir int, from string, toDir int, to string) error {
	return ignoringEINTR(func() error { return unix.RenameatxNp(fromDir, from, toDir, to, unix.RENAME_SWAP) })
}
