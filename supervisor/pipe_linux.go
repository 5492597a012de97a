package supervisor

import (
	"os"

	"golang.org/x/sys/unix"
)

// outputPipe is os.Pipe with a writing end that blocks from the beginning, as a command
// gets it: the end handed over needs no poller and no change of its mode.
func outputPipe() (r, w *os.File, err error) {
	var ends [2]int
	if err := unix.Pipe2(ends[:], unix.O_CLOEXEC); err != nil {
		return nil, nil, os.NewSyscallError("pipe2", err)
	}
	if _, err := unix.FcntlInt(uintptr(ends[0]), unix.F_SETFL, unix.O_NONBLOCK); err != nil {
		unix.Close(ends[0])
		unix.Close(ends[1])
		return nil, nil, os.NewSyscallError("fcntl", err)
	}
	return os.NewFile(uintptr(ends[0]), "|0"), os.NewFile(uintptr(ends[1]), "|1"), nil
}
