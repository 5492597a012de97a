package sandbox

import (
	"errors"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"sandboxd/profile"
	"sandboxd/seccomp"
)

// Process is one command running in its sandbox.
type Process struct {
	cmd       *exec.Cmd // nil: the launch server is the parent
	server    *net.UnixConn
	warm      bool // its sandbox waited for it
	namespace bool // it has a pid namespace
	reaper    bool // the helper holds it together instead
	leader    int  // the command itself, as this process's namespace numbers it
	first     int  // the process above all others of the sandbox: the namespace's first, or the reaper
	own       int  // processes that the kernel's limit counts besides the command's
	limits    profile.Limits
	host      *Host
	cgroup    *cgroup
	sockets   Sockets
	shared    map[string]string // directories of its place that it has as private ones
	place     *Place            // whose directories these are
	emptied   int64             // exceeded of the place, when it started
	written   []writtenLayer    // its layers
	root      *os.File          // of the sandbox, until watch has returned; nil: /proc has it
	status    *net.UnixConn     // to the namespace's first process; nil: there is none
	listener  *seccomp.Listener // nil: the filter has none
	refusals  refusals
	unkept    unkept

	stays bool          // processes that the command leaves continue
	left  chan struct{} // closed when the command has ended and others of its processes have not
	end   Exit          // of the command; valid once left is closed
	done  chan struct{}
	exit  Exit // valid once done is closed

	mu     sync.Mutex
	init   int      // pidfd of the namespace's first process, 0 after its end
	mounts *os.File // its mount namespace; nil: it is not held
	exited bool
	ending EndCause
}

// Pid is the command's process id as seen from the daemon.
func (p *Process) Pid() int { return p.leader }

// First is the process id, as seen from the daemon, of the process above all
// others of the sandbox.
func (p *Process) First() int { return p.first }

// Warm reports whether the sandbox was built before it was requested.
func (p *Process) Warm() bool { return p.warm }

// Done is closed when the command and every process it left behind are gone.
func (p *Process) Done() <-chan struct{} { return p.done }

// Left is closed when the command of a plan in a place has ended and processes that it left continue; not where
// it was ended. Ended is the command's end then. The sandbox ends with the last of them, or by End.
func (p *Process) Left() <-chan struct{} { return p.left }

// Ended is the command's end; valid once Left is closed.
func (p *Process) Ended() Exit { return p.end }

// Wait blocks until Done and returns how it ended.
func (p *Process) Wait() Exit {
	<-p.done
	return p.exit
}

// Signal sends sig to the command's process group. A command that has ended
// is no error.
func (p *Process) Signal(sig syscall.Signal) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.exited || p.leader <= 1 {
		return nil
	}
	err := unix.Kill(-p.leader, sig)
	if errors.Is(err, unix.ESRCH) {
		return nil
	}
	return err
}

// End asks the command to end with SIGTERM, waits for grace, and then kills
// the whole tree, stopped, daemonised and double-forked processes included. It
// returns at once; Done is closed at the end. The first cause is kept.
func (p *Process) End(cause EndCause, grace time.Duration) {
	p.mu.Lock()
	first := p.ending == ""
	if first {
		p.ending = cause
	}
	p.mu.Unlock()
	if !first && grace > 0 {
		return
	}
	if grace > 0 {
		p.Signal(syscall.SIGTERM)
		// A stopped process gets its SIGTERM only when it continues.
		p.Signal(syscall.SIGCONT)
	}
	timer := time.AfterFunc(grace, p.killTree)
	go func() {
		<-p.done
		timer.Stop()
	}()
}

// killTree kills without asking. With a pid namespace its first process takes
// all others along; the kernel reaps them before bwrap sees the end.
func (p *Process) killTree() {
	if p.namespace {
		p.killInit()
		if p.cmd != nil { // bwrap's monitor is killed, too, in case it hangs
			time.AfterFunc(2*time.Second, func() { p.cmd.Process.Kill() })
		}
		return
	}
	if p.cmd == nil { // the end of its socket ends it
		return
	}
	if !p.reaper { // a bwrap that has not come as far as its namespace
		unix.Kill(-p.cmd.Process.Pid, unix.SIGKILL)
		p.cmd.Process.Kill()
		return
	}
	p.cmd.Process.Signal(unix.SIGTERM) // it kills the rest
	time.AfterFunc(reapTimeout, func() {
		p.Signal(unix.SIGKILL)
		p.cmd.Process.Kill()
	})
}

