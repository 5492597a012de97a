package daemon

import (
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// passwdCommand prints a user's line of the password database, given the uid.
var passwdCommand = []string{"/usr/bin/getent", "passwd"}

// closeOnExec keeps descriptors that sbx inherited from reaching the daemon.
func closeOnExec() error {
	err := unix.CloseRange(3, ^uint(0)>>1, unix.CLOSE_RANGE_CLOEXEC)
	if err == unix.ENOSYS || err == unix.EINVAL { // before Linux 5.11
		return closeOnExecList("/proc/self/fd")
	}
	return err
}

// insideSandbox says how this process can tell that it is inside a sandbox; "" if it
// is in none.
func insideSandbox() string {
	if os.Getenv("SBX_SANDBOX") != "" {
		return "SBX_SANDBOX is set"
	}
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return ""
	}
	comm, err := os.ReadFile("/proc/1/comm")
	if err != nil {
		return ""
	}
	return inside(string(status), strings.TrimSpace(string(comm)))
}

// inside judges by this process's filters and the name of the first process of
// its pid namespace, which nobody inside can change.
func inside(status, first string) string {
	fields := map[string]string{}
	for line := range strings.SplitSeq(status, "\n") {
		if name, value, ok := strings.Cut(line, ":"); ok {
			fields[name] = strings.TrimSpace(value)
		}
	}
	filtered := fields["NoNewPrivs"] == "1" && fields["Seccomp"] == "2"
	// comm is cut to 15 bytes: proc_pid_comm(5).
	if filtered && slices.Contains([]string{"bwrap", "sandboxd-launch"}, first) {
		return "the first process here is " + first + ", and system calls are filtered"
	}
	return ""
}
