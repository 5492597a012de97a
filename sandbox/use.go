package sandbox

import (
	"io/fs"
	"os"
	"syscall"
)

// Use is how much is in a directory that the sandboxes of a place share. Every file counts: a bound of their number
// would be a way around the limit. Directories that are closed to the daemon, and deleted files that are open, do not.
func Use(dir string) (bytes int64) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return 0
	}
	defer root.Close()
	fs.WalkDir(root.FS(), ".", func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil // removed since, or closed to the daemon
		}
		const inode = 1 << 10
		bytes += inode
		if info, err := d.Info(); err == nil {
			if st, ok := info.Sys().(*syscall.Stat_t); ok {
				bytes += st.Blocks * 512
			}
		}
		return nil
	})
	return bytes
}
