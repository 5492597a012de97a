package audit

import (
	"errors"
	"os"
)

// datasync syncs the file's data. File.Sync is F_FULLFSYNC here: fsync(2) of macOS stops at the
// drive's cache.
func datasync(f *os.File) error { return f.Sync() }

// preallocate returns errors.ErrUnsupported: APFS allocates blocks again for each write.
func preallocate(*os.File, int64, int64) error { return errors.ErrUnsupported }
