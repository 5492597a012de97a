package main

import (
	"fmt"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// notDumpable keeps other processes of the same user from tracing the one that
// answers for a person and putting a yes into its mouth (R-OP-06; prctl(2), PR_SET_DUMPABLE).
func notDumpable() error {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("become undumpable: %w", err)
	}
	return nil
}

// dieWithParent has the command killed when the thread that starts it ends (PR_SET_PDEATHSIG(2const)).
func dieWithParent(c *exec.Cmd) { c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
