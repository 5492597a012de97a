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
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// attempts plays the catalogue inside the sandbox: it sends the text of every
// line unchanged to one of the proxy's listeners.
const attempts = `
import json, socket, sys
for line in open("hostile.jsonl"):
    a = json.loads(line)
    for _ in range(a.get("times", 1)):
        s = socket.create_connection(("127.0.0.1", 3128 if a["to"] == "http" else 1080), 20)
        s.settimeout(20)
        try:
            s.sendall(a["send"].encode("latin-1"))
            if "then" in a:
                head = s.recv(4096)
                while a["to"] == "socks" and len(head) < 12 and (more := s.recv(4096)):
                    head += more
                if b" 200 " not in head and not head.endswith(b"\x05\0\0\1\0\0\0\0\0\0"):
                    print("NO TUNNEL", a["id"], head)
                s.sendall(a["then"].encode("latin-1"))
            s.shutdown(socket.SHUT_WR)
            while s.recv(65536):
                pass
        except OSError as e:
            if isinstance(e, TimeoutError):
                print("HANGS", a["id"])
        s.close()
print("PLAYED")
`

// sink takes connections and keeps what arrives.
type sink struct {
	conns atomic.Int64
	mu    sync.Mutex
	text  strings.Builder
}

func (s *sink) serve(l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		s.conns.Add(1)
		go func() {
			defer c.Close()
			buf := make([]byte, 4096)
			for {
				c.SetReadDeadline(time.Now().Add(10 * time.Second))
				n, err := c.Read(buf)
				s.mu.Lock()
				s.text.Write(buf[:n])
				s.mu.Unlock()
				if err != nil {
					return
				}
				if strings.HasSuffix(string(buf[:n]), "\r\n\r\n") {
					io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
				}
			}
		}()
	}
}

