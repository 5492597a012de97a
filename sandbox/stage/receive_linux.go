package stage

import (
	"errors"
	"fmt"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// Send hands the order, a sealed memfd, and the command's standard descriptors
// to a stage that waits at the other end of a status socket.
func Send(status int, order, stdin, stdout, stderr *os.File) error {
	rights := unix.UnixRights(int(order.Fd()), int(stdin.Fd()), int(stdout.Fd()), int(stderr.Fd()))
	if err := unix.Sendmsg(status, []byte{1}, rights, nil, unix.MSG_NOSIGNAL); err != nil {
		return fmt.Errorf("send order: %w", err)
	}
	return nil
}

// Release lets a stage go that holds (Order.Hold) at the other end of a status
// socket.
func Release(status int) error {
	if err := unix.Sendmsg(status, []byte{1}, nil, nil, unix.MSG_NOSIGNAL); err != nil {
		return fmt.Errorf("release the command: %w", err)
	}
	return nil
}

// status is the status socket for as long as this process lives.
var status = sync.OnceValue(func() *os.File { return os.NewFile(FDStatus, "status") })

// receive waits for the order that counts and for the command's descriptors. The
// sandbox is laid by then; nothing of the command is known. The listener goes out with the
// report. A daemon that is gone ends the stage.
//
// It waits by the runtime's poller. After a system call that took long the runtime
// would take the processor away from this thread at once, and give it back by way of
// two others: 0.15 ms.
func receive(l listener) (*Order, error) {
	if err := unix.Sendmsg(FDStatus, Status{Step: StepWaiting}.encode(), l.rights(), nil, 0); err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	l.close()
	if err := unix.SetNonblock(FDStatus, true); err != nil {
		return nil, fmt.Errorf("wait for an order: %w", err)
	}
	data, oob := make([]byte, 1), make([]byte, unix.CmsgSpace(4*4))
	var n, oobn int
	var failed error
	waiting, err := status().SyscallConn()
	if err == nil {
		err = waiting.Read(func(uintptr) bool {
			n, oobn, _, _, failed = unix.Recvmsg(FDStatus, data, oob, unix.MSG_CMSG_CLOEXEC)
			return failed != unix.EAGAIN && failed != unix.EINTR
		})
	}
	if err = errors.Join(err, failed); err == nil {
		err = unix.SetNonblock(FDStatus, false)
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("receive order: %w", err)
	case n == 0:
		return nil, errors.New("receive order: the daemon is gone")
	}
	messages, err := unix.ParseSocketControlMessage(oob[:oobn])
	if err != nil || len(messages) != 1 {
		return nil, errors.New("receive order: it came without descriptors")
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(fds) != 4 {
		return nil, errors.New("receive order: it came without all of its descriptors")
	}
	o, err := readOrder(fds[0])
	if err == nil && o.Await {
		err = errors.New("receive order: it says to wait")
	}
	if err != nil {
		return nil, err
	}
	for i, at := range []int{0, 1, FDStderr} {
		flags := 0
		if at == FDStderr {
			flags = unix.O_CLOEXEC // it is put at 2 with the other steps
		}
		if err := unix.Dup3(fds[1+i], at, flags); err != nil {
			return nil, fmt.Errorf("receive descriptors: %w", err)
		}
		unix.Close(fds[1+i])
	}
	return o, nil // the order's own descriptor goes at execve
}
