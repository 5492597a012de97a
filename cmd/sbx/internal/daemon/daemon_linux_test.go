package daemon

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"sandboxd/ipc"
)

// TestMain lets the test binary play the sandboxd that is started.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "--socket-dir" {
		play(os.Args[1:])
		return
	}
	os.Exit(m.Run())
}

// play is a daemon that writes down how it was started and answers on its
// socket for a while.
func play(args []string) {
	sockets, state := args[1], args[3]
	if _, err := os.Stat(filepath.Join(state, "fail")); err == nil {
		fmt.Fprintln(os.Stderr, "sandboxd: the configuration has an error")
		os.Exit(1)
	}
	cwd, _ := os.Getwd()
	sid, _ := unix.Getsid(0)
	facts := fmt.Sprintf("args %q\nenv %q\ncwd %s\nleader %v\nfds %v\n", args, os.Environ(), cwd, sid == os.Getpid(),
		descriptors())
	f, _ := os.OpenFile(filepath.Join(state, "started"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	fmt.Fprint(f, facts)
	f.Close()
	time.Sleep(50 * time.Millisecond) // so that several starters meet
	l, err := net.Listen("unix", filepath.Join(sockets, ipc.AgentSocket))
	if err != nil {
		fmt.Fprintln(os.Stderr, "sandboxd:", err)
		os.Exit(1)
	}
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); {
		l.(*net.UnixListener).SetDeadline(time.Now().Add(100 * time.Millisecond))
		if c, err := l.Accept(); err == nil {
			c.Close()
		}
		if _, err := os.Stat(state); err != nil {
			return // the test is over
		}
	}
}

// descriptors are those above 2 that are pipes or files of the test.
func descriptors() []string {
	var out []string
	for fd := 3; fd < 64; fd++ {
		if target, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", fd)); err == nil &&
			!strings.HasPrefix(target, "anon_inode") && !strings.HasPrefix(target, "/proc") &&
			!strings.HasPrefix(target, "/sys") {
			out = append(out, target)
		}
	}
	return out
}

// place is a fresh one, with short paths: a socket's is limited to 103 bytes.
func place(t *testing.T) Place {
	t.Helper()
	dir, err := os.MkdirTemp("", "sbx")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return Place{SocketDir: filepath.Join(dir, "run"), stateDir: filepath.Join(dir, "state"),
		home: func() (string, error) { return "/the/home", nil }}
}

func self(t *testing.T) string {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return program
}

func (p Place) prepare(t *testing.T) {
	t.Helper()
	for _, dir := range []string{p.SocketDir, p.stateDir} {
		if err := ensureDir(dir); err != nil {
			t.Fatal(err)
		}
	}
}

// R-IP-09: detached, cwd /, fixed PATH, empty environment, home of the password
// database, no inherited descriptors.
func TestStartedClean(t *testing.T) {
	t.Setenv("LD_PRELOAD_X", "evil")
	p := place(t)
	p.prepare(t)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	leaked, err := unix.FcntlInt(w.Fd(), unix.F_DUPFD, 3) // not close-on-exec, as a careless caller leaves it
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(leaked)
	if err := p.spawn(t.Context(), self(t)); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(p.stateDir, "started"))
	if err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf("args %q\nenv %q\ncwd /\nleader true\nfds []\n",
		[]string{"--socket-dir", p.SocketDir, "--state-dir", p.stateDir, "--idle-timeout", "15m0s"},
		[]string{
			"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/the/home",
			"SBX_SEARCH_PATH=" + os.Getenv("PATH"),
		})
	if string(got) != want {
		t.Errorf("it was started with\n%swant\n%s", got, want)
	}
	fi, err := os.Stat(filepath.Join(p.stateDir, "daemon.log"))
	if err != nil || fi.Mode().Perm() != 0o600 {
		t.Errorf("its log: %v, %v, want mode 0600", fi, err)
	}
}

