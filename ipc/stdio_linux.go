package ipc

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

const ioctlGetTermios = unix.TCGETS

func isPathOnly(flags int) bool { return flags&unix.O_PATH != 0 }

func deviceOf(fi os.FileInfo) uint64 { return fi.Sys().(*syscall.Stat_t).Rdev }

// link returns a descriptor's target by proc_pid_fd(5).
func link(f *os.File) (string, error) {
	return os.Readlink(fmt.Sprintf("/proc/self/fd/%d", f.Fd()))
}

// unnamed reports a pipe that pipe(2) made.
func unnamed(f *os.File) bool {
	l, err := link(f)
	return err == nil && strings.HasPrefix(l, "pipe:[")
}

// nameOf returns the path of the open file, which must still be the same.
func nameOf(f *os.File, fi os.FileInfo) (string, error) {
	if fi.Sys().(*syscall.Stat_t).Nlink == 0 {
		return "", errors.New("it has no name in any directory, such as a memfd or a file that was removed")
	}
	path, err := link(f)
	if err != nil {
		return "", err
	}
	if now, err := os.Lstat(path); err != nil || !os.SameFile(now, fi) {
		return "", errors.New("it does not lie where it was opened")
	}
	return path, nil
}
