//go:build cgo

package seccomp

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"sandboxd/profile"
)

// listening starts cmd under a telling filter and returns its listener.
func listening(t *testing.T, cmd *exec.Cmd, policy Policy) *Listener {
	t.Helper()
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	ours, theirs := os.NewFile(uintptr(pair[0]), "ours"), os.NewFile(uintptr(pair[1]), "theirs")
	defer ours.Close()
	cmd.Args[1] = "telling"
	cmd.ExtraFiles = append(cmd.ExtraFiles, theirs)
	err = cmd.Start()
	theirs.Close()
	if err != nil {
		t.Fatal(err)
	}
	oob := make([]byte, unix.CmsgSpace(4))
	_, n, _, _, err := unix.Recvmsg(pair[0], make([]byte, 1), oob, unix.MSG_CMSG_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	messages, err := unix.ParseSocketControlMessage(oob[:n])
	if err != nil || len(messages) != 1 {
		t.Fatalf("no listener came: %v", err)
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil {
		t.Fatal(err)
	}
	return NewListener(os.NewFile(uintptr(fds[0]), "listener"), policy)
}

// attemptsReported has testdata/attempt.c make the calls under a telling filter. With serve false the listener is
// closed
// before the first of them.
func attemptsReported(t *testing.T, uid int, lines []string, serve bool) (answers []string, seen []Call) {
	t.Helper()
	policy := policyOf(t, profile.Profile{}, Native()).Telling()
	filter, _, err := policy.Program()
	if err != nil {
		t.Fatal(err)
	}
	c := newCage(t, filter, uid)
	source, err := filepath.Abs("testdata/attempt.c")
	if err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(c.dir, "attempt")
	if out, err := exec.Command("gcc", "-O1", "-o", binary, source).CombinedOutput(); err != nil {
		t.Fatalf("gcc: %v\n%s", err, out)
	}
	cmd := c.command(binary)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, os.Stderr
	l := listening(t, cmd, policy)
	var mu sync.Mutex
	served := make(chan struct{})
	go func() {
		l.Serve(func(c *Call) {
			mu.Lock()
			seen = append(seen, *c)
			mu.Unlock()
		})
		close(served)
	}()
	if !serve {
		l.Close()
	}
	fmt.Fprintln(in, strings.Join(lines, "\n"))
	in.Close()
	if err := cmd.Wait(); err != nil {
		t.Fatalf("attempt: %v", err)
	}
	select {
	case <-served: // by itself, with the last process
	case <-time.After(30 * time.Second):
		t.Error("the listener outlives the last process")
		l.Close()
	}
	return strings.Split(strings.TrimSpace(out.String()), "\n"), seen
}

// R-OS-11. Refusals by the listener get the same answers as silent ones, and each is seen with its
// name.
func TestListenerRefuses(t *testing.T) {
	policy := policyOf(t, profile.Profile{}, Native())
	var names, lines []string
	for _, name := range syscalls(Native()) {
		if r := policy.decides(name, every(1<<64-1)); r.Answer != Allow && r.reported() {
			names, lines = append(
				names,
				name,
			), append(
				lines,
				nativeLine(t, name, everyBit, everyBit, everyBit, everyBit, everyBit, everyBit),
			)
		}
	}
	for _, uid := range users() {
		answers, seen := attemptsReported(t, uid, lines, true)
		if len(answers) != len(names) {
			t.Fatalf("%d answers to %d attempts: %q", len(answers), len(names), answers)
		}
		reported := map[string]bool{}
		for _, c := range seen {
			reported[c.Name] = c.Answer != Allow && c.Why != "" || reported[c.Name]
		}
		for i, name := range names {
			if want := policy.Answer(name, 1<<64-1, 1<<64-1, 1<<64-1, 1<<64-1, 1<<64-1, 1<<64-1); answers[i] != fmt.Sprintf(
				"-1 %d",
				want,
			) {
				t.Errorf("uid %d: %s answered %q, want %v", uid, name, answers[i], want)
			}
			if !reported[name] {
				t.Errorf("uid %d: %s was not reported", uid, name)
			}
		}
	}
}

// A listener that is gone lets nothing through: neither what would have been refused, nor what is only watched.
func TestDeadListenerLetsNothingThrough(t *testing.T) {
	for _, uid := range users() {
		const wronly, creat = 1, 0o100
		answers, _ := attemptsReported(t, uid, []string{
			nativeLine(t, "ptrace", 0, 0, 0, 0),
			nativeLine(t, "openat", "0xffffffffffffff9c", "made", wronly|creat, "0600"),
			nativeLine(t, "mkdirat", "0xffffffffffffff9c", "made", "0700"),
		}, false)
		for i, a := range answers {
			if a != fmt.Sprintf("-1 %d", ENOSYS) {
				t.Errorf("uid %d: attempt %d answered %q", uid, i, a)
			}
		}
	}
}