func TestOnlyOneIsStarted(t *testing.T) { // R-IP-09: under a lock
	p := place(t)
	p.prepare(t)
	var wg sync.WaitGroup
	for range 6 {
		wg.Go(func() {
			unlock, err := lock(t.Context(), filepath.Join(p.SocketDir, "start.lock"))
			if err != nil {
				t.Error(err)
				return
			}
			defer unlock()
			if errors.Is(p.Running(t.Context()), ipc.ErrNoDaemon) {
				if err := p.spawn(t.Context(), self(t)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	got, err := os.ReadFile(filepath.Join(p.stateDir, "started"))
	if n := strings.Count(string(got), "args "); n != 1 || err != nil {
		t.Errorf("%d daemons were started (%v), want 1", n, err)
	}
}

func TestDaemonThatFailsSaysWhy(t *testing.T) {
	p := place(t)
	p.prepare(t)
	if err := os.WriteFile(filepath.Join(p.stateDir, "fail"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	err := p.spawn(t.Context(), self(t))
	if err == nil || !strings.Contains(err.Error(), "the configuration has an error") {
		t.Errorf("spawn = %v, want what the daemon said", err)
	}
}

func TestLockIsGivenUp(t *testing.T) {
	name := filepath.Join(t.TempDir(), "start.lock")
	unlock, err := lock(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := lock(ctx, name); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("lock = %v, want %v", err, context.DeadlineExceeded)
	}
}

func TestNoneInsideASandbox(t *testing.T) { // R-IP-09
	t.Setenv("SBX_SANDBOX", "1")
	if err := place(t).Ensure(t.Context()); !errors.Is(err, errNotStarted) {
		t.Errorf("Ensure = %v, want %v", err, errNotStarted)
	}
}

func TestInsideByTheFirstProcess(t *testing.T) { // the variable can be unset
	filtered := "Name:\tx\nNoNewPrivs:\t1\nSeccomp:\t2\n"
	for _, c := range []struct {
		status, first string
		inside        bool
	}{
		{filtered, "bwrap", true},
		{filtered, "sandboxd-launch", true},
		{filtered, "systemd", false}, // a hardened container
		{"NoNewPrivs:\t0\nSeccomp:\t0\n", "bwrap", false},
		{"", "", false},
	} {
		if got := inside(c.status, c.first); (got != "") != c.inside {
			t.Errorf("inside(%q, %q) = %q, want inside: %v", c.status, c.first, got, c.inside)
		}
	}
}

func TestOperatorForbids(t *testing.T) { // R-IP-09
	for text, forbid := range map[string]bool{
		"":                                false,
		"[daemon]\nautostart = true\n":    false,
		"[daemon]\nautostart = false\n":   true,
		"[shell]\ndefault = 'ask'\n":      false,
		"[daemon\n":                       true, // who cannot tell does not start
		"[daemon]\nautostart = 'maybe'\n": true,
	} {
		name := filepath.Join(t.TempDir(), "config.toml")
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := forbidden(name); errors.Is(err, errNotStarted) != forbid {
			t.Errorf("forbidden(%q) = %v, want forbidden: %v", text, err, forbid)
		}
	}
	if err := forbidden(filepath.Join(t.TempDir(), "none.toml")); err != nil {
		t.Errorf("forbidden(no file) = %v", err)
	}
	if err := forbidden(t.TempDir()); !errors.Is(err, errNotStarted) {
		t.Errorf("forbidden(unreadable) = %v, want %v", err, errNotStarted)
	}
}

func TestLocate(t *testing.T) {
	t.Setenv("SBX_SOCKET_DIR", "rel/run")
	t.Setenv("SBX_STATE_DIR", "rel/state")
	t.Setenv("HOME", "/somewhere/else")
	p, err := Locate(t.Context(), Options{Config: "c.toml"})
	if err != nil {
		t.Fatal(err)
	}
	cwd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	if p.SocketDir != filepath.Join(cwd, "rel/run") || !p.Named || p.stateDir != filepath.Join(cwd, "rel/state") {
		t.Errorf("Locate = %+v, want absolute directories below %q", p, cwd)
	}
	if home, err := p.home(); home == "/somewhere/else" || home == "" || err != nil {
		t.Errorf("the home is %q (%v), want that of the password database", home, err)
	}
	if args := p.args("/state"); !slices.Contains(args, filepath.Join(cwd, "c.toml")) {
		t.Errorf("args = %q, want an absolute --config", args)
	}
	p, err = Locate(t.Context(), Options{SocketDir: "/x", StateDir: "/y"})
	if err != nil || p.SocketDir != "/x" || p.stateDir != "/y" {
		t.Errorf("Locate = %+v, %v: a flag goes before the environment", p, err)
	}
}

func TestHomeOf(t *testing.T) {
	for line, want := range map[string]string{
		"u:x:1000:1000:A B:/home/u:/bin/sh\n":            "/home/u",
		"u:*:1000:20::0:0:A B:/Users/u:/bin/zsh\n":       "/Users/u", // darwin
		"u:x:1001:1000:A B:/home/u:/bin/sh\n":            "",
		"u:x:1000:1000:A B:relative:/bin/sh\n":           "",
		"":                                               "",
		"u:x:1000:1000:A B:/home/u/../../etc/:/bin/sh\n": "/etc",
	} {
		home, ok := homeOf(line, 1000)
		if !ok {
			home = ""
		}
		if home != want {
			t.Errorf("homeOf(%q) = %q, want %q", line, home, want)
		}
	}
	if _, err := homeDir(987654321); err == nil || !strings.Contains(err.Error(), strconv.Itoa(987654321)) {
		t.Errorf("homeDir of nobody = %v", err)
	}
}

// R-IP-09: it checks who serves the socket.
func TestForeignSocket(t *testing.T) {
	if os.Geteuid() != 0 {
		return // only root can make one here; CI runs this as root
	}
	p := place(t)
	p.prepare(t)
	l, err := foreignSocket(p.Agent(), 12345)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(l)
	if err := p.Ensure(t.Context()); !errors.Is(err, ipc.ErrForeign) {
		t.Errorf("Ensure = %v, want %v", err, ipc.ErrForeign)
	}
}
