package ipc

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// Names of the files in a socket directory.
const (
	AgentSocket    = "agent.sock"
	ApproverSocket = "approver.sock"
	StdioSocket    = "stdio.sock"
	lockName       = "sandboxd.lock"
)

// stdioPath is stdio.sock beside another socket.
func stdioPath(socket string) string { return filepath.Join(filepath.Dir(socket), StdioSocket) }

// maxSocketPath is the capacity of sockaddr_un.sun_path with its NUL: 104 bytes on macOS, 108 on
// Linux (unix(7)). The smaller one holds everywhere.
const maxSocketPath = 103

// ErrServed is in the error of [Listen] when another daemon has the directory.
var ErrServed = errors.New("already served by another daemon")

// SocketDir is the place of the sockets.
type SocketDir struct {
	Path string // absolute; made if it is absent
	// Public is for a system's daemon: every user may connect, and the
	// Backend's Admit decides. The zero value is for one user's: directory 0700,
	// sockets 0600.
	Public bool
}

// Sockets are listening sockets and the right to their directory.
type Sockets struct {
	Agent    net.Listener
	Approver net.Listener
	Stdio    net.Listener

	lock *os.File
	made map[string]os.FileInfo
}

// Listen makes the sockets. It refuses a directory or socket that is a symbolic link, has another
// owner, or could be replaced by another user; and it returns [ErrServed] where a daemon runs
// already. A socket without a server is replaced if it is ours.
func Listen(d SocketDir) (*Sockets, error) {
	if !filepath.IsAbs(d.Path) || filepath.Clean(d.Path) != d.Path {
		return nil, fmt.Errorf("listen in %q: not a clean absolute path", d.Path)
	}
	if n := len(d.Path) + 1 + len(ApproverSocket); n > maxSocketPath {
		return nil, fmt.Errorf("listen in %q: the sockets' paths would have %d bytes, %d is the most; choose a shorter "+
			"directory", d.Path, n, maxSocketPath)
	}
	if err := d.prepare(); err != nil {
		return nil, fmt.Errorf("listen in %q: %w", d.Path, err)
	}
	lock, err := lockDir(filepath.Join(d.Path, lockName))
	if err != nil {
		return nil, fmt.Errorf("listen in %q: %w", d.Path, err)
	}
	s := &Sockets{lock: lock, made: map[string]os.FileInfo{}}
	// The agent's comes last: a client that finds it finds the others.
	for _, o := range []struct {
		name string
		l    *net.Listener
	}{{StdioSocket, &s.Stdio}, {ApproverSocket, &s.Approver}, {AgentSocket, &s.Agent}} {
		path := filepath.Join(d.Path, o.name)
		if *o.l, err = d.listen(path); err != nil {
			s.Close()
			return nil, err
		}
		if s.made[path], err = os.Lstat(path); err != nil {
			s.Close()
			return nil, err
		}
	}
	return s, nil
}

// Lost names a socket whose file is missing or another process's by now, so that nobody can find
// it; "" for none.
func (s *Sockets) Lost() string {
	for path, made := range s.made {
		if now, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) || err == nil && !os.SameFile(now, made) {
			return path
		}
	}
	return ""
}

// Close closes the sockets, removes their files if they are still those that
// Listen made, and lets another daemon have the directory.
func (s *Sockets) Close() error {
	var errs []error
	for _, l := range []net.Listener{s.Agent, s.Approver, s.Stdio} {
		if l == nil {
			continue
		}
		if err := l.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
			errs = append(errs, err)
		}
	}
	for path, made := range s.made {
		if now, err := os.Lstat(path); err == nil && made != nil && os.SameFile(now, made) {
			errs = append(errs, os.Remove(path))
		}
	}
	return errors.Join(append(errs, s.lock.Close())...)
}

// prepare makes the directory and checks that nobody else can change its entries, or replace it.
func (d SocketDir) prepare() error {
	mode := fs.FileMode(0o700)
	if d.Public {
		mode = 0o755
	}
	if err := os.MkdirAll(d.Path, mode); err != nil {
		return err
	}
	fi, err := os.Lstat(d.Path)
	if err != nil {
		return err
	}
	if !fi.IsDir() {
		return fmt.Errorf("it is %s, not a directory", describeMode(fi.Mode()))
	}
	if uid := ownerOf(fi); uid != os.Geteuid() {
		return fmt.Errorf("it belongs to uid %d, not to us (%d)", uid, os.Geteuid())
	}
	if extra := fi.Mode().Perm() &^ mode; extra != 0 {
		return fmt.Errorf("its mode is %04o, which is more than %04o; run chmod %o on it", fi.Mode().Perm(), mode, mode)
	}
	real, err := filepath.EvalSymlinks(filepath.Dir(d.Path))
	if err != nil {
		return err
	}
	return checkAncestors(real)
}

// checkAncestors refuses a directory in which another user could rename ours:
// writable by others and not sticky, or owned by neither root nor us.
func checkAncestors(dir string) error {
	for {
		fi, err := os.Stat(dir)
		if err != nil {
			return err
		}
		if uid := ownerOf(fi); uid != 0 && uid != os.Geteuid() {
			return fmt.Errorf("%q above it belongs to uid %d", dir, uid)
		}
		if fi.Mode().Perm()&0o022 != 0 && fi.Mode()&fs.ModeSticky == 0 {
			return fmt.Errorf("%q above it can be changed by others (mode %04o)", dir, fi.Mode().Perm())
		}
		if dir == "/" {
			return nil
		}
		dir = filepath.Dir(dir)
	}
}

// lockDir takes the right to the directory, which ends with the process.
func lockDir(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		f.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, ErrServed
		}
		return nil, fmt.Errorf("lock %q: %w", path, err)
	}
	return f, nil
}

// listen makes one socket, in the place of a stale one if need be. The lock is
// held, so no other daemon does the same.
func (d SocketDir) listen(path string) (net.Listener, error) {
	if err := removeStale(path); err != nil {
		return nil, fmt.Errorf("listen on %q: %w", path, err)
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, err
	}
	l.SetUnlinkOnClose(false) // Close does, if it is still ours
	mode := fs.FileMode(0o600)
	if d.Public {
		mode = 0o666
	}
	if err := os.Chmod(path, mode); err != nil {
		l.Close()
		return nil, err
	}
	return l, nil
}

// removeStale makes room for a socket, or says why it must not.
func removeStale(path string) error {
	fi, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if fi.Mode().Type() != fs.ModeSocket {
		return fmt.Errorf("it is %s, not a socket; it is left as it is: take it away yourself", describeMode(fi.Mode()))
	}
	if uid := ownerOf(fi); uid != os.Geteuid() {
		return fmt.Errorf("it belongs to uid %d, not to us (%d)", uid, os.Geteuid())
	}
	c, err := net.Dial("unix", path)
	if err == nil {
		c.Close()
		return ErrServed
	}
	if !errors.Is(err, syscall.ECONNREFUSED) {
		return fmt.Errorf("it is there and does not say that it is stale: %w", err)
	}
	return os.Remove(path)
}

func ownerOf(fi os.FileInfo) int {
	return int(fi.Sys().(*syscall.Stat_t).Uid)
}

// describeMode names a kind of file for people.
func describeMode(m fs.FileMode) string {
	switch m.Type() {
	case 0:
		return "a file"
	case fs.ModeDir:
		return "a directory"
	case fs.ModeSymlink:
		return "a symbolic link"
	case fs.ModeSocket:
		return "a socket"
	}
	return "a special file"
}
