package sandbox

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"testing"
)

// stageVariable names the sandboxd-launch of a test binary that runs as another user.
const stageVariable = "SANDBOX_TEST_STAGE"

// ordinary is the ordinary user of root's tests, and needs no name.
const ordinary = 54321

// The tests of this package hold for an ordinary user, as whom the test binary runs again, except the one that makes a
// control group. The lines that tell what passed, failed or was skipped are part of the output. R-OS-07, R-OP-03
func TestAsAnOrdinaryUser(t *testing.T) {
	if os.Geteuid() != 0 {
		return // they are this process's
	}
	home, err := os.MkdirTemp("/var/lib", "sandbox-user-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(home)
	if err := os.Chown(home, ordinary, ordinary); err != nil {
		t.Fatal(err)
	}
	runtime.LockOSThread() // the signal on our death is one on the thread's
	defer runtime.UnlockOSThread()
	cmd := exec.Command("/proc/self/exe", "-test.v="+fmt.Sprint(testing.Verbose()), "-test.short="+
		fmt.Sprint(testing.Short()), "-test.skip=^Test(SandboxIsBornInItsGroup|AsAnOrdinaryUser)$")
	cmd.Env = append(os.Environ(), "HOME="+home, "TMPDIR="+home, stageVariable+"="+testStage)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: ordinary, Gid: ordinary},
		Pdeathsig: syscall.SIGKILL}
	if err := cmd.Run(); err != nil {
		t.Error(err)
	}
}
