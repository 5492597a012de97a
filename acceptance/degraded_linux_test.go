package acceptance

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// outerFilter in the environment has the test binary stand in for a container
// that refuses Landlock: it answers its system calls with that errno and
// executes its arguments. outerNamespaces has it stand in for one that forbids user
// namespaces, outerListener for one that listens to system calls itself.
const (
	outerFilter     = "ACCEPTANCE_OUTER_FILTER"
	outerNamespaces = "ACCEPTANCE_OUTER_NAMESPACES"
	outerListener   = "ACCEPTANCE_OUTER_LISTENER"
)

func init() {
	if os.Getenv(outerListener) != "" {
		os.Unsetenv(outerListener)
		runtime.LockOSThread()
		allow := unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW}
		prog := unix.SockFprog{Len: 1, Filter: &allow}
		if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
			panic(err)
		}
		fd, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_NEW_LISTENER,
			uintptr(unsafe.Pointer(&prog)))
		if errno != 0 {
			panic(errno)
		}
		unix.FcntlInt(fd, unix.F_SETFD, 0) // it stays open
		panic(syscall.Exec(os.Args[1], os.Args[1:], os.Environ()))
	}
	if os.Getenv(outerNamespaces) != "" {
		os.Unsetenv(outerNamespaces)
		behind([]unix.SockFilter{
			{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 0},                             // seccomp_data.nr
			{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.SYS_CLONE3, Jt: 5},       // its flags can't be seen
			{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.SYS_CLONE, Jt: 1},        //
			{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.SYS_UNSHARE, Jf: 4},      //
			{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 16},                            // the first argument's lower half
			{Code: unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K, K: unix.CLONE_NEWUSER, Jf: 2},   //
			{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)}, //
			{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)},
			{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
		})
	}
	errno, err := strconv.ParseUint(os.Getenv(outerFilter), 10, 16)
	if err != nil {
		return
	}
	os.Unsetenv(outerFilter)
	behind([]unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 0}, // seccomp_data.nr
		{Code: unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K, K: unix.SYS_LANDLOCK_CREATE_RULESET, Jf: 2},
		{Code: unix.BPF_JMP | unix.BPF_JGT | unix.BPF_K, K: unix.SYS_LANDLOCK_RESTRICT_SELF, Jt: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(errno)},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	})
}

// behind executes the arguments behind a filter.
func behind(filter []unix.SockFilter) {
	runtime.LockOSThread()
	prog := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		panic(err)
	}
	if err := unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&prog)), 0, 0); err != nil {
		panic(err)
	}
	panic(syscall.Exec(os.Args[1], os.Args[1:], os.Environ()))
}

// degradedHost is a machine on which something that the sandbox needs is missing or
// hostile. It is made for real, around one daemon.
type degradedHost struct {
	name   string
	setup  string   // bash, as root, in a mount namespace of its own
	all    bool     // try it with every requirement, not with the first and the last
	userns bool     // in a user namespace of its own, too
	errno  string   // Landlock's answer by an outer filter
	no     string   // outerNamespaces: an outer filter forbids them
	bin    []string // the binaries that are installed; nil: all
	path   string   // before the daemon's PATH
	bwrap  bool     // the configuration chooses bwrap: "auto" does not need it

	why, remedy string // the daemon must report both
	// missing are the protections that are then not enforced, as root and as
	// an ordinary user.
	root, user []string
	// rootOnly: an ordinary user's daemon lacks nothing on it.
	rootOnly bool
	// runs says that commands run where the configuration accepts it.
	rootRuns, userRuns bool
}

var (
	walls = []string{"files", "hidden", "protected", "processes", "ipc"}
	// all but what a seccomp filter and no_new_privs hold.
	withNetwork = append([]string{"network"}, walls...)
)

const hide = `mount -t tmpfs none /mnt && mkdir /mnt/upper /mnt/work &&
	mount -t overlay -o lowerdir=/usr/bin,upperdir=/mnt/upper,workdir=/mnt/work overlay /usr/bin && rm /usr/bin/bwrap && umount -l /mnt`

// replace has text stand in for bwrap.
func replace(text string) string {
	return "mount -t tmpfs none /mnt && printf '%s' '#!/bin/sh\n" + text +
		"\n' > /mnt/bwrap && sed -i 's/\\\\n/\\n/g' /mnt/bwrap && chmod 755 /mnt/bwrap && mount --bind /mnt/bwrap " +
		"/usr/bin/bwrap && umount -l /mnt"
}