func (s *sink) arrived() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// Issue "The network", 2: the whole catalogue, from inside a real sandbox, with
// a real resolver and real servers at every address that it tries. R-OS-09
func TestHostileHostsFromInside(t *testing.T) {
	t.Parallel()
	eachUserInWorld(t, func(t *testing.T, a *actor, w *world) {
		c := readCatalogue(t)
		for name, addrs := range c.Names {
			w.name(name, addrs...)
		}
		var open, closed sink
		listed := []string{"203.0.113.5", "203.0.113.6", "203.0.113.10"}
		for _, addr := range serverAddresses {
			for _, port := range []string{"80", "443", "22"} {
				if slices.Contains(listed, addr) && port != "22" {
					go open.serve(w.listen(net.JoinHostPort(addr, port)))
				} else {
					go closed.serve(w.listen(net.JoinHostPort(addr, port)))
				}
			}
		}
		for _, addr := range []string{"127.0.0.1:443", "127.0.0.1:80", "[::1]:443", "[::1]:80", machine4 + ":443",
			"127.8.8.8:443"} {
			l, err := net.Listen("tcp", addr) // on the machine itself
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			go closed.serve(l)
		}
		list, _ := json.Marshal(c.Listed)
		a.configured("[network]\nmode = \"allowlist\"\nask = false\nallow = "+string(list)+"\n", "--mode", "approve-all")
		text, err := os.ReadFile("../egress/testdata/hostile.jsonl")
		if err == nil {
			err = os.WriteFile(filepath.Join(a.project, "hostile.jsonl"), text, 0o644)
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(a.project, "play.py"), []byte(attempts), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
		if r := a.sbx("run", "-c", "/usr/bin/python3 play.py"); r.code != 0 || strings.TrimSpace(r.out) != "PLAYED" {
			t.Errorf("%.2000s", r.String())
		}
		if n := closed.conns.Load(); n != 0 {
			t.Errorf("%d connections reached a server that is not listed:\n%q", n, closed.arrived())
		}
		if n := open.conns.Load(); n == 0 {
			t.Error("nothing reached a listed server: the catalogue was not played")
		}
		if text := open.arrived(); strings.Contains(text, "evil.example") || strings.Contains(text, "/2") {
			t.Errorf("a listed server was used for another: %q", text)
		}
		for _, name := range w.askedFor() {
			if strings.Contains(name, "evil") {
				t.Errorf("the resolver was asked for %q", name)
			}
		}
	})
}

// Issue "The network", 3: no other process reaches the proxy's listeners of a command.
// With the proxy stopped or flooded there is no network, and never an open one. R-OS-09
func TestListenersAreTheCommandsOwn(t *testing.T) {
	t.Parallel()
	eachUserInWorld(t, func(t *testing.T, a *actor, w *world) {
		w.name("good.example", "203.0.113.5")
		var hits atomic.Int64
		go http.Serve(w.listen("203.0.113.5:80"), http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			hits.Add(1)
			io.WriteString(rw, "HELLO\n")
		}))
		a.configured(`
[network]
mode = "allowlist"
allow = ["good.example"]
ask = false
[[shell.rules]]
pattern = "python3"
network = "loopback"
[[shell.rules]]
pattern = "perl"
network = "none"
`, "--mode", "approve-all")
		holder := a.begin("run", "-c", "echo up > up; sleep 60 & for i in 1 2 3 4 5 6 7 8 9 10; do [ -e stop ] && break; sleep 1; done; curl -sS http://good.example/")
		eventually(t, "the first command runs", func() bool { return a.wrote("up") })
		// The machine's own localhost has no proxy, nor has another command's.
		for _, port := range []string{"3128", "1080"} {
			if c, err := net.Dial("tcp", "127.0.0.1:"+port); err == nil {
				c.Close()
				t.Errorf("port %s of the machine's localhost takes connections", port)
			}
			try := `import socket, sys; sys.exit(socket.socket().connect_ex(("127.0.0.1", ` + port + `)))`
			if r := a.sbx("run", "-c", "/usr/bin/python3 -c '"+try+"'"); r.code == 0 {
				t.Errorf("a command whose rule says loopback reaches port %s: %v", port, r)
			}
		}
		if r := a.sbx("run", "-c", `perl -MIO::Socket::INET -e 'exit(IO::Socket::INET->new("127.0.0.1:3128") ? 0 : 7)'`); r.code != 7 {
			t.Errorf("a command whose rule says none: %v", r)
		}
		// No file leads to a proxy, and nothing inside holds its sockets.
		if out := a.sbx("run", "-c", "cat /proc/net/unix | tail -n +2; ls -l /proc/[0-9]*/fd 2>/dev/null | grep -c socket: ; true").out; strings.TrimSpace(out) != "0" {
			t.Errorf("sockets inside: %s", out)
		}
		// A flood of one command is its own affair.
		flood := a.begin("run", "-c", `/usr/bin/env python3 -c 'import socket
held = []
try:
    for i in range(3000): s = socket.socket(); s.settimeout(0.2); s.connect(("127.0.0.1", 3128)); s.send(b"CONNECT "); held.append(s)
except OSError: pass
open("flooded", "w").write(str(len(held)))
import time; time.sleep(3)'; curl -sS -m 20 http://good.example/`)
		if r := a.sbx("run", "-c", "curl -sS http://good.example/"); r.out != "HELLO\n" {
			t.Errorf("while another command floods its listeners: %v", r)
		}
		if r := flood(); r.out != "HELLO\n" {
			t.Errorf("after its flood: %v", r)
		}
		// The daemon is stopped: no request gets out, neither through the proxy nor around it.
		wait := a.begin("run", "-c", `echo go > going; sleep 1; curl -sS -m 2 http://good.example/; echo "first $?"; curl -sS -m 2 --noproxy "*" http://203.0.113.5/; echo "second $?"`)
		eventually(t, "the command runs", func() bool { return a.wrote("going") })
		before := hits.Load()
		a.daemon.Process.Signal(syscall.SIGSTOP)
		time.Sleep(5 * time.Second) // the command's own time, in which it tries
		if n := hits.Load() - before; n != 0 {
			t.Errorf("while the daemon was stopped %d requests got out", n)
		}
		a.daemon.Process.Signal(syscall.SIGCONT)
		if r := wait(); !strings.Contains(r.out, "second 7") && !strings.Contains(r.out, "second 28") {
			t.Errorf("after the daemon was stopped: %v", r)
		}
		a.sh("touch stop")
		if r := holder(); r.out != "HELLO\n" {
			t.Errorf("the first command, afterwards: %v", r)
		}
		// The daemon is killed: its commands end with it, and nothing gets out.
		before = hits.Load()
		last := a.begin("run", "-c", `sleep 86421.5 & while :; do curl -sS -m 2 http://good.example/ http://203.0.113.5/; curl -sS -m 2 --noproxy "*" http://203.0.113.5/; done`)
		for deadline := time.Now().Add(patience); hits.Load() == before; time.Sleep(20 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatal("the last command reaches nothing")
			}
		}
		a.daemon.Process.Kill()
		a.daemon.Wait()
		a.daemon = nil
		last()
		left := func() bool {
			return slices.ContainsFunc(processes(), func(p process) bool { return p.state != 'Z' && strings.Contains(p.cmdline, "sleep 86421.5") })
		}
		for deadline := time.Now().Add(patience); left(); time.Sleep(50 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatal("the command outlives the daemon")
			}
		}
		before = hits.Load()
		time.Sleep(500 * time.Millisecond)
		if n := hits.Load() - before; n != 0 {
			t.Errorf("%d requests got out after the daemon was killed", n)
		}
	})
}

