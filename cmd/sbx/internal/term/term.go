// Package term asks a person at the terminal for a line, and lets nobody else
// answer: input typed or pasted before the prompt appeared does not count,
// a read can be given up at any moment, and the terminal gets its settings back.
//
//	tty, err := term.Open()
//	if errors.Is(err, term.ErrNone) { ... } // nobody is there
//	defer tty.Close()
//	line, err := tty.ReadLine(ctx, term.Prompt{Text: "Allow? [y/N] "})
//
// While ReadLine waits, the terminal neither echoes nor buffers nor turns keys
// into signals; the package does the little editing that a one-line answer
// needs (backspace, Ctrl-U, Ctrl-W). Ctrl-C and Ctrl-D are answers. Keys that
// send escape sequences, and text that the terminal marks as pasted, are
// ignored.
//
// # Limitations
//
// A terminal that does not mark pasted text (bracketed paste) hands it over as
// if it were typed. A process that is killed with SIGKILL while it asks leaves
// the terminal without echo; `stty sane` brings it back.
package term

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

var (
	// errNone: this process has no terminal to ask at.
	errNone = errors.New("no terminal")
	// errBackground: it has one, but another job is in its foreground.
	errBackground = errors.New("the terminal's foreground belongs to another job")
	// ErrInterrupted: the person pressed Ctrl-C or Ctrl-D, or the terminal went away.
	ErrInterrupted = errors.New("interrupted")
	// ErrTime: the time for the answer is over.
	ErrTime = errors.New("no answer in time")
)

// Terminal is an open terminal. Its methods are for one goroutine at a time.
type Terminal struct {
	file *os.File
	wait *waiter
	// Plain: no cursor movement, no colour; new text comes on new lines. For
	// dumb terminals, those that do not say how large they are, and screen readers.
	Plain bool
	// Color: escape sequences for colour may be written. Never with Plain.
	Color bool
	// UTF8: the terminal's encoding is UTF-8, according to the environment.
	UTF8 bool
}

// Open opens the controlling terminal. The error is errNone where there is
// none, errBackground where reading it would stop this process.
func Open() (*Terminal, error) {
	fd, err := unix.Open("/dev/tty", unix.O_RDWR|unix.O_CLOEXEC|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, fmt.Errorf("%w: open /dev/tty: %w", errNone, err)
	}
	t, err := New(os.NewFile(uintptr(fd), "/dev/tty"), os.Getenv)
	if err != nil {
		return nil, err
	}
	if !Foreground(fd) {
		t.Close()
		return nil, errBackground
	}
	return t, nil
}

// New takes over file, which must be a terminal open for reading and writing.
// It derives the terminal's capabilities from the variables that getenv returns.
func New(file *os.File, getenv func(string) string) (*Terminal, error) {
	if !term.IsTerminal(int(file.Fd())) {
		file.Close()
		return nil, fmt.Errorf("%w: %q is not a terminal", errNone, file.Name())
	}
	wait, err := newWaiter(int(file.Fd()))
	if err != nil {
		file.Close()
		return nil, err
	}
	t := &Terminal{file: file, wait: wait, UTF8: isUTF8(getenv)}
	cols, rows, err := term.GetSize(int(file.Fd()))
	t.Plain = getenv("TERM") == "dumb" || getenv("TERM") == "" || err != nil || cols <= 0 || rows <= 0
	t.Color = !t.Plain && getenv("NO_COLOR") == ""
	return t, nil
}

// MakePlain makes the terminal plain where plain says so.
func (t *Terminal) MakePlain(plain bool) {
	t.Plain = t.Plain || plain
	t.Color = t.Color && !t.Plain
}

// isUTF8 reports whether the environment's locale is encoded in UTF-8. As in
// setlocale(3) the first of LC_ALL, LC_CTYPE and LANG that is set decides. With
// none set the terminal is taken for a UTF-8 one: that is the state of a bare
// container's is, and no eight-bit terminal is left that starts without a locale.
func isUTF8(getenv func(string) string) bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v := getenv(name); v != "" {
			v = strings.ToUpper(v)
			return strings.Contains(v, "UTF-8") || strings.Contains(v, "UTF8")
		}
	}
	return true
}

