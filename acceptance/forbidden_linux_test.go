package acceptance

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Issue "The main job", 3: inside, none of these succeeds. Each is tried by
// the real client through the real socket. R-OS-03 R-OS-06 R-OS-07 R-OS-12
func TestForbiddenActs(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		a.approveAll()
		ssh := filepath.Join(a.home, ".ssh")
		if _, err := os.Lstat(ssh); err != nil {
			a.sh("mkdir -m 700 " + ssh)
			t.Cleanup(func() { os.RemoveAll(ssh) })
		}
		key := filepath.Join(ssh, "id_acceptance")
		a.sh("echo CANARY-KEY > " + key)
		t.Cleanup(func() { os.Remove(key) })

		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer listener.Close()
		connected := make(chan struct{}, 1)
		go func() {
			for {
				c, err := listener.Accept()
				if err != nil {
					return
				}
				c.Write([]byte("HTTP/1.0 200 OK\r\n\r\nCANARY-HTTP\n"))
				c.Close()
				select {
				case connected <- struct{}{}:
				default:
				}
			}
		}()
		victim := exec.Command("/bin/sleep", "300")
		if a.cred != nil {
			victim.SysProcAttr = a.command(t.Context(), "true").SysProcAttr
		}
		if err := victim.Start(); err != nil {
			t.Fatal(err)
		}
		defer func() { victim.Process.Kill(); victim.Wait() }()

		port := listener.Addr().(*net.TCPAddr).Port
		for _, act := range []struct{ name, script string }{
			{"write outside", "touch /etc/sbx-acceptance && echo GOT"},
			{"read a key", "cat ~/.ssh/id_* && echo GOT; cat " + key + " && echo GOT"},
			{"reach a listener", fmt.Sprintf("curl -sS -m 3 http://127.0.0.1:%d && echo GOT", port)},
			{"kill a process of the host", fmt.Sprintf("kill -9 %d && echo GOT", victim.Process.Pid)},
			{"mount", "mount -t tmpfs none /mnt && echo GOT; mount --bind /etc /mnt && echo GOT"},
			{"make a user namespace", "unshare -Ur true && echo GOT"},
			{"agent socket", connect(filepath.Join(a.socketDir(), "agent.sock"))},
			{"approver socket", connect(filepath.Join(a.socketDir(), "approver.sock"))},
			{"state", "ls " + a.stateDir() + " && echo GOT; cat " + a.stateDir() + "/audit/* && echo GOT"},
		} {
			got := a.sbx("run", "-c", "echo RAN; "+act.script+"; true")
			if got.code != 0 || !strings.HasPrefix(got.out, "RAN\n") {
				t.Errorf("%s: the attempt did not run: %v", act.name, got)
			}
			if strings.Contains(got.out, "GOT") || strings.Contains(got.out, "CANARY") {
				t.Errorf("%s: it succeeded: %v", act.name, got)
			}
		}
		if _, err := os.Lstat("/etc/sbx-acceptance"); err == nil {
			os.Remove("/etc/sbx-acceptance")
			t.Error("a file was made in /etc")
		}
		if !alive(victim.Process.Pid) {
			t.Error("a process of the host was killed")
		}
		select {
		case <-connected:
			t.Error("the listener was reached")
		default:
		}
		status := a.sbx("run", "--", "cat", "/proc/self/status").out
		for _, want := range []string{"CapEff:\t0000000000000000", "CapPrm:\t0000000000000000", "CapBnd:\t0000000000000000", "NoNewPrivs:\t1", "Seccomp:\t2"} {
			if !strings.Contains(status, want) {
				t.Errorf("%q does not hold:\n%s", want, status)
			}
		}
	})
}

// connect is a script that says GOT when the Unix socket can be reached.
func connect(path string) string {
	return fmt.Sprintf(`/usr/bin/python3 -c 'import socket; s=socket.socket(socket.AF_UNIX); s.connect("%s"); print("GOT")'; curl -sS -m 3 --unix-socket %s http://x/v1/version && echo GOT`, path, path)
}
