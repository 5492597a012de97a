package acceptance

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// Issue "The sandbox", 5: nothing that the daemon or its caller has open is
// open inside. R-OS-07
func TestNoDescriptorIsInherited(t *testing.T) {
	wholeMachine(t, "it changes how many files this process may open")
	secret, err := os.CreateTemp(t.TempDir(), "secret")
	if err != nil {
		t.Fatal(err)
	}
	defer secret.Close()
	secret.WriteString("CANARY")
	defer raiseFiles(t)()
	fill(t, int(secret.Fd()))
	bothUsers(t, func(t *testing.T, a *actor) {
		// A shell with the descriptors 3 to 1023 open starts daemon and client. It
		// opens them itself: those of the test are close-on-exec.
		many := "ulimit -n 2048; for i in $(seq 3 1023); do eval \"exec $i</etc/passwd\"; done; exec "
		a.startBy(many)
		for _, args := range []string{
			`run -- sh -c 'echo /proc/self/fd/*'`,
			`run -c 'echo /proc/self/fd/*'`,
		} {
			got := a.do(nil, "/bin/bash", "-c", many+filepath.Join(bin, "sbx")+" "+args)
			if got.code != 0 {
				t.Errorf("%s: %v", args, got)
			}
			for _, f := range strings.Fields(got.out) {
				// 3 is the shell's own, of the directory that it lists; bash
				// keeps its script at 255.
				if base := filepath.Base(f); !slices.Contains([]string{"0", "1", "2", "3", "255"}, base) {
					t.Errorf("%s: descriptor %s is open inside: %s", args, base, got.out)
				}
			}
		}
		// Not by the shell's eyes alone: what is open and where it leads.
		got := a.sbx("run", "--", "python3", "-c", `
import os
for n in range(2048):
    try: os.fstat(n)
    except OSError: continue
    print(n)`)
		if got.code != 0 || got.out != "0\n1\n2\n" {
			t.Errorf("open inside: %v", got)
		}
	})
}

// raiseFiles lets this process open as many as it may; the result undoes it.
func raiseFiles(t *testing.T) func() {
	t.Helper()
	var old syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &old); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE,
		&syscall.Rlimit{Cur: max(old.Cur, min(old.Max, 4096)), Max: old.Max}); err != nil {
		t.Fatal(err)
	}
	return func() { syscall.Setrlimit(syscall.RLIMIT_NOFILE, &old) }
}

// fill opens fd again and again, close-on-exec, as a caller with many files does.
func fill(t *testing.T, fd int) {
	t.Helper()
	for range 200 {
		n, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 3)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { unix.Close(n) })
	}
}

// startBy runs the daemon behind a line of shell, with a secret in its
// environment.
func (a *actor) startBy(shell string) {
	a.t.Helper()
	a.extraEnv = append(a.extraEnv, "DAEMON_ONLY=CANARY-ENV", "SBX_INNER=CANARY-SBX", "AWS_SECRET_ACCESS_KEY=CANARY-AWS",
		"LD_LIBRARY_PATH=/nowhere/canary", "GODEBUG=canary=1")
	cmd := a.command(a.t.Context(), "/bin/bash", "-c", shell+filepath.Join(bin, "sandboxd")+
		fmt.Sprintf(" --socket-dir %s --state-dir %s --mode approve-all", a.socketDir(), a.stateDir()))
	if err := cmd.Start(); err != nil {
		a.t.Fatal(err)
	}
	a.daemon = cmd
	exited := make(chan struct{})
	if !a.serves(exited) {
		a.t.Fatal("the daemon does not serve")
	}
}

// Issue "The sandbox", 5: the environment inside is what sbx profile show
// says, and nothing of the daemon's. R-OS-08
func TestEnvironmentInside(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		a.startBy("exec ")
		got := a.sbx("run", "--", "env", "-0")
		if got.code != 0 {
			t.Fatal(got)
		}
		if strings.Contains(got.out, "CANARY") || strings.Contains(got.out, "canary") {
			t.Errorf("a variable leaked: %q", got.out)
		}
		pass, set, always := environmentShown(t, a.sbx("profile", "show").out)
		inside := map[string]string{}
		for _, kv := range strings.Split(strings.Trim(got.out, "\x00"), "\x00") {
			name, value, _ := strings.Cut(kv, "=")
			inside[name] = value
			passed := slices.ContainsFunc(pass, func(p string) bool {
				prefix, open := strings.CutSuffix(p, "*")
				return name == p || open && strings.HasPrefix(name, prefix)
			})
			if !passed && !slices.Contains(set, name) && !slices.Contains(always, name) {
				t.Errorf("%s=%s is inside, but sbx profile show does not name it", name, value)
			}
		}
		for _, name := range append(set, always...) {
			if inside[name] == "" {
				t.Errorf("%s is not inside: %q", name, got.out)
			}
		}
		if inside["HOME"] != a.home || inside["USER"] != a.name || inside["TERM"] != "dumb" {
			t.Errorf("inside: %q", inside)
		}
	})
}

// environmentShown reads "environment pass=[A B] set=[C D]" and "environment
// always=[E F]".
func environmentShown(t *testing.T, text string) (pass, set, always []string) {
	t.Helper()
	m := regexp.MustCompile(`(?ms)^environment pass=\[(.*?)\] set=\[(.*?)\].*^environment always=\[(.*?)\]`).FindStringSubmatch(text)
	if m == nil {
		t.Fatalf("sbx profile show says nothing of the environment:\n%s", text)
	}
	return strings.Fields(m[1]), strings.Fields(m[2]), strings.Fields(m[3])
}
