package term

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"golang.org/x/sys/unix"
)

// waiter reads a descriptor without getting stuck in it: a context ends the
// wait. It uses select(2), which works with terminals on every system; poll and
// kqueue do not on darwin.
type waiter struct {
	fd          int
	wake, alarm int // a pipe: a byte in it ends the wait
}

func newWaiter(fd int) (*waiter, error) {
	var p [2]int
	if err := unix.Pipe(p[:]); err != nil {
		return nil, fmt.Errorf("make a pipe: %w", err)
	}
	for _, end := range p {
		unix.CloseOnExec(end)
		if err := unix.SetNonblock(end, true); err != nil {
			return nil, fmt.Errorf("make a pipe: %w", err)
		}
	}
	if max(fd, p[0]) >= unix.FD_SETSIZE {
		return nil, fmt.Errorf("wait for descriptor %d: too many open files", fd)
	}
	return &waiter{fd: fd, wake: p[0], alarm: p[1]}, nil
}

func (w *waiter) close() {
	unix.Close(w.wake)
	unix.Close(w.alarm)
}

// read waits for input and returns it. The error is ctx's, ErrTime once until has passed
// (zero: never), or the descriptor's, io.EOF at its end.
func (w *waiter) read(ctx context.Context, until time.Time, buf []byte) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	stop := context.AfterFunc(ctx, func() { unix.Write(w.alarm, []byte{0}) })
	defer func() {
		if !stop() {
			w.drain()
		}
	}()
	for {
		ready, err := w.ready(until)
		switch {
		case ctx.Err() != nil:
			return 0, ctx.Err()
		case err != nil:
			return 0, err
		case !ready:
			continue
		}
		n, err := unix.Read(w.fd, buf)
		switch {
		case errors.Is(err, unix.EINTR), errors.Is(err, unix.EAGAIN):
			continue
		case err != nil:
			return 0, err
		case n == 0:
			return 0, io.EOF
		}
		return n, nil
	}
}

// ready waits until there is something to read, or something to look at.
func (w *waiter) ready(until time.Time) (bool, error) {
	var timeout *unix.Timeval
	if !until.IsZero() {
		left := time.Until(until)
		if left <= 0 {
			return false, ErrTime
		}
		tv := unix.NsecToTimeval(left.Nanoseconds())
		timeout = &tv
	}
	var set unix.FdSet
	set.Set(w.fd)
	set.Set(w.wake)
	_, err := unix.Select(max(w.fd, w.wake)+1, &set, nil, nil, timeout)
	if errors.Is(err, unix.EINTR) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("wait for descriptor %d: %w", w.fd, err)
	}
	return set.IsSet(w.fd), nil
}

// drain takes the byte that a context which has ended puts into the pipe.
func (w *waiter) drain() {
	var b [1]byte
	for range 1000 {
		if n, _ := unix.Read(w.wake, b[:]); n == 1 {
			return
		}
		time.Sleep(time.Millisecond) // its writer has been started, but has not run yet
	}
}
