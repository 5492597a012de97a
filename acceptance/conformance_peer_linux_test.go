package acceptance

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"github.com/creack/pty"

	"sandboxd/ipc"
)

// The daemon knows who is at the other end of a connection by its process. So
// that one test can be several agents and several persons, each of them is a
// process of its own: this test binary, started again as a relay. It forwards
// the bytes of the test, and the kernel reports the relay as the daemon's peer.
const (
	relayMode = "SBX_ACCEPTANCE_RELAY"    // "relay", or "detach" to leave the test's process tree first
	relayTo   = "SBX_ACCEPTANCE_RELAY_TO" // sockets, one per listener from descriptor 3 on, separated by colons
	relayTTY  = "SBX_ACCEPTANCE_RELAY_TTY"
)

func init() {
	if mode := os.Getenv(relayMode); mode != "" {
		os.Exit(relay(mode))
	}
}

// relay is the whole program of such a process; it ends with its standard input.
func relay(mode string) int {
	sockets := strings.Split(os.Getenv(relayTo), ":")
	if mode == "detach" {
		if err := detached(len(sockets)).Start(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return 0
	}
	for i, to := range sockets {
		f := os.NewFile(uintptr(3+i), to)
		l, err := net.FileListener(f)
		f.Close()
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				go passOn(c.(*net.UnixConn), to)
			}
		}()
	}
	io.Copy(io.Discard, os.Stdin)
	return 0
}

// detached is the relay in a kernel session of its own, and at a terminal of
// its own where there is one; its parent leaves.
func detached(sockets int) *exec.Cmd {
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), relayMode+"=relay")
	cmd.Stdin, cmd.Stderr = os.Stdin, os.Stderr
	for i := range sockets {
		cmd.ExtraFiles = append(cmd.ExtraFiles, os.NewFile(uintptr(3+i), "listener"))
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if os.Getenv(relayTTY) != "" {
		cmd.ExtraFiles = append(cmd.ExtraFiles, os.NewFile(uintptr(3+sockets), "tty"))
		cmd.SysProcAttr.Setctty, cmd.SysProcAttr.Ctty = true, 3+sockets
	}
	return cmd
}

func passOn(down *net.UnixConn, to string) {
	defer down.Close()
	c, err := net.Dial("unix", to)
	if err != nil {
		return
	}
	up := c.(*net.UnixConn)
	defer up.Close()
	var both sync.WaitGroup
	both.Go(func() { io.Copy(up, down); up.CloseWrite() })
	both.Go(func() { io.Copy(down, up); down.CloseWrite() })
	both.Wait()
}

// peer is a process of its own, by its ways to both sockets.
type peer struct {
	agent, approver ipc.Client
}

// agentPeer is a process that asks. name is the file name of its executable,
// which makes it another agent than every other; the file of a nameless one is
// removed while it runs, so that the daemon cannot tell what it is.
func (a *actor) agentPeer(name string) *peer {
	a.t.Helper()
	exe := filepath.Join(a.dir, "agent-"+name)
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		a.t.Fatal(err)
	}
	if err := install(exe, append(self, name...)); err != nil {
		a.t.Fatal(err)
	}
	p := a.peer("agent-"+name, exe, "relay", false)
	if name == "" {
		if err := os.Remove(exe); err != nil {
			a.t.Fatal(err)
		}
	}
	return p
}

// install writes an executable. Nothing may be forked meanwhile: a child that
// holds the file open for writing makes it unusable (execve(2), ETXTBSY).
func install(exe string, content []byte) error {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	return os.WriteFile(exe, content, 0o755)
}

// personPeer is a process that answers: at a terminal, or for somebody afar.
// It has left the process tree of the test, and so of every agent.
func (a *actor) personPeer(name string, terminal bool) *peer {
	a.t.Helper()
	exe := filepath.Join(a.dir, "person")
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		a.t.Fatal(err)
	}
	if _, err := os.Lstat(exe); err != nil {
		if err := install(exe, self); err != nil {
			a.t.Fatal(err)
		}
	}
	return a.peer("person-"+name, exe, "detach", terminal)
}

// trust has a person trust the project.
func (a *actor) trust(ctx context.Context, person *peer) {
	a.t.Helper()
	if _, err := person.approver.Trust(ctx, ipc.TrustRequest{Dir: a.project}); err != nil {
		a.t.Fatal(err)
	}
}

func (a *actor) peer(name, exe, mode string, terminal bool) *peer {
	a.t.Helper()
	cmd := a.command(a.t.Context(), exe)
	p := &peer{}
	var to []string
	for _, s := range []struct {
		client *ipc.Client
		name   string
	}{{&p.agent, "agent"}, {&p.approver, "approver"}} {
		// Made here and not there: a client speaks to its own user's sockets only.
		path := filepath.Join(a.dir, name+"-"+s.name)
		l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
		if err != nil {
			a.t.Fatal(err)
		}
		l.SetUnlinkOnClose(false)
		f, err := l.File()
		l.Close()
		if err != nil {
			a.t.Fatal(err)
		}
		defer f.Close()
		cmd.ExtraFiles = append(cmd.ExtraFiles, f)
		to = append(to, filepath.Join(a.socketDir(), s.name+".sock"))
		s.client.Socket = path
	}
	cmd.Env = append(cmd.Env, relayMode+"="+mode, relayTo+"="+strings.Join(to, ":"))
	if terminal {
		master, slave, err := pty.Open()
		if err != nil {
			a.t.Fatal(err)
		}
		defer slave.Close()
		a.t.Cleanup(func() { master.Close() })
		cmd.ExtraFiles = append(cmd.ExtraFiles, slave)
		cmd.Env = append(cmd.Env, relayTTY+"=1")
	}
	r, w, err := os.Pipe()
	if err != nil {
		a.t.Fatal(err)
	}
	defer r.Close()
	cmd.Stdin, cmd.Stderr = r, os.Stderr
	if err := cmd.Start(); err != nil {
		a.t.Fatal(err)
	}
	if mode == "detach" {
		if err := cmd.Wait(); err != nil {
			a.t.Fatalf("start %s: %v", name, err)
		}
	}
	a.t.Cleanup(func() {
		p.agent.Close()
		p.approver.Close()
		w.Close()
		if mode != "detach" {
			cmd.Wait()
		}
	})
	return p
}
