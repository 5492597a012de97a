package ipc_test

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"sandboxd/ipc"
	"sandboxd/ipc/ipctest"
)

func init() {
	acts["connect-hidden"] = func() error { return unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) }
}

// admitted is a house that says who comes.
func admitted(t *testing.T, refuse error) (*ipctest.House, chan ipc.Peer) {
	peers := make(chan ipc.Peer, 16)
	b := ipctest.New().Admitting(func(p ipc.Peer, _ ipc.Role) error {
		peers <- p
		return refuse
	})
	h := ipctest.Start(t, b, ipc.Limits{})
	t.Cleanup(b.Close)
	return h, peers
}

// R-IP-01: the peer is what the kernel says.
func TestPeer(t *testing.T) {
	h, peers := admitted(t, nil)
	c := start(t, "connect "+h.Agent.Socket, nil)
	p := <-peers
	exe, _ := os.Executable()
	if p.PID != c.Process.Pid || p.UID != os.Getuid() || p.GID != os.Getgid() || p.Exe != exe {
		t.Errorf("%+v, want pid %d, exe %q", p, c.Process.Pid, exe)
	}
	// 0 where the session's leader is outside this pid namespace.
	sid, err := unix.Getsid(0)
	if err != nil {
		t.Fatal(err)
	}
	if p.Start == 0 || p.SID != sid || p.PIDNamespace == 0 || p.Inside() {
		t.Errorf("%+v, want session %d", p, sid)
	}
	if len(p.Ancestors) == 0 || p.Ancestors[0].PID != os.Getpid() || p.Ancestors[len(p.Ancestors)-1].PID > 2 &&
		p.Ancestors[len(p.Ancestors)-1].PID != 1 {
		t.Errorf("ancestors %+v, want %d first", p.Ancestors, os.Getpid())
	}
	if p.Exited() {
		t.Error("it is gone before it ended")
	}
	c.end()
	eventually(t, "it is gone", p.Exited)
}

// A session outlives the connection that opened it.
func TestPeerOutlivesConnection(t *testing.T) {
	h, peers := admitted(t, nil)
	if _, err := h.Agent.Version(t.Context()); err != nil {
		t.Fatal(err)
	}
	p := <-peers
	before := descriptors(t)
	h.Agent.Close()
	// both ends, and the pidfd
	eventually(t, "the connection is closed", func() bool { return descriptors(t) <= before-3 })
	if p.Exited() {
		t.Error("this process is gone")
	}
}

// R-IP-01: a process in a pid namespace of its own is inside; it does not
// matter what it looks like from there.
func TestPeerInside(t *testing.T) {
	attr := &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWPID,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	h, peers := admitted(t, nil)
	start(t, "connect "+h.Agent.Socket, attr)
	if p := <-peers; !p.Inside() || p.Nested != 1 || p.UID != os.Getuid() {
		t.Errorf("%+v", p)
	}
	// It cannot be inspected, and is identified nevertheless (a malicious process can make itself
	// undumpable).
	start(t, "connect-hidden "+h.Agent.Socket, attr)
	if p := <-peers; !p.Inside() || p.Nested != 1 {
		t.Errorf("hidden: %+v", p)
	}
	// On the approver's socket it is turned away before anybody is asked.
	start(t, "connect "+h.Approver.Socket, attr)
	select {
	case p := <-peers:
		t.Errorf("admitted as an approver: %+v", p)
	case <-time.After(100 * time.Millisecond):
	}
}

// R-OP-06: sbx approve is not dumpable; it is identified nevertheless.
func TestPeerNotDumpable(t *testing.T) {
	h, peers := admitted(t, nil)
	c := start(t, "connect-hidden "+h.Agent.Socket, nil)
	if p := <-peers; p.PID != c.Process.Pid || p.UID != os.Getuid() || p.Start == 0 || p.Inside() {
		t.Errorf("%+v", p)
	}
}

// Another user is another user, and gets the reason of its refusal.
func TestPeerOfAnotherUser(t *testing.T) {
	refusal := &ipc.Error{Code: ipc.CodeForbidden, Message: "you are not expected", Hint: "go away"}
	h, peers := admitted(t, refusal)
	if _, err := h.Agent.Version(t.Context()); !errors.Is(err, &ipc.Error{Code: ipc.CodeForbidden}) ||
		!strings.Contains(err.Error(), "go away") {
		t.Errorf("refused: %v", err)
	}
	<-peers
	if os.Getuid() != 0 {
		return // an ordinary user cannot become another
	}
	os.Chmod(h.Dir, 0o755)
	os.Chmod(filepath.Dir(h.Dir), 0o755)
	os.Chmod(h.Agent.Socket, 0o666)
	nobody := &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	startFile(t, reachable(t), "connect "+h.Agent.Socket, nobody)
	if p := <-peers; p.UID != 65534 || p.GID != 65534 {
		t.Errorf("%+v", p)
	}
}

// reachable is a copy of this binary that every user may execute.
func reachable(t *testing.T) string {
	dir, err := os.MkdirTemp("", "ipc")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	os.Chmod(dir, 0o755)
	b, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	exe := filepath.Join(dir, "peer")
	if err := os.WriteFile(exe, b, 0o755); err != nil {
		t.Fatal(err)
	}
	return exe
}

// R-IP-09: the client sends nothing to a socket that another user serves.
func TestClientRefusesForeignServer(t *testing.T) {
	if os.Getuid() != 0 {
		return // an ordinary user cannot make another one's socket
	}
	exe := reachable(t)
	dir := filepath.Dir(exe)
	os.Chmod(dir, 0o777)
	socket := filepath.Join(dir, "s")
	startFile(t, exe, "listen "+socket, &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}})
	c := &ipc.Client{Socket: socket}
	defer c.Close()
	if _, err := c.Version(t.Context()); !errors.Is(err, ipc.ErrForeign) {
		t.Errorf("%v", err)
	}
	if err := c.Exists(context.Background()); !errors.Is(err, ipc.ErrForeign) {
		t.Errorf("%v", err)
	}
}

// What is not a Unix socket has no peer, and is not served.
func TestTCPIsNotServed(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() {
		s := ipc.Server{Backend: ipctest.New(), Approver: []net.Listener{l}}
		served <- s.Serve(ctx)
	}()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	c.Write([]byte(request("GET", "/v1/version", "")))
	if n, err := c.Read(make([]byte, 1)); n != 0 || err == nil {
		t.Error("it answered")
	}
	c.Close()
	cancel()
	if err := <-served; err != nil {
		t.Error(err)
	}
}
