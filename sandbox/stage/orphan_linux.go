package stage

import (
	"bytes"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// AdoptOrphans has this process become the parent of what a reaper leaves
// behind that is killed (prctl(2), PR_SET_CHILD_SUBREAPER).
func AdoptOrphans() error { return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }

// orphanTimeout bounds how long the dead may take to be gone.
const orphanTimeout = 5 * time.Second

// EndOrphans kills every process of a sandbox whose reaper is dead, and takes
// the dead away. They are the children of this process that are under more
// system call filters than it is: what it starts itself has none.
func EndOrphans() {
	own := filtersOf(os.Getpid())
	for deadline := time.Now().Add(orphanTimeout); time.Now().Before(deadline); {
		killed := kill(func() map[int]uint64 {
			children, starts := family()
			list := map[int]uint64{}
			for _, pid := range children[os.Getpid()] {
				if filtersOf(pid) > own {
					list[pid] = starts[pid]
					for p, start := range below([]int{pid}) {
						list[p] = start
					}
				}
			}
			return list
		})
		if len(killed) == 0 {
			return
		}
		for _, pid := range killed {
			for time.Now().Before(deadline) {
				// ECHILD: somebody else's, or not ours yet. The next look tells.
				if got, err := unix.Wait4(pid, nil, unix.WNOHANG, nil); got == pid || err == unix.ECHILD {
					break
				}
				time.Sleep(time.Millisecond)
			}
		}
	}
}

// filtersOf is Seccomp_filters of /proc/PID/status (Linux 5.9), 0 when that is
// not to be had.
func filtersOf(pid int) int {
	n, _ := strconv.Atoi(StatusOf(pid, "Seccomp_filters"))
	return n
}

// StatusOf is a field of /proc/PID/status (proc_pid_status(5)), "" when that is not
// to be had.
func StatusOf(pid int, field string) string {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		return ""
	}
	for line := range bytes.Lines(b) {
		if rest, ok := bytes.CutPrefix(line, []byte(field+":")); ok {
			return string(bytes.TrimSpace(rest))
		}
	}
	return ""
}
