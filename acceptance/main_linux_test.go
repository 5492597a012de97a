package acceptance

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"

	"sandboxd/internal/programtest"
	"sandboxd/ipc"
)

// bin is where TestMain put the binaries; everybody may execute them.
var bin string

// backend is $ACCEPTANCE_BACKEND, which becomes the default of [sandbox] backend, or the one of auto.
var backend = cmp.Or(os.Getenv("ACCEPTANCE_BACKEND"), "native")

// overlays is $ACCEPTANCE_LAYERS, the back end of the tests that need layers: bwrap from 0.11 on makes them, too.
var overlays = cmp.Or(os.Getenv("ACCEPTANCE_LAYERS"), "native")

func TestMain(m *testing.M) {
	run := func() int { return testMain(m) }
	switch {
	case os.Getenv(apart) != "":
		os.Exit(ranApart(run))
	case atTerminal():
		os.Exit(runApart())
	}
	os.Exit(run())
}

// atOnce is how many tests run beside each other for each processor: they wait more than they compute.
const atOnce = 3

func testMain(m *testing.M) int {
	dir, err := os.MkdirTemp("", "sandboxd-acceptance-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	bin = dir
	os.Chmod(dir, 0o755)
	if err := programtest.Put(dir, os.Getenv("ACCEPTANCE_BACKEND")); err != nil {
		panic(err)
	}
	os.Setenv("PATH", os.Getenv("PATH")+":/usr/sbin:/sbin") // an ordinary user's may lack these
	flag.Parse()
	if !slices.ContainsFunc(os.Args, func(a string) bool { return strings.HasPrefix(a, "-test.parallel=") }) {
		flag.Set("test.parallel", strconv.Itoa(atOnce*runtime.GOMAXPROCS(0)))
	}
	return m.Run()
}

// actor is a user with a project, a socket directory and a state directory.
type actor struct {
	t       *testing.T
	name    string
	cred    *syscall.Credential
	home    string
	project string
	dir     string // holds sockets and state
	daemon  *exec.Cmd
	dead    []int // the daemons that deaths killed
	// launch replaces start for a restart of the daemon; nil: start does it.
	launch func()
	// wrap is what root runs to start the daemon, which it is given with its
	// arguments; nil: the actor starts it.
	wrap []string
	// extraEnv is part of the environment of daemon and client.
	extraEnv []string
}

// slow is how many times longer things may take than on a machine that is not
// emulated: $ACCEPTANCE_SLOW, which packaging/vm-inside.sh sets, or 1.
var slow = func() time.Duration {
	n, _ := strconv.Atoi(os.Getenv("ACCEPTANCE_SLOW"))
	return time.Duration(max(n, 1))
}()

// patience is how long a test waits for what comes at once on an idle machine. Only a test that fails waits so long.
var patience = slow * 3 * time.Minute

// eventually waits for a condition. Tests that have more to report than its name have loops of their own.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !is(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("got no change in %v, want: %s", patience, what)
		}
	}
}

// delegated makes a control group of v2 below parent and gives it to the actor, as a
// service manager does (cgroups(7), Delegation).
func (a *actor) delegated(parent string) *os.File {
	a.t.Helper()
	dir, err := os.MkdirTemp(parent, "daemon-")
	if err != nil {
		a.t.Fatal(err)
	}
	a.t.Cleanup(func() {
		a.stop()
		removeGroups(dir)
	})
	for _, name := range []string{"", "cgroup.procs", "cgroup.threads", "cgroup.subtree_control"} {
		if a.cred == nil {
			break
		}
		if err := os.Chown(filepath.Join(dir, name), int(a.cred.Uid), int(a.cred.Gid)); err != nil {
			a.t.Fatal(err)
		}
	}
	group, err := os.Open(dir)
	if err != nil {
		a.t.Fatal(err)
	}
	return group
}

// removeGroups removes a control group with those below it.
func removeGroups(top string) {
	var groups []string
	filepath.WalkDir(top, func(p string, d fs.DirEntry, _ error) error {
		if d != nil && d.IsDir() {
			groups = append(groups, p)
		}
		return nil
	})
	for _, p := range slices.Backward(groups) {
		syscall.Rmdir(p)
	}
}

// ordinary is the user that tests run as besides root.
const ordinary = "sbxacceptance"

// ordinaryActor returns an actor for that user, or without root for the user that runs the tests.
func ordinaryActor(t *testing.T) *actor {
	t.Helper()
	if os.Geteuid() != 0 {
		return newActor(t, "")
	}
	return newActor(t, ordinaryUser(t))
}

// root reports whether the actor is root.
func (a *actor) root() bool { return os.Geteuid() == 0 && a.cred == nil }

