package stage

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"sandboxd/landlock/lsm"
	"sandboxd/seccomp/install"
)

// Descriptor numbers on which the helper finds what it inherits. 0 and 1 are
// the command's own; 2 carries the diagnostics of whoever starts the helper
// until the stage puts the command's standard error there.
const (
	FDArgs   = 3 // bwrap's --args, closed by bwrap
	FDOrder  = 4 // sealed memfd with the Order
	FDStage  = 5 // sealed memfd with the helper itself
	FDStatus = 6 // seqpacket socket to the daemon
	FDStderr = 7 // the command's standard error
	FDFree   = 8 // first number that is not assigned
)

// Seals that the order's memfd must carry (memfd_create(2), fcntl(2)).
const Seals = unix.F_SEAL_SEAL | unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_WRITE

// Run carries out the order on [FDOrder]. As the first process of a pid namespace
// ([FirstArg]) it starts the command and returns when that has ended; else the
// calling process becomes the command. On a failure it reports a [Status] on
// FDStatus and returns the exit status for the process: 127 when the command
// does not exist, 126 when it can't be executed, 125 for anything else.
//
// The caller must have locked the goroutine to the main thread before the
// runtime started others that matter: credentials, Landlock domains and
// seccomp filters belong to a thread, and execve(2) keeps those of the caller.
func Run() int {
	if len(os.Args) == 2 && os.Args[1] == ReapArg {
		return reap()
	}
	if len(os.Args) == 3 && os.Args[1] == PidsArg {
		return pids(os.Args[2])
	}
	runtime.LockOSThread()
	pid, step, err := run(len(os.Args) == 2 && os.Args[1] == FirstArg)
	switch {
	case err == nil && pid == 0:
		return 0 // a probe
	case err == nil:
		return first(pid)
	}
	code := 125
	if step == StepExec {
		code = 126
		if errors.Is(err, unix.ENOENT) {
			code = 127
		}
	}
	s := Status{Step: step, Code: code, Message: err.Error()}
	// Nobody is left to tell when this fails; the exit status still does.
	_, _ = unix.Write(FDStatus, s.encode())
	return code
}

// run is the straight line; it returns the step that failed and why. pid is that of
// the command where this process stays the first of its namespace.
func run(stay bool) (pid int, step Step, err error) {
	// Everything from 3 up goes at execve, whatever was inherited
	// (close_range(2), Linux 5.11).
	if err := unix.CloseRange(3, ^uint(0), unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return 0, StepDescriptors, fmt.Errorf("close_range: %w", err)
	}
	if stay {
		if err := settle(); err != nil {
			return 0, StepFirst, err
		}
	}
	o, err := readOrder(FDOrder)
	early := false
	if err == nil && o.Await {
		var listener listener
		if early = o.Early; early {
			if listener, step, err = enforce(o); err != nil {
				return 0, step, err
			}
		}
		o, err = receive(listener)
	}
	if err == nil && o.Early != early {
		err = errors.New("the order counts on layers that are not in force")
	}
	if err != nil {
		return 0, StepOrder, err
	}
	if err := unix.Dup3(FDStderr, 2, 0); err != nil {
		return 0, StepDescriptors, fmt.Errorf("dup3 standard error: %w", err)
	}
	if !stay {
		if err := startSession(o.Terminal); err != nil {
			return 0, StepSession, err
		}
	}
	unix.Umask(int(o.Umask))
	if err := unix.Chdir(o.Dir); err != nil {
		return 0, StepDir, fmt.Errorf("chdir %q: %w", o.Dir, err)
	}
	if len(o.Doors)+o.Callers > 0 {
		if err := openDoors(o.Doors, o.Callers); err != nil {
			return 0, StepNetwork, err
		}
	}
	path, err := lookPath(o)
	if err != nil && !o.Probe {
		return 0, StepExec, err
	}
	own := 0
	if stay {
		own = threads()
	}
	limits, err := limitsOf(o, own)
	if err != nil {
		return 0, StepLimits, err
	}
	if !stay {
		for _, l := range limits {
			// syscall, not unix: the runtime then knows that it must not put its
			// own idea of RLIMIT_NOFILE back at execve.
			if err := syscall.Setrlimit(l.resource, &syscall.Rlimit{Cur: l.value.Cur, Max: l.value.Max}); err != nil {
				return 0, StepLimits, fmt.Errorf("setrlimit %d to %d: %w", l.resource, l.value.Cur, err)
			}
		}
	}
	var listener listener
	if !early {
		if listener, step, err = enforce(o); err != nil {
			return 0, step, err
		}
	}
	if stay && !o.Probe {
		return spawn(o, path, limits, listener, own)
	}
	if err := unix.Sendmsg(FDStatus, Status{Step: StepReady}.encode(), listener.rights(), nil, 0); err != nil {
		return 0, StepReady, fmt.Errorf("report: %w", err)
	}
	if o.Probe {
		return 0, StepReady, nil
	}
	err = syscall.Exec(path, o.Argv, o.Env)
	return 0, StepExec, fmt.Errorf("execute %q: %w", path, err)
}

// limitsOf are the order's limits as far as this process may have them: a tighter one
// that the daemon itself has can't be raised, and holds. own threads stay beside the
// command, and count as processes of its user namespace.
func limitsOf(o *Order, own int) ([]limit, error) {
	var list []limit
	for _, l := range o.Limits {
		value := unix.Rlimit{Cur: l.Value, Max: l.Value}
		switch l.Resource {
		case unix.RLIMIT_CPU:
			// With both alike the kernel kills without the SIGXCPU that tells why.
			value.Max++
		case unix.RLIMIT_NPROC:
			value.Cur += uint64(own)
			value.Max += uint64(own)
		}
		var inherited unix.Rlimit
		if err := unix.Getrlimit(int(l.Resource), &inherited); err != nil {
			return nil, fmt.Errorf("getrlimit %d: %w", l.Resource, err)
		}
		value.Max = min(value.Max, inherited.Max)
		value.Cur = min(value.Cur, value.Max)
		list = append(list, limit{int(l.Resource), value})
	}
	return list, nil
}

