package main

import (
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"sandboxd/cmd/internal/paths"
)

// run runs the command and ends this process with its status, or executes
// sbx-verbs with its state. It returns where nothing was sent.
func (o order) run() {
	var fds []int
	names := object{text: []byte{'['}}
	for fd, name := range []string{"stdin", "stdout", "stderr"} {
		pass, plain := passable(fd, o.noStdin, o.session+o.ticket != "")
		if !plain {
			return
		}
		if pass {
			names.element(name)
			fds = append(fds, fd)
		}
	}
	socket := o.socket()
	var stdio []byte
	if len(fds) > 0 {
		stdio = append(names.text, ']')
	}
	body, ok := o.request(stdio)
	if socket == "" || !ok {
		return
	}
	head := "POST /v1/exec/events HTTP/1.1\r\nHost: sandboxd\r\nContent-Type: application/json\r\nContent-Length: " +
		strconv.Itoa(len(body)) + "\r\n"
	if o.secret != "" {
		head += "Authorization: Bearer " + o.secret + "\r\n"
	}
	conn := dial(socket)
	if conn < 0 {
		return
	}
	text := append([]byte(head+"\r\n"), body...)
	var rights []byte
	if len(fds) > 0 {
		rights = syscall.UnixRights(fds...)
	}
	if n, err := syscall.SendmsgN(conn, text, rights, nil, 0); err != nil || n < len(text) {
		syscall.Close(conn) // a part of a request is none
		return
	}
	x := &exchange{conn: conn}
	x.answer.run.write = write
	x.follow()
}

// write writes all of data, also to a descriptor in non-blocking mode.
func write(fd int, data []byte) error {
	for len(data) > 0 {
		n, err := retried(func() (int, error) { return syscall.Write(fd, data) })
		if err == syscall.EAGAIN {
			n = 0
			_, err = retried(func() (int, error) {
				return unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLOUT}}, -1)
			})
		}
		if err != nil {
			return err
		}
		data = data[n:]
	}
	return nil
}

// passable reports whether the command may have a descriptor as it is, and whether it
// is one of those that a plain run has. Front itself writes the output to a socket,
// which Node.js programs give to their children.
// A session's command may leave a job, which would keep a pipe open: its output is written here, too.
func passable(fd int, noStdin, leaves bool) (pass, plain bool) {
	var st syscall.Stat_t
	if syscall.Fstat(fd, &st) != nil {
		return false, false
	}
	switch st.Mode & syscall.S_IFMT {
	case syscall.S_IFIFO:
		return fd != 0 && !leaves || fd == 0 && !noStdin, true
	case syscall.S_IFREG:
		return fd != 0 || !noStdin, true
	case syscall.S_IFCHR:
		const null = 1<<8 | 3 // null(4)
		// As standard input it need not be passed: a command has it.
		return fd != 0, st.Rdev == null
	case syscall.S_IFSOCK:
		return false, fd != 0 || noStdin
	}
	return false, false
}

// socket is the path of the socket to ask at, with descriptors; "" where that is for
// sbx-verbs to find out.
func (o order) socket() string {
	const name = "stdio.sock"
	dir := o.socketDir
	switch {
	case dir != "" && !filepath.IsAbs(dir):
		var err error
		if dir, err = filepath.Abs(dir); err != nil {
			return ""
		}
	case dir == "" && os.Geteuid() != 0 && exists(filepath.Join(paths.SystemDir, "agent.sock")):
		return "" // it may serve this user, or not
	case dir == "":
		dir = paths.OwnSocketDir(os.Getenv("XDG_RUNTIME_DIR"), os.Geteuid())
	}
	return filepath.Join(dir, name)
}

func exists(name string) bool {
	_, err := os.Lstat(name)
	return err == nil
}

// dial connects to a socket that root or this user serves (R-IP-09); -1: there is none.
func dial(path string) int {
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1
	}
	if syscall.Connect(fd, &syscall.SockaddrUnix{Name: path}) == nil {
		who, err := syscall.GetsockoptUcred(fd, syscall.SOL_SOCKET, syscall.SO_PEERCRED)
		if err == nil && (who.Uid == 0 || int(who.Uid) == os.Geteuid()) {
			return fd
		}
	}
	syscall.Close(fd)
	return -1
}

// retried repeats a system call that a signal interrupted.
func retried(call func() (int, error)) (n int, err error) {
	for err = syscall.EINTR; err == syscall.EINTR; {
		n, err = call()
	}
	return n, err
}

