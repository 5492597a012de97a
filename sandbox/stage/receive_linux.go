package stage

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// maxPiece is the most of an order that one message carries: with what the kernel adds
// it stays below what a socket may hold (net.core.wmem_default, 208 KiB).
const maxPiece = 64 << 10

// Pieces are the messages by which an encoded order goes to a stage that waits at the
// other end of a status socket. With the first go the command's standard input, output
// and error (SCM_RIGHTS). Each begins with a byte that says whether another one follows.
func Pieces(order []byte) (pieces [][]byte) {
	for {
		n := min(len(order), maxPiece-1)
		piece := append(make([]byte, 1, 1+n), order[:n]...)
		pieces, order = append(pieces, piece), order[n:]
		if len(order) == 0 {
			return pieces
		}
		piece[0] = 1
	}
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
	waiting, err := status().SyscallConn()
	if err != nil {
		return nil, fmt.Errorf("wait for an order: %w", err)
	}
	oob := make([]byte, unix.CmsgSpace(3*4))
	piece := make([]byte, maxPiece)
	encoded, oob, err := next(waiting, nil, piece, oob)
	for err == nil && piece[0] == 1 && len(encoded) <= maxOrder {
		encoded, _, err = next(waiting, encoded, piece, nil)
	}
	if err == nil {
		err = unix.SetNonblock(FDStatus, false)
	}
	if err != nil {
		return nil, fmt.Errorf("receive order: %w", err)
	}
	messages, err := unix.ParseSocketControlMessage(oob)
	if err != nil || len(messages) != 1 {
		return nil, errors.New("receive order: it came without descriptors")
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(fds) != 3 {
		return nil, errors.New("receive order: it came without all of its descriptors")
	}
	o := new(Order)
	if err := o.UnmarshalBinary(encoded); err != nil {
		return nil, err
	}
	if err := o.check(); err != nil {
		return nil, err
	}
	for i, at := range []int{0, 1, FDStderr} {
		flags := 0
		if at == FDStderr {
			flags = unix.O_CLOEXEC // it is put at 2 with the other steps
		}
		if err := unix.Dup3(fds[i], at, flags); err != nil {
			return nil, fmt.Errorf("receive descriptors: %w", err)
		}
		unix.Close(fds[i])
	}
	return o, nil
}

// next receives a piece and appends what it carries; piece and oob are where it goes.
func next(waiting syscall.RawConn, before, piece, oob []byte) (encoded, rights []byte, err error) {
	var n, oobn int
	var failed error
	err = waiting.Read(func(uintptr) bool {
		n, oobn, _, _, failed = unix.Recvmsg(FDStatus, piece, oob, unix.MSG_CMSG_CLOEXEC)
		return failed != unix.EAGAIN && failed != unix.EINTR
	})
	if err = errors.Join(err, failed); err == nil && n == 0 {
		err = errors.New("the daemon is gone")
	}
	if err != nil {
		return nil, nil, err
	}
	return append(before, piece[1:n]...), oob[:oobn], nil
}
