package stage

import (
	"bytes"
	"errors"
	"fmt"
	"os"
)

// PidsArg is the argument with which the helper only writes the number that
// follows into the pid_max of the pid namespace that it was started in.
const PidsArg = "pids"

const pidMaxFile = "/proc/sys/kernel/pid_max"

// pids says what went wrong on standard error.
func pids(max string) int {
	err := checkPidNamespace()
	if err == nil {
		err = os.WriteFile(pidMaxFile, []byte(max), 0)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 125
	}
	return 0
}

// checkPidNamespace makes sure that it is not the host's pid_max: this process
// has a number in /proc's namespace and one in another, whose pid_max is as the
// kernel made it (PID_MAX_LIMIT in include/linux/threads.h).
func checkPidNamespace() error {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return err
	}
	_, rest, _ := bytes.Cut(status, []byte("\nNSpid:"))
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	if len(bytes.Fields(line)) < 2 {
		return errors.New("this is no pid namespace of a sandbox")
	}
	now, err := os.ReadFile(pidMaxFile)
	if err == nil && string(bytes.TrimSpace(now)) != "4194304" {
		err = fmt.Errorf("pid_max is %s, not what a new namespace has", bytes.TrimSpace(now))
	}
	return err
}