// request is the body for POST /v1/exec/events.
func (o order) request(stdio []byte) (body []byte, ok bool) {
	var q object
	q.set("session", o.session)
	q.set("ticket", o.ticket)
	if o.session == "" && o.ticket == "" {
		var open object
		open.set("kind", "cli")
		open.set("cwd", o.project)
		open.set("agent", o.agent)
		q.raw("open", open.end())
		q.bad = open.bad
	}
	q.set("command", o.line)
	if len(o.argv) > 0 {
		argv := object{text: []byte{'['}}
		for _, word := range o.argv {
			argv.element(word)
		}
		q.raw("argv", append(argv.text, ']'))
		q.bad = q.bad || argv.bad
	}
	q.set("cwd", o.cwd)
	if len(o.env) > 0 {
		var env object
		for name, value := range o.env {
			env.name(name)
			env.quote(value)
		}
		q.raw("env", env.end())
		q.bad = q.bad || env.bad
	}
	if o.timeout > 0 {
		q.raw("timeout_ms", strconv.AppendInt(nil, max(1, o.timeout.Milliseconds()), 10))
	}
	q.set("stdin", "none")
	q.set("description", o.description)
	q.raw("stdio", stdio)
	return q.end(), !q.bad
}

// exchange is a request that was sent.
type exchange struct {
	conn   int
	mu     sync.Mutex // is never released before sbx-verbs is executed
	answer answer
	// Each signal comes in both: from wake it is received without mu, from signals with it.
	wake, signals chan os.Signal
}

// forwarded lists the signals for the command. At the first one, front hands the exchange over to
// sbx-verbs, which forwards them.
var forwarded = []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1,
	syscall.SIGUSR2}

// patience is how long the answer may take to begin before sbx-verbs finds out whether the daemon answers at all.
const patience = time.Second

// follow reads the answer until the command has ended, or something comes that
// is for sbx-verbs.
func (x *exchange) follow() {
	x.wake, x.signals = make(chan os.Signal, 8), make(chan os.Signal, 8)
	signal.Notify(x.wake, forwarded...)
	signal.Notify(x.signals, forwarded...)
	go func() {
		<-x.wake
		x.mu.Lock()
		x.handOver()
	}()
	time.AfterFunc(patience, func() {
		x.mu.Lock()
		if len(x.answer.raw) == 0 {
			x.handOver()
		}
		x.mu.Unlock()
	})
	piece := make([]byte, maxAnswer)
	for {
		// A byte that is read and not noted would be lost, so that reading and noting are one.
		_, err := retried(func() (int, error) {
			n, _, err := syscall.Recvfrom(x.conn, piece[:1], syscall.MSG_PEEK)
			return n, err
		})
		x.mu.Lock()
		n := 0
		if err == nil {
			n, err = retried(func() (int, error) { return syscall.Read(x.conn, piece) })
		}
		switch {
		case len(x.answer.raw) == 0 && err == syscall.ECONNRESET: // it left, and has not read the request
			if s := x.endSignals(); s != 0 {
				syscall.Kill(os.Getpid(), s)
			}
			rest("")
		case n <= 0 || err != nil:
			x.handOver()
		}
		x.answer.raw = append(x.answer.raw, piece[:n]...)
		switch status, v := x.answer.look(); v {
		case ended:
			os.Exit(status)
		case rich:
			x.handOver()
		}
		x.mu.Unlock()
	}
}

// endSignals returns the first signal that arrived, 0 for none. From then on a signal ends front, as none that front
// receives would be known to sbx-verbs.
func (x *exchange) endSignals() syscall.Signal {
	signal.Stop(x.wake)
	signal.Stop(x.signals) // returns when each signal that was received is in the channel
	select {
	case s := <-x.signals:
		return s.(syscall.Signal)
	default:
		return 0
	}
}

// handOver executes sbx-verbs to continue the exchange. It passes the connection, a file
// with the part of the answer that was read, the signal that arrived, if any, and the
// number of the last event whose output was written.
func (x *exchange) handOver() {
	sig := x.endSignals()
	file, err := unix.MemfdCreate("answer", 0)
	if err == nil && len(x.answer.raw) > 0 {
		_, err = unix.Pwrite(file, x.answer.raw, 0)
	}
	if err == nil {
		_, err = unix.FcntlInt(uintptr(x.conn), unix.F_SETFD, 0)
	}
	if err != nil {
		os.Stderr.WriteString("sbx: hand the command over: " + err.Error() + "\n")
		os.Exit(exitOwn)
	}
	rest(paths.Handed + strconv.Itoa(x.conn) + "," + strconv.Itoa(file) + "," + strconv.Itoa(int(sig)) + "," +
		strconv.FormatUint(x.answer.run.written, 10))
}
