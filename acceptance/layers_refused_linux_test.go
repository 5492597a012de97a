package acceptance

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"sandboxd/ipc"
)

// outerOverlay in the environment has the test binary stand in for a kernel that can refuse overlays: a filter reports
// each fsopen(2) of its arguments' program to the listener of that Unix socket.
const outerOverlay = "ACCEPTANCE_OUTER_OVERLAY"

func init() {
	at := os.Getenv(outerOverlay)
	if at == "" || len(os.Args) < 2 {
		return
	}
	os.Unsetenv(outerOverlay)
	runtime.LockOSThread()
	filter := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 0}, // seccomp_data.nr
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.SYS_FSOPEN, Jf: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_USER_NOTIF},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	prog := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	must := func(err error) {
		if err != nil {
			panic(err)
		}
	}
	must(unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
	fd, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_NEW_LISTENER,
		uintptr(unsafe.Pointer(&prog)))
	if errno != 0 {
		panic(errno)
	}
	c, err := net.Dial("unix", at)
	must(err)
	_, _, err = c.(*net.UnixConn).WriteMsgUnix([]byte{0}, unix.UnixRights(int(fd)), nil)
	must(err)
	c.Read(make([]byte, 1)) // until the listener has it
	must(syscall.Exec(os.Args[1], os.Args[1:], os.Environ()))
}

// refusable, for a test that runs as root, has the actor's next daemon behind a filter that answers ENODEV to
// fsopen("overlay"), as a kernel without the module, while the returned refuse is set. tries counts the refusals.
func (a *actor) refusable() (refuse *atomic.Bool, tries *atomic.Int32) {
	a.t.Helper()
	refuse, tries = &atomic.Bool{}, &atomic.Int32{}
	at := filepath.Join(a.dir, "overlay.sock")
	l, err := net.Listen("unix", at)
	if err != nil {
		a.t.Fatal(err)
	}
	a.t.Cleanup(func() { l.Close() })
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		oob := make([]byte, unix.CmsgSpace(4))
		if _, _, _, _, err = c.(*net.UnixConn).ReadMsgUnix(make([]byte, 1), oob); err != nil {
			return
		}
		messages, _ := unix.ParseSocketControlMessage(oob)
		fds, err := unix.ParseUnixRights(&messages[0])
		if err != nil {
			return
		}
		defer unix.Close(fds[0])
		c.Close()
		answerOverlays(fds[0], refuse, tries)
	}()
	self, err := os.Executable()
	if err != nil {
		a.t.Fatal(err)
	}
	a.wrap, a.extraEnv = append([]string{self}, a.become()...), append(a.extraEnv, outerOverlay+"="+at)
	return refuse, tries
}

// become is what root executes a program with for it to be the actor's.
func (a *actor) become() []string {
	if a.cred == nil {
		return nil
	}
	return []string{"/usr/bin/setpriv", "--clear-groups", "--reuid", strconv.Itoa(int(a.cred.Uid)), "--regid",
		strconv.Itoa(int(a.cred.Gid))}
}

// answerOverlays answers the calls of fsopen(2) that a filter reports (seccomp_unotify(2)), until its last process has
// ended.
func answerOverlays(listener int, refuse *atomic.Bool, tries *atomic.Int32) {
	for {
		var call struct {
			id         uint64
			pid, flags uint32
			nr         int32
			arch       uint32
			ip         uint64
			args       [6]uint64
		}
		p := []unix.PollFd{{Fd: int32(listener), Events: unix.POLLIN}}
		if _, err := unix.Poll(p, -1); err != nil && err != unix.EINTR {
			return
		}
		if p[0].Revents&unix.POLLHUP != 0 {
			return
		}
		_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(listener), unix.SECCOMP_IOCTL_NOTIF_RECV,
			uintptr(unsafe.Pointer(&call)))
		if errno != 0 {
			continue
		}
		answer := struct {
			id    uint64
			value int64
			errno int32
			flags uint32
		}{id: call.id, flags: unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE}
		name := make([]byte, 8)
		if m, err := os.Open(fmt.Sprintf("/proc/%d/mem", call.pid)); err == nil {
			m.ReadAt(name, int64(call.args[0]))
			m.Close()
		}
		if refuse.Load() && bytes.Equal(name, []byte("overlay\x00")) {
			answer.errno, answer.flags = -int32(unix.ENODEV), 0
			tries.Add(1)
		}
		unix.Syscall(unix.SYS_IOCTL, uintptr(listener), unix.SECCOMP_IOCTL_NOTIF_SEND, uintptr(unsafe.Pointer(&answer)))
	}
}

// isDirect checks that a run was direct for a reason, and that undo takes it back.
func (a *actor) isDirect(line, because string) {
	a.t.Helper()
	r := a.run(line)
	if r.code != 0 || r.Changes.Kind != "direct" || !strings.Contains(r.Changes.Direct, because) {
		a.t.Errorf("want a direct run because of %q: %d %q\n%s", because, r.code, r.Changes.Direct, r.out)
	}
	if list := a.sbx("run", "ls"); !strings.Contains("\n"+list.out, "\nf\n") {
		a.t.Errorf("the next command does not see it: %s", list)
	}
	if undo := a.landing(always, "undo", "--last"); undo.code != 0 {
		a.t.Error(undo.result)
	}
	if list := a.sbx("run", "ls"); list.code != 0 || strings.Contains("\n"+list.out, "\nf\n") {
		a.t.Errorf("undo left what the direct run wrote: %s", list)
	}
}

