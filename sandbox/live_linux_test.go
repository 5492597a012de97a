package sandbox

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"sandboxd/profile"
)

var (
	testHost  *Host
	testStage string // the helper's file
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(daemonVariable); dir != "" {
		panic(daemon(dir))
	}
	os.Exit(func() int {
		if testStage = os.Getenv(stageVariable); testStage == "" {
			dir, err := os.MkdirTemp("", "sandbox-test-")
			if err != nil {
				panic(err)
			}
			defer os.RemoveAll(dir)
			testStage = buildStage(dir)
		}
		var err error
		if testHost, err = Open(context.Background(), testOptions(0)); err != nil {
			panic(err)
		}
		defer testHost.Close()
		return m.Run()
	}())
}

// buildStage builds sandboxd-launch in a directory where every user can execute it.
func buildStage(dir string) (file string) {
	file = filepath.Join(dir, "sandboxd-launch")
	sources, _ := filepath.Glob("../cmd/sandboxd-launch/*")
	for _, source := range sources {
		os.ReadFile(source) // go test keeps no result of another source
	}
	build := exec.Command("../cmd/sandboxd-launch/build.sh", file)
	build.Stderr = os.Stderr
	if err := errors.Join(build.Run(), os.Chmod(dir, 0o755)); err != nil {
		panic(err)
	}
	return file
}

