package ipc_test

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"sandboxd/ipc"
)

// place is a new directory with a short name.
func place(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "ipc")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func TestListen(t *testing.T) {
	dir := filepath.Join(place(t), "a", "b")
	s, err := ipc.Listen(ipc.SocketDir{Path: dir})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]fs.FileMode{
		"":                 fs.ModeDir | 0o700,
		ipc.AgentSocket:    fs.ModeSocket | 0o600,
		ipc.ApproverSocket: fs.ModeSocket | 0o600,
	} {
		fi, err := os.Lstat(filepath.Join(dir, name))
		if err != nil || fi.Mode() != want {
			t.Errorf("%q: %v, %v; want %v", name, fi.Mode(), err, want)
		}
	}
	// A second daemon is refused, and does the first no harm.
	if _, err := ipc.Listen(ipc.SocketDir{Path: dir}); !errors.Is(err, ipc.ErrServed) {
		t.Errorf("second: %v", err)
	}
	c, err := net.Dial("unix", filepath.Join(dir, ipc.AgentSocket))
	if err != nil {
		t.Errorf("the first is gone: %v", err)
	} else {
		c.Close()
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(filepath.Join(dir, ipc.AgentSocket)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a socket was left: %v", err)
	}
}

// A system's daemon lets every user connect, and none change anything.
func TestListenPublic(t *testing.T) {
	dir := filepath.Join(place(t), "s")
	s, err := ipc.Listen(ipc.SocketDir{Path: dir, Public: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if fi, err := os.Stat(dir); err != nil || fi.Mode().Perm()&0o022 != 0 {
		t.Errorf("%v, %v", fi.Mode(), err)
	}
	if fi, err := os.Stat(filepath.Join(dir, ipc.AgentSocket)); err != nil || fi.Mode().Perm() != 0o666 {
		t.Errorf("%v, %v", fi.Mode(), err)
	}
}

// After a kill -9 the sockets are still there; the next daemon replaces them.
func TestListenReplacesStale(t *testing.T) {
	dir := filepath.Join(place(t), "s")
	c := start(t, "daemon "+dir, nil)
	if _, err := ipc.Listen(ipc.SocketDir{Path: dir}); !errors.Is(err, ipc.ErrServed) {
		t.Errorf("while it runs: %v", err)
	}
	c.Process.Kill()
	c.Wait()
	if _, err := os.Lstat(filepath.Join(dir, ipc.AgentSocket)); err != nil {
		t.Fatalf("no stale socket: %v", err)
	}
	s, err := ipc.Listen(ipc.SocketDir{Path: dir})
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
}

// Closing leaves another server's sockets alone.
func TestCloseRemovesOnlyItsOwn(t *testing.T) {
	dir := filepath.Join(place(t), "s")
	s, err := ipc.Listen(ipc.SocketDir{Path: dir})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, ipc.AgentSocket)
	os.Remove(path)
	if err := os.WriteFile(path, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if b, err := os.ReadFile(path); err != nil || string(b) != "mine" {
		t.Errorf("%q, %v", b, err)
	}
}

// Each row would let somebody else have the socket, or lose something.
func TestListenRefuses(t *testing.T) {
	for _, c := range []struct {
		name  string
		setup func(t *testing.T, dir string) // dir exists, 0700
		path  string                         // of the sockets, below dir; "": dir itself
		says  string
	}{
		{"a link for a directory", func(t *testing.T, dir string) {
			os.Mkdir(dir+"/real", 0o700)
			os.Symlink("real", dir+"/s")
		}, "s", "symbolic link"},
		{"a file for a directory", func(t *testing.T, dir string) {
			os.WriteFile(dir+"/s", nil, 0o600)
		}, "s", "not a directory"},
		{"a directory that others may enter", func(t *testing.T, dir string) {
			os.Chmod(dir, 0o750)
		}, "", "chmod 700"},
		{"a parent that others may write", func(t *testing.T, dir string) {
			os.Chmod(dir, 0o777)
		}, "s", "changed by others"},
		{"a link for a socket", func(t *testing.T, dir string) {
			os.Symlink("/nowhere", dir+"/"+ipc.AgentSocket)
		}, "", "symbolic link"},
		{"a file for a socket", func(t *testing.T, dir string) {
			os.WriteFile(dir+"/"+ipc.ApproverSocket, []byte("x"), 0o600)
		}, "", "left as it is"},
		{"a link for the lock", func(t *testing.T, dir string) {
			os.Symlink("/nowhere", dir+"/sandboxd.lock")
		}, "", "too many levels of symbolic links"},
		{"a socket that somebody serves", func(t *testing.T, dir string) {
			l, err := net.Listen("unix", dir+"/"+ipc.AgentSocket)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { l.Close() })
		}, "", "already served"},
		{"a socket of another type", func(t *testing.T, dir string) {
			l, err := net.ListenPacket("unixgram", dir+"/"+ipc.AgentSocket)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { l.Close() })
		}, "", "does not say that it is stale"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := place(t)
			c.setup(t, dir)
			s, err := ipc.Listen(ipc.SocketDir{Path: filepath.Join(dir, c.path)})
			if err == nil {
				s.Close()
			}
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v, want %q", err, c.says)
			}
		})
	}
	for path, says := range map[string]string{
		"relative":                        "absolute",
		"/tmp/../tmp/x":                   "clean",
		"/" + strings.Repeat("long/", 30): "clean",
		"/" + strings.Repeat("long", 30):  "shorter",
	} {
		if _, err := ipc.Listen(ipc.SocketDir{Path: path}); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v, want %q", path, err, says)
		}
	}
}

// Another user's directory or socket is refused: root finds one that it gave
// away, an ordinary user one of root's.
func TestListenRefusesOwner(t *testing.T) {
	if os.Getuid() != 0 {
		if _, err := ipc.Listen(ipc.SocketDir{Path: "/usr"}); err == nil ||
			!strings.Contains(err.Error(), "belongs to uid 0") {
			t.Errorf("%v", err)
		}
		return
	}
	dir := place(t)
	os.Chown(dir, 65534, -1)
	if _, err := ipc.Listen(ipc.SocketDir{Path: dir}); err == nil ||
		!strings.Contains(err.Error(), "belongs to uid 65534") {
		t.Errorf("directory: %v", err)
	}
	if _, err := ipc.Listen(ipc.SocketDir{Path: dir + "/s"}); err == nil ||
		!strings.Contains(err.Error(), "belongs to uid 65534") {
		t.Errorf("above: %v", err)
	}
	os.Chown(dir, 0, -1)
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: dir + "/" + ipc.AgentSocket})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	l.Close()
	os.Lchown(dir+"/"+ipc.AgentSocket, 65534, -1)
	if _, err := ipc.Listen(ipc.SocketDir{Path: dir}); err == nil ||
		!strings.Contains(err.Error(), "belongs to uid 65534") {
		t.Errorf("socket: %v", err)
	}
	var st syscall.Stat_t
	if syscall.Lstat(dir+"/"+ipc.AgentSocket, &st) != nil {
		t.Error("the foreign socket was removed")
	}
}
