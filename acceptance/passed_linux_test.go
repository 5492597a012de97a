package acceptance

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"sandboxd/ipc"
)

// R-IP-10, R-IP-02: `sbx run` hands its own pipes and files to the command,
// where the profile lets it have them; everything else is relayed, and in no case is
// a byte lost, doubled or cut.
func TestPassedDescriptors(t *testing.T) {
	t.Parallel()
	eachUser(t, func(t *testing.T, a *actor) {
		a.start("--mode", "approve-all")
		sbx := filepath.Join(bin, "sbx")
		inside := "readlink /proc/self/fd/0 /proc/self/fd/1"
		file := filepath.Join(a.project, "in")
		a.sh("echo content > in")

		// Before a person trusts the project its files can't be written, so they
		// are relayed.
		if got := a.sh(sbx + " run -c 'cat README; readlink /proc/self/fd/1' < in > out; cat out"); !strings.HasPrefix(got,
			"hello\npipe:[") {
			t.Errorf("an untrusted project: %q", got)
		}
		a.sh(sbx + " trust . && rm out")
		if got := a.sh(sbx + " run -c 'cat; " + inside + "' < in > out; cat out"); got != "content\n"+file+"\n"+
			filepath.Join(a.project, "out")+"\n" {
			t.Errorf("files: %q", got)
		}
		if got := a.sh("(echo a; " + sbx + " run -- echo b; echo c; " + sbx + " run -- echo d) > out; " + sbx +
			" run -- echo e >> out; cat out"); got != "a\nb\nc\nd\ne\n" {
			t.Errorf("one file, several writers: %q", got)
		}
		// The pipe is the very one; what an output limit would cut comes whole.
		if got := a.sh(sbx + " run -c 'readlink /proc/self/fd/1' | (readlink /proc/self/fd/0; cat)"); len(strings.Fields(got)) != 2 || strings.Fields(got)[0] != strings.Fields(got)[1] {
			t.Errorf("a pipe: %q", got)
		}
		if got := a.sh(sbx + " run -- head -c 40000000 /dev/zero | wc -c"); strings.TrimSpace(got) != "40000000" {
			t.Errorf("a large output: %q", got)
		}
		if got := a.sh("set +o pipefail; " + sbx + " run -- yes | head -n 2; echo ${PIPESTATUS[0]}"); got != "y\ny\n141\n" {
			t.Errorf("a reader that leaves: %q", got)
		}
		if got := a.sh("head -c 3000000 /dev/urandom > in; " + sbx + " run -- cat < in | cmp - in && cat in | " + sbx +
			" run -- cat | cmp - in && echo same; rm in"); got != "same\n" {
			t.Errorf("bytes: %q", got)
		}
		// With --json the output is part of the result, so nothing is passed.
		if got := a.sbx("run", "--json", "-c", "echo hi"); !strings.Contains(got.out, `"stdout":"hi\n"`) &&
			!strings.Contains(got.out, `"stdout": "hi\n"`) {
			t.Errorf("--json: %v", got)
		}

		// sbx relays a file that the profile makes read-only: a command that reopened the
		// descriptor through /proc/self/fd would get the caller's writable file.
		before := a.sh("cat .git/config")
		got := a.sh(sbx + " run -c 'readlink /proc/self/fd/0; cat; echo evil >> /proc/self/fd/0' < .git/config || true")
		if !strings.HasPrefix(got, "pipe:[") || !strings.HasSuffix(got, before) {
			t.Errorf("a protected file: %q", got)
		}
		if now := a.sh("cat .git/config"); now != before {
			t.Errorf("the protected file was changed: %q", now)
		}
		a.sh("mkdir -p ~/.ssh && echo CANARY > ~/.ssh/passed-test")
		defer a.sh("rm ~/.ssh/passed-test")
		if got := a.sh(sbx + " run -c 'readlink /proc/self/fd/0' < ~/.ssh/passed-test"); !strings.HasPrefix(got, "pipe:[") {
			t.Errorf("a hidden file: %q", got)
		}
		if got := a.sh(sbx + " run -c 'readlink /proc/self/fd/1; echo x' > ~/.ssh/passed-test; cat ~/.ssh/passed-test"); !strings.HasPrefix(got, "pipe:[") || !strings.HasSuffix(got, "]\nx\n") {
			t.Errorf("a hidden file as output: %q", got)
		}

		// A terminal is never passed: without --tty there are pipes, with it the
		// command has one of the daemon's.
		screen, code := a.terminal(func(*os.File, func(string) bool) {}, "run", "-c",
			"test -t 0 || test -t 1 || echo no terminal")
		if code != 0 || !strings.Contains(screen, "no terminal") {
			t.Errorf("at a terminal: %d %q", code, screen)
		}
		screen, code = a.terminal(func(*os.File, func(string) bool) {}, "run", "--tty", "-c",
			"test -t 0 && test -t 1 && test -t 2 && echo its own")
		if code != 0 || !strings.Contains(screen, "its own") {
			t.Errorf("--tty: %d %q", code, screen)
		}
	})
}