// eachUser runs f as those that users chooses of root and an ordinary user; without root only as the user that runs the
// tests.
func eachUser(t *testing.T, f func(t *testing.T, a *actor)) {
	if os.Geteuid() != 0 {
		t.Run("self", func(t *testing.T) { f(t, newActor(t, "")) })
		return
	}
	for _, who := range users(t) {
		t.Run(who, func(t *testing.T) {
			if who == "root" {
				f(t, newActor(t, ""))
			} else {
				f(t, ordinaryActor(t))
			}
		})
	}
}

// bothUsers is eachUser with both of them at work at the same time, which must be the last that a test does.
func bothUsers(t *testing.T, f func(t *testing.T, a *actor)) {
	eachUser(t, func(t *testing.T, a *actor) {
		t.Parallel()
		f(t, a)
	})
}

// madeOrdinary makes sure, once, that there is the ordinary user.
var madeOrdinary = sync.OnceValue(func() error {
	if _, err := user.Lookup(ordinary); err == nil {
		return nil
	}
	if out, err := exec.Command("/usr/sbin/useradd", "-m", "-s", "/bin/bash", ordinary).CombinedOutput(); err != nil {
		return fmt.Errorf("useradd: %w: %s", err, out)
	}
	return nil
})

// ordinaryUser makes sure that there is one, and returns its name.
func ordinaryUser(t *testing.T) string {
	t.Helper()
	if err := madeOrdinary(); err != nil {
		t.Fatal(err)
	}
	return ordinary
}

func newActor(t *testing.T, name string) *actor {
	t.Helper()
	u, err := user.Current()
	if name != "" {
		u, err = user.Lookup(name)
	}
	if err != nil {
		t.Fatal(err)
	}
	a := &actor{t: t, name: u.Username, home: u.HomeDir}
	uid, _ := strconv.Atoi(u.Uid)
	gid, _ := strconv.Atoi(u.Gid)
	if uid != os.Geteuid() {
		a.cred = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	}
	if a.dir, err = os.MkdirTemp("", "sbx-"); err != nil {
		t.Fatal(err)
	}
	if a.project, err = os.MkdirTemp(a.home, "project-"); err != nil {
		t.Fatal(err)
	}
	os.Chown(a.dir, uid, gid)
	os.Chown(a.project, uid, gid)
	t.Cleanup(func() {
		a.stop()
		os.RemoveAll(a.dir)
		os.RemoveAll(a.project)
		caches, _ := filepath.Glob(filepath.Join(a.home, ".cache/sandboxd", filepath.Base(a.project)+"-????????????*"))
		for _, dir := range caches {
			os.RemoveAll(dir)
		}
	})
	a.sh("git init -q . && git config user.name Test && git config user.email test@example.invalid && echo hello > " +
		"README && git add . && git commit -qm first")
	return a
}

func (a *actor) socketDir() string { return filepath.Join(a.dir, "s") }
func (a *actor) stateDir() string  { return filepath.Join(a.dir, "st") }

// command prepares a program that runs as the actor, in its project, in a
// session of its own.
func (a *actor) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = a.project
	cmd.Env = []string{"HOME=" + a.home, "USER=" + a.name,
		"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG=C.UTF-8",
		"TERM=dumb", "SBX_SOCKET_DIR=" + a.socketDir(), "SBX_STATE_DIR=" + a.stateDir()}
	cmd.Env = append(cmd.Env, a.extraEnv...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: a.cred, Setsid: true}
	cmd.WaitDelay = 5 * time.Second
	return cmd
}

type result struct {
	out, err string
	code     int
}

func (r result) String() string {
	return fmt.Sprintf("exit %d\nstdout: %s\nstderr: %s", r.code, r.out, r.err)
}

func (a *actor) do(stdin io.Reader, name string, args ...string) result {
	a.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), slow*20*time.Minute)
	defer cancel()
	cmd := a.command(ctx, name, args...)
	var out, errs bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		a.t.Fatalf("%s %q: %v\n%s", name, args, err, errs.String())
	}
	return result{out.String(), errs.String(), cmd.ProcessState.ExitCode()}
}

// sbx runs the command line without a terminal.
func (a *actor) sbx(args ...string) result {
	a.t.Helper()
	return a.do(nil, filepath.Join(bin, "sbx"), args...)
}

// sh runs a script outside of every sandbox and fails the test when it fails.
func (a *actor) sh(script string) string {
	a.t.Helper()
	r := a.do(nil, "/bin/bash", "-euc", script)
	if r.code != 0 {
		a.t.Fatalf("%s\n%v", script, r)
	}
	return r.out
}

// approveAll starts a daemon that asks nobody; the sandbox stays as it is.
func (a *actor) approveAll() { a.start("--mode", "approve-all") }

// approveAllCold is approveAll without sandboxes that wait, for tests that look
// for what is left.
func (a *actor) approveAllCold(args ...string) {
	a.t.Helper()
	a.sh("printf '[sandbox]\nwarm = 0\n' > " + a.dir + "/cold.toml; chmod 600 " + a.dir + "/cold.toml")
	a.start(append([]string{"--mode", "approve-all", "--config", filepath.Join(a.dir, "cold.toml")}, args...)...)
}

