package sandbox

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"sandboxd/sandbox/stage"
)

// endStuck ends sandboxes of this user's earlier daemons that never came up and can't
// end by themselves: the first process that bwrap makes waits on an eventfd(2) for
// bwrap's word. If bwrap is killed before that, it waits without end, since it has the
// other end of the descriptor, too. Nothing of a command has run there.
func endStuck() {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || !stuck(pid) {
			continue
		}
		fd, err := unix.PidfdOpen(pid, 0)
		if err != nil {
			continue
		}
		if stuck(pid) { // still the one that the pidfd is of
			unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0)
		}
		unix.Close(fd)
	}
}

// stuck reports a bwrap that is the first process of a pid namespace, holds our
// helper, and whose parent is no longer a bwrap.
func stuck(pid int) bool {
	proc := fmt.Sprintf("/proc/%d/", pid)
	var st unix.Stat_t
	if unix.Stat(proc, &st) != nil || int(st.Uid) != os.Geteuid() && int(st.Uid) != 0 { // root's, where it is not dumpable
		return false
	}
	if program, err := os.Readlink(proc + "fd/" + strconv.Itoa(stage.FDStage)); err != nil ||
		!strings.HasPrefix(program, "/memfd:sandboxd-launch") {
		return false
	}
	numbers := strings.Fields(statusOf(pid, "NSpid"))
	parent, err := strconv.Atoi(statusOf(pid, "PPid"))
	return err == nil && parent > 0 && len(numbers) > 1 && numbers[len(numbers)-1] == "1" &&
		statusOf(pid, "Name") == "bwrap" && statusOf(parent, "Name") != "bwrap"
}
