package sandbox

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"sandboxd/sandbox/stage"
)

// pidMaxSince is the kernel from which on a pid namespace has a pid_max of its
// own (commit 7863dcc72d0f). Before, writing it would change the host's.
var pidMaxSince = [2]int{6, 14}

// reservedPids are numbers below which the kernel gives none out again
// (RESERVED_PIDS in include/linux/pid.h), so they count against pid_max.
const reservedPids = 300

// hasPidMax reports whether sandboxes can be given a pid_max: for root, which
// RLIMIT_NPROC does not bind, where no control group does it better.
func (h *Host) hasPidMax() bool {
	if h.cgroups != nil || os.Geteuid() != 0 {
		return false
	}
	var u unix.Utsname
	if unix.Uname(&u) != nil {
		return false
	}
	var major, minor int
	if _, err := fmt.Sscanf(unix.ByteSliceToString(u.Release[:]), "%d.%d", &major, &minor); err != nil {
		return false
	}
	return major > pidMaxSince[0] || major == pidMaxSince[0] && minor >= pidMaxSince[1]
}

// limitPids bounds the processes of the pid namespace whose first process init
// is a pidfd of. Only a process inside can write its pid_max, so the helper goes
// there for a moment, as root, outside of every other wall.
func (h *Host) limitPids(init, processes int) error {
	failed := make(chan error, 1)
	go func() {
		// Children of this thread are born in that namespace; the thread ends with the
		// goroutine, which never unlocks it.
		runtime.LockOSThread()
		if err := unix.Setns(init, unix.CLONE_NEWPID); err != nil {
			failed <- fmt.Errorf("enter the pid namespace: %w", err)
			return
		}
		cmd := exec.Command("/proc/self/fd/3", stage.PidsArg, strconv.Itoa(processes+ownTasks+reservedPids))
		cmd.Args[0] = "sandboxd-launch"
		cmd.Env, cmd.Dir = []string{}, "/"
		cmd.ExtraFiles = []*os.File{h.stage}
		out, err := cmd.CombinedOutput()
		if err != nil {
			err = fmt.Errorf("set pid_max: %w: %s", err, strings.TrimSpace(string(out)))
		}
		failed <- err
	}()
	return <-failed
}