// start runs a daemon in the foreground, as a service manager would.
func (a *actor) start(args ...string) {
	a.t.Helper()
	a.stop()
	args = append([]string{"--socket-dir", a.socketDir(), "--state-dir", a.stateDir()}, args...)
	a.daemon = a.command(context.Background(), filepath.Join(bin, "sandboxd"), args...)
	if a.wrap != nil {
		a.daemon.Path, a.daemon.Args = a.wrap[0], append(slices.Clone(a.wrap), a.daemon.Args...)
		a.daemon.SysProcAttr.Credential = nil
	}
	log, err := os.Create(filepath.Join(a.dir, "sandboxd.log"))
	if err != nil {
		a.t.Fatal(err)
	}
	a.daemon.Stdout, a.daemon.Stderr = log, log
	if parent := os.Getenv("ACCEPTANCE_CGROUP"); parent != "" {
		group := a.delegated(parent)
		defer group.Close()
		a.daemon.SysProcAttr.UseCgroupFD, a.daemon.SysProcAttr.CgroupFD = true, int(group.Fd())
	}
	if err := a.daemon.Start(); err != nil {
		a.t.Fatal(err)
	}
	log.Close()
	for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		// Not by sbx, which would start a daemon of its own. The agent's socket is
		// made last.
		if answers(filepath.Join(a.socketDir(), ipc.AgentSocket)) {
			return
		}
		if time.Now().After(deadline) {
			b, _ := os.ReadFile(filepath.Join(a.dir, "sandboxd.log"))
			a.t.Fatalf("the daemon does not serve:\n%s", b)
		}
	}
}

// answers reports whether a daemon serves the socket. That it can be connected
// to does not say so: a child of a daemon that was killed holds its sockets until it
// executes its program.
func answers(socket string) bool {
	c, err := net.Dial("unix", socket)
	if err != nil {
		return false
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(5 * time.Second))
	io.WriteString(c, "GET /v1/version HTTP/1.1\r\nHost: sandboxd\r\nConnection: close\r\n\r\n")
	n, _ := c.Read(make([]byte, 1))
	return n == 1
}

// stop ends the actor's daemon, also one that a client started.
func (a *actor) stop() {
	if a.daemon != nil {
		a.daemon.Process.Signal(syscall.SIGTERM)
		a.daemon.Wait()
		a.daemon = nil
		return
	}
	if pid := a.daemonPid(); pid > 0 {
		syscall.Kill(pid, syscall.SIGTERM)
		for range 250 {
			if !alive(pid) {
				return
			}
			time.Sleep(20 * time.Millisecond)
		}
		syscall.Kill(pid, syscall.SIGKILL)
	}
}

// daemonPid finds the daemon that serves the actor's sockets, 0 for none.
func (a *actor) daemonPid() int {
	for _, p := range processes() {
		name, args, _ := strings.Cut(p.cmdline, " ")
		if p.state != 'Z' && filepath.Base(name) == "sandboxd" && strings.Contains(args, a.socketDir()+" ") {
			return p.pid
		}
	}
	return 0
}

type process struct {
	pid     int
	state   byte
	cmdline string
}

// processes lists what runs on this host.
func processes() []process {
	var list []process
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		stat, err := os.ReadFile("/proc/" + e.Name() + "/stat")
		if err != nil {
			continue
		}
		i := bytes.LastIndex(stat, []byte(") "))
		cmdline, _ := os.ReadFile("/proc/" + e.Name() + "/cmdline")
		list = append(list, process{pid, stat[i+2], string(bytes.ReplaceAll(cmdline, []byte{0}, []byte{' '}))})
	}
	return list
}

func alive(pid int) bool {
	for _, p := range processes() {
		if p.pid == pid {
			return p.state != 'Z'
		}
	}
	return false
}

// terminal runs sbx at a terminal and lets answer talk to it.
func (a *actor) terminal(answer func(tty *os.File, seen func(string) bool), args ...string) (screen string, code int) {
	a.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	cmd := a.command(ctx, filepath.Join(bin, "sbx"), args...)
	cmd.SysProcAttr.Setctty = true
	tty, err := pty.Start(cmd)
	if err != nil {
		a.t.Fatal(err)
	}
	defer tty.Close()
	var buf safeBuffer
	copied := make(chan struct{})
	go func() { io.Copy(&buf, tty); close(copied) }()
	seen := func(text string) bool {
		for range 500 {
			if strings.Contains(buf.String(), text) {
				return true
			}
			time.Sleep(20 * time.Millisecond)
		}
		a.t.Errorf("%q did not appear on the screen:\n%s", text, buf.String())
		return false
	}
	answer(tty, seen)
	cmd.Wait()
	<-copied
	return buf.String(), cmd.ProcessState.ExitCode()
}