// killInit kills the namespace's first process, if it is still there.
func (p *Process) killInit() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.init > 0 {
		unix.PidfdSendSignal(p.init, unix.SIGKILL, nil, 0)
	}
}

// reapTimeout is how long the reaper has to end a tree.
const reapTimeout = 10 * time.Second

// reap waits for the end and fills in exit.
func (p *Process) reap() {
	started := time.Now()
	e, reported := p.reported()
	lost := false
	if !reported && p.cmd == nil {
		p.await()
		if p.status != nil { // else a probe, which is ready and ended
			e = exitWith(128 + int(syscall.SIGKILL)) // nothing else ends a first process before it reports
			lost = ended(p.server)
		}
	} else if reported && p.server != nil {
		lost = p.continued() && ended(p.server)
	} else if !reported {
		e = exitOf(p.await())
		if p.status != nil && e.Signal == 0 {
			e.Code = 125 // nobody killed the first process: that status is not the command's
		}
	}
	e.Wall = time.Since(started)
	p.mu.Lock()
	p.exited = true
	if e.Cause = p.ending; e.Cause == "" && lost {
		e.Cause = EndServer
	}
	p.mu.Unlock()
	if p.cgroup != nil {
		if e.Cause == "" && p.cgroup.ranOut() {
			e.Cause = EndMemory
		}
		// A refused fork may have been retried with success; it still is the
		// cause of a failure.
		if e.Cause == "" && e.Code != 0 && p.cgroup.refusedForks() > 0 {
			e.Cause = EndProcesses
		}
	}
	if e.Cause == "" && e.Signal == syscall.SIGXCPU {
		e.Cause = EndCPU
	}
	if e.Cause == "" && e.Signal == syscall.SIGXFSZ {
		e.Cause = EndFileSize
	}
	p.exit = e
	p.host.work.Add(1) // the host is not closed before
	close(p.done)
	runtime.Gosched() // to the waiter
	time.Sleep(tidyDelay)
	p.tidy(reported)
	p.host.work.Done()
}

// continued reports whether processes that the command left continued.
func (p *Process) continued() bool {
	select {
	case <-p.left:
		return true
	default:
		return false
	}
}

// tidyDelay is how long the waiters for the end have the processors before the
// process's remains are removed.
const tidyDelay = time.Millisecond

// tidy releases the process's remains, after its end was reported.
func (p *Process) tidy(reported bool) {
	if p.status != nil {
		p.status.Close()
	}
	if reported { // else bwrap and the namespace's first process have been waited for
		p.await()
	}
	p.dropMounts()
	p.stopListening()
	if p.cgroup != nil {
		p.cgroup.remove()
	}
}

// reported waits for the word of the namespace's first process that the command has
// ended, and, where that left anything behind, until the kernel has ended it. ok is
// false where that process did not come to say it.
func (p *Process) reported() (e Exit, ok bool) {
	if p.status == nil {
		return e, false
	}
	m, err := readStatus(p.status)
	if err != nil {
		return e, false
	}
	end, err := m.End()
	if err != nil {
		return e, false
	}
	e = exitWith(end.Code)
	e.CPU = end.CPU
	if !end.Alone {
		p.leave(e)
		p.awaitInit()
	}
	return e, true
}

// leave has the processes that the command left continue, where the plan says so, and returns after the last of them.
// Otherwise they end now: also where a signal ended the command.
func (p *Process) leave(e Exit) {
	p.mu.Lock()
	stays := p.stays && p.ending == "" && e.Signal == 0
	p.mu.Unlock()
	if !stays {
		p.status.Close() // the namespace's first process ends, and all others with it
		return
	}
	p.mu.Lock()
	p.exited = true // its number may be another's
	p.mu.Unlock()
	p.end = e
	close(p.left)
	if p.cmd == nil {
		p.untilInitEnds()
		return
	}
	untilWaitable(p.cmd.Process.Pid)
	p.cmd.Wait()
}

