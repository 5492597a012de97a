package differential

import (
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// attemptOther tries what is not about one path of the tree.
func attemptOther(p probe) error {
	switch p.Do {
	case "listen tcp":
		return inet(unix.SOCK_STREAM, 0, func(fd int, at unix.Sockaddr) error { return unix.Bind(fd, at) }, p.Port)
	case "connect tcp":
		return inet(unix.SOCK_STREAM, 0, func(fd int, at unix.Sockaddr) error { return unix.Connect(fd, at) }, p.Port)
	case "connect mptcp":
		return inet(unix.SOCK_STREAM, unix.IPPROTO_MPTCP,
			func(fd int, at unix.Sockaddr) error { return unix.Connect(fd, at) }, p.Port)
	case "send udp":
		return inet(unix.SOCK_DGRAM, 0, func(fd int, at unix.Sockaddr) error { return unix.Sendto(fd, []byte("x"), 0, at) },
			p.Port)
	case "connect abstract":
		return withSocket(func(fd int) error { return unix.Connect(fd, &unix.SockaddrUnix{Name: "@" + p.Path}) })
	case "signal":
		return unix.Kill(p.Port, 0)
	case "renice":
		return unix.Setpriority(unix.PRIO_PROCESS, p.Port, 19)
	case "shared memory":
		id, err := unix.SysvShmGet(p.Port, 1, 0)
		_ = id
		return err
	case "device ioctl":
		fd, err := unix.Open(p.Path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		return ioctlDevice(fd)
	case "load":
		return execute2(loader(), p.Path)
	}
	panic("unknown probe " + p.Do)
}

func inet(kind, protocol int, do func(int, unix.Sockaddr) error, port int) error {
	fd, err := unix.Socket(unix.AF_INET, kind|unix.SOCK_CLOEXEC, protocol)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return do(fd, &unix.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}})
}

// ioctlDevice asks a random device for its entropy count, which anybody may.
func ioctlDevice(fd int) error {
	var count int32
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), 0x80045200, /* RNDGETENTCNT */
		uintptr(unsafe.Pointer(&count)))
	if errno != 0 {
		return errno
	}
	return nil
}

// loader is the dynamic loader of this architecture.
func loader() string {
	if runtime.GOARCH == "arm64" {
		return "/lib/ld-linux-aarch64.so.1"
	}
	return "/lib64/ld-linux-x86-64.so.2"
}

// execute2 runs program with one argument and wants it to succeed.
func execute2(program, argument string) error {
	pid, err := syscall.ForkExec(program, []string{program, argument}, &syscall.ProcAttr{Files: []uintptr{0, 1, 2}})
	if err != nil {
		return err
	}
	var status syscall.WaitStatus
	if _, err := syscall.Wait4(pid, &status, 0, nil); err != nil {
		return err
	}
	if status.ExitStatus() != 0 {
		return unix.EACCES
	}
	return nil
}
