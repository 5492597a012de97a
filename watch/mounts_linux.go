package watch

import "golang.org/x/sys/unix"

// Mounts counts the changes of the mount table of the thread that asks first: not of
// the first thread, which may be in a namespace of its own for a moment. The zero value
// is ready. It has no lock of its own.
type Mounts struct {
	fd    int // 0: not open; not an os.File, whose poller would take the news away
	count uint64
}

// Generation returns another number after every mount, unmount and move. The kernel reports them by
// POLLPRI, once per reader (proc_pid_mounts(5)).
func (m *Mounts) Generation() (uint64, error) {
	if m.fd == 0 {
		fd, err := unix.Open("/proc/thread-self/mountinfo", unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			return 0, err
		}
		m.fd = fd
	}
	fds := []unix.PollFd{{Fd: int32(m.fd), Events: unix.POLLPRI}}
	n, err := unix.Poll(fds, 0)
	for err == unix.EINTR {
		n, err = unix.Poll(fds, 0)
	}
	if err != nil {
		return 0, err
	}
	if n > 0 {
		m.count++
	}
	return m.count, nil
}

// Close lets the table go.
func (m *Mounts) Close() {
	if m.fd != 0 {
		unix.Close(m.fd)
		m.fd = 0
	}
}