func degradedHosts() []degradedHost {
	return []degradedHost{
		{name: "no bwrap", bwrap: true,
			all: true, setup: hide, why: "bubblewrap is not installed", remedy: "apt-get install bubblewrap",
			root: withNetwork, user: walls, userRuns: true},
		{name: "planted bwrap", bwrap: true,
			setup: hide, path: "PLANT:", why: "bubblewrap is not installed", remedy: "apt-get install bubblewrap",
			root: withNetwork, user: walls, userRuns: true},
		{name: "bwrap is a device", bwrap: true,
			setup: "mount --bind /dev/null /usr/bin/bwrap", why: "not a regular file", remedy: "reinstall",
			root: withNetwork, user: walls, userRuns: true},
		{name: "bwrap hangs at once", bwrap: true,
			setup: replace("exec sleep 97531"), why: "bubblewrap hangs", remedy: "reinstall",
			root: withNetwork, user: walls, userRuns: true},
		{name: "bwrap hangs later", bwrap: true,
			setup: replace(`[ "$1" = --version ] && echo bubblewrap 0.8.0 && exit; exec sleep 97531`),
			why:   "bubblewrap hangs", remedy: "reinstall",
			root: withNetwork, user: walls, userRuns: true},
		{name: "no user namespaces", setup: "echo 0 > /proc/sys/user/max_user_namespaces", userns: true,
			why: "user.max_user_namespaces=0", remedy: "sysctl user.max_user_namespaces=",
			root: withNetwork, user: walls, userRuns: true},
		{name: "user namespaces forbidden", no: outerNamespaces, why: "user namespaces are refused",
			remedy: "allow user namespaces", root: withNetwork, user: walls, userRuns: true},
		{name: "landlock not there", all: true, errno: "38",
			why: "not built into this kernel, or a system call filter around us hides it", remedy: "CONFIG_SECURITY_LANDLOCK",
			root: []string{"files"}, user: []string{"files"}, rootRuns: true, userRuns: true},
		{name: "landlock forbidden", errno: "1", why: "operation not permitted", remedy: "system call filter",
			root: []string{"files"}, user: []string{"files"}, rootRuns: true, userRuns: true},
		{name: "root without CAP_SYS_ADMIN, bwrap", bwrap: true,
			setup: `set -- setpriv --bounding-set=-sys_admin --inh-caps=-sys_admin "$@"`, rootOnly: true,
			why: "root without CAP_SYS_ADMIN", remedy: "give it CAP_SYS_ADMIN", root: []string{"files"}, rootRuns: true},
		{name: "root without CAP_SYS_ADMIN",
			setup: `set -- setpriv --bounding-set=-sys_admin --inh-caps=-sys_admin "$@"`, rootOnly: true,
			why: "root without CAP_SYS_ADMIN", remedy: "give it CAP_SYS_ADMIN", root: []string{"files"}, rootRuns: true},
		{name: "no helper", all: true, bin: []string{"sandboxd"}, why: "launch helper",
			remedy: "install sandboxd-launch beside sandboxd",
			root:   append([]string{"syscalls", "privileges"}, withNetwork...),
			user:   append([]string{"syscalls", "privileges"}, withNetwork...)},
	}
}

// withoutNamespaces is a host that lets nobody make user namespaces: Landlock is alone there.
func withoutNamespaces() degradedHost {
	hosts := degradedHosts()
	return hosts[slices.IndexFunc(hosts, func(h degradedHost) bool { return h.no != "" })]
}

// requirement is a configuration and what it requires.
type requirement struct {
	name, require, fallback string
	list                    []string
}

var requirements = []requirement{
	{"true, fail fast", "true", "fail_fast", []string{"files"}},
	{"true, refuse tools", "true", "refuse_tools", []string{"files"}},
	{"network and privileges, fail fast", `["network", "privileges"]`, "fail_fast", []string{"network", "privileges"}},
	{"false", "false", "fail_fast", nil},
}

