package acceptance

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// program is a session of a program, whose commands share /tmp and localhost.
type program struct {
	a          *actor
	id, secret string
}

func (a *actor) openProgram() program {
	a.t.Helper()
	var s struct{ ID, Secret string }
	if r := a.sbx("session", "open", "--json"); r.code != 0 {
		a.t.Fatal(r)
	} else if err := json.Unmarshal([]byte(r.out), &s); err != nil || s.Secret == "" {
		a.t.Fatalf("no session: %v: %s", err, r.out)
	}
	return program{a, s.ID, s.Secret}
}

// begin has the session run a line, and returns how it ends.
func (p program) begin(line string) (wait func() result) {
	p.a.t.Helper()
	defer func(env []string) { p.a.extraEnv = env }(p.a.extraEnv)
	p.a.extraEnv = append(slices.Clone(p.a.extraEnv), "SBX_SESSION_SECRET="+p.secret)
	return p.a.begin("run", "--session", p.id, "-c", line)
}

func (p program) run(line string) result {
	p.a.t.Helper()
	return p.begin(line)()
}

func (p program) close() {
	p.a.t.Helper()
	secret := "SBX_SESSION_SECRET=" + p.secret
	if r := p.a.do(nil, "/usr/bin/env", secret, filepath.Join(bin, "sbx"), "session", "close", p.id); r.code != 0 {
		p.a.t.Fatal(r)
	}
}

// serving starts a server as a command of its own, and waits until another command of the session reaches it. It
// listens on TCP and on an abstract Unix socket.
func (p program) serving(port string) (wait func() result) {
	p.a.t.Helper()
	wait = p.begin(`touch /tmp/started; python3 -c '
import socket
a = socket.socket(socket.AF_UNIX); a.bind("\0place"); a.listen()
import http.server
http.server.test(http.server.SimpleHTTPRequestHandler, bind="127.0.0.1", port=` + port + `)'`)
	eventually(p.a.t, "the server's command has started", func() bool { // and has the published port
		found, _ := filepath.Glob(filepath.Join(p.a.stateDir(), "places", p.id+"-*", "tmp-*", "started"))
		return len(found) > 0
	})
	r := p.run(`for i in $(seq 300); do ` + get(port) + ` >/dev/null 2>&1 && exit; sleep 0.1; done; exit 9`)
	if r.code != 0 {
		p.a.t.Fatalf("the server of another command is not reached: %v", r)
	}
	return wait
}

// get prints what a server answers.
func get(port string, path ...string) string {
	url := "http://127.0.0.1:" + port + "/" + strings.Join(path, "")
	return `python3 -c 'import urllib.request as u; print(u.urlopen("` + url + `", timeout=5).read().decode())'`
}

// networksOf counts the processes and descriptors on this machine that are in a network namespace or hold it.
func networksOf(ns string) (n int) {
	for _, pattern := range []string{"/proc/[0-9]*/ns/net", "/proc/[0-9]*/fd/*"} {
		paths, _ := filepath.Glob(pattern)
		for _, path := range paths {
			if at, err := os.Readlink(path); err == nil && at == ns {
				n++
			}
		}
	}
	return n
}

