package sandbox

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"sandboxd/landlock/lsm"
	"sandboxd/profile"
	"sandboxd/sandbox/stage"
)

// launched runs sandboxd-launch as a reaper with an order, and returns what it reports first. As
// root it runs as nobody, as the program refuses to continue with capabilities, unless privileged.
func launched(t *testing.T, order []byte, privileged bool) stage.Status {
	t.Helper()
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	theirs := os.NewFile(uintptr(pair[1]), "status")
	status, err := packetConn(pair[0])
	if err != nil {
		t.Fatal(err)
	}
	defer status.Close()
	cmd := exec.Command(stageProgram, stage.ReapArg)
	cmd.ExtraFiles = []*os.File{testHost.stage, testHost.stage, theirs, os.Stderr}
	if os.Geteuid() == 0 && !privileged {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	theirs.Close()
	if _, err := status.Write(order); err != nil {
		t.Fatal(err)
	}
	m, err := readStatus(status)
	m.close()
	if cmd.Wait(); err != nil {
		return stage.Status{Step: stage.StepNone, Message: err.Error()}
	}
	return m.Status
}

func encoded(t *testing.T, o stage.Order) []byte {
	t.Helper()
	b, err := o.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// What sandboxd-launch can't put in force whole, it refuses: no command runs. R-OS-04
func TestLaunchRefuses(t *testing.T) {
	dir := t.TempDir()
	os.Chmod(filepath.Dir(dir), 0o755)
	if err := os.Symlink("/usr", dir+"/link"); err != nil {
		t.Fatal(err)
	}
	ran := filepath.Join(dir, "ran")
	os.Chmod(dir, 0o777)
	command := stage.Order{Argv: []string{"/usr/bin/touch", ran}, Dir: "/", Env: []string{"PATH=/usr/bin:/bin"}}
	rule := func(path string, access lsm.AccessFS) lsm.Ruleset {
		return lsm.Ruleset{HandledFS: lsm.ReadFile, Paths: []lsm.PathRule{{Path: path, Access: access}}}
	}
	layer := func(sets ...lsm.Ruleset) stage.Order {
		o := command
		for _, set := range sets {
			b, err := set.MarshalBinary()
			if err != nil {
				t.Fatal(err)
			}
			o.Landlock = append(o.Landlock, b)
		}
		return o
	}
	nonsense := bytes.Repeat([]byte{255}, 16)
	with := func(change func(o *stage.Order)) stage.Order {
		o := command
		o.Argv = slices.Clone(o.Argv)
		change(&o)
		return o
	}
	argv := func(argv ...string) stage.Order { return with(func(o *stage.Order) { o.Argv = argv }) }
	dirIs := func(dir string) stage.Order { return with(func(o *stage.Order) { o.Dir = dir }) }
	relative := argv("touch", ran)
	relative.Env, relative.Dir = []string{"PATH=:.:bin"}, "/usr"
	const invalid, absent = "invalid argument", "no such file"
	for name, c := range map[string]struct {
		order stage.Order
		step  stage.Step
		why   string
	}{
		"a missing path":       {layer(rule(dir+"/absent", lsm.ReadFile)), stage.StepLandlock, absent},
		"a link":               {layer(rule(dir+"/link", lsm.ReadFile)), stage.StepLandlock, "symbolic links"},
		"behind a link":        {layer(rule(dir+"/link/bin", lsm.ReadFile)), stage.StepLandlock, "symbolic links"},
		"the second layer":     {layer(rule("/", lsm.ReadFile), rule("/absent", lsm.ReadFile)), stage.StepLandlock, absent},
		"nothing is handled":   {layer(lsm.Ruleset{}), stage.StepLandlock, "no message"},
		"a right nobody knows": {layer(lsm.Ruleset{HandledFS: 1 << 60}), stage.StepLandlock, invalid},
		"a right not handled":  {layer(rule("/", lsm.Execute)), stage.StepLandlock, invalid},
		"a flag nobody knows":  {layer(lsm.Ruleset{HandledFS: 1, Flags: 1 << 30}), stage.StepLandlock, invalid},
		"a filter of nonsense": {with(func(o *stage.Order) { o.Seccomp = nonsense }), stage.StepSeccomp, invalid},
		"no such directory":    {dirIs(dir + "/absent"), stage.StepDir, absent},
		"no such program":      {argv("no-such-program"), stage.StepExec, absent},
		"a directory":          {argv("/usr"), stage.StepExec, "permission denied"},
		"a relative PATH":      {relative, stage.StepExec, absent},
		"no terminal":          {with(func(o *stage.Order) { o.Terminal = true }), stage.StepSession, "ioctl"},
		"layers counted on":    {with(func(o *stage.Order) { o.Early = true }), stage.StepOrder, "not in force"},
		"no command":           {argv(), stage.StepOrder, "contradicts"},
		"a relative directory": {dirIs("usr"), stage.StepOrder, "contradicts"},
	} {
		if got := launched(t, encoded(t, c.order), false); got.Step != c.step || !strings.Contains(got.Message, c.why) {
			t.Errorf("%s: %+v, want %v: %s", name, got, c.step, c.why)
		}
		if _, err := os.Lstat(ran); err == nil {
			t.Fatalf("%s: the command ran", name)
		}
	}
	if got := launched(t, encoded(t, command), false); got.Step != stage.StepReady {
		t.Errorf("an order without fault: %+v", got)
	}
	if _, err := os.Lstat(ran); err != nil {
		t.Errorf("the command did not run: %v", err)
	}
}

// Managers of containers leave capabilities in the inheritable set, which a change of the user leaves alone: the
// sandbox starts, and its command has none. Landlock alone was refused there. R-OS-04
func TestLaunchEmptiesTheInheritableSet(t *testing.T) {
	runtime.LockOSThread() // for good: the thread ends with the test
	head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var sets [2]unix.CapUserData
	if err := unix.Capget(&head, &sets[0]); err != nil {
		t.Fatal(err)
	}
	for i := range sets {
		sets[i].Inheritable = sets[i].Permitted
	}
	if err := unix.Capset(&head, &sets[0]); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for d := dir; d != "/tmp" && d != "/"; d = filepath.Dir(d) {
		os.Chmod(d, 0o777)
	}
	order := stage.Order{
		Argv: []string{"/bin/sh", "-c", "grep Cap /proc/self/status > sets"},
		Dir:  dir, Env: []string{"PATH=/usr/bin:/bin"},
	}
	if got := launched(t, encoded(t, order), false); got.Step != stage.StepReady {
		t.Fatalf("got %+v, want a start", got)
	}
	b, err := os.ReadFile(filepath.Join(dir, "sets"))
	for _, set := range []string{"CapInh", "CapPrm", "CapEff", "CapAmb"} {
		if !strings.Contains(string(b), set+":\t0000000000000000\n") {
			t.Errorf("got %s%v, want an empty %s", b, err, set)
		}
	}
}

// A sandbox that has ended, bwrap too, before its daemon reads the first report is none whose
// bwrap was killed.
func TestLaunchThatEndsAtOnce(t *testing.T) {
	dir := workDir(t)
	command := Command{Argv: []string{"true"}, Dir: dir, Env: []string{"PATH=/usr/bin:/bin"}}
	plan, err := testHost.Plan(Request{Profile: system(t, dir, profile.Limits{}), Command: command})
	if err != nil {
		t.Fatal(err)
	}
	plan.order.Probe = true
	l, err := testHost.launch(t.Context(), plan, Stdio{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer l.kill(l.proc)
	if err := l.send(plan, Stdio{Out: os.Stderr, Err: os.Stderr}, nil, false); err != nil {
		t.Fatal(err)
	}
	l.proc.awaitInit()
	if l.cmd != nil {
		untilWaitable(l.cmd.Process.Pid)
	}
	if err := l.awaitExec(t.Context(), l.proc, plan, nil); err != nil {
		t.Error(err)
	}
}

// An order of another version is none, nor is one that breaks off or names descriptors that did not
// come with it; and with capabilities nothing runs.
func TestLaunchRefusesOrdersOfOthers(t *testing.T) {
	command := stage.Order{Argv: []string{"/usr/bin/true"}, Dir: "/"}
	good := encoded(t, command)
	for name, c := range map[string]struct {
		at   int
		with byte
		why  string
	}{
		"another version": {8, stage.Version + 1, "another version"},
		"another size":    {12, good[12] - 1, "without its descriptors"},
		"descriptors":     {20, 1 << 3, "descriptors"},
		"an unknown flag": {17, 1, "contradicts"},
	} {
		b := bytes.Clone(good)
		b[c.at] = c.with
		if got := launched(t, b, false); got.Step != stage.StepOrder || !strings.Contains(got.Message, c.why) {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if os.Geteuid() == 0 {
		if got := launched(t, encoded(t, command), true); got.Step != stage.StepPrivileges {
			t.Errorf("with capabilities: %+v", got)
		}
	}
}