// exitOf is the end as bwrap, or the reaper, had it.
func exitOf(state processState) Exit {
	if state == nil {
		return Exit{Code: 125}
	}
	code := state.ExitCode()
	if ws, ok := state.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		code = 128 + int(ws.Signal())
	}
	e := exitWith(code)
	e.CPU = state.UserTime() + state.SystemTime()
	return e
}

// exitWith is an end with this status, 128+n for signal n as in every shell.
func exitWith(code int) Exit {
	e := Exit{Code: code}
	if code > 128 && code <= 128+64 {
		e.Signal = syscall.Signal(code - 128)
	}
	return e
}

// keepMounts holds the mount namespace of the sandbox: with its last process the kernel
// would remove it, mount by mount, before it reported that process's end.
func (p *Process) keepMounts(init int) {
	path := "/proc/" + strconv.Itoa(init) + "/ns/mnt"
	if fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0); err == nil {
		p.mounts = os.NewFile(uintptr(fd), path)
	}
}

// rootPath is a path to the sandbox's root, by a process in it where the first one has not handed it
// out: the kernel shows that of a process that has not executed a program since its user namespace
// was made to root only (ptrace(2), PTRACE_MODE_READ).
func (p *Process) rootPath(pid int) string {
	if p.root != nil {
		return "/proc/self/fd/" + strconv.Itoa(int(p.root.Fd()))
	}
	return "/proc/" + strconv.Itoa(pid) + "/root"
}

// dropMounts lets the kernel take it apart, after the last process.
func (p *Process) dropMounts() {
	p.mounts.Close() // an error for none
	p.mounts = nil
}

// stopListening ends the listener. With the last process it ends by itself.
func (p *Process) stopListening() {
	if p.listener != nil {
		p.listener.Close()
	}
}

// untilWaitable waits until a child can be waited for at once, without a thread
// for each that runs, which Go would keep: a pidfd becomes readable then
// (pidfd_open(2)). Where that is not to be had it returns at once.
func untilWaitable(pid int) {
	fd, err := unix.PidfdOpen(pid, unix.PIDFD_NONBLOCK) // Linux 5.10
	if err != nil {
		return
	}
	untilEnds(fd)
}

// untilInitEnds waits for the end of the namespace's first process.
func (p *Process) untilInitEnds() {
	p.mu.Lock()
	fd, err := unix.FcntlInt(uintptr(p.init), unix.F_DUPFD_CLOEXEC, 0)
	p.mu.Unlock()
	if err == nil && unix.SetNonblock(fd, true) == nil {
		untilEnds(fd)
	}
}

// untilEnds waits for the end of a pidfd's process, and closes the pidfd.
func untilEnds(fd int) {
	f := os.NewFile(uintptr(fd), "pidfd")
	defer f.Close()
	c, err := f.SyscallConn()
	if err != nil {
		return
	}
	c.Read(func(fd uintptr) bool {
		fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		n, err := unix.Poll(fds, 0)
		return n > 0 || err != nil && err != unix.EINTR
	})
}

// await waits for bwrap and then for the last process of the namespace:
// bwrap's monitor may leave a moment before them.
func (p *Process) await() processState {
	if p.cmd != nil {
		untilWaitable(p.cmd.Process.Pid)
		p.cmd.Wait()
	}
	if p.reaper {
		endOrphans() // none are left, unless the reaper was killed
	}
	p.killInit()
	p.awaitInit()
	p.mu.Lock()
	if p.init > 0 {
		unix.Close(p.init)
		p.init = 0
	}
	p.mu.Unlock()
	if p.cmd == nil {
		return nil
	}
	return p.cmd.ProcessState
}

// awaitInit waits for the end of the namespace's first process, which is the last of all.
func (p *Process) awaitInit() {
	if p.init <= 0 {
		return
	}
	fds := []unix.PollFd{{Fd: int32(p.init), Events: unix.POLLIN}}
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); {
		if n, err := unix.Poll(fds, 1000); n > 0 || (err != nil && !errors.Is(err, unix.EINTR)) {
			return
		}
	}
}