// listener is that of the system call filter, a descriptor; 0 for none. The daemon
// alone may have it: while anyone does, a call that is told waits for an answer.
type listener int

func (l listener) rights() []byte {
	if l == 0 {
		return nil
	}
	return unix.UnixRights(int(l))
}

func (l listener) close() {
	if l != 0 {
		unix.Close(int(l))
	}
}

// enforce puts into force what the command cannot take back: no new privileges,
// Landlock and the system call filter.
func enforce(o *Order) (l listener, step Step, err error) {
	if err := checkNoCapabilities(); err != nil {
		return 0, StepPrivileges, err
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return 0, StepPrivileges, fmt.Errorf("no_new_privs: %w", err)
	}
	for i, encoded := range o.Landlock {
		var r lsm.Ruleset
		if err := r.UnmarshalBinary(encoded); err != nil {
			return 0, StepLandlock, fmt.Errorf("layer %d: %w", i+1, err)
		}
		if err := r.Restrict(); err != nil {
			return 0, StepLandlock, fmt.Errorf("layer %d: %w", i+1, err)
		}
	}
	switch {
	case len(o.Seccomp) == 0:
	case o.Tells:
		fd, err := install.Listening(o.Seccomp)
		if err != nil {
			return 0, StepListener, err
		}
		return listener(fd), StepNone, nil
	default:
		if err := install.Filter(o.Seccomp); err != nil {
			return 0, StepSeccomp, err
		}
	}
	return 0, StepNone, nil
}

// readOrder reads and decodes the order and refuses one that could still be
// changed by whoever else holds the memfd.
func readOrder(fd int) (*Order, error) {
	seals, err := unix.FcntlInt(uintptr(fd), unix.F_GET_SEALS, 0)
	if err != nil {
		return nil, fmt.Errorf("read seals: %w", err)
	}
	if seals&Seals != Seals {
		return nil, fmt.Errorf("the order's memfd is not sealed (%#x)", seals)
	}
	f := os.NewFile(uintptr(fd), "order")
	data, err := io.ReadAll(io.NewSectionReader(f, 0, maxOrder+1))
	if err != nil {
		return nil, fmt.Errorf("read order: %w", err)
	}
	o := new(Order)
	if err := o.UnmarshalBinary(data); err != nil {
		return nil, err
	}
	if o.Await {
		return o, nil
	}
	return o, o.check()
}

// check refuses an order by which nothing can be started.
func (o *Order) check() error {
	switch {
	case o.Await:
		return errors.New("decode order: it says to wait once more")
	case len(o.Argv) == 0:
		return errors.New("decode order: no command")
	case o.Dir == "":
		return errors.New("decode order: no working directory")
	}
	return nil
}

// startSession makes the command the leader of a session of its own, so that
// no terminal of the daemon or of the approver is within its reach.
func startSession(terminal bool) error {
	if _, err := unix.Setsid(); err != nil && !leadsSession() {
		return fmt.Errorf("setsid: %w", err)
	}
	if !terminal {
		return nil
	}
	if err := unix.IoctlSetInt(0, unix.TIOCSCTTY, 0); err != nil {
		return fmt.Errorf("make descriptor 0 the controlling terminal: %w", err)
	}
	return nil
}

func leadsSession() bool {
	sid, err := unix.Getsid(0)
	return err == nil && sid == unix.Getpid()
}

// checkNoCapabilities refuses to go on with any capability in a set that
// execve(2) could turn into power (capabilities(7)).
func checkNoCapabilities() error {
	hdr := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&hdr, &data[0]); err != nil {
		return fmt.Errorf("capget: %w", err)
	}
	for _, d := range data {
		if d.Effective|d.Permitted|d.Inheritable != 0 {
			return errors.New("capabilities are left that should have been dropped")
		}
	}
	return nil
}

// lookPath resolves the file to execute as execvp(3) would, in the
// environment of the order.
func lookPath(o *Order) (string, error) {
	name := o.Path
	if name == "" {
		name = o.Argv[0]
	}
	if strings.Contains(name, "/") {
		return name, executable(name)
	}
	if name == "" {
		return "", fmt.Errorf("execute %q: %w", name, unix.ENOENT)
	}
	failure := error(unix.ENOENT)
	for _, dir := range strings.Split(pathOf(o.Env), ":") {
		// An empty element means the current directory in POSIX; a command
		// found there by accident is a classic trap, so it is passed over.
		if !strings.HasPrefix(dir, "/") {
			continue
		}
		path := dir + "/" + name
		err := executable(path)
		if err == nil {
			return path, nil
		}
		if errors.Is(err, unix.EACCES) {
			failure = unix.EACCES
		}
	}
	return "", fmt.Errorf("execute %q: %w", name, failure)
}

func executable(path string) error {
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		return fmt.Errorf("execute %q: %w", path, err)
	}
	if st.Mode&unix.S_IFMT == unix.S_IFDIR {
		return fmt.Errorf("execute %q: is a directory: %w", path, unix.EACCES)
	}
	if err := unix.Access(path, unix.X_OK); err != nil {
		return fmt.Errorf("execute %q: %w", path, err)
	}
	return nil
}

func pathOf(env []string) string {
	for _, kv := range env {
		if v, ok := strings.CutPrefix(kv, "PATH="); ok {
			return v
		}
	}
	return ""
}
