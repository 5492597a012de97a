package ipc

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"sync"

	"golang.org/x/sys/unix"

	"sandboxd/internal/fdconn"
)

// Stdio are descriptors of the caller's own that a command is to have as its
// standard input, output and error; nil: not passed.
type Stdio struct {
	In, Out, Err *Passed
}

// Passed is one descriptor.
type Passed struct {
	File *os.File
	// Path is the file's path, for a file with a name in a directory; "" for a pipe and /dev/null.
	Path string
	// Read and Write report the descriptor's access mode.
	Read, Write bool
}

// each calls f for each present descriptor, by its name.
func (s Stdio) each(f func(name string, p *Passed)) {
	for _, one := range []struct {
		name string
		p    *Passed
	}{{"stdin", s.In}, {"stdout", s.Out}, {"stderr", s.Err}} {
		if one.p != nil {
			f(one.name, one.p)
		}
	}
}

// names lists the present descriptors: "stdin", "stdout", "stderr".
func (s Stdio) names() (names []string) {
	s.each(func(name string, _ *Passed) { names = append(names, name) })
	return names
}

// Close gives the descriptors back.
func (s Stdio) Close() {
	s.each(func(_ string, p *Passed) { p.File.Close() })
}

// stdios are the names of descriptors, in the order in which they are passed.
var stdios = []string{"stdin", "stdout", "stderr"}

// maxCarriers bounds the connections of one user that carry descriptors for
// which no command has been started.
const maxCarriers = 64

// carriers counts them.
type carriers struct {
	mu    sync.Mutex
	users map[int]int
}

func (h *carriers) begin(uid int) *Error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.users[uid] >= maxCarriers {
		return &Error{Code: CodeLimit, Message: "this user has too many descriptors waiting for their command",
			Hint: "start the commands, or close the connections"}
	}
	h.users[uid]++
	return nil
}

func (h *carriers) end(uid int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.users[uid]--; h.users[uid] == 0 {
		delete(h.users, uid)
	}
}

// carrier is a connection to stdio.sock. It holds the descriptors received with the bytes read from
// it, until their request has ended.
type carrier struct {
	*net.UnixConn
	all *carriers
	uid int

	mu     sync.Mutex
	files  []*os.File
	bad    *Error // why the descriptors are unusable; nil: they are usable
	counts bool
	closed bool
}

func (c *carrier) Read(b []byte) (int, error) {
	n, files, err := fdconn.Read(c.UnixConn, b, fdconn.Max) // room for all, so that too many are seen
	switch {
	case errors.Is(err, fdconn.ErrTooMany):
		c.keep(files, badRequest("more came with the request than can be taken"))
		err = nil
	case n > 0 && err != nil:
		c.keep(files, badRequest("ancillary data: "+err.Error()))
		err = nil
	case len(files) > 0:
		c.keep(files, nil)
	}
	return n, err
}

func (c *carrier) keep(files []*os.File, bad *Error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.files = append(c.files, files...)
	if c.bad == nil {
		c.bad = bad
	}
	if len(c.files) > len(stdios) && c.bad == nil {
		c.bad = badRequest(fmt.Sprintf("%d descriptors came, %d is the most", len(c.files), len(stdios)))
	}
	if !c.counts && c.bad == nil {
		c.bad = c.all.begin(c.uid)
		c.counts = c.bad == nil
	}
	if c.bad != nil || c.closed {
		fdconn.Close(c.files)
		c.files = nil
	}
}

// take returns the received descriptors, by these names.
func (c *carrier) take(names []string) (Stdio, *Error) {
	c.mu.Lock()
	files, bad := c.files, c.bad
	c.release()
	c.mu.Unlock()
	if bad == nil && len(files) == 0 {
		bad = noneCame()
	}
	var stdio Stdio
	if bad == nil {
		stdio, bad = assign(names, files)
	}
	if bad != nil {
		fdconn.Close(files)
		return Stdio{}, bad
	}
	return stdio, nil
}

func noneCame() *Error {
	return &Error{Code: CodeNotFound, Message: "no descriptors came with this request",
		Hint: "send them with its first byte, over " + StdioSocket}
}

// drop closes descriptors that nobody took.
func (c *carrier) drop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	fdconn.Close(c.files)
	c.release()
}

// release forgets the received descriptors. The caller holds mu.
func (c *carrier) release() {
	c.files, c.bad = nil, nil
	if c.counts {
		c.counts = false
		c.all.end(c.uid)
	}
}

// Close closes the received descriptors, too.
func (c *carrier) Close() error {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.drop()
	return c.UnixConn.Close()
}

// assign gives each file its place, if it may be passed at all.
func assign(names []string, files []*os.File) (Stdio, *Error) {
	if len(names) != len(files) {
		return Stdio{}, badRequest(fmt.Sprintf("the request names %d descriptors, %d came", len(names), len(files)))
	}
	var s Stdio
	places := map[string]**Passed{"stdin": &s.In, "stdout": &s.Out, "stderr": &s.Err}
	for i, name := range names {
		one, err := examine(files[i])
		if err == nil && (name == "stdin" && !one.Read || name != "stdin" && !one.Write) {
			err = errors.New("it was not opened for that")
		}
		if err != nil {
			return Stdio{}, &Error{Code: CodeForbidden, Message: fmt.Sprintf("%s can't be passed: %v", name, err),
				Hint: "have it relayed: leave it out here, and use stdin \"stream\", the events, or tty"}
		}
		*places[name] = one
	}
	return s, nil
}

// examine describes a descriptor, or returns why it may not be passed (R-IP-10).
func examine(f *os.File) (*Passed, error) {
	flags, err := unix.FcntlInt(f.Fd(), unix.F_GETFL, 0)
	if err != nil {
		return nil, os.NewSyscallError("fcntl F_GETFL", err)
	}
	if isPathOnly(flags) {
		return nil, errors.New("it is a mere path (O_PATH)")
	}
	p := &Passed{File: f}
	switch flags & unix.O_ACCMODE {
	case unix.O_RDONLY:
		p.Read = true
	case unix.O_WRONLY:
		p.Write = true
	case unix.O_RDWR:
		p.Read, p.Write = true, true
	default: // 3: for ioctl only (open(2))
		return nil, errors.New("it was opened neither for reading nor for writing")
	}
	fi, err := f.Stat()
	if err != nil {
		return nil, err
	}
	switch fi.Mode().Type() {
	case 0:
		if p.Path, err = nameOf(f, fi); err != nil {
			return nil, err
		}
		return p, nil
	case fs.ModeNamedPipe:
		if unnamed(f) {
			return p, nil
		}
		if p.Path, err = nameOf(f, fi); err != nil {
			return nil, err
		}
		return p, nil
	case fs.ModeDevice | fs.ModeCharDevice:
		if null, err := os.Stat(os.DevNull); err == nil && deviceOf(fi) == deviceOf(null) {
			return p, nil
		}
		if isTerminal(f) {
			return nil, errors.New("it is a terminal")
		}
		return nil, errors.New("it is a device")
	}
	return nil, fmt.Errorf("it is %s", describeMode(fi.Mode()))
}

// isTerminal reports whether a terminal's attributes can be had (termios(3)).
func isTerminal(f *os.File) bool {
	_, err := unix.IoctlGetTermios(int(f.Fd()), ioctlGetTermios)
	return err == nil
}
