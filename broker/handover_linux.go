package broker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"sandboxd/internal/accept"
	"sandboxd/internal/fdconn"
)

// patience bounds each exchange between broker and launcher.
const patience = 10 * time.Second

// Launcher is a user's side: it accepts the connections that the broker hands over.
type Launcher struct {
	Listener *net.UnixListener
	// From says whose messages are taken; everybody else is turned away.
	From func(uid int) bool
	// Reload and Stop serve the broker's other requests.
	Reload func() error
	Stop   func()
	Log    *slog.Logger

	once            sync.Once
	agent, approver entrance
}

// Agent and Approver are listeners whose connections the broker hands over.
func (l *Launcher) Agent() net.Listener    { l.init(); return &l.agent }
func (l *Launcher) Approver() net.Listener { l.init(); return &l.approver }

func (l *Launcher) init() {
	l.once.Do(func() {
		for _, d := range []*entrance{&l.agent, &l.approver} {
			*d = entrance{conns: make(chan net.Conn), closed: make(chan struct{}), addr: l.Listener.Addr()}
		}
	})
}

// Serve takes messages until ctx ends or the listener fails.
func (l *Launcher) Serve(ctx context.Context) error {
	l.init()
	stop := context.AfterFunc(ctx, func() { l.Listener.Close() })
	defer stop()
	var busy sync.WaitGroup
	defer busy.Wait()
	in := accept.Retrying(l.Listener)
	for {
		conn, err := in.Accept()
		if err != nil {
			if ctx.Err() != nil || errors.Is(err, net.ErrClosed) {
				return nil
			}
			return fmt.Errorf("accept from the broker: %w", err)
		}
		c := conn.(*net.UnixConn)
		busy.Go(func() {
			defer c.Close()
			if err := l.take(ctx, c); err != nil {
				l.Log.Warn("not taken over", "error", err)
			}
		})
	}
}

// take carries out one message.
func (l *Launcher) take(ctx context.Context, c *net.UnixConn) error {
	c.SetDeadline(time.Now().Add(patience))
	uid, _, err := peer(c)
	if err != nil {
		return err
	}
	if !l.From(uid) {
		return fmt.Errorf("user %d is not the broker", uid)
	}
	want := make([]byte, 1)
	n, files, err := fdconn.Read(c, want, 1)
	defer fdconn.Close(files)
	switch {
	case err != nil:
		return fmt.Errorf("message from the broker: %w", err)
	case n != 1:
		return errors.New("message from the broker: it is empty")
	case want[0] == wantReload:
		return answer(c, l.Reload())
	case want[0] == wantStop:
		l.Stop()
		return answer(c, nil)
	case len(files) != 1 || want[0] != wantAgent && want[0] != wantApprover:
		return fmt.Errorf("message from the broker: %q with %d descriptors", want, len(files))
	}
	conn, err := net.FileConn(files[0])
	if err != nil {
		return fmt.Errorf("message from the broker: %w", err)
	}
	if _, ok := conn.(*net.UnixConn); !ok {
		return errors.Join(errors.New("message from the broker: not a Unix connection"), conn.Close())
	}
	to := &l.agent
	if want[0] == wantApprover {
		to = &l.approver
	}
	select {
	case to.conns <- conn:
		return nil
	case <-to.closed:
	case <-ctx.Done():
	case <-time.After(patience):
	}
	return errors.Join(errors.New("nobody serves what was handed over"), conn.Close())
}

func answer(c *net.UnixConn, err error) error {
	text := "ok"
	if err != nil {
		text = err.Error()
	}
	_, werr := io.WriteString(c, text)
	return werr
}

// peer returns the kernel's credentials of the other end of c.
func peer(c *net.UnixConn) (uid, pid int, err error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return 0, 0, err
	}
	var cred *unix.Ucred
	var cerr error
	if err := raw.Control(func(fd uintptr) {
		cred,
			cerr = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	}); err != nil {
		return 0, 0, err
	}
	if cerr != nil {
		return 0, 0, os.NewSyscallError("getsockopt SO_PEERCRED", cerr)
	}
	return int(cred.Uid), int(cred.Pid), nil
}

// send hands a connection over, or asks for something where c is nil, and
// returns the answer to that.
func send(ctx context.Context, socket string, owner int, want byte, c *net.UnixConn) (string, error) {
	var d net.Dialer
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	conn, err := d.DialContext(ctx, "unix", socket)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	to := conn.(*net.UnixConn)
	to.SetDeadline(time.Now().Add(patience))
	// The listener must be the user's own service manager, or the system's for it.
	switch uid, _, err := peer(to); {
	case err != nil:
		return "", err
	case uid != owner && uid != 0:
		return "", fmt.Errorf("%q is served by user %d, not by %d", socket, uid, owner)
	}
	if c == nil {
		if _, err := to.Write([]byte{want}); err != nil {
			return "", err
		}
		b, err := io.ReadAll(io.LimitReader(to, 64<<10))
		return strings.TrimSpace(string(b)), err
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return "", err
	}
	var serr error
	if err := raw.Control(func(fd uintptr) { _, serr = fdconn.Write(to, []byte{want}, int(fd)) }); err != nil {
		return "", err
	}
	return "", serr
}

// entrance is a listener whose connections arrive by another socket.
type entrance struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
	addr   net.Addr
}

func (d *entrance) Accept() (net.Conn, error) {
	select {
	case c := <-d.conns:
		return c, nil
	case <-d.closed:
		return nil, net.ErrClosed
	}
}

func (d *entrance) Close() error {
	d.once.Do(func() { close(d.closed) })
	return nil
}

func (d *entrance) Addr() net.Addr { return d.addr }
