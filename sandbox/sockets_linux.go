package sandbox

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Sockets are the sockets that lie in a command's own network namespace and are
// held outside. They keep the namespace until they are closed.
type Sockets struct {
	// Listeners are those of Request.Listen, in order.
	Listeners []net.Listener

	mu      sync.Mutex
	dialers []*os.File
	closed  bool
}

// Sockets returns the sockets that the request asked for, empty if none. The caller closes
// them, after Done at the latest.
func (p *Process) Sockets() *Sockets { return &p.sockets }

// take stores the sockets that the stage has handed out.
func (d *Sockets) take(files []*os.File, listeners, callers int) error {
	if len(files) != listeners+callers || len(d.Listeners) > 0 || len(d.dialers) > 0 {
		for _, f := range files {
			f.Close()
		}
		return errors.New("the stage returned other sockets than its order names")
	}
	d.dialers = files[listeners:]
	var errs []error
	for _, f := range files[:listeners] {
		l, err := net.FileListener(f)
		f.Close()
		if err != nil {
			errs = append(errs, err)
			continue
		}
		d.Listeners = append(d.Listeners, l)
	}
	return errors.Join(errs...)
}

// Close closes the sockets that were not taken yet.
func (d *Sockets) Close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, l := range d.Listeners {
		l.Close()
	}
	for _, f := range d.dialers {
		f.Close()
	}
	d.dialers, d.closed = nil, true
}

// ErrCallers says that as many connections into the sandbox are open as there
// can be.
var ErrDialers = errors.New("every socket that leads into the sandbox is in use, or its command has ended")

// callTimeout bounds a connection over one loopback.
const callTimeout = 5 * time.Second

// Call connects to a port on the command's own localhost, of IPv4 or else of
// IPv6. It takes one of the Request.Dialers until the connection is closed.
func (d *Sockets) Call(ctx context.Context, port uint16) (net.Conn, error) {
	d.mu.Lock()
	if len(d.dialers) == 0 {
		d.mu.Unlock()
		return nil, ErrDialers
	}
	f := d.dialers[len(d.dialers)-1]
	d.dialers = d.dialers[:len(d.dialers)-1]
	d.mu.Unlock()
	var errs []error
	mapped := [16]byte{10: 0xff, 11: 0xff, 12: 127, 15: 1}
	for _, addr := range [][16]byte{mapped, {15: 1}} {
		err := connect(ctx, f, &unix.SockaddrInet6{Port: int(port), Addr: addr})
		if err == nil {
			conn, err := net.FileConn(f)
			if err != nil {
				f.Close()
				return nil, err
			}
			return &call{conn.(*net.TCPConn), d, f, sync.Once{}}, nil
		}
		errs = append(errs, err)
	}
	d.giveBack(f)
	return nil, fmt.Errorf("connect to port %d inside: %w", port, errors.Join(errs...))
}

// call is a connection into the sandbox; its socket is used again.
type call struct {
	*net.TCPConn
	sockets *Sockets
	socket  *os.File
	once    sync.Once
}

func (c *call) Close() error {
	err := c.TCPConn.Close() // a copy; the socket itself is kept
	c.once.Do(func() { c.sockets.giveBack(c.socket) })
	return err
}

// giveBack dissolves a socket's connection, by connecting it to an
// address of no family (connect(2)), after which it is as good as new.
func (d *Sockets) giveBack(f *os.File) {
	none := unix.RawSockaddr{Family: unix.AF_UNSPEC}
	_, _, errno := unix.Syscall(unix.SYS_CONNECT, f.Fd(), uintptr(unsafe.Pointer(&none)), unsafe.Sizeof(none))
	d.mu.Lock()
	defer d.mu.Unlock()
	if errno != 0 || d.closed {
		f.Close()
		return
	}
	d.dialers = append(d.dialers, f)
}

// connect is connect(2) on a socket that does not block.
func connect(ctx context.Context, f *os.File, to unix.Sockaddr) error {
	fd := int(f.Fd())
	if err := unix.SetNonblock(fd, true); err != nil {
		return err
	}
	err := unix.Connect(fd, to)
	if !errors.Is(err, unix.EINPROGRESS) {
		return err
	}
	for deadline := time.Now().Add(callTimeout); ; {
		if ctx.Err() != nil || time.Now().After(deadline) {
			return unix.ETIMEDOUT
		}
		fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLOUT}}
		n, err := unix.Poll(fds, 100)
		if err != nil && !errors.Is(err, unix.EINTR) {
			return err
		}
		if n > 0 {
			code, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ERROR)
			if err == nil && code != 0 {
				err = unix.Errno(code)
			}
			return err
		}
	}
}
