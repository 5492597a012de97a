// Package termtest is a terminal for tests: a real pseudo-terminal with a
// keyboard, whose screen is kept as text.
//
//	s := termtest.Open(t)
//	s.Start(exec.Command("sbx", "run", "-c", "echo x > y"))
//	s.Wait("Allow?")
//	s.Press("n\r")
package termtest

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"
)

// TB is the part of testing.TB that a Screen needs.
type TB interface {
	Helper()
	Fatal(...any)
	Fatalf(string, ...any)
	Cleanup(func())
}

// Screen is one terminal.
type Screen struct {
	// File is the terminal's own side. Start closes it.
	File *os.File

	t        TB
	keyboard *os.File
	done     chan struct{} // closed when the screen shows nothing more

	mu   sync.Mutex
	text bytes.Buffer
}

// Open makes a terminal of 80 × 24. It is closed at the end of the test.
func Open(t TB) *Screen {
	t.Helper()
	master, slave, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	s := &Screen{File: slave, t: t, keyboard: pollable(t, master), done: make(chan struct{})}
	s.resize(80, 24)
	go func() {
		defer close(s.done)
		buf := make([]byte, 4096)
		for {
			n, err := s.keyboard.Read(buf)
			s.mu.Lock()
			s.text.Write(buf[:n])
			s.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() {
		slave.Close()
		s.keyboard.Close()
		<-s.done
	})
	return s
}

// pollable makes a file of f that Close can interrupt; pty.Open's cannot be.
func pollable(t TB, f *os.File) *os.File {
	t.Helper()
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	if err := unix.SetNonblock(fd, true); err != nil {
		t.Fatal(err)
	}
	return os.NewFile(uintptr(fd), f.Name())
}

// Start runs cmd with the terminal as its controlling terminal. Descriptors
// that cmd has already are left; the others become the terminal.
func (s *Screen) Start(cmd *exec.Cmd) {
	s.t.Helper()
	ctty := -1
	if cmd.Stdin == nil {
		cmd.Stdin, ctty = s.File, 0
	}
	if cmd.Stdout == nil {
		cmd.Stdout, ctty = s.File, 1
	}
	if cmd.Stderr == nil {
		cmd.Stderr, ctty = s.File, 2
	}
	if ctty < 0 {
		cmd.ExtraFiles = append(cmd.ExtraFiles, s.File)
		ctty = 2 + len(cmd.ExtraFiles)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: ctty}
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.File.Close()
}

// resize changes the terminal's size.
func (s *Screen) resize(cols, rows uint16) {
	s.t.Helper()
	if err := unix.IoctlSetWinsize(int(s.keyboard.Fd()), unix.TIOCSWINSZ,
		&unix.Winsize{Col: cols, Row: rows}); err != nil {
		s.t.Fatal(err)
	}
	if err := unix.SetNonblock(int(s.keyboard.Fd()), true); err != nil { // Fd made it blocking
		s.t.Fatal(err)
	}
}

// Shown is everything that the terminal was sent so far.
func (s *Screen) Shown() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// Wait waits until text was shown, at most ten seconds.
func (s *Screen) Wait(text string) {
	s.t.Helper()
	for end := time.Now().Add(10 * time.Second); !strings.Contains(s.Shown(), text); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			s.t.Fatalf("the screen never showed %q, only:\n%s", text, s.Shown())
		}
	}
}

// Drain waits until no process has the terminal open and all output to it is on
// the screen, at most five seconds.
func (s *Screen) Drain() {
	select {
	case <-s.done:
	case <-time.After(5 * time.Second):
	}
}

// Press types keys.
func (s *Screen) Press(keys string) {
	s.t.Helper()
	if _, err := io.WriteString(s.keyboard, keys); err != nil {
		s.t.Fatal(err)
	}
}

// HangUp closes the terminal, as when its window is closed.
func (s *Screen) HangUp() { s.keyboard.Close() }