// R-IP-10: by hand, as no sbx would: the daemon itself refuses what the
// session's profile does not let the command write, and nothing is started.
func TestPassedByHand(t *testing.T) {
	t.Parallel()
	a := newActor(t, "") // a descriptor can't be sent through another process
	a.start()
	c := &ipc.Client{Socket: filepath.Join(a.socketDir(), "agent.sock")}
	defer c.Close()
	s, err := c.OpenSession(t.Context(), ipc.SessionRequest{Root: a.project})
	if err != nil {
		t.Fatal(err)
	}
	c.Secret = s.Secret
	try := func(in, out *os.File) (ipc.ExecStarted, error) {
		var own ipc.Stdio
		if in != nil {
			own.In = &ipc.Passed{File: in}
		}
		if out != nil {
			own.Out = &ipc.Passed{File: out}
		}
		return c.StartExec(t.Context(), ipc.ExecRequest{Session: s.ID, Command: "cat README", Passed: own})
	}
	readme, err := os.OpenFile(filepath.Join(a.project, "README"), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer readme.Close()
	if err := unix.Flock(int(readme.Fd()), unix.LOCK_EX); err != nil { // flock(2): until all copies are closed
		t.Fatal(err)
	}
	if _, err := try(readme, nil); ipc.CodeOf(err) != ipc.CodeForbidden || !strings.Contains(err.Error(), "relayed") {
		t.Errorf("a file of an untrusted project: %v", err)
	}
	person := a.personPeer("ann", true)
	if _, err := person.approver.Trust(t.Context(), ipc.TrustRequest{Dir: a.project}); err != nil {
		t.Fatal(err)
	}
	outside, err := os.CreateTemp("", "passed")
	if err != nil {
		t.Fatal(err)
	}
	defer os.Remove(outside.Name())
	defer outside.Close()
	for name, path := range map[string]string{
		"a protected file":     filepath.Join(a.project, ".git/config"),
		"a file of the system": "/etc/passwd",
		"a file in the host's /tmp, which is not the sandbox's": outside.Name(),
		"the daemon's own state":                                filepath.Join(a.stateDir(), "trust.json"),
		"a file of the kernel's":                                "/proc/self/mem",
	} {
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		if errors.Is(err, fs.ErrPermission) && !a.root() {
			continue // who can't open it can't pass it either
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, err := try(f, nil); ipc.CodeOf(err) != ipc.CodeForbidden {
			t.Errorf("%s as input: %v", name, err)
		}
		if _, err := try(nil, f); ipc.CodeOf(err) != ipc.CodeForbidden {
			t.Errorf("%s as output: %v", name, err)
		}
		f.Close()
	}
	// What is permitted runs, and the record says what was passed.
	outR, outW, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer outR.Close()
	started, err := try(readme, outW)
	outW.Close()
	if err != nil {
		t.Fatal(err)
	}
	events, err := c.ExecEvents(t.Context(), ipc.EventsRequest{ID: started.ID})
	if err != nil {
		t.Fatal(err)
	}
	defer events.Close()
	for {
		e, err := events.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if len(e.Data) > 0 {
			t.Errorf("output in the events: %q", e.Data)
		}
		if e.Exit != nil {
			if e.Exit.Code != 0 || strings.Join(e.Exit.Uncapped, " ") != "stdout" {
				t.Errorf("%+v", e.Exit)
			}
			break
		}
	}
	var out bytes.Buffer
	if out.ReadFrom(outR); out.String() != "hello\n" {
		t.Errorf("%q", out.String())
	}
	if log := a.sbx("log", "--json"); !strings.Contains(log.out, "the caller's own descriptor of "+readme.Name()) {
		t.Errorf("the log does not say what was passed: %v", log)
	}
	// The daemon keeps none of them: that the pipe has ended says so, and that
	// nobody holds the lock of what was opened here.
	if err := readme.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := os.Open(readme.Name())
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	eventually(t, "nobody has the file open", func() bool { return unix.Flock(int(again.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil })
}
