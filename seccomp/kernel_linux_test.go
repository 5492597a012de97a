//go:build cgo

package seccomp

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"sandboxd/internal/rapidtest"
	"sandboxd/profile"
	"sandboxd/seccomp/seccomptest"
)

// TestMain lets the test binary play the last stage of a launch: it loads the filter that descriptor 3 holds and
// executes its arguments. When it is to tell, the listener goes through the socket on descriptor 4.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && (os.Args[1] == "stage" || os.Args[1] == "telling") {
		fmt.Fprintln(os.Stderr, "stage:", stage3(os.Args[2:], os.Args[1] == "telling"))
		os.Exit(125)
	}
	rapidtest.Default(25)
	os.Exit(m.Run())
}

func stage3(argv []string, tell bool) error {
	program, err := io.ReadAll(os.NewFile(3, "filter"))
	if err != nil {
		return err
	}
	runtime.LockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	switch {
	case len(program) == 0:
	case tell:
		listener, err := seccomptest.Listening(program)
		if err != nil {
			return err
		}
		if err := unix.Sendmsg(4, []byte{1}, unix.UnixRights(listener), nil, 0); err != nil {
			return err
		}
		unix.CloseOnExec(4)
	default:
		if err := seccomptest.Filter(program); err != nil {
			return err
		}
	}
	unix.CloseOnExec(3)
	return unix.Exec(argv[0], argv, os.Environ())
}

// ordinary is a user without any right: nobody.
const ordinary = 65534

// A cage runs programs under a filter, in an empty directory, as root or as an ordinary user.
type cage struct {
	t      *testing.T
	filter []byte // empty: none
	uid    uint32
	dir    string
}

func newCage(t *testing.T, filter []byte, uid int) *cage {
	t.Helper()
	dir, err := os.MkdirTemp("", "seccomp")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := errors.Join(os.Chmod(dir, 0o755), os.Mkdir(filepath.Join(dir, "tmp"), 0o777),
		os.Chown(dir, uid, -1), os.Chown(filepath.Join(dir, "tmp"), uid, -1)); err != nil {
		t.Fatal(err)
	}
	return &cage{t, filter, uint32(uid), dir}
}

// command makes argv ready to run; argv[0] is found on the system's path.
func (c *cage) command(argv ...string) *exec.Cmd {
	c.t.Helper()
	path, err := exec.LookPath(argv[0])
	if err != nil {
		c.t.Fatal(err)
	}
	filter, err := os.Create(filepath.Join(c.t.TempDir(), "filter"))
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { filter.Close() })
	if _, err := filter.Write(c.filter); err != nil {
		c.t.Fatal(err)
	}
	if _, err := filter.Seek(0, io.SeekStart); err != nil {
		c.t.Fatal(err)
	}
	cmd := exec.Command("/proc/self/exe", append([]string{"stage", path}, argv[1:]...)...)
	cmd.ExtraFiles = []*os.File{filter}
	cmd.Dir = c.dir
	cmd.Env = []string{"HOME=" + c.dir, "TMPDIR=" + c.dir + "/tmp", "PATH=/usr/local/go/bin:/usr/bin:/bin", "LANG=C.UTF-8"}
	if int(c.uid) != os.Getuid() {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: c.uid, Gid: c.uid}}
	}
	return cmd
}

// run gives what argv printed on both streams, and how it ended.
func (c *cage) run(argv ...string) (string, error) {
	c.t.Helper()
	out, err := c.command(argv...).CombinedOutput()
	return string(out), err
}

// write puts a file into the directory, for the user of the cage.
func (c *cage) write(name, text string) {
	c.t.Helper()
	path := filepath.Join(c.dir, name)
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		c.t.Fatal(err)
	}
	if err := os.Chown(path, int(c.uid), -1); err != nil {
		c.t.Fatal(err)
	}
}

// users are those the tests of the kernel run as: root and an ordinary user, or just the ordinary one we are.
func users() []int {
	if os.Getuid() == 0 {
		return []int{0, ordinary}
	}
	return []int{os.Getuid()}
}

func filterOf(t testing.TB, mode profile.NetMode, groups ...profile.SyscallGroup) []byte {
	t.Helper()
	p, err := profile.New(profile.Spec{Network: profile.Network{Mode: mode}, Syscalls: groups})
	if err != nil {
		t.Fatal(err)
	}
	program, _, err := Compile(p, Native())
	if err != nil {
		t.Fatal(err)
	}
	return program
}

// attempts builds testdata/attempt.c and has it make the calls, under the filter.
func attempts(t *testing.T, filter []byte, uid int, lines []string) []string {
	t.Helper()
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
	cmd.Stdin = strings.NewReader(strings.Join(lines, "\n") + "\n")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("attempt: %v", err)
	}
	answers := strings.Split(strings.TrimSpace(string(out)), "\n")
	if len(answers) != len(lines) {
		t.Fatalf("%d answers to %d attempts:\n%s", len(answers), len(lines), out)
	}
	return answers
}

// Load refuses what is no program, and a thread that could still gain privileges.
func TestLoadRefuses(t *testing.T) {
	for name, program := range map[string][]byte{
		"empty": {}, "cut": make([]byte, 12), "too long": make([]byte, 8*(maxInstructions+1)),
	} {
		if err := seccomptest.Filter(program); err == nil {
			t.Errorf("%s: loaded", name)
		}
	}
	allow := binary.LittleEndian.AppendUint32([]byte{opReturn, 0, 0, 0}, retAllow)
	if set, _ := unix.PrctlRetInt(unix.PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0); set == 0 {
		if err := seccomptest.Filter(allow); err == nil || !strings.Contains(err.Error(), "no_new_privs") {
			t.Errorf("without no_new_privs: %v", err)
		}
	}
	c := newCage(t, bytes.Repeat([]byte{0xff}, 8), os.Getuid())
	if out, err := c.run("true"); err == nil || !strings.Contains(out, "stage: seccomp load") {
		t.Errorf("an invalid program: %v, %s", err, out)
	}
}
