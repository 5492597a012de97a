package audit

import (
	"os"

	"golang.org/x/sys/unix"
)

// datasync syncs the file's data and its size (fdatasync(2)).
func datasync(f *os.File) error {
	for {
		err := unix.Fdatasync(int(f.Fd()))
		if err != unix.EINTR {
			return os.NewSyscallError("fdatasync", err)
		}
	}
}

// preallocate allocates the bytes of f from one offset to another; its size stays as it is
// (fallocate(2)). The error is errors.ErrUnsupported where the file system can't.
func preallocate(f *os.File, from, to int64) error {
	for {
		err := unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_KEEP_SIZE, from, to-from)
		if err != unix.EINTR {
			return os.NewSyscallError("fallocate", err)
		}
	}
}
