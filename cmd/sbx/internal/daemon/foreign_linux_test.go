package daemon

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// foreignSocket is a socket at path that uid listens on: the kernel notes who
// calls listen(2).
func foreignSocket(path string, uid int) (int, error) {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	if err := unix.Bind(fd, &unix.SockaddrUnix{Name: path}); err != nil {
		return -1, err
	}
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with its identity
		if _, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, uintptr(uid), uintptr(uid), uintptr(uid)); errno != 0 {
			done <- errno
			return
		}
		done <- unix.Listen(fd, 8)
	}()
	return fd, <-done
}
