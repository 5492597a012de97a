package stage

import (
	"errors"
	"fmt"
	"runtime"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// FirstArg is the only argument of the helper that is the first process of a pid
// namespace. It stays that: it starts the command as its child, takes away what is
// orphaned, and says how the command ended. With it the kernel ends every other
// process of the sandbox (pid_namespaces(7)).
const FirstArg = "first"

// child is everything that the command's process does between clone(2) and
// execve(2), ready to be carried out by system calls alone: that process has one
// thread of the runtime's and must not come near the others' locks.
type child struct {
	path      *byte
	argv, env []*byte
	terminal  bool
	limits    []limit
	ready     unix.Msghdr // the report that all is in force
	hold      bool
	failed    int // pipe(2) on which a failure is told; execve closes it
}

type limit struct {
	resource int
	value    unix.Rlimit
}

// failure is what the command's process writes there.
type failure struct {
	step  Step
	errno syscall.Errno
}

// spawn starts the command and returns its pid once it executes. The listener goes out
// with the report that all is in force. own is how many threads stay beside the command.
func spawn(o *Order, path string, limits []limit, l listener, own int) (pid int, step Step, err error) {
	c := child{terminal: o.Terminal, limits: limits, hold: o.Hold}
	if c.path, err = unix.BytePtrFromString(path); err == nil {
		if c.argv, err = syscall.SlicePtrFromStrings(o.Argv); err == nil {
			c.env, err = syscall.SlicePtrFromStrings(o.Env)
		}
	}
	if err != nil {
		return 0, StepExec, fmt.Errorf("execute %q: %w", path, err)
	}
	report := Status{Step: StepReady}.encode()
	vec := unix.Iovec{Base: &report[0]}
	vec.SetLen(len(report))
	c.ready.Iov = &vec
	c.ready.SetIovlen(1)
	rights := l.rights()
	if len(rights) > 0 {
		c.ready.Control = &rights[0]
		c.ready.SetControllen(len(rights))
	}
	var pipe [2]int
	if err := unix.Pipe2(pipe[:], unix.O_CLOEXEC); err != nil {
		return 0, StepSession, fmt.Errorf("pipe: %w", err)
	}
	c.failed = pipe[1]
	pid, errno := c.start()
	runtime.KeepAlive(report)
	runtime.KeepAlive(rights)
	l.close()
	unix.Close(pipe[1])
	if errno != 0 {
		return 0, StepSession, fmt.Errorf("fork: %w", errno)
	}
	var f failure
	n, err := unix.Read(pipe[0], unsafe.Slice((*byte)(unsafe.Pointer(&f)), unsafe.Sizeof(f)))
	for err == unix.EINTR {
		n, err = unix.Read(pipe[0], unsafe.Slice((*byte)(unsafe.Pointer(&f)), unsafe.Sizeof(f)))
	}
	unix.Close(pipe[0])
	switch {
	case err != nil:
		return 0, StepExec, fmt.Errorf("wait for the command: %w", err)
	case n == 0: // execve closed it, or the child is dead, which wait4 tells
		for _, fd := range []int{0, 1, 2, FDStderr} { // they end with the command
			unix.Close(fd)
		}
		_, _ = unix.Write(FDStatus, Status{Step: StepStarted, Code: own}.encode()) // a daemon that is gone ends us otherwise
		return pid, StepNone, nil
	}
	return 0, f.step, f.err(path)
}

// settle makes this process what the first one of a namespace has to be. Nobody may
// look into it, as it holds the way to the daemon; the command's own image can be looked
// into again (prctl(2), PR_SET_DUMPABLE).
func settle() error {
	if unix.Getpid() != 1 {
		return errors.New("this is not the first process of a namespace")
	}
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("keep others out: %w", err)
	}
	name := []byte("sandboxd-launch\x00") // not the number of a descriptor (PR_SET_NAME)
	if err := unix.Prctl(unix.PR_SET_NAME, uintptr(unsafe.Pointer(&name[0])), 0, 0, 0); err != nil {
		return fmt.Errorf("take a name: %w", err)
	}
	return defaultSignals()
}

// threads counts those of this process, as setrlimit(2) with RLIMIT_NPROC does.
func threads() int {
	var st unix.Stat_t
	if unix.Stat("/proc/self/task", &st) != nil || st.Nlink < 3 {
		return 8 // about
	}
	return int(st.Nlink) - 2 // a directory for each (proc_pid_task(5))
}

// defaultSignals gives every signal its default action: for the first process of a
// namespace that is to ignore what comes from inside (pid_namespaces(7)), and
// what the command starts with. The runtime's own handlers are of use to nobody here.
func defaultSignals() error {
	var action struct { // struct kernel_sigaction, asm-generic/signal.h
		handler, flags, restorer uintptr
		mask                     uint64
	}
	for sig := 1; sig <= 64; sig++ {
		if sig == int(unix.SIGKILL) || sig == int(unix.SIGSTOP) {
			continue
		}
		if _, _, errno := unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(sig), uintptr(unsafe.Pointer(&action)), 0, unsafe.Sizeof(action.mask), 0, 0); errno != 0 {
			return fmt.Errorf("default action of signal %d: %w", sig, errno)
		}
	}
	return nil
}

