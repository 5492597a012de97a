package stage

import (
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"sandboxd/process"
)

// ReapArg is the only argument that the helper knows. With it the helper stays
// outside of the sandbox as the parent of a second one that goes inside, and
// sees to it that nothing outlives the command: what a pid namespace does
// where there is one.
const ReapArg = "reap"

// reap starts the stage, waits for the command, ends everything that it left
// behind, and returns its exit status (128+n for signal n). SIGTERM, which is
// also what the daemon's death sends, ends everything at once.
//
// Orphans below a subreaper become its children (prctl(2),
// PR_SET_CHILD_SUBREAPER), so every descendant is found by its parents.
func reap() int {
	runtime.LockOSThread()
	term := make(chan os.Signal, 1)
	signal.Notify(term, unix.SIGTERM)
	pid, err := startStage()
	if err != nil {
		s := Status{Step: StepSession, Code: 125, Message: err.Error()}
		_, _ = unix.Write(FDStatus, s.encode()) // the exit status still tells
		return 125
	}
	if err := release(); err != nil {
		killDescendants()
		return 125
	}
	ended := make(chan syscall.WaitStatus, 1)
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		for {
			var ws syscall.WaitStatus
			switch p, err := syscall.Wait4(-1, &ws, 0, nil); {
			case err == syscall.EINTR:
			case err != nil: // ECHILD: nobody is left
				return
			case p == pid:
				ended <- ws
			}
		}
	}()
	code := 128 + int(unix.SIGKILL)
	select {
	case ws := <-ended:
		code = ws.ExitStatus()
		if ws.Signaled() {
			code = 128 + int(ws.Signal())
		}
	case <-term:
	}
	for {
		select {
		case <-gone:
			return code
		case <-time.After(time.Millisecond):
			killDescendants()
		}
	}
}

func startStage() (pid int, err error) {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return 0, fmt.Errorf("become a subreaper: %w", err)
	}
	files := make([]uintptr, FDFree)
	for i := range files {
		files[i] = uintptr(i)
	}
	pid, err = syscall.ForkExec("/proc/self/fd/"+strconv.Itoa(FDStage), []string{"sandboxd-launch"},
		&syscall.ProcAttr{Dir: "/", Env: []string{}, Files: files, Sys: &syscall.SysProcAttr{Pdeathsig: unix.SIGKILL}})
	if err != nil {
		return 0, fmt.Errorf("start the stage: %w", err)
	}
	return pid, nil
}

// release gives up every descriptor that is the command's, so that its readers
// see its end, and lets no process of the user look into this one.
func release() error {
	null, err := unix.Open("/dev/null", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	for fd := range FDFree {
		if fd > 2 {
			unix.Close(fd)
		} else if err := unix.Dup3(null, fd, unix.O_CLOEXEC); err != nil {
			return err
		}
	}
	unix.Close(null)
	return unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
}

// killDescendants ends every process below this one.
func killDescendants() {
	kill(func() map[int]uint64 { return below([]int{os.Getpid()}) })
}

// kill stops every process that find returns until it finds no new one, and
// then kills all: what is stopped can't fork away from it.
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

// below returns the living processes below those above, each with the time of
// its start.
func below(above []int) map[int]uint64 {
	children, starts := family()
	list := map[int]uint64{}
	var queue []int
	for _, pid := range above {
		queue = append(queue, children[pid]...)
	}
	for ; len(queue) > 0; queue = queue[1:] {
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
