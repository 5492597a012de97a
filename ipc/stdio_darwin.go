package ipc

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

const ioctlGetTermios = unix.TIOCGETA

// isPathOnly is false: O_PATH is Linux's.
func isPathOnly(int) bool { return false }

func deviceOf(fi os.FileInfo) uint64 { return uint64(fi.Sys().(*syscall.Stat_t).Rdev) }

// unnamed: a pipe that pipe(2) made has no inode number on macOS.
func unnamed(f *os.File) bool {
	fi, err := f.Stat()
	return err == nil && fi.Sys().(*syscall.Stat_t).Ino == 0
}

// nameOf does not trust F_GETPATH, which may name any of a file's links.
func nameOf(*os.File, os.FileInfo) (string, error) {
	return "", errors.New("on macOS files are relayed")
}
