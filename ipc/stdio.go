package ipc

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// StdioRequest is the one line that a client writes to stdio.sock, together
// with a descriptor (SCM_RIGHTS, unix(7)) for each that is true, in this order.
type StdioRequest struct {
	Stdin  bool `json:"stdin,omitempty"`
	Stdout bool `json:"stdout,omitempty"`
	Stderr bool `json:"stderr,omitempty"`
}

// StdioAnswer answers it. The descriptors wait for an [ExecRequest] with this
// token in Stdio, from the same process, for as long as the connection is open.
type StdioAnswer struct {
	Stdio string `json:"stdio"`
}

// Stdio are descriptors of the caller's own that a command is to have as its
// standard input, output and error; nil: not passed.
type Stdio struct {
	In, Out, Err *Passed
}

// Passed is one descriptor.
type Passed struct {
	File *os.File
	// Path is where the file lies, for what has a name in a directory; "" for a pipe
	// and /dev/null.
	Path string
	// Read and Write say what the descriptor was opened for.
	Read, Write bool
}

// each calls f for what is there, by its name.
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

// Names lists what is there: "stdin", "stdout", "stderr".
func (s Stdio) Names() (names []string) {
	s.each(func(name string, _ *Passed) { names = append(names, name) })
	return names
}

// Close gives the descriptors back.
func (s Stdio) Close() {
	s.each(func(_ string, p *Passed) { p.File.Close() })
}

// maxDeposits bounds the descriptors of one user, by threes, that wait for
// their command.
const maxDeposits = 64

// deposits are passed descriptors that wait for the command they are for.
type deposits struct {
	mu    sync.Mutex
	byKey map[string]*deposit
	users map[int]int // how many each has
}

type deposit struct {
	owner Peer
	stdio Stdio
}

func newDeposits() *deposits {
	return &deposits{byKey: map[string]*deposit{}, users: map[int]int{}}
}

// put keeps descriptors under a new key.
func (d *deposits) put(owner Peer, stdio Stdio) (string, *Error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.users[owner.UID] >= maxDeposits {
		return "", &Error{Code: CodeLimit, Message: "this user has too many descriptors waiting for their command", Hint: "start the commands, or close the connections"}
	}
	key := rand.Text()
	d.byKey[key] = &deposit{owner, stdio}
	d.users[owner.UID]++
	return key, nil
}

// take takes out what the key means, for the process that put it there.
func (d *deposits) take(p Peer, key string) (Stdio, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	one := d.byKey[key]
	if one == nil || one.owner.UID != p.UID || one.owner.Process() != p.Process() {
		return Stdio{}, false
	}
	d.remove(key)
	return one.stdio, true
}

// drop closes what nobody took.
func (d *deposits) drop(key string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if one := d.byKey[key]; one != nil {
		d.remove(key)
		one.stdio.Close()
	}
}

func (d *deposits) remove(key string) {
	uid := d.byKey[key].owner.UID
	delete(d.byKey, key)
	if d.users[uid]--; d.users[uid] == 0 {
		delete(d.users, uid)
	}
}

// stdioDoor serves stdio.sock.
type stdioDoor struct {
	limits   Limits
	deposits *deposits
	keeper   doorkeeper
	log      *slog.Logger
	serving  sync.WaitGroup

	mu   sync.Mutex
	open map[net.Conn]bool // nil: closed
}

// serve answers connections until the listener is closed.
func (s *stdioDoor) serve(l net.Listener) error {
	keeper := s.keeper
	keeper.Listener = Patient(l)
	for {
		c, err := keeper.Accept()
		if err != nil {
			return err
		}
		s.mu.Lock()
		if s.open == nil {
			s.mu.Unlock()
			c.Close()
			continue
		}
		s.open[c] = true
		s.mu.Unlock()
		s.serving.Go(func() {
			defer func() {
				c.Close()
				s.mu.Lock()
				delete(s.open, c)
				s.mu.Unlock()
			}()
			s.answer(c.(*admitted))
		})
	}
}

// close cuts every connection off and returns when none is left.
func (s *stdioDoor) close() {
	s.mu.Lock()
	open := s.open
	s.open = nil
	for c := range open {
		c.Close()
	}
	s.mu.Unlock()
	s.serving.Wait()
}

// answer takes one message and keeps what came with it until it is taken or
// the connection ends.
func (s *stdioDoor) answer(c *admitted) {
	c.SetReadDeadline(time.Now().Add(s.limits.Read))
	stdio, bad := receive(c)
	var key string
	if bad == nil {
		if key, bad = s.deposits.put(c.caller.Peer, stdio); bad != nil {
			stdio.Close()
		}
	}
	c.SetWriteDeadline(time.Now().Add(s.limits.Write))
	if bad != nil {
		s.log.Debug("descriptors refused", "peer", c.caller.Peer.String(), "reason", bad.Message)
		c.Write(encode(errorBody{bad}))
		return
	}
	defer s.deposits.drop(key)
	if _, err := c.Write(encode(StdioAnswer{key})); err != nil {
		return
	}
	// Nothing more is to come but the end; descriptors that do are closed by
	// the kernel, since nobody asks for them.
	c.SetReadDeadline(time.Time{})
	c.Read(make([]byte, 1))
}