// Issue "The sandbox", 2: whatever is missing, the daemon says so at once,
// with the remedy, and nothing runs outside. R-OS-03 R-OS-04 R-OS-05
//
//   - Row 000-56 yes: require_os_sandbox: fail_fast refuses to start
//   - Row 000-57 yes: os_sandbox_fallback: refuse_tools
//   - Row card-06 yes: fail fast or degrade
func TestDegradedHosts(t *testing.T) {
	t.Parallel()
	eachUser(t, func(t *testing.T, a *actor) {
		a.sh("echo more >> README")
		for _, h := range degradedHosts() {
			if h.rootOnly && !a.root() {
				continue
			}
			if h.setup != "" && os.Geteuid() != 0 {
				t.Logf("left out: only root can make the host %q; CI runs this as root", h.name)
				continue
			}
			t.Run(h.name, func(t *testing.T) {
				list := requirements
				if !h.all {
					list = []requirement{list[0], list[len(list)-1]}
				}
				for _, r := range list {
					a.t = t
					a.degraded(h, r)
				}
			})
		}
		a.t = t
		if n := count("sleep 97531"); n != 0 {
			t.Errorf("%d hanging programs are left", n)
		}
	})
}

// R-OS-03: where bubblewrap is gone, auto holds everything with the native back end.
func TestAutoNeedsNoBubblewrap(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Log("left out: only root can hide bwrap; CI runs this as root")
		return
	}
	bothUsers(t, func(t *testing.T, a *actor) {
		cmd := a.on(degradedHost{setup: hide}, requirements[0])
		a.served(t, cmd)
		if got := a.sbx("run", "-c", "echo x > made; cat made"); got.code != 0 || got.out != "x\n" {
			t.Errorf("got %v, want x", got)
		}
		if got := a.sbx("doctor"); got.code != 0 || !strings.Contains(got.out, "native") {
			t.Errorf("got %v, want the native back end", got)
		}
	})
}

// served starts the daemon of cmd for the test's time.
func (a *actor) served(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	exited := make(chan struct{})
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { cmd.Wait(); close(exited) }()
	t.Cleanup(func() { cmd.Process.Signal(syscall.SIGTERM); <-exited })
	if !a.serves(exited) {
		t.Fatal("the daemon does not serve")
	}
}

// degraded starts a daemon on the host and checks the documented outcome.
func (a *actor) degraded(h degradedHost, r requirement) {
	t := a.t
	t.Helper()
	missing, runs := h.root, h.rootRuns
	if !a.root() {
		missing, runs = h.user, h.userRuns
	}
	unmet := false
	for _, p := range r.list {
		unmet = unmet || strings.Contains(" "+strings.Join(missing, " ")+" ", " "+p+" ")
	}
	cmd := a.on(h, r)
	logged := filepath.Join(a.dir, "sandboxd.log")
	start := time.Now()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	exited := make(chan struct{})
	go func() { cmd.Wait(); close(exited) }()
	defer func() { cmd.Process.Signal(syscall.SIGTERM); <-exited }()
	serves := a.serves(exited)
	took := time.Since(start)
	b, _ := os.ReadFile(logged)
	said := string(b)
	if !strings.Contains(said, h.why) || !strings.Contains(said, h.remedy) {
		t.Errorf("%s: the daemon does not say %q and %q:\n%s", r.name, h.why, h.remedy, said)
	}
	// The contract is a second on a machine that has nothing else to do.
	if took > slow*10*time.Second {
		t.Errorf("%s: it took %v", r.name, took)
	}
	t.Logf("%s: %v", r.name, took.Round(10*time.Millisecond))
	if refuses := unmet && r.fallback == "fail_fast"; serves == refuses {
		t.Errorf("%s: the daemon serves: %v\n%s", r.name, serves, said)
	}
	if !serves {
		if code := cmd.ProcessState.ExitCode(); code != 1 {
			t.Errorf("%s: the daemon ended with %d", r.name, code)
		}
		return
	}
	a.tryOutside(h, r, runs && !unmet)
}

// tryOutside runs a command that must work when commands run, and that must leave
// no trace outside in any case.
func (a *actor) tryOutside(h degradedHost, r requirement, runs bool) {
	t := a.t
	t.Helper()
	outside := filepath.Join(a.dir, "outside")
	got := a.sbx("run", "-c", "touch "+outside+"; touch "+filepath.Join(a.home, "sbx-outside")+
		"; (setsid sleep 86420 &); git status --short")
	for _, path := range []string{outside, filepath.Join(a.home, "sbx-outside"), filepath.Join(a.dir, "planted")} {
		if _, err := os.Lstat(path); err == nil {
			os.Remove(path)
			t.Errorf("%s: %s was made", r.name, path)
		}
	}
	eventually(t, "no process left behind", func() bool { return count("sleep 86420") == 0 })
	if !runs {
		if got.code != 125 || got.out != "" || !strings.Contains(got.err, h.why) || !strings.Contains(got.err, h.remedy) {
			t.Errorf("%s: it should not run, and say %q and %q: %v", r.name, h.why, h.remedy, got)
		}
		return
	}
	if got.code != 0 || got.out != " M README\n" {
		t.Errorf("%s: it should run: %v", r.name, got)
	}
	// The answer and the status report the missing protections.
	if !strings.Contains(got.err, "files partial (") {
		t.Errorf("%s: the answer does not say what is not held: %v", r.name, got)
	}
	if status := a.sbx("status", "--json"); !strings.Contains(status.out, strconv.Quote(h.why)[1:len(h.why)]) {
		t.Errorf("%s: the status does not say %q: %v", r.name, h.why, status)
	}
}

