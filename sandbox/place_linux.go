package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Place is what the sandboxes of one session share: a network namespace with a loopback of its own, and a
// directory of the host as /tmp. No process holds the namespace: it lives as long as the daemon's descriptors and the
// sandboxes in it. Nobody runs in the user namespace that owns it, which is the parent of the sandboxes' own.
type Place struct {
	host *Host
	id   uint64
	tmp  string

	mu        sync.Mutex
	user, net *os.File // nil: not made yet
	closed    bool
}

// NsenterPaths are where nsenter(1) is looked for, which has bwrap start in the namespaces of a place.
var NsenterPaths = []string{"/usr/bin/nsenter", "/bin/nsenter"}

var placeIDs atomic.Uint64

// NoPlaces returns why sandboxes can share no place here; "": they can.
func (h *Host) NoPlaces() string {
	switch {
	case !h.report.Namespaces().Active:
		return "this host has no namespaces for sandboxes"
	case h.native:
		return "[sandbox] backend = \"native\" gives each command its own"
	case h.nsenter == "":
		return "nsenter is missing (install util-linux)"
	}
	return ""
}

// NewPlace returns a place with a directory of the daemon's own as /tmp. The caller removes the directory after
// [Place.Close].
func (h *Host) NewPlace(tmp string) *Place { return &Place{host: h, id: placeIDs.Add(1), tmp: tmp} }

// Join returns the plan in a place: with its loopback, where the profile has one that is not the host's, and its /tmp.
// A plan with mounts below /tmp keeps a /tmp of its own, as a command could exchange the mount points of the next one.
// The caller has checked that all sandboxes of the place may exchange files and connections.
func (p *Plan) Join(ctx context.Context, at *Place, network bool) (*Plan, error) {
	joined := *p
	joined.network = network && slices.Contains(p.args, unshareNetwork)
	if joined.network {
		if err := at.open(ctx); err != nil {
			return nil, err
		}
		joined.args = slices.DeleteFunc(slices.Clone(p.args), func(a string) bool { return a == unshareNetwork })
	}
	below := func(path string) bool { return strings.HasPrefix(path, sharedTmp+"/") }
	ofFile := func(f File) bool { return below(f.Path) }
	if !slices.ContainsFunc(p.mounts, below) && !slices.ContainsFunc(p.files, ofFile) {
		joined.args, joined.shares = withTmp(joined.args, at.tmp)
	}
	joined.place = at
	return &joined, nil
}

// sharedTmp is the directory of a place inside.
const sharedTmp = "/tmp"

// withTmp puts a directory of the host in the place of the private /tmp; ok is false where there is none.
func withTmp(args []string, dir string) (with []string, ok bool) {
	for i := 0; i+1 < len(args); i++ {
		if args[i] != "--tmpfs" || args[i+1] != sharedTmp {
			continue
		}
		begin := i
		for begin >= 2 && (args[begin-2] == "--perms" || args[begin-2] == "--size") {
			begin -= 2
		}
		return slices.Concat(args[:begin], []string{"--bind", dir, sharedTmp}, args[i+2:]), true
	}
	return args, false
}

// open makes the network namespace, once.
func (at *Place) open(ctx context.Context) (err error) {
	at.mu.Lock()
	defer at.mu.Unlock()
	switch {
	case at.closed:
		return errors.New("the session's place is closed")
	case at.net != nil:
		return nil
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
	return fmt.Sprint(p.place.id, p.network, p.shares)
}

// enter has nsenter start bwrap in the namespaces of a plan's place.
func (h *Host) enter(p *Plan, cmd *exec.Cmd, pass func(*os.File) string) error {
	if !p.network {
		return nil
	}
	p.place.mu.Lock()
	defer p.place.mu.Unlock()
	if p.place.closed {
		return errors.New("the session's place is closed")
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
	for _, path := range NsenterPaths {
		if trustworthy(path) == nil {
			return path
		}
	}
	return ""
}

// maxCounted bounds how many files of a shared /tmp are counted.
const maxCounted = 1 << 16

// use is how much is in the /tmp that the sandboxes of a place share.
func (at *Place) use() (bytes int64) {
	root, err := os.OpenRoot(at.tmp)
	if err != nil {
		return 0
	}
	defer root.Close()
	count := 0
	fs.WalkDir(root.FS(), ".", func(_ string, d fs.DirEntry, err error) error {
		if count++; count > maxCounted {
			return fs.SkipAll
		}
		if err != nil {
			return nil // removed since, or closed to the daemon
		}
		const inode = 1 << 10
		bytes += inode
		if info, err := d.Info(); err == nil {
			if st, ok := info.Sys().(*syscall.Stat_t); ok {
				bytes += st.Blocks * 512
			}
		}
		return nil
	})
	return bytes
}
