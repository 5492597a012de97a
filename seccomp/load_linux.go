package seccomp

import (
	"errors"
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

func load(program []byte, options []Option) error {
	list, err := decode(program)
	if err != nil {
		return err
	}
	if set, err := unix.PrctlRetInt(unix.PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("seccomp load: prctl PR_GET_NO_NEW_PRIVS: %w", err)
	} else if set != 1 {
		return errors.New("seccomp load: no_new_privs is not set on this thread")
	}
	filter := make([]unix.SockFilter, len(list))
	for i, ins := range list {
		filter[i] = unix.SockFilter{Code: ins.code, Jt: ins.jt, Jf: ins.jf, K: ins.k}
	}
	var flags uintptr
	for _, o := range options {
		if o == Logged {
			flags |= unix.SECCOMP_FILTER_FLAG_LOG
		}
	}
	// SAFETY: the kernel copies the program during the call (seccomp(2)); filter is kept alive until then.
	prog := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, uintptr(unsafe.Pointer(&prog)))
	runtime.KeepAlive(filter)
	if errno != 0 {
		return fmt.Errorf("seccomp load: %d instructions: %w", len(filter), errno)
	}
	return nil
}