// ticking is an answer that takes a minute.
func ticking(rw http.ResponseWriter, r *http.Request) {
	for range 600 {
		if _, err := io.WriteString(rw, "tick\n"); err != nil {
			return
		}
		rw.(http.Flusher).Flush()
		select {
		case <-r.Context().Done():
			return
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// Issue "The network", 3: a reload holds for running commands: what is no longer
// allowed is cut, what is newly allowed works. R-OS-09 R-OP-02
func TestReloadCutsConnections(t *testing.T) {
	t.Parallel()
	eachUserInWorld(t, func(t *testing.T, a *actor, w *world) {
		w.name("good.example", "203.0.113.5")
		w.name("other.example", "203.0.113.6")
		go http.Serve(w.listen("203.0.113.5:80"), http.HandlerFunc(ticking))
		go http.Serve(w.listen("203.0.113.6:80"), http.HandlerFunc(func(rw http.ResponseWriter,
			r *http.Request) {
			io.WriteString(rw, "OTHER\n")
		}))
		config := func(host string) string {
			return "[network]\nmode = \"allowlist\"\nask = false\nallow = [\"" + host + "\"]\n"
		}
		a.configured(config("good.example"), "--mode", "approve-all")
		wait := a.begin("run", "-c", `curl -sSN http://good.example/ > got; echo "cut $?"; curl -sS http://other.example/; curl -sS http://good.example/`)
		eventually(t, "the download begins", func() bool {
			got, _ := filepath.Glob(filepath.Join(a.stateDir(), "layers", "*", "upper", "got"))
			b, _ := os.ReadFile(append(got, filepath.Join(a.project, "got"))[0])
			return strings.Contains(string(b), "tick")
		})
		if err := os.WriteFile(a.configFile(), []byte(config("other.example")), 0o644); err != nil {
			t.Fatal(err)
		}
		cut := time.Now()
		a.daemon.Process.Signal(syscall.SIGHUP)
		r := wait()
		if !strings.Contains(r.out, "cut 18") && !strings.Contains(r.out, "cut 56") && !strings.Contains(r.out, "cut 52") {
			t.Errorf("the download was not cut: %v", r)
		}
		if d := time.Since(cut); d > 20*time.Second {
			t.Errorf("it took %v", d)
		}
		if !strings.Contains(r.out, "OTHER\n") || !strings.Contains(r.out, "good.example:80 is refused") {
			t.Errorf("after the reload: %v", r)
		}
		if !strings.Contains(r.err, "the policy was changed, and the connection cut") {
			t.Errorf("the result does not say so: %v", r)
		}
	})
}

// A grant that is withdrawn no longer holds for the connection that it let
// through, nor for the next one. R-AP-21 R-OS-09
func TestRevokedHostIsCut(t *testing.T) {
	t.Parallel()
	eachUserInWorld(t, func(t *testing.T, a *actor, w *world) {
		w.name("one.example", "203.0.113.5")
		go http.Serve(w.listen("203.0.113.5:80"), http.HandlerFunc(ticking))
		a.configured(asking)
		s := a.joined()
		wait := a.begin("run", "--session", s, "-c",
			`bash -c 'curl -sSN http://one.example/ > /tmp/got & p=$!; while ! [ -s /tmp/got ]; do sleep 0.1; done; echo TICKS; wait $p; echo "cut $?"'`)
		q := a.pending(1)[0]
		if q.Tool != "network" { // the command itself
			a.sbx("approve", q.ID, "--allow")
			for first := q.ID; q.ID == first; q = a.pending(1)[0] {
			}
		}
		if r := a.sbx("approve", q.ID, "--allow", "--scope", "session"); r.code != 0 {
			t.Error(r)
		}
		var list struct {
			Grants []struct{ ID, What string }
		}
		for deadline := time.Now().Add(patience); len(list.Grants) == 0 &&
			time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
			if err := json.Unmarshal([]byte(a.sbx("grants", "ls", "--json").out), &list); err != nil {
				t.Fatal(err)
			}
		}
		if len(list.Grants) != 1 || list.Grants[0].What != "Connect to one.example:80" {
			t.Fatalf("%+v", list)
		}
		time.Sleep(500 * time.Millisecond) // let some of it pass; that is no condition
		if r := a.sbx("grants", "rm", list.Grants[0].ID); r.code != 0 {
			t.Error(r)
		}
		if r := wait(); !strings.Contains(r.out, "cut ") || strings.Contains(r.out, "cut 0") {
			t.Errorf("it was not cut: %v", r)
		}
		wait = a.begin("run", "--session", s, "-c", "curl -sS http://one.example/")
		a.sbx("approve", a.pending(1)[0].ID, "--deny") // it asks again
		if r := wait(); !strings.Contains(r.out, "a person denied it") {
			t.Error(r)
		}
	})
}

// Mode loopback has a localhost that works; a port of the machine's can be
// reached there, and one published, where the configuration says so. R-OS-09
func TestLocalhost(t *testing.T) {
	t.Parallel()
	eachUserInWorld(t, func(t *testing.T, a *actor, w *world) {
		const server = `/usr/bin/python3 -m http.server --bind 127.0.0.1 8321 >/dev/null 2>&1 & for i in $(seq 100); do curl -fs -o /dev/null http://127.0.0.1:8321/ && break; sleep 0.1; done; `
		l, err := net.Listen("tcp", "127.0.0.1:8400")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		go http.Serve(l, http.HandlerFunc(func(rw http.ResponseWriter,
			r *http.Request) {
			io.WriteString(rw, "THE MACHINE\n")
		}))
		for _, mode := range []string{"loopback", "allowlist"} {
			a.configured("[network]\nmode = \""+mode+"\"\nask = false\n", "--mode", "approve-all")
			if r := a.sbx("run", "-c", server+"curl -fsS http://localhost:8321/ | grep -o README"); strings.TrimSpace(r.out) == "" || r.code != 0 {
				t.Errorf("%s: localhost inside does not work: %v", mode, r)
			}
			// Other names of the same, also for clients that don't know which of them need no proxy.
			names := strings.Replace(server, "127.0.0.1", "0.0.0.0", 1) +
				"for h in 127.0.0.2 0.0.0.0 app.localhost; do for u in no_proxy none; do " +
				"env -u $u -u NO_PROXY curl -fsS http://$h:8321/ | grep -o '>README'; done; done; " +
				`/usr/bin/python3 -c 'import urllib.request as u; print(u.urlopen("http://127.0.0.3:8321/").status)'`
			if r := a.sbx("run", "-c", names); r.code != 0 || strings.Count(r.out, "README") != 6 ||
				!strings.HasSuffix(r.out, "200\n") {
				t.Errorf("%s: other names of localhost inside do not work: %v", mode, r)
			}
			if r := a.sbx("run", "-c", "curl -sS -m 5 http://127.0.0.1:8400/"); r.code == 0 {
				t.Errorf("%s: the machine's localhost is reached: %v", mode, r)
			}
			a.configured("[network]\nmode = \""+mode+"\"\nask = false\nhost_ports = [8400]\npublish = [8321]\n", "--mode",
				"approve-all")
			if r := a.sbx("run", "-c", "curl -sS http://127.0.0.1:8400/"); r.out != "THE MACHINE\n" {
				t.Errorf("%s: the granted port is not reached: %v", mode, r)
			}
			wait := a.begin("run", "-c", server+"echo ready > ready; while [ ! -e seen ]; do sleep 0.1; done")
			var body string
			for deadline := time.Now().Add(patience); body == "" &&
				time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
				// By hand: only this goroutine is on the machine.
				if c, err := net.Dial("tcp", "127.0.0.1:8321"); err == nil {
					c.SetDeadline(time.Now().Add(10 * time.Second))
					io.WriteString(c, "GET /README HTTP/1.0\r\n\r\n")
					b, _ := io.ReadAll(c)
					c.Close()
					_, body, _ = strings.Cut(string(b), "\r\n\r\n")
				}
			}
			if body != "hello\n" {
				t.Errorf("%s: the published port gave %q", mode, body)
			}
			a.sh("touch seen")
			if r := wait(); r.code != 0 {
				t.Errorf("%s: %v", mode, r)
			}
			a.sh("rm -f seen ready")
			if c, err := net.Dial("tcp", "127.0.0.1:8321"); err == nil {
				c.Close()
				t.Errorf("%s: the port is published after the end of its command", mode)
			}
		}
	})
}

// Without network namespaces named hosts are refused, not imitated. R-OS-09 R-OS-04
func TestAllowlistNeedsNamespaces(t *testing.T) {
	t.Parallel()
	eachUserInWorld(t, func(t *testing.T, a *actor, w *world) {
		if err := unix.Mount("/dev/null", "/usr/bin/bwrap", "", unix.MS_BIND, ""); err != nil {
			t.Fatal(err)
		}
		var s sink
		w.name("good.example", "203.0.113.5")
		go s.serve(w.listen("203.0.113.5:80"))
		a.configured("[network]\nmode = \"allowlist\"\nallow = [\"good.example\"]\n"+
			"[sandbox]\nbackend = \"bwrap\"\nrequire_os_sandbox = false\n", "--mode", "approve-all")
		r := a.sbx("run", "-c", "curl -sS -m 5 http://good.example/")
		if r.code == 0 || s.conns.Load() != 0 {
			t.Errorf("it ran: %v", r)
		}
		if a.cred != nil && !strings.Contains(r.err, "Landlock knows ports only") {
			t.Errorf("it does not say why: %v", r)
		}
	})
}
