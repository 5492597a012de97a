package sandbox

import (
	"math"
	"os"
	"syscall"
)

// Use is how much is in a directory that the sandboxes of a place share. Every file counts: a bound of their number
// would be a way around the limit. Directories that are closed to the daemon, and deleted files that are open, do not.
// A directory deeper than a path can say exceeds every limit.
func Use(dir string) (bytes int64) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return 0
	}
	defer root.Close()
	return useBelow(root, 0)
}

// maxUseDepth bounds the directories that Use has open at a time; PATH_MAX permits more of one letter.
const maxUseDepth = 1000

func useBelow(dir *os.Root, depth int) (bytes int64) {
	list, err := dir.Open(".")
	if err != nil {
		return 0 // closed to the daemon
	}
	entries, _ := list.ReadDir(-1)
	list.Close()
	for _, e := range entries {
		const inode = 1 << 10
		bytes += inode
		if info, err := dir.Lstat(e.Name()); err == nil {
			if st, ok := info.Sys().(*syscall.Stat_t); ok {
				bytes += st.Blocks * 512
			}
		}
		if !e.IsDir() {
			continue
		}
		if depth == maxUseDepth {
			return math.MaxInt64 / 2
		}
		if below, err := dir.OpenRoot(e.Name()); err == nil {
			bytes += useBelow(below, depth+1)
			below.Close()
		}
		if bytes >= math.MaxInt64/2 {
			return math.MaxInt64 / 2
		}
	}
	return bytes
}