// on is the daemon on that host.
func (a *actor) on(h degradedHost, r requirement) *exec.Cmd {
	a.t.Helper()
	config := filepath.Join(a.dir, "config.toml")
	a.sh(fmt.Sprintf("printf '%%s\\n' '[sandbox]' 'require_os_sandbox = %s' 'os_sandbox_fallback = \"%s\"' > %s; rm -rf %s", r.require, r.fallback, config, a.socketDir()))
	if h.bwrap {
		a.sh("echo 'backend = \"bwrap\"' >> " + config)
	}
	binaries := bin
	if h.bin != nil {
		binaries = filepath.Join(a.dir, "bin")
		a.sh("mkdir -p " + binaries)
		for _, name := range h.bin {
			a.sh("cp " + filepath.Join(bin, name) + " " + binaries)
		}
	}
	cmd := a.command(a.t.Context(), "/bin/bash", "-euc", "true; "+h.setup+"\nexec \"$@\"", "bash")
	if h.errno != "" || h.no != "" {
		self, err := os.Executable()
		if err != nil {
			a.t.Fatal(err)
		}
		cmd.Args = append(cmd.Args, self)
		cmd.Env = append(cmd.Env, outerFilter+"="+h.errno, h.no+"=1")
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	private := ""
	if os.Geteuid() == 0 {
		cmd.SysProcAttr.Cloneflags = syscall.CLONE_NEWNS
		private = "mount --make-rprivate /; "
	}
	if h.userns {
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		all := []syscall.SysProcIDMap{{ContainerID: 0, HostID: 0, Size: 65535}}
		cmd.SysProcAttr.UidMappings, cmd.SysProcAttr.GidMappings = all, all
		cmd.SysProcAttr.GidMappingsEnableSetgroups = true
	}
	cmd.Args[2] = strings.Replace(cmd.Args[2], "true; ", private, 1)
	if a.cred != nil {
		cmd.Args = append(cmd.Args, "/usr/bin/setpriv", "--clear-groups", "--reuid", strconv.Itoa(int(a.cred.Uid)), "--regid",
			strconv.Itoa(int(a.cred.Gid)))
	}
	cmd.Args = append(cmd.Args, filepath.Join(binaries, "sandboxd"), "--socket-dir", a.socketDir(), "--state-dir",
		a.stateDir(),
		"--config", config, "--mode", "approve-all")
	if h.path != "" {
		a.plant()
		cmd.Env = append(cmd.Env, "PATH="+a.project+":"+a.dir+":/usr/bin:/bin")
	}
	log, err := os.Create(filepath.Join(a.dir, "sandboxd.log"))
	if err != nil {
		a.t.Fatal(err)
	}
	a.t.Cleanup(func() { log.Close() })
	cmd.Stdout, cmd.Stderr = log, log
	return cmd
}

// plant puts a false bwrap where a careless daemon would find it.
func (a *actor) plant() {
	script := fmt.Sprintf("#!/bin/sh\ntouch %s\nwhile [ $# -gt 0 ] && [ \"$1\" != -- ]; do shift; done; shift; exec "+
		"\"$@\"\n", filepath.Join(a.dir, "planted"))
	for _, dir := range []string{a.project, a.dir} {
		a.sh(fmt.Sprintf("printf '%%s' '%s' > %s/bwrap; chmod 755 %s/bwrap", script, dir, dir))
	}
	a.sh("echo bwrap >> .git/info/exclude")
}

// serves waits until the daemon takes requests, or has ended.
func (a *actor) serves(exited <-chan struct{}) bool {
	for range 1000 * slow {
		select {
		case <-exited:
			return false
		case <-time.After(10 * time.Millisecond):
		}
		if _, err := os.Stat(filepath.Join(a.socketDir(), "approver.sock")); err == nil {
			return true
		}
	}
	a.t.Error("the daemon neither serves nor ends")
	return true
}
