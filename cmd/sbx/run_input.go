package main

import (
	"context"
	"os"
	"sync"

	xterm "golang.org/x/term"

	"sandboxd/cmd/sbx/internal/term"
)

// input carries our standard input to the command. It reads nothing before the
// command runs, and nothing while a person is asked: keys typed then are for
// the question.
type input struct {
	runner *runner
	reader *term.Reader // nil: there is nothing to carry
	raw    *xterm.State // the terminal's settings before the command's terminal took over

	mu     sync.Mutex
	cancel context.CancelFunc
	done   chan struct{}
}

func (r *runner) newInput() *input {
	in := &input{runner: r}
	fd := int(r.stdin.Fd())
	if r.options.noStdin || isNull(r.stdin) || xterm.IsTerminal(fd) && !term.Foreground(fd) {
		return in // a background job that reads its terminal would be stopped
	}
	if reader, err := term.NewReader(fd); err == nil {
		in.reader = reader
	}
	return in
}

// start begins to carry.
func (in *input) start(ctx context.Context) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.reader == nil || in.cancel != nil {
		return
	}
	if fd := int(in.runner.stdin.Fd()); in.runner.options.tty && xterm.IsTerminal(fd) {
		in.raw, _ = xterm.MakeRaw(fd)
	}
	ctx, in.cancel = context.WithCancel(ctx)
	in.done = make(chan struct{})
	go func() {
		defer close(in.done)
		// An error means that the command reads no more input; its exit event reports the rest.
		_ = in.runner.client.StreamStdin(ctx, in.runner.id, in.reader.With(ctx), true)
	}()
}

// pause stops reading until resume is called.
func (in *input) pause() (resume func()) {
	if in.reader == nil {
		return func() {}
	}
	return in.reader.Pause()
}

// stop ends it and gives the terminal its settings back. It may be called twice.
func (in *input) stop() {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.raw != nil {
		xterm.Restore(int(in.runner.stdin.Fd()), in.raw)
		in.raw = nil
	}
	if in.cancel != nil {
		in.cancel()
		<-in.done
		in.cancel = func() {}
	}
}

// isNull reports whether f is /dev/null or cannot be read at all.
func isNull(f *os.File) bool {
	fi, err := f.Stat()
	if err != nil {
		return true
	}
	null, err := os.Stat(os.DevNull)
	return err == nil && os.SameFile(fi, null)
}
