package store

import (
	"os"

	"golang.org/x/sys/unix"
)

// clone shares the blocks of src, where the file system can (ioctl_ficlone(2)).
func clone(dst, src *os.File) bool {
	return unix.IoctlFileClone(int(dst.Fd()), int(src.Fd())) == nil
}

// syncFS makes everything last that was written below a folder (syncfs(2)).
func syncFS(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	return unix.Syncfs(int(f.Fd()))
}
