package process

import (
	"os"
	"slices"

	"golang.org/x/sys/unix"
)

// ReadFile reads a small file of proc(5) whole. It takes three system calls, where
// os.ReadFile takes seven: a connection has a dozen such files read before its
// first byte is.
func ReadFile(path string) ([]byte, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	defer unix.Close(fd)
	b := make([]byte, 0, 4096)
	for {
		n, err := unix.Read(fd, b[len(b):cap(b)])
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			return nil, &os.PathError{Op: "read", Path: path, Err: err}
		}
		b = b[:len(b)+n]
		if len(b) < cap(b) { // each is one record of the kernel's, which a read takes whole where there is room
			return b, nil
		}
		b = slices.Grow(b, cap(b))
	}
}
