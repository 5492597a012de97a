package supervisor

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// R-IP-02: a writer to a terminal that nobody reads returns when its context has ended, and the
// next writer gets through.
func TestWritingToATerminalEndsWithItsContext(t *testing.T) {
	e := &Exec{Request: ExecRequest{Terminal: true}}
	st, err := openStreams(e)
	if err != nil {
		t.Fatal(err)
	}
	defer st.close()
	e.term = st.term
	slave := st.child.In
	mode, err := unix.IoctlGetTermios(int(slave.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	mode.Lflag &^= unix.ICANON | unix.ECHO // else what is too much is dropped
	if err := unix.IoctlSetTermios(int(slave.Fd()), unix.TCSETS, mode); err != nil {
		t.Fatal(err)
	}
	if err := e.Resize(100, 40); err != nil {
		t.Fatal(err)
	}
	if size, err := unix.IoctlGetWinsize(int(slave.Fd()), unix.TIOCGWINSZ); err != nil || size.Col != 100 ||
		size.Row != 40 {
		t.Errorf("size %+v, %v", size, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- e.WriteInput(ctx, bytes.Repeat([]byte("x"), 1<<20), false) }()
	select {
	case err := <-ended:
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("writing ended with %v", err)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("writing continues after its context has ended")
	}
	if err := unix.IoctlSetInt(int(slave.Fd()), unix.TCFLSH, unix.TCIFLUSH); err != nil {
		t.Fatal(err)
	}
	if err := e.WriteInput(t.Context(), []byte("y"), false); err != nil {
		t.Errorf("the next to write: %v", err)
	}
}
