package seccomptest

import (
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	instructionSize = 8    // struct sock_filter
	maxInstructions = 4096 // BPF_MAXINSNS of include/uapi/linux/bpf_common.h
)

// Listening is [Filter] for the program of a telling policy. The descriptor, which closes at
// execve, belongs to a listener in a process outside; the calls that it receives wait until then.
// Only a fatal signal interrupts a received call (Linux 5.19).
//
// Errors beside those of Filter: EBUSY, there is a listener around us already, and the kernel has
// one for each chain of filters; EINVAL, an older kernel.
func Listening(program []byte) (listener int, err error) {
	return install(program, unix.SECCOMP_FILTER_FLAG_NEW_LISTENER|unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV)
}

func install(program []byte, flags uintptr) (int, error) {
	n := len(program) / instructionSize
	if n == 0 || len(program)%instructionSize != 0 {
		return -1, fmt.Errorf("seccomp load: %d bytes is not a whole number of instructions", len(program))
	}
	if n > maxInstructions {
		return -1, fmt.Errorf("seccomp load: %d instructions, the kernel takes %d", n, maxInstructions)
	}
	if set, err := unix.PrctlRetInt(unix.PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0); err != nil {
		return -1, fmt.Errorf("seccomp load: prctl PR_GET_NO_NEW_PRIVS: %w", err)
	} else if set != 1 {
		return -1, errors.New("seccomp load: no_new_privs is not set on this thread")
	}
	filter := make([]unix.SockFilter, n)
	for i := range filter {
		ins := program[i*instructionSize:]
		filter[i] = unix.SockFilter{Code: binary.LittleEndian.Uint16(ins), Jt: ins[2], Jf: ins[3],
			K: binary.LittleEndian.Uint32(ins[4:])}
	}
	// SAFETY: the kernel copies the program during the call (seccomp(2)); filter is kept alive until then.
	prog := unix.SockFprog{Len: uint16(n), Filter: &filter[0]}
	fd, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, uintptr(unsafe.Pointer(&prog)))
	runtime.KeepAlive(filter)
	if errno != 0 {
		return -1, fmt.Errorf("seccomp load: %d instructions: %w", n, errno)
	}
	return int(fd), nil
}