// The commands of a session share /tmp and a loopback, also while several run. Nothing of it is in another session, in
// commands without one or on the machine; a command with more than the session's base grants has its own. With the
// session all of it ends. R-LY-09
func TestSessionPlace(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		a.approveAll()
		one, two := a.openProgram(), a.openProgram()
		r := one.run("echo first > /tmp/shared; mkdir -m 0 /tmp/closed; ln -s / /tmp/link; echo home > ~/shared")
		if r.code != 0 {
			t.Fatal(r)
		}
		wait := one.serving("8123")
		ns := strings.TrimSpace(one.run("readlink /proc/self/ns/net").out)
		if networksOf(ns) == 0 {
			t.Fatalf("got no network namespace %q on this machine, want the session's", ns)
		}
		for line, want := range map[string]string{
			"cat /tmp/shared":  "first\n",
			"cat ~/shared":     "home\n",
			"ls -d /tmp/[cl]*": "/tmp/closed\n/tmp/link\n",
			"echo edited > page.html; " + get("8123", "page.html"):            "edited\n\n",
			"cat /proc/[0-9]*/cmdline | tr '\\0' ' ' | grep -c http[.]server": "0\n",
		} {
			if r := one.run(line); r.out != want {
				t.Errorf("%s: got %v, want %q", line, r, want)
			}
		}
		abstract := `python3 -c 'import socket; socket.socket(socket.AF_UNIX).connect("\0place")'`
		for name, run := range map[string]func(string) result{
			"another session": func(l string) result { return two.run(l) },
			"no terminal":     func(l string) result { return a.sbx("run", "-c", l) },
		} {
			same := "test $(readlink /proc/self/ns/net) = '" + ns + "'"
			for _, line := range []string{get("8123"), abstract, "cat /tmp/shared", "cat ~/shared", same} {
				if r := run(line); r.code == 0 {
					t.Errorf("%s: %s: got %v, want a failure", name, line, r)
				}
			}
		}
		if c, err := net.Dial("tcp", "127.0.0.1:8123"); err == nil {
			c.Close()
			t.Error("the machine's localhost reaches the session's server")
		}
		if r := one.run("ls /tmp && git config user.name Other"); r.code != 0 || r.out != "" {
			t.Errorf("a command that may change .git/config: got %v, want an empty /tmp", r)
		}
		if _, err := os.Lstat(filepath.Join(a.home, "shared")); err == nil {
			t.Error("the session's home is the machine's")
		}
		one.close()
		if r := wait(); r.code == 0 {
			t.Errorf("the server after its session: %v", r)
		}
		two.close()
		eventually(t, "the end of the session's network namespace", func() bool { return networksOf(ns) == 0 })
		if left, _ := os.ReadDir(filepath.Join(a.stateDir(), "places")); len(left) > 0 {
			t.Errorf("got %v after the sessions, want nothing", left)
		}
	})
}

// Where the commands of a session share nothing, the answer that opens it says so, and nowhere else.
func TestSessionWithoutPlaceSaysSo(t *testing.T) {
	t.Parallel()
	eachUser(t, func(t *testing.T, a *actor) {
		a.start()
		if r := a.sbx("session", "open", "--json"); r.code != 0 || strings.Contains(r.out, "its own /tmp") {
			t.Errorf("got %v, want no warning", r)
		}
	})
	t.Run("landlock alone", func(t *testing.T) {
		a := ordinaryActor(t)
		cmd := a.on(withoutNamespaces(), requirement{require: "false", fallback: "fail_fast"})
		a.served(t, cmd)
		if r := a.sbx("session", "open", "--json"); r.code != 0 || !strings.Contains(r.out, "its own /tmp") {
			t.Errorf("got %v, want the warning", r)
		}
	})
}

