package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"sandboxd/bwrap"
)

// Place has the resources that the sandboxes of one session share: a network namespace with a loopback of its own, and
// directories of the host as their private ones. No process holds the namespace: it lives as long as the daemon's
// descriptors and the sandboxes in it. Nobody runs in the user namespace that owns it, which is the parent of the
// sandboxes' own: with bwrap one of the place, with the native back end the launch server's.
type Place struct {
	host *Host
	id   uint64
	dir  string

	mu     sync.Mutex
	user   *os.File      // nil: the launch server's
	net    *os.File      // nil: not made yet
	server *net.UnixConn // that made net; nil: bwrap did
	shares map[string]*share
	closed bool

	exceeded atomic.Int64 // how often a sandbox was ended as a shared directory exceeded its limit
}

// nsenterPaths are where nsenter(1) is looked for, which has bwrap start in the namespaces of a place.
var nsenterPaths = []string{"/usr/bin/nsenter", "/bin/nsenter"}

var placeIDs atomic.Uint64

var errPlaceClosed = errors.New("the session's place is closed")

// NoPlaces returns why sandboxes can share no place here; "": they can.
func (h *Host) NoPlaces() string {
	switch {
	case !h.report.Namespaces().Active:
		return "this host has no namespaces for sandboxes"
	case !h.native && h.nsenter == "":
		return "nsenter is missing (install util-linux)"
	}
	return ""
}

// NewPlace returns a place whose files are in a directory of the daemon's own, a real path. The caller removes the
// directory after [Place.Close].
func (h *Host) NewPlace(dir string) *Place {
	return &Place{host: h, id: placeIDs.Add(1), dir: dir, shares: map[string]*share{}}
}

// Join returns the plan in a place: with its loopback, where the profile has one that is not the host's, and with
// its directories in the place of the plan's private ones of these names. The caller has checked that all sandboxes of
// the place may exchange files and connections.
func (p *Plan) Join(ctx context.Context, at *Place, network bool, private ...string) (*Plan, error) {
	joined := *p
	joined.network = network && slices.Contains(p.args, unshareNetwork)
	if joined.network {
		if err := at.open(ctx); err != nil {
			return nil, err
		}
		joined.args = slices.DeleteFunc(slices.Clone(p.args), func(a string) bool { return a == unshareNetwork })
	}
	joined.place = at
	for _, dir := range private {
		if err := joined.share(dir); err != nil {
			return nil, err
		}
	}
	return &joined, nil
}

// open makes the network namespace, once.
func (at *Place) open(ctx context.Context) (err error) {
	at.mu.Lock()
	defer at.mu.Unlock()
	switch {
	case at.closed:
		return errPlaceClosed
	case at.net != nil && (at.server == nil || !ended(at.server)):
		return nil
	case at.host.native:
		at.net.Close() // that of a server which has ended, and all sandboxes with it
		at.net, at.server, err = at.host.nativeLoopback()
		return err
	}
	if at.user, at.net, err = at.host.loopback(ctx); err != nil {
		return err
	}
	if !at.host.entersPlaces.Load() {
		if err := at.host.tryPlace(ctx, at); err != nil {
			at.user.Close()
			at.net.Close()
			at.user, at.net = nil, nil
			return err // the next command tries again: a busy machine is not one that forbids it
		}
		at.host.entersPlaces.Store(true)
	}
	return nil
}

// tryPlace starts a sandbox that does nothing in a place.
func (h *Host) tryPlace(ctx context.Context, at *Place) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	var said bytes.Buffer
	cmd := exec.CommandContext(ctx, h.nsenter, "--preserve-credentials", "--user=/proc/self/fd/3",
		"--net=/proc/self/fd/4", "--", h.Bwrap, "--unshare-user", "--unshare-pid", "--cap-drop", "ALL", "--die-with-parent",
		"--ro-bind", "/", "/", "--", "/bin/sh", "-c", ":")
	cmd.Env, cmd.Dir, cmd.Stderr, cmd.ExtraFiles = []string{}, "/", &said, []*os.File{at.user, at.net}
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("sandboxes can't start in a session's network: %w: %s", err, bytes.TrimSpace(said.Bytes()))
	}
	return nil
}

// Close ends the waiting sandboxes of the place, and lets its namespaces go.
func (at *Place) Close() {
	at.mu.Lock()
	at.closed = true
	at.user.Close() // an error for none
	at.net.Close()
	at.mu.Unlock()
	at.host.pool.leave(at)
}

// isClosed reports whether there is a place and it is closed.
func (at *Place) isClosed() bool {
	if at == nil {
		return false
	}
	at.mu.Lock()
	defer at.mu.Unlock()
	return at.closed
}

// key distinguishes the views of sandboxes of different places.
func (p *Plan) key() string {
	if p.place == nil {
		return ""
	}
	return fmt.Sprint(p.place.id, p.network, p.shared)
}