// system is a profile with the system trees and one writable directory.
func system(t *testing.T, writable string, limits profile.Limits) profile.Profile {
	t.Helper()
	p, err := profile.New(systemSpec(writable, limits))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func systemSpec(writable string, limits profile.Limits) profile.Spec {
	spec := profile.Spec{Limits: limits, Devices: profile.MinimalDevices()}
	for _, p := range profile.SystemTrees() {
		spec.Rules = append(spec.Rules, profile.Rule{Kind: profile.Allow, Access: profile.Read | profile.Exec, Path: p})
	}
	for _, p := range profile.PrivateDirs() {
		spec.Rules = append(spec.Rules, profile.Rule{Kind: profile.Private, Path: p})
	}
	spec.Rules = append(spec.Rules, profile.Rule{Kind: profile.Private, Access: profile.Read, Path: "/proc"})
	if writable != "" {
		spec.Rules = append(spec.Rules, profile.Rule{Kind: profile.Allow, Access: profile.Read | profile.Write | profile.Exec,
			Path: writable})
	}
	return spec
}

// workDir is a directory outside of what is private inside.
func workDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/var/lib", "sandbox-work-")
	if err != nil {
		dir, err = os.MkdirTemp(os.Getenv("HOME"), "sandbox-work-")
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

type outcome struct {
	out, err string
	exit     Exit
}

func runIn(t *testing.T, p profile.Profile, dir, script string) outcome {
	t.Helper()
	plan, err := testHost.Plan(Request{Profile: p,
		Command: Command{Argv: []string{"bash", "-c", script}, Dir: dir, Env: []string{"PATH=/usr/bin:/bin"}}})
	if err != nil {
		t.Fatal(err)
	}
	return carry(t, plan)
}

// carry carries a plan out to its end.
func carry(t *testing.T, plan *Plan) outcome {
	t.Helper()
	return carryOn(t, testHost, plan)
}

func carryOn(t *testing.T, h *Host, plan *Plan) outcome {
	t.Helper()
	null, _ := os.Open(os.DevNull)
	defer null.Close()
	outR, outW, _ := os.Pipe()
	errR, errW, _ := os.Pipe()
	proc, err := h.Start(context.Background(), plan, Stdio{null, outW, errW}, nil)
	outW.Close()
	errW.Close()
	if err != nil {
		t.Fatal(err)
	}
	var o, e bytes.Buffer
	done := make(chan struct{})
	go func() { io.Copy(&e, errR); close(done) }()
	io.Copy(&o, outR)
	<-done
	select {
	case <-proc.Done():
	case <-time.After(20 * time.Second):
		proc.End(EndWall, 0)
		t.Error("the command did not end")
	}
	return outcome{o.String(), e.String(), proc.Wait()}
}

// testOptions are those of a host for these tests, whose back end $SANDBOX_BACKEND names.
func testOptions(warm int) Options {
	return Options{Stage: testStage, Warm: warm, Backend: os.Getenv("SANDBOX_BACKEND")}
}

func TestProbeFindsEveryLayerHere(t *testing.T) {
	r := testHost.Report()
	for _, l := range []string{r.Namespaces().Name, "landlock", "seccomp"} {
		if got := r.Layer(l); !got.Active {
			t.Errorf("%s: %s (%s)", l, got.Why, got.Remedy)
		}
	}
	t.Log(r.Degraded())
}

// R-OS-07: no capability, no_new_privs, a filter, no inherited descriptor.
func TestInside(t *testing.T) {
	dir := workDir(t)
	got := runIn(t, system(t, dir, profile.Limits{}), dir,
		`grep -E '^(CapEff|CapBnd|NoNewPrivs|Seccomp):' /proc/self/status; ls /proc/self/fd | wc -l; pwd; echo err >&2; exit 3`)
	for _, want := range []string{"CapEff:\t0000000000000000", "CapBnd:\t0000000000000000", "NoNewPrivs:\t1",
		"Seccomp:\t2", "\n" + dir + "\n", "\n4\n"} {
		if !strings.Contains(got.out, want) {
			t.Errorf("%q is not in %q", want, got.out)
		}
	}
	if got.err != "err\n" || got.exit.Code != 3 {
		t.Errorf("stderr %q, exit %+v", got.err, got.exit)
	}
}

// An order of many pieces arrives as it was sent.
func TestLongOrder(t *testing.T) {
	dir := workDir(t)
	for _, size := range []int{60 << 10, 64 << 10, 120 << 10} { // of one word 128 KiB is the most (execve(2))
		word := strings.Repeat("0123456789abcde\n", size/16)
		argv := []string{"bash", "-c", `for word; do printf '%s' "$word" | sha256sum; done`, "x", word, word[1:], word,
			word[2:], word, word[3:], word, "end"}
		plan, err := testHost.Plan(Request{Profile: system(t, dir, profile.Limits{}),
			Command: Command{Argv: argv, Dir: dir, Env: []string{"PATH=/usr/bin:/bin"}}})
		if err != nil {
			t.Fatal(err)
		}
		var want strings.Builder
		for _, word := range argv[4:] {
			fmt.Fprintf(&want, "%x  -\n", sha256.Sum256([]byte(word)))
		}
		if got := carry(t, plan); got.out != want.String() || got.exit.Code != 0 {
			t.Errorf("words of %d bytes: %d bytes came out, %q, %+v", size, len(got.out), got.err, got.exit)
		}
	}
}

func TestExitStatus(t *testing.T) {
	dir := workDir(t)
	p := system(t, dir, profile.Limits{})
	if got := runIn(t, p, dir, "kill -9 $$"); got.exit.Code != 137 || got.exit.Signal != syscall.SIGKILL {
		t.Errorf("killed: %+v", got.exit)
	}
	if got := runIn(t, p, dir, "(sleep 60 &) ; (setsid sleep 60 &); echo done"); got.out != "done\n" ||
		got.exit.Wall > 5*time.Second {
		t.Errorf("left children behind: %+v", got)
	}
}

// Each layer can be probed by itself, also by root: without namespaces it is the
// only way to learn the available ones.
func TestLayersAloneAreProbed(t *testing.T) {
	h := &Host{stage: testHost.stage, wanted: BackendBwrap, bwrapErr: errNoBwrap, starts: make(chan struct{}, 1)}
	for _, l := range h.probeLayers(context.Background()) {
		if want := l.Name != BackendBwrap && l.Name != BackendNative; l.Active != want {
			t.Errorf("%s: active %t, want %t: %s", l.Name, l.Active, want, l.Why)
		}
	}
}

var errNoBwrap = errors.New("not installed in this test")

// R-AU-03: a command's effects come after leave was given, and without leave it
// has none, whether its sandbox was built for it or is a warm one.
func TestNothingRunsWithoutLeave(t *testing.T) {
	dir := workDir(t)
	h := testHostWarm(t)
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	file := filepath.Join(dir, "ran")
	plan, err := h.Plan(Request{Profile: system(t, dir, profile.Limits{}),
		Command: Command{Argv: []string{"touch", file}, Dir: dir, Env: []string{"PATH=/usr/bin:/bin"}}})
	if err != nil {
		t.Fatal(err)
	}
	ran := func() bool { _, err := os.Lstat(file); return err == nil }
	// Both halves of a gate, each of which may be the last.
	start := func(meanwhile, leave func() error) (warm bool, err error) {
		os.Remove(file)
		gate := NewGate(meanwhile)
		opened := make(chan struct{})
		go func() {
			gate.Open(leave())
			close(opened)
		}()
		proc, err := h.Start(context.Background(), plan, Stdio{null, null, null}, gate)
		<-opened
		if err != nil {
			return false, err
		}
		<-proc.Done()
		return proc.Warm(), nil
	}
	refused := errors.New("no leave")
	refuse, allow := func() error { return refused }, func() error { return nil }
	late := func(f func() error) func() error {
		return func() error { time.Sleep(50 * time.Millisecond); return f() }
	}
	for _, want := range []bool{false, true} {
		for i, halves := range [][2]func() error{{allow, refuse}, {allow, late(refuse)}, {refuse, allow},
			{late(refuse), allow}, {refuse, refuse}} {
			if _, err := start(halves[0], halves[1]); !errors.Is(err, refused) {
				t.Errorf("warm %t, way %d: %v", want, i, err)
			}
			if ran() {
				t.Errorf("warm %t, way %d: it ran without leave", want, i)
			}
		}
		for end := time.Now().Add(30 * time.Second); ; {
			var early [2]bool
			look := func(i int) func() error { return late(func() error { early[i] = ran(); return nil }) }
			warm, err := start(look(0), late(look(1)))
			if err != nil {
				t.Fatal(err)
			}
			if early != [2]bool{} || !ran() {
				t.Errorf("warm %t: ran before leave: %t, after it: %t", warm, early, ran())
			}
			if _, err := start(late(look(0)), look(1)); err != nil || early != [2]bool{} || !ran() {
				t.Errorf("warm %t: ran before leave: %t, after it: %t, %v", warm, early, ran(), err)
			}
			if warm || time.Now().After(end) {
				break
			}
			h.pool.work.Wait() // the next one is built
		}
		h.pool.work.Wait()
	}
}

// testHostWarm is the test's host with sandboxes that wait.
func testHostWarm(t *testing.T) *Host {
	t.Helper()
	h, err := Open(context.Background(), testOptions(2))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	return h
}

// R-OS-10: a limit of processor time below the kernel's unit, which is a second, still is a
// limit: a project's file that asks for less must not remove it.
func TestLittleProcessorTime(t *testing.T) {
	dir := workDir(t)
	if got := runIn(t, system(t, dir, profile.Limits{CPU: 100 * time.Millisecond}), dir,
		"while :; do :; done"); got.exit.Cause != EndCPU {
		t.Errorf("%+v", got.exit)
	}
}

// R-FS-07: the view of a file worker's sandbox distinguishes all states that the view of a warm sandbox distinguishes.
// A file that was unlinked and linked again has no mount inside any longer, and the same number.
func TestViewOfAnExchangedFile(t *testing.T) {
	dir, h := workDir(t), testHost
	file := filepath.Join(dir, "secret")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := profile.New(profile.Spec{Rules: []profile.Rule{{Kind: profile.Allow, Access: profile.Read | profile.Write,
		Path: dir}, {Kind: profile.Hide, Path: file}}})
	if err != nil {
		t.Fatal(err)
	}
	plan, err := h.Plan(Request{Profile: p, Command: Command{Argv: []string{"/bin/true"}, Dir: "/"}})
	if err != nil {
		t.Fatal(err)
	}
	before := h.View(plan)
	if before == "" || h.View(plan) != before {
		t.Fatalf("the view of what did not change: %q, then %q", before, h.View(plan))
	}
	if err := errors.Join(os.Link(file, file+".new"), os.Remove(file), os.Rename(file+".new", file)); err != nil {
		t.Fatal(err)
	}
	if h.View(plan) == before {
		t.Error("a file that was linked again has the same view")
	}
}