// maxPassed is the most descriptors that one message can carry (SCM_MAX_FD in
// unix(7)): room for all, so that what is too much is seen.
const maxPassed = 253

// receive reads a message. What came with one that is refused is closed.
func receive(c *admitted) (Stdio, *Error) {
	if c.refusal != nil {
		return Stdio{}, c.refusal
	}
	conn, ok := c.Conn.(*net.UnixConn)
	if !ok {
		return Stdio{}, badRequest("this is no Unix socket")
	}
	line := make([]byte, 512)
	oob := make([]byte, unix.CmsgSpace(4*maxPassed))
	n, oobn, flags, _, err := conn.ReadMsgUnix(line, oob) // close-on-exec, says package net
	if err != nil {
		return Stdio{}, badRequest("read: " + err.Error())
	}
	files, bad := passedFiles(oob[:oobn])
	if bad == nil && flags&unix.MSG_CTRUNC != 0 {
		bad = badRequest("more came with the message than can be taken")
	}
	var req StdioRequest
	if bad == nil {
		req, bad = readStdio(line[:n])
	}
	if bad == nil {
		var stdio Stdio
		if stdio, bad = req.assign(files); bad == nil {
			return stdio, nil
		}
	}
	for _, f := range files {
		f.Close()
	}
	return Stdio{}, bad
}

// readStdio reads the line that says which descriptors came.
func readStdio(line []byte) (StdioRequest, *Error) {
	body, ok := bytes.CutSuffix(line, []byte("\n"))
	if !ok {
		return StdioRequest{}, badRequest("want one line of at most 511 bytes, in one message with its descriptors")
	}
	return decode[StdioRequest](body)
}

// passedFiles takes the descriptors out of a message's ancillary data. Those
// that are returned are ours to close also where something is wrong.
func passedFiles(oob []byte) (files []*os.File, bad *Error) {
	messages, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return nil, badRequest("ancillary data: " + err.Error())
	}
	for _, m := range messages {
		fds, err := unix.ParseUnixRights(&m)
		if err != nil {
			bad = badRequest("ancillary data: " + err.Error())
			continue
		}
		for _, fd := range fds {
			files = append(files, os.NewFile(uintptr(fd), "passed"))
		}
	}
	return files, bad
}

// assign gives each file its place, if it may be passed at all.
func (r StdioRequest) assign(files []*os.File) (Stdio, *Error) {
	var s Stdio
	places := []struct {
		named bool
		name  string
		to    **Passed
	}{{r.Stdin, "stdin", &s.In}, {r.Stdout, "stdout", &s.Out}, {r.Stderr, "stderr", &s.Err}}
	want := 0
	for _, p := range places {
		if p.named {
			want++
		}
	}
	if want != len(files) || want == 0 {
		return Stdio{}, badRequest(fmt.Sprintf("the line names %d descriptors, %d came", want, len(files)))
	}
	for _, p := range places {
		if !p.named {
			continue
		}
		one, err := examine(files[0])
		if err == nil && (p.name == "stdin" && !one.Read || p.name != "stdin" && !one.Write) {
			err = errors.New("it was not opened for that")
		}
		if err != nil {
			return Stdio{}, &Error{Code: CodeForbidden, Message: fmt.Sprintf("%s can't be passed: %v", p.name, err), Hint: "have it relayed: leave it out here, and use stdin \"stream\", the events, or tty"}
		}
		*p.to, files = one, files[1:]
	}
	return s, nil
}

// examine says what a descriptor is, or why it may not be passed (R-IP-10).
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

// PassStdio hands descriptors of our own to the daemon, for one command that
// names the token in [ExecRequest.Stdio]. They stay ours to close. The
// connection is closed by close, at the latest when the command has started. An
// [*Error] of CodeForbidden says that one can't be passed and must be relayed.
func (c *Client) PassStdio(ctx context.Context, in, out, errs *os.File) (token string, closing func(), err error) {
	conn, err := c.dial(ctx, stdioPath(c.Socket))
	if start := (*startError)(nil); errors.As(err, &start) {
		return "", nil, start.error
	}
	if err != nil {
		return "", nil, fmt.Errorf("pass descriptors: %w", err)
	}
	defer func() {
		if err != nil {
			conn.Close()
		}
	}()
	var fds []int
	for _, f := range []*os.File{in, out, errs} {
		if f != nil {
			fds = append(fds, int(f.Fd()))
		}
	}
	line := encode(StdioRequest{Stdin: in != nil, Stdout: out != nil, Stderr: errs != nil})
	if _, _, err := conn.(*net.UnixConn).WriteMsgUnix(line, unix.UnixRights(fds...), nil); err != nil {
		return "", nil, fmt.Errorf("pass descriptors: %w", err)
	}
	conn.SetReadDeadline(time.Now().Add(30 * time.Second))
	var answer struct {
		StdioAnswer
		Error *Error `json:"error"`
	}
	if err := json.NewDecoder(conn).Decode(&answer); err != nil {
		return "", nil, fmt.Errorf("pass descriptors: %w", err)
	}
	if answer.Error != nil {
		return "", nil, answer.Error
	}
	return answer.Stdio, func() { conn.Close() }, nil
}
