//go:build unix

package external

import (
	"os/exec"
	"syscall"
)

// ownGroup puts the program into a process group of its own, and has all of
// the group killed when its time is up (setpgid(2), kill(2)).
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
