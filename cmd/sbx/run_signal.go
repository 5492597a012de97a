package main

import (
	"context"
	"errors"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"sandboxd/ipc"
)

// forwarded are the signals that go to the command.
var forwarded = []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1,
	syscall.SIGUSR2, syscall.SIGWINCH}

// signal takes one signal: the first goes to the command, the second ends all
// that it started, the third ends sbx at once (give up is true).
func (r *runner) signal(ctx context.Context, sig os.Signal) (giveUp bool) {
	switch sig {
	case syscall.SIGWINCH:
		if r.options.tty && r.started {
			cols, rows := size()
			go r.client.ResizeExec(ctx, ipc.ResizeRequest{ID: r.id, Cols: cols, Rows: rows})
		}
		return false
	case syscall.SIGUSR1, syscall.SIGUSR2:
		if r.started {
			go r.client.SignalExec(ctx, ipc.SignalRequest{ID: r.id, Signal: name(sig)})
		}
		return false
	}
	r.taken++
	r.last = sig
	switch {
	case r.taken == 1 && r.started:
		go r.orAgain(sig, func() error {
			return r.client.SignalExec(ctx, ipc.SignalRequest{ID: r.id, Signal: name(sig)})
		})
	case r.taken <= 2:
		r.question.cancel()
		started := r.started
		go r.orAgain(sig, func() error {
			if started { // the command may take its time to end
				return r.client.CancelExec(ctx, ipc.CancelRequest{ID: r.id})
			}
			ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
			defer cancel()
			return r.client.CancelExec(ctx, ipc.CancelRequest{ID: r.id})
		})
	default:
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		r.client.CancelExec(ctx, ipc.CancelRequest{ID: r.id})
		return true
	}
	return false
}

// orAgain takes a signal once more where it does not reach the command: when the terminal's
// session has ended we have no terminal, and are not the one whose session it was, or the daemon does not answer
// before the command starts. In the end sbx leaves, and the command, which nobody follows then, ends by that.
func (r *runner) orAgain(sig os.Signal, send func() error) {
	err := send()
	if ipc.CodeOf(err) == ipc.CodeNotFound || errors.Is(err, context.DeadlineExceeded) {
		select {
		case r.signals <- sig:
		default: // there are others
		}
	}
}

func name(sig os.Signal) string { return unix.SignalName(sig.(syscall.Signal)) }

func number(sig os.Signal) int { return int(sig.(syscall.Signal)) }

// size is that of the first standard descriptor that is a terminal; 0 is for
// the daemon to choose.
func size() (cols, rows uint16) {
	for _, f := range []*os.File{os.Stdout, os.Stdin, os.Stderr} {
		if c, r, err := term.GetSize(int(f.Fd())); err == nil && c > 0 && r > 0 {
			return uint16(min(c, 0xffff)), uint16(min(r, 0xffff))
		}
	}
	return 0, 0
}
