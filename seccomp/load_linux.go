package seccomp

import (
	"errors"
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

func load(program []byte, options []Option) error {
	var flags uintptr
	for _, o := range options {
		if o == Logged {
			flags |= unix.SECCOMP_FILTER_FLAG_LOG
		}
	}
	_, err := install(program, flags)
	return err
}

// LoadListening is [Load] for the program of a telling policy ([Policy.Telling]). The descriptor, which closes at
// execve, belongs into the hands of [NewListener] in a process outside; the calls that it is told of wait until then.
// Once a call is told, only a fatal signal interrupts it (Linux 5.19).
//
// Errors beside those of Load: EBUSY, there is a listener around us already, and the kernel has one for each chain of
// filters; EINVAL, an older kernel.
func LoadListening(program []byte) (listener int, err error) {
	return install(program, unix.SECCOMP_FILTER_FLAG_NEW_LISTENER|unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV)
}

func install(program []byte, flags uintptr) (int, error) {
	list, err := decode(program)
	if err != nil {
		return -1, err
	}
	if set, err := unix.PrctlRetInt(unix.PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0); err != nil {
		return -1, fmt.Errorf("seccomp load: prctl PR_GET_NO_NEW_PRIVS: %w", err)
	} else if set != 1 {
		return -1, errors.New("seccomp load: no_new_privs is not set on this thread")
	}
	filter := make([]unix.SockFilter, len(list))
	for i, ins := range list {
		filter[i] = unix.SockFilter{Code: ins.code, Jt: ins.jt, Jf: ins.jf, K: ins.k}
	}
	// SAFETY: the kernel copies the program during the call (seccomp(2)); filter is kept alive until then.
	prog := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	fd, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, uintptr(unsafe.Pointer(&prog)))
	runtime.KeepAlive(filter)
	if errno != 0 {
		return -1, fmt.Errorf("seccomp load: %d instructions: %w", len(filter), errno)
	}
	return int(fd), nil
}
