package sandbox

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"sandboxd/sandbox/stage"
)

// server is the launch server of the native back end (cmd/sandboxd-launch/server.c). The zero value has
// not been started; one that has ended is started again by the next launch.
type server struct {
	mu   sync.Mutex
	conn *net.UnixConn
}

// errLost is a launch that the server did not come to, as it was killed.
var errLost = errors.New("the launch server ended before it made the sandbox's first process")

// launchTries bounds how often a launch is repeated that a dying server has lost.
const launchTries = 3

// launch has the server make a process that has these descriptors, and returns the connection to it.
func (s *server) launch(h *Host, l stage.Launch, fds []*os.File) (*net.UnixConn, error) {
	var rights []int
	for _, f := range fds {
		rights = append(rights, int(f.Fd()))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var err error
	for range 2 {
		if s.conn == nil {
			if err := s.start(h); err != nil {
				return nil, err
			}
		}
		s.conn.SetWriteDeadline(time.Now().Add(startTimeout))
		if _, _, err = s.conn.WriteMsgUnix(l.Encode(), unix.UnixRights(rights...), nil); err == nil {
			return s.conn, nil
		}
		s.conn.Close()
		s.conn = nil
	}
	return nil, fmt.Errorf("launch server: %w", err)
}

// ended reports whether the server at the other end of a connection has ended. The kernel closes a server's
// descriptors before it kills the other processes of its pid namespace (do_exit in kernel/exit.c): where
// one of these has ended with the server, ended is true.
func ended(server *net.UnixConn) bool {
	c, err := server.SyscallConn()
	if err != nil {
		return true
	}
	hungUp := false
	err = c.Control(func(fd uintptr) {
		fds := []unix.PollFd{{Fd: int32(fd)}}
		n, err := unix.Poll(fds, 0)
		hungUp = err == nil && n > 0 && fds[0].Revents&unix.POLLHUP != 0
	})
	return hungUp || err != nil // closed, as it hung up
}

// start starts the server, and returns once it can launch.
func (s *server) start(h *Host) error {
	// The host's null device, where it can't be changed. The server itself has the daemon's mounts.
	if err := h.spawner.start(nil, nil, []string{os.DevNull}); err != nil {
		return err
	}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("socket of the launch server: %w", err)
	}
	theirs := os.NewFile(uintptr(pair[1]), "server")
	defer theirs.Close()
	conn, err := packetConn(pair[0])
	if err != nil {
		return err
	}
	cmd := &exec.Cmd{Path: stageProgram, Args: []string{"sandboxd-launch", stage.ServeArg}, Env: []string{}, Dir: "/",
		ExtraFiles:  []*os.File{h.stage, h.stage, theirs},
		SysProcAttr: &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}}
	if err := h.spawner.start(cmd, nil, nil); err != nil {
		conn.Close()
		return err
	}
	theirs.Close() // else the end of a server that dies at once is not seen
	go func() {
		untilWaitable(cmd.Process.Pid)
		cmd.Wait()
	}()
	conn.SetReadDeadline(time.Now().Add(startTimeout))
	m, err := readStatus(conn)
	if err == nil && m.Step != stage.StepBorn {
		err = errors.New(m.Message)
	}
	if err != nil {
		conn.Close()
		return fmt.Errorf("launch server: %w", err)
	}
	s.conn = conn
	return nil
}

// close ends the server, and with it every sandbox.
func (s *server) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn != nil {
		s.conn.Close()
		s.conn = nil
	}
}

// prepareNative has the launch server make the sandbox's first process, which makes the namespaces.
func (l *launch) prepareNative(h *Host, p *Plan, status *os.File) (err error) {
	l.mechanism, l.native = BackendNative, true
	first := l.awaiting(p)
	first.Operations = withFiles(p.operations, p.files)
	carried, placed := stage.CarriesNothing, (*net.UnixConn)(nil)
	if p.network {
		carried = stage.CarriesNetwork
		if placed, err = l.joining(p); err != nil {
			return &LaunchError{Mechanism: l.mechanism, Cause: err}
		}
	}
	if err := l.orders(first, carried); err != nil {
		return err
	}
	if err = l.bound(h, p); err != nil {
		return err
	}
	fds, message := []*os.File{status}, stage.Launch{}
	if l.cgroup != nil {
		entries, err := l.cgroup.entries()
		if err != nil {
			return &LaunchError{Mechanism: "cgroup", Cause: err}
		}
		for _, f := range entries {
			fds = append(fds, l.add(f))
		}
		if message.Born = l.cgroup.v2; !message.Born {
			message.Groups = len(entries)
		}
	}
	if p.Command.Program != nil {
		message.Program, fds = true, append(fds, p.Command.Program)
	}
	if l.server, err = h.server.launch(h, message, fds); err != nil {
		return &LaunchError{Mechanism: l.mechanism, Cause: err}
	}
	if p.network && l.server != placed {
		return errLost // its user namespace does not own the network
	}
	if l.limitPids == nil {
		return l.instruct()
	}
	return nil
}

// instruct sends the first order, once.
func (l *launch) instruct() error {
	defer func() { l.pieces = nil }()
	l.status.SetWriteDeadline(time.Now().Add(startTimeout))
	var rights []byte
	if l.joins != nil {
		rights = unix.UnixRights(int(l.joins.Fd()))
		defer l.joins.Close()
	}
	for _, piece := range l.pieces {
		_, _, err := l.status.WriteMsgUnix(piece, rights, nil)
		rights = nil
		if err != nil {
			if errors.Is(err, unix.EPIPE) || errors.Is(err, unix.ECONNRESET) {
				return nil // the reports say why
			}
			return &LaunchError{Mechanism: l.mechanism, Cause: fmt.Errorf("send order: %w", err)}
		}
	}
	return nil
}