// err says what failed where.
func (f failure) err(path string) error {
	switch f.step {
	case StepSession:
		return fmt.Errorf("session and terminal: %w", f.errno)
	case StepLimits:
		return fmt.Errorf("setrlimit: %w", f.errno)
	case StepReady:
		if f.errno == 0 {
			return errors.New("wait for leave to start: the daemon is gone")
		}
		return fmt.Errorf("report: %w", f.errno)
	}
	return fmt.Errorf("execute %q: %w", path, f.errno)
}

// vfork is clone(2) on the caller's stack. It returns twice, and only once the child
// has gone on to another program does the parent.
//
//go:noescape
func vfork(flags uintptr) (pid, errno uintptr)

// start makes the process, which borrows this one's memory until it executes
// something (CLONE_VFORK): nothing is copied, and nothing has to be taken apart at
// execve(2). What follows is in the child, on this thread's stack, while the thread
// itself stands still: nothing there may allocate, take a lock or grow the stack, and
// the parent returns at once.
//
//go:noinline
//go:norace
//go:nosplit
func (c *child) start() (pid int, errno syscall.Errno) {
	p, e := vfork(unix.CLONE_VM | unix.CLONE_VFORK | uintptr(unix.SIGCHLD))
	if e != 0 || p != 0 {
		return int(p), syscall.Errno(e)
	}
	f := failure{step: StepSession}
	_, _, f.errno = syscall.RawSyscall(unix.SYS_SETSID, 0, 0, 0)
	if f.errno == 0 && c.terminal {
		_, _, f.errno = syscall.RawSyscall(unix.SYS_IOCTL, 0, unix.TIOCSCTTY, 0)
	}
	if f.errno == 0 {
		f.step = StepLimits
		for i := range c.limits {
			if _, _, f.errno = syscall.RawSyscall6(unix.SYS_PRLIMIT64, 0, uintptr(c.limits[i].resource), uintptr(unsafe.Pointer(&c.limits[i].value)), 0, 0, 0); f.errno != 0 {
				break
			}
		}
	}
	if f.errno == 0 {
		f.step = StepReady
		_, _, f.errno = syscall.RawSyscall(unix.SYS_SENDMSG, FDStatus, uintptr(unsafe.Pointer(&c.ready)), 0)
	}
	if f.errno == 0 && c.hold {
		var word [1]byte
		var n uintptr
		for {
			n, _, f.errno = syscall.RawSyscall(unix.SYS_READ, FDStatus, uintptr(unsafe.Pointer(&word)), 1)
			if f.errno != unix.EINTR {
				break
			}
		}
		if f.errno == 0 && n == 0 { // the daemon is gone
			goto fail
		}
	}
	if f.errno == 0 {
		f.step = StepExec
		_, _, f.errno = syscall.RawSyscall(unix.SYS_EXECVE, uintptr(unsafe.Pointer(c.path)), uintptr(unsafe.Pointer(&c.argv[0])), uintptr(unsafe.Pointer(&c.env[0])))
	}
fail:
	syscall.RawSyscall(unix.SYS_WRITE, uintptr(c.failed), uintptr(unsafe.Pointer(&f)), unsafe.Sizeof(f))
	for {
		syscall.RawSyscall(unix.SYS_EXIT_GROUP, 125, 0, 0)
	}
}

// first goes on as the first process of the namespace, tells how the command ended
// and returns its exit status (128+n for signal n).
func first(pid int) int {
	var ws unix.WaitStatus
	for {
		p, err := unix.Wait4(-1, &ws, unix.WALL, nil)
		if p == pid {
			break
		}
		if err != nil && err != unix.EINTR {
			return 125
		}
	}
	e := End{Code: ws.ExitStatus(), Alone: reapAll()}
	if ws.Signaled() {
		e.Code = 128 + int(ws.Signal())
	}
	var used unix.Rusage
	if unix.Getrusage(unix.RUSAGE_CHILDREN, &used) == nil {
		e.CPU = used.Utime.Nano() + used.Stime.Nano()
	}
	_, _ = unix.Write(FDStatus, e.status().encode())
	if e.Alone { // else the others end with this process
		untilClosed(FDStatus)
	}
	return e.Code
}

// maxStay bounds how long the first process outlives its command.
const maxStay = time.Second

// untilClosed waits until the other end is closed: taking the namespace apart takes the
// processors from whoever waits for the command.
func untilClosed(fd int) {
	fds := []unix.PollFd{{Fd: int32(fd)}} // POLLHUP is told in any case (poll(2))
	for end := time.Now().Add(maxStay); time.Now().Before(end); {
		if n, err := unix.Poll(fds, int(maxStay.Milliseconds())); n > 0 || err != unix.EINTR {
			return
		}
	}
}

// reapAll takes away what has ended besides, and reports whether nothing is left.
func reapAll() bool {
	for {
		p, err := unix.Wait4(-1, nil, unix.WALL|unix.WNOHANG, nil)
		switch {
		case err == unix.EINTR:
		case err != nil:
			return err == unix.ECHILD
		case p == 0:
			return false
		}
	}
}
