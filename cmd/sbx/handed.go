package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"sandboxd/cmd/internal/paths"
	"sandboxd/ipc"
)

// handed is an exchange that front began: a command's request was sent, with the
// descriptors that the command may have as they are, and a part of the answer was read.
type handed struct {
	conn   net.Conn
	read   []byte
	signal syscall.Signal // that came since; 0: none
	// written is the number of the last event whose output was written; 0: none was.
	written uint64
}

// takeHanded removes front's argument from the arguments, and reads it.
func takeHanded(args []string) (*handed, []string, error) {
	if len(args) == 0 || !strings.HasPrefix(args[0], paths.Handed) {
		return nil, args, nil
	}
	var n [4]int
	words := strings.Split(strings.TrimPrefix(args[0], paths.Handed), ",")
	for i := range n {
		var err error
		if len(words) != len(n) {
			err = strconv.ErrSyntax
		} else if n[i], err = strconv.Atoi(words[i]); err == nil && n[i] < 0 {
			err = strconv.ErrRange
		}
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w; this flag is for sbx itself", args[0], err)
		}
	}
	for _, fd := range n[:2] {
		unix.CloseOnExec(fd)
	}
	socket, file := os.NewFile(uintptr(n[0]), "exchange"), os.NewFile(uintptr(n[1]), "answer")
	defer socket.Close()
	defer file.Close()
	h := &handed{signal: syscall.Signal(n[2]), written: uint64(n[3])}
	var err error
	if h.conn, err = net.FileConn(socket); err == nil {
		h.read, err = io.ReadAll(io.NewSectionReader(file, 0, 1<<20))
	}
	if err != nil {
		return nil, nil, fmt.Errorf("follow a command that was started: %w", err)
	}
	return h, args[1:], nil
}

// resume continues the exchange, once. ok is false if there is none to continue, or if
// the daemon refused the request: the caller may then send another one.
func (r *runner) resume(ctx context.Context) (started ipc.ExecStarted, events ipc.Stream[ipc.Event], ok bool,
	err error) {
	h := r.handed
	if h == nil {
		return started, nil, false, nil
	}
	r.handed = nil
	if h.signal != 0 && len(h.read) == 0 { // as without front, where the signal ends sbx before there is an answer
		h.conn.Close()
		return started, nil, true, &exit{128 + int(h.signal), errSilent}
	}
	started, events, err = r.client.Resume(ctx, h.conn, h.read)
	if ipc.CodeOf(err) == ipc.CodeForbidden { // the daemon may not permit the descriptors
		r.refused = true
		return started, nil, false, nil
	}
	if err == nil {
		r.written = h.written
		r.input.reader = nil // it is the command's to read
		if h.signal != 0 {
			r.signals <- h.signal
		}
	}
	return started, events, true, err
}
