package sandbox

import (
	"bytes"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"sandboxd/process"
)

// adoptOrphans makes this process the parent of the processes that a killed reaper leaves
// (prctl(2), PR_SET_CHILD_SUBREAPER).
func adoptOrphans() error { return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }

// orphanTimeout bounds how long the dead may take to be gone.
const orphanTimeout = 5 * time.Second

// endOrphans kills every process of a sandbox whose reaper is dead, and reaps
// them. They are the children of this process that are under more
// system call filters than it is: its own children have none.
func endOrphans() {
	own := filtersOf(os.Getpid())
	for deadline := time.Now().Add(orphanTimeout); time.Now().Before(deadline); {
		killed := kill(func() map[int]uint64 {
			children, starts := family()
			list := map[int]uint64{}
			for _, pid := range children[os.Getpid()] {
				if filtersOf(pid) > own {
					list[pid] = starts[pid]
					for p, start := range descendants(pid) {
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
				// ECHILD: another process's child, or not ours yet. The next scan decides.
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
	n, _ := strconv.Atoi(statusOf(pid, "Seccomp_filters"))
	return n
}

// statusOf is a field of /proc/PID/status (proc_pid_status(5)), "" when that is not
// to be had.
func statusOf(pid int, field string) string {
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

// kill stops every process that find returns until it finds no new one, and
// then kills all: a stopped process can't fork to escape it.
func kill(find func() map[int]uint64) (killed []int) {
	found := map[int]int{} // pid → pidfd
	for fresh := true; fresh; {
		fresh = false
		for pid, start := range find() {
			if _, known := found[pid]; known {
				continue
			}
			fd, err := unix.PidfdOpen(pid, 0)
			if err != nil {
				continue // gone
			}
			if s, err := process.ReadStat(pid); err != nil || s.Ended() || s.Start != start {
				unix.Close(fd) // the number is somebody else's by now
				continue
			}
			found[pid], fresh = fd, true
			unix.PidfdSendSignal(fd, unix.SIGSTOP, nil, 0)
		}
	}
	for pid, fd := range found {
		unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0)
		unix.Close(fd)
		killed = append(killed, pid)
	}
	return killed
}

// descendants returns the living processes below one, each with the time of its start.
func descendants(of int) map[int]uint64 {
	children, starts := family()
	list := map[int]uint64{}
	for queue := children[of]; len(queue) > 0; queue = queue[1:] {
		if _, seen := list[queue[0]]; !seen {
			list[queue[0]] = starts[queue[0]]
			queue = append(queue, children[queue[0]]...)
		}
	}
	return list
}

// family lists the children of every process, and when each living process
// started.
func family() (children map[int][]int, starts map[int]uint64) {
	children, starts = map[int][]int{}, map[int]uint64{}
	dir, err := os.Open("/proc")
	if err != nil {
		return children, starts
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if s, err := process.ReadStat(pid); err == nil && !s.Ended() {
			children[s.Parent] = append(children[s.Parent], pid)
			starts[pid] = s.Start
		}
	}
	return children, starts
}