// Close gives the terminal back.
func (t *Terminal) Close() error {
	t.wait.close()
	return t.file.Close()
}

// File is the terminal itself, for a pager. It stays owned by t.
func (t *Terminal) File() *os.File { return t.file }

// Write prints p as it is; untrusted text is neutralised by the caller.
func (t *Terminal) Write(p []byte) (int, error) { return t.file.Write(p) }

// Size is the terminal's width and height in cells, 80 × 24 if it does not say.
func (t *Terminal) Size() (cols, rows int) {
	cols, rows, err := term.GetSize(int(t.file.Fd()))
	if err != nil || cols <= 0 || rows <= 0 {
		return 80, 24
	}
	return cols, rows
}

// Foreground reports whether this process belongs to the foreground job of the
// terminal fd; a background job that reads it is stopped (termios(3), SIGTTIN).
func Foreground(fd int) bool {
	group, err := unix.IoctlGetInt(fd, unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}

// Settle waits for d, then discards the input up to then. A person
// cannot have read within that time a text that has just appeared.
func (t *Terminal) Settle(d time.Duration) error {
	saved, err := t.quiet()
	if err != nil {
		return err
	}
	time.Sleep(d)
	return t.restore(saved) // discards the input
}

// Unread reports whether keys wait that nobody has read.
func (t *Terminal) Unread() bool {
	ready, err := t.wait.ready(time.Now().Add(time.Millisecond))
	return err == nil && ready
}

// drainMost bounds Drain.
const drainMost = 10 * time.Second

// Drain discards keys until none has come for that long: those that a person typed for
// a question that has just ended are not for the program that reads the terminal next.
func (t *Terminal) Drain(pause time.Duration) error {
	saved, err := t.quiet()
	if err != nil {
		return err
	}
	last, end := time.Now(), time.Now().Add(drainMost)
	for buf := make([]byte, 256); time.Since(last) < pause && time.Now().Before(end); {
		n, err := t.wait.read(context.Background(), last.Add(pause), buf)
		if err != nil {
			break
		}
		if n > 0 {
			last = time.Now()
		}
	}
	return t.restore(saved)
}

// Discard discards the input so far.
func (t *Terminal) Discard() error {
	saved, err := unix.IoctlGetTermios(int(t.file.Fd()), ioctlGetAttr)
	if err != nil {
		return fmt.Errorf("read settings of %q: %w", t.file.Name(), err)
	}
	return t.restore(saved)
}

// quiet turns echo, line buffering and signal keys off, and discards the text
// typed before.
func (t *Terminal) quiet() (*unix.Termios, error) {
	fd := int(t.file.Fd())
	saved, err := unix.IoctlGetTermios(fd, ioctlGetAttr)
	if err != nil {
		return nil, fmt.Errorf("read settings of %q: %w", t.file.Name(), err)
	}
	quiet := *saved
	quiet.Lflag &^= unix.ICANON | unix.ECHO | unix.ECHONL | unix.ISIG | unix.IEXTEN
	quiet.Iflag &^= unix.IXON | unix.ISTRIP | unix.INLCR | unix.IGNCR
	quiet.Iflag |= unix.ICRNL
	quiet.Oflag |= unix.OPOST | unix.ONLCR
	quiet.Cc[unix.VMIN], quiet.Cc[unix.VTIME] = 1, 0
	if err := unix.IoctlSetTermios(fd, ioctlSetAttrFlush, &quiet); err != nil {
		return nil, fmt.Errorf("change settings of %q: %w", t.file.Name(), err)
	}
	return saved, nil
}

// restore undoes quiet and discards unread input.
func (t *Terminal) restore(saved *unix.Termios) error {
	if err := unix.IoctlSetTermios(int(t.file.Fd()), ioctlSetAttrFlush, saved); err != nil {
		return fmt.Errorf("restore settings of %q: %w", t.file.Name(), err)
	}
	return nil
}