// No command moves or replaces a mount of the next one in the session's /tmp, or one on the way to it; what exceeds the
// limit is removed around them, also under a command that runs. R-LY-09
func TestSessionPlaceMounts(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		top, err := os.MkdirTemp("/tmp", "place")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(top)
		os.Chmod(top, 0o755)
		if err := os.MkdirAll(top+"/way/data", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(top+"/way/data/file", []byte("the host's\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		a.configured("[sandbox]\nread = [\""+top+"/way/data\"]\n[sandbox.limits]\ntmp = \"4MiB\"\n", "--mode", "approve-all")
		s := a.openProgram()
		if r := s.run("echo first > /tmp/of-session"); r.code != 0 {
			t.Fatal(r)
		}
		for _, line := range []string{
			"mv " + top + "/way/data /tmp/moved", "mv " + top + "/way /tmp/moved", "mv " + top + " /tmp/moved",
			"rmdir " + top + "/way/data", "python3 -c 'import os; os.rename(\"" + top + "/way\", \"/tmp/moved\")'",
		} {
			if r := s.run(line); r.code == 0 {
				t.Errorf("%s: got %v, want a failure", line, r)
			}
		}
		s.run("rm -rf /tmp/* 2>/dev/null; ln -s /etc /tmp/more; echo first > /tmp/of-session")
		read := "cat /tmp/of-session " + top + "/way/data/file"
		if r := s.run(read); r.out != "first\nthe host's\n" {
			t.Errorf("%s: got %v", read, r)
		}
		wait := s.begin("touch /tmp/begun; while [ -e /tmp/of-session ]; do sleep 0.1; done; cat " + top + "/way/data/file")
		eventually(a.t, "the command has begun", func() bool {
			found, _ := filepath.Glob(filepath.Join(a.stateDir(), "places", s.id+"-*", "tmp-*", "begun"))
			return len(found) > 0
		})
		if r := s.run("head -c 9M /dev/zero > /tmp/large; sleep 60"); !strings.Contains(r.err, "limit of tmp") {
			t.Errorf("got %v, want an end at the limit of tmp", r)
		}
		if r := wait(); !strings.Contains(r.out, "the host's\n") && !strings.Contains(r.err, "limit of tmp") {
			t.Errorf("beside it: got %v", r)
		}
		if r := s.run("ls -A /tmp; cat " + top + "/way/data/file"); strings.Contains(r.out, "large") ||
			strings.Contains(r.out, "shared") || !strings.Contains(r.out, "the host's\n") {
			t.Errorf("after it: got %v, want the mount alone", r)
		}
	})
}

// A daemon that is killed takes the place along, and the next one removes its files. R-LY-09
func TestSessionPlaceKilledDaemon(t *testing.T) {
	t.Parallel()
	eachUser(t, func(t *testing.T, a *actor) {
		a.approveAll()
		s := a.openProgram()
		wait := s.serving("8123")
		ns := strings.TrimSpace(s.run("echo x > /tmp/x; readlink /proc/self/ns/net").out)
		a.daemon.Process.Signal(syscall.SIGKILL)
		a.daemon.Wait()
		a.daemon = nil
		wait()
		eventually(t, "the end of a killed daemon's namespace", func() bool { return networksOf(ns) == 0 })
		a.approveAll()
		eventually(t, "the removal of a killed daemon's files", func() bool {
			left, _ := os.ReadDir(filepath.Join(a.stateDir(), "places"))
			return len(left) == 0
		})
	})
}

// The shared /tmp has the limit of a command's own. What exceeded it is removed: the next command runs. R-LY-09
func TestSessionPlaceLimit(t *testing.T) {
	t.Parallel()
	eachUser(t, func(t *testing.T, a *actor) {
		a.sh("printf '[sandbox.limits]\ntmp = \"4MiB\"\n' > " + a.dir + "/c.toml; chmod 600 " + a.dir + "/c.toml")
		a.start("--mode", "approve-all", "--config", filepath.Join(a.dir, "c.toml"))
		s := a.openProgram()
		if r := s.run("head -c 1M /dev/zero > /tmp/kept"); r.code != 0 {
			t.Fatal(r)
		}
		if r := s.run("head -c 9M /dev/zero > /tmp/large; sleep 60"); !strings.Contains(r.err, "limit of tmp") {
			t.Errorf("got %v, want an end at the limit of tmp", r)
		}
		if r := s.run("ls /tmp; sleep 1; echo done"); r.out != "done\n" {
			t.Errorf("got %v, want an empty /tmp", r)
		}
	})
}

// Ports of the machine and published ones work in the session's place, also for several commands. R-LY-09 R-OS-09
func TestSessionPlacePorts(t *testing.T) {
	t.Parallel()
	eachUserInWorld(t, func(t *testing.T, a *actor, _ *world) {
		l, err := net.Listen("tcp", "127.0.0.1:8400")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		go http.Serve(l, http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
			io.WriteString(rw, "THE MACHINE")
		}))
		a.configured("[network]\nmode = \"loopback\"\nhost_ports = [8400]\npublish = [8321]\n", "--mode", "approve-all")
		s := a.openProgram()
		wait := s.serving("8321")
		if r := s.run("for i in $(seq 20); do " + get("8400") + " || exit; done | sort -u"); r.out != "THE MACHINE\n" {
			t.Errorf("a port of the machine beside another command: got %v", r)
		}
		c, err := net.Dial("tcp", "127.0.0.1:8321") // by hand: only this goroutine is on the machine
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(c, "GET /README HTTP/1.0\r\n\r\n")
		if b, _ := io.ReadAll(c); !strings.HasSuffix(string(b), "\r\n\r\nhello\n") {
			t.Errorf("the published port gave %q", b)
		}
		c.Close()
		s.close()
		wait()
		if c, err := net.Dial("tcp", "127.0.0.1:8321"); err == nil {
			c.Close()
			t.Error("the port is published after the end of its session")
		}
	})
}