// enter has nsenter start bwrap in the namespaces of a plan's place.
func (h *Host) enter(p *Plan, cmd *exec.Cmd, pass func(*os.File) string) error {
	if !p.network {
		return nil
	}
	p.place.mu.Lock()
	defer p.place.mu.Unlock()
	if p.place.closed {
		return errPlaceClosed
	}
	// bwrap outlives a close of the place until here.
	enter := []string{"nsenter", "--preserve-credentials"}
	for _, ns := range []struct {
		option string
		file   *os.File
	}{{"--user=", p.place.user}, {"--net=", p.place.net}} {
		fd, err := unix.FcntlInt(ns.file.Fd(), unix.F_DUPFD_CLOEXEC, 0)
		if err != nil {
			return err
		}
		enter = append(enter, ns.option+"/proc/self/fd/"+pass(os.NewFile(uintptr(fd), ns.option)))
	}
	cmd.Path, cmd.Args = h.nsenter, append(append(enter, "--", h.Bwrap), cmd.Args[1:]...)
	return nil
}

// nativeLoopback has the launch server make a sandbox, and keeps nothing of it but its network namespace.
func (h *Host) nativeLoopback() (network *os.File, server *net.UnixConn, err error) {
	root := bwrap.Mount{Path: "/", Form: bwrap.Directory, Mode: 0o755}
	operations := Operations([]bwrap.Mount{root}, true, os.Geteuid(), os.Getegid())
	l, err := h.lay(&Plan{args: []string{}, operations: operations})
	if err != nil {
		return nil, nil, fmt.Errorf("make the session's network: %w", err)
	}
	network, l.network = l.network, nil
	server = l.proc.server
	l.kill(l.proc)
	return network, server, nil
}

// joining has the sandbox start in the network of the plan's place.
func (l *launch) joining(p *Plan) (from *net.UnixConn, err error) {
	if err := p.place.open(context.Background()); err != nil {
		return nil, err
	}
	p.place.mu.Lock()
	defer p.place.mu.Unlock()
	if p.place.closed {
		return nil, errPlaceClosed
	}
	fd, err := unix.FcntlInt(p.place.net.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	l.joins = os.NewFile(uintptr(fd), "network namespace")
	return p.place.server, nil
}

// loopback makes a user namespace and a network namespace of it, whose loopback is up, and ends the process that it
// made them with.
func (h *Host) loopback(ctx context.Context) (user, network *os.File, err error) {
	var files [6]*os.File
	defer func() {
		for _, f := range files {
			f.Close()
		}
	}()
	for i := 0; i < len(files); i += 2 {
		if files[i], files[i+1], err = os.Pipe(); err != nil {
			return nil, nil, err
		}
	}
	infoR, infoW, inR, inW, outR, outW := files[0], files[1], files[2], files[3], files[4], files[5]
	cmd := &exec.Cmd{
		Path: h.Bwrap,
		Args: []string{"bwrap", "--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", unshareNetwork,
			"--cap-drop", "ALL", "--die-with-parent", "--clearenv", "--ro-bind", "/", "/", "--chdir", "/",
			"--info-fd", "3", "--", "/bin/sh", "-c", "echo && read -r end"},
		Env: []string{}, Dir: "/", Stdin: inR, Stdout: outW, ExtraFiles: []*os.File{infoW},
		SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}
	if err := h.spawner.start(cmd, nil, nil); err != nil {
		return nil, nil, &LaunchError{Mechanism: BackendBwrap, Cause: err}
	}
	defer func() {
		inW.Close()
		cmd.Process.Kill() // its first process dies with it
		cmd.Wait()
	}()
	infoW.Close()
	outW.Close()
	inR.Close()
	within := func(until time.Time) { infoR.SetReadDeadline(until); outR.SetReadDeadline(until) }
	within(time.Now().Add(startTimeout))
	stop := context.AfterFunc(ctx, func() { within(time.Unix(1, 0)) })
	defer stop()
	pid, err := readChildPid(infoR)
	if err == nil {
		_, err = outR.Read(make([]byte, 1)) // then all is set up
	}
	if err == nil {
		network, err = os.Open("/proc/" + strconv.Itoa(pid) + "/ns/net")
	}
	if err != nil {
		return nil, nil, &LaunchError{Mechanism: BackendBwrap, Cause: fmt.Errorf("make the session's network: %w", err)}
	}
	fd, err := unix.IoctlRetInt(int(network.Fd()), unix.NS_GET_USERNS)
	if err != nil {
		network.Close()
		return nil, nil, fmt.Errorf("find the owner of a network namespace: %w", err)
	}
	return os.NewFile(uintptr(fd), "user namespace"), network, nil
}

// findNsenter returns the first candidate that only root or the daemon's own user could have put there; "": none.
func findNsenter() string {
	for _, path := range nsenterPaths {
		if trustworthy(path) == nil {
			return path
		}
	}
	return ""
}