// refusesHold checks that a run which is to be held does not run.
func (a *actor) refusesHold() {
	a.t.Helper()
	r := a.sbx("run", "--hold", "-c", "echo x > f")
	if r.code != 125 || !strings.Contains(r.err, "no such device") {
		a.t.Error(r)
	}
}

// R-LY-01, rule 20: where the kernel has no overlays, commands are direct, and each result and sbx doctor say why and
// what to do.
func TestLayersWithoutOverlays(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Log("left out: only root can make such a host; CI runs this as root")
		return
	}
	bothUsers(t, func(t *testing.T, a *actor) {
		refuse, tries := a.refusable()
		refuse.Store(true)
		a.layered()
		a.isDirect("echo x > f", "no such device (load the module with modprobe overlay")
		if n := tries.Load(); n != 1 {
			t.Errorf("%d mounts were tried", n)
		}
		if r := a.sbx("doctor", "--quick"); !strings.Contains(r.out, "layers can't be mounted: no such device") {
			t.Error(r)
		}
		a.refusesHold()
	})
}

// R-LY-01, rule 20: where the overlay of one command can't be mounted, nothing of it has run and it is judged again: it
// asks as a direct run does, runs directly after a yes or with a snapshot, and the next ones are direct at once.
func TestLayerThatCanNotBeMounted(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Log("left out: only root can make such a host; CI runs this as root")
		return
	}
	bothUsers(t, func(t *testing.T, a *actor) {
		refuse, tries := a.refusable()
		a.startWith("sandbox = {backend = \"" + overlays + "\", layers = \"auto\", warm = 0}\n" +
			"approval.policy = \"contained\"")
		a.sbx("trust")
		if r := a.run("echo x > landed"); r.code != 0 || r.Changes.Kind != "layered" {
			t.Fatal(r.out, r.err)
		}
		refuse.Store(true)
		a.sh("ln README twin")
		var asked []string
		r := a.landing(func(q ipc.Approval) bool {
			asked = append(asked, strings.Join(q.Reasons, "; "))
			return false
		}, "run", "--json", "-c", "echo x > f")
		if r.code != 126 || len(asked) != 1 || !strings.Contains(asked[0], "hard links") {
			t.Errorf("a run that no undo covers: the questions %q, and %s", asked, r.result)
		}
		if _, err := os.Stat(filepath.Join(a.project, "f")); err == nil {
			t.Error("it ran without a yes")
		}
		if n := tries.Load(); n != 1 {
			t.Errorf("%d mounts were tried", n)
		}
		a.sh("rm twin")
		a.isDirect("echo x > f", "no such device")
		a.refusesHold()
		if n := tries.Load(); n != 1 {
			t.Errorf("%d mounts were tried", n)
		}
		if r := a.sbx("log", "verify"); r.code != 0 {
			t.Error(r)
		}
		a.noLayers()
	})
}

// R-LY-01, rules 6, 11, 18, 19 and 20: a project whose layer can't be is direct, and the result says why.
func TestDirectAndSaysSo(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Log("left out: only root can make such a host; CI runs this as root")
		return
	}
	const overlay = `mkdir -p "$1/upper" "$1/work"; chown --reference="$1" "$1/upper" "$1/work"
mount -t overlay overlay -o lowerdir="$2",upperdir="$1/upper",workdir="$1/work" "$2"`
	for _, c := range []struct{ name, setup, because string }{
		{"submount", `mkdir -p sub; mount --bind /usr/share sub`, "another file system is mounted below it, at "},
		{"project on an overlay", `set -- "$1" "$PWD"; ` + overlay, "its file system is an overlay"},
		{"state on an overlay", `mkdir -p "$1/st"; chown --reference="$1" "$1/st"; set -- "$1" "$1/st"; ` + overlay,
			"invalid argument (keep the daemon's state on a file system"},
		{"another mount", `mount --bind "$PWD" "$PWD"`, "it is on another mount than the place of its layers"},
		{"another owner", `touch theirs; chown 4242:4242 theirs`, `"theirs" in it belongs to uid 4242, gid 4242`},
		{"whiteout", `mknod left c 0 0; chown --reference=. left`, `"left" in it is marked as a part of an overlay`},
		{"mark", `python3 -c 'import os; os.setxattr("README", "user.overlay.metacopy", b"")'`,
			`"README" in it is marked as a part of an overlay`},
	} {
		t.Run(c.name, func(t *testing.T) {
			eachUser(t, func(t *testing.T, a *actor) {
				a.wrap = append([]string{"/usr/bin/unshare", "--mount", "/bin/bash", "-euc",
					`dir=$1; shift; all=("$@"); set -- "$dir"; ` + c.setup + "\nexec \"${all[@]}\"",
					"bash", a.dir}, a.become()...)
				a.layered()
				a.isDirect("echo x > f", c.because)
			})
		})
	}
}
