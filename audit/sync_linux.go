package audit

import (
	"os"

	"golang.org/x/sys/unix"
)

// datasync returns when what was written to f, and the size it gave it, are on
// the disk (fdatasync(2)).
func datasync(f *os.File) error {
	for {
		err := unix.Fdatasync(int(f.Fd()))
		if err != unix.EINTR {
			return os.NewSyscallError("fdatasync", err)
		}
	}
}
