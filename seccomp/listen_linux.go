package seccomp

import (
	"errors"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Call is one system call that a listener received, while its thread waits.
type Call struct {
	Thread int // its id as this process sees it
	Name   string
	Args   [6]uint64 // as the kernel read them; the targets of pointers may change
	Answer Answer    // the answer to the call; Allow: the kernel continues it
	Why    string    // the reason of the rule that refuses
	Lent   bool      // the kernel never continues it; Allow: whoever saw it has made the call himself

	id       uint64
	listener *Listener
}

// Waits reports whether the thread still waits for its answer. Facts about the process by its id
// count only if this is true afterwards: ids are used again (seccomp_unotify(2)).
func (c *Call) Waits() bool {
	return c.listener.ioctl(unix.SECCOMP_IOCTL_NOTIF_ID_VALID, unsafe.Pointer(&c.id)) == nil
}

// Memory reads from the memory of the process at addr into buf and returns how much there was. It may have changed
// by the time the kernel looks, so nothing may be decided by it.
func (c *Call) Memory(addr uint64, buf []byte) (int, error) {
	if addr == 0 || len(buf) == 0 {
		return 0, unix.EFAULT
	}
	// Page by page: nothing is read across the end of a mapping (process_vm_readv(2)).
	first := min(len(buf), pageSize-int(addr%pageSize))
	remote := []unix.RemoteIovec{{Base: uintptr(addr), Len: first}}
	for n := first; n < len(buf); n += pageSize {
		remote = append(remote, unix.RemoteIovec{Base: uintptr(addr) + uintptr(n), Len: min(pageSize, len(buf)-n)})
	}
	local := []unix.Iovec{{Base: &buf[0], Len: uint64(len(buf))}}
	n, err := unix.ProcessVMReadv(c.Thread, local, remote, 0)
	if err != nil {
		return 0, err
	}
	if !c.Waits() {
		return 0, unix.ESRCH
	}
	return n, nil
}

const pageSize = 4096

// Listener answers the calls that a telling filter sends. See [Policy.Telling].
type Listener struct {
	file   *os.File
	fd     int // the file's
	policy Policy
	names  map[int32]string
	thread atomic.Int32 // that serves, once it does
	closed atomic.Bool
	done   chan struct{}
}

// NewListener takes the descriptor that install.Listening returned where p was installed, and owns it from then on:
// Serve
// must be called.
func NewListener(f *os.File, p Policy) *Listener {
	// Wake the waiting thread on our processor; an older kernel (before 6.6) does without.
	_, _, _ = unix.Syscall(unix.SYS_IOCTL, f.Fd(), setFlags, unix.SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP)
	return &Listener{file: f, fd: int(f.Fd()), policy: p, names: callNames[p.arch](), done: make(chan struct{})}
}

// setFlags is SECCOMP_IOCTL_NOTIF_SET_FLAGS of include/uapi/linux/seccomp.h; its argument is a value.
const setFlags = 0x40082104

// notification is struct seccomp_notif, response struct seccomp_notif_resp of include/uapi/linux/seccomp.h.
type notification struct {
	id         uint64
	pid, flags uint32
	number     int32
	arch       uint32
	ip         uint64
	args       [6]uint64
}

type response struct {
	id    uint64
	value int64
	err   int32
	flags uint32
}

// A process can make refused calls as fast as it likes. Beyond this many in this time its calls wait a little, so that
// no sandbox takes a whole processor from us.
const (
	paceCalls = 256
	paceTime  = 4 * time.Millisecond
)

// keptThreads is how many threads of listeners are kept for later ones; a
// crowd's are given back.
const keptThreads = 8

var serving atomic.Int32

// Serve answers every call until the last process under the filter has ended, or Close. see gets
// each before its answer, which it may change; it may not block. What continues follows from the call's number and
// arguments as the kernel read them, never from the targets of pointers, and only calls of watchedCalls can ever
// continue.
//
// It waits on a thread of its own, and needs a goroutine that ends with it: a received call costs
// its program two changes of threads, and a way through the runtime's poller would double that.
func (l *Listener) Serve(see func(*Call)) {
	runtime.LockOSThread()
	if serving.Add(1) <= keptThreads {
		defer runtime.UnlockOSThread()
	} // else the thread ends with the goroutine
	defer serving.Add(-1)
	l.thread.Store(int32(unix.Gettid()))
	defer close(l.done)
	defer l.file.Close()
	start, n := time.Now(), 0
	for {
		note, err := l.receive()
		if err != nil {
			return
		}
		c := &Call{Thread: int(note.pid), Name: l.names[note.number], Args: note.args, Answer: ENOSYS, id: note.id,
			listener: l}
		if note.arch == l.policy.arch.token() {
			c.decide(l.policy)
		}
		see(c)
		l.answer(c)
		if n++; n == paceCalls {
			if rest := paceTime - time.Since(start); rest > 0 {
				time.Sleep(rest)
			}
			start, n = time.Now(), 0
		}
	}
}

// callNames and watch are a listener's tables.
var (
	callNames = map[Arch]func() map[int32]string{AMD64: sync.OnceValue(AMD64.names), ARM64: sync.OnceValue(ARM64.names)}
	watch     = sync.OnceValue(func() map[string]bool {
		set := map[string]bool{}
		for _, name := range watchedCalls() {
			set[name] = true
		}
		return set
	})
)

// decide sets the answer of a policy whose filter sent the call.
func (c *Call) decide(p Policy) {
	r := p.decides(c.Name, c.Args)
	switch {
	case r.Answer > Allow:
		c.Answer, c.Why, c.Lent = r.Answer, r.Why, r.Lent
	case watch()[c.Name]:
		c.Answer = Allow
	} // else the filter would not have sent it
}

// errOver is returned when no process is left under the filter.
var errOver = errors.New("no process is left")

// receive waits for the next call.
func (l *Listener) receive() (notification, error) {
	for !l.closed.Load() {
		// Receiving itself would never return after the last process has ended (before Linux 6.11).
		// A killed caller's call may have vanished by then; then receiving waits for the next one,
		// or for Close.
		events := []unix.PollFd{{Fd: int32(l.fd), Events: unix.POLLIN}}
		if _, err := unix.Poll(events, -1); err != nil {
			continue // EINTR
		}
		if events[0].Revents&unix.POLLIN == 0 {
			return notification{}, errOver // POLLHUP
		}
		var note notification
		switch err := l.ioctl(unix.SECCOMP_IOCTL_NOTIF_RECV, unsafe.Pointer(&note)); {
		case err == nil:
			return note, nil
		case !errors.Is(err, unix.ENOENT) && !errors.Is(err, unix.EINTR):
			return note, err
		}
	}
	return notification{}, errOver
}

// answer lets a watched call continue, and every other one fail, or return 0 where it was made already. An error of
// that means that the caller has ended.
func (l *Listener) answer(c *Call) {
	r := response{id: c.id, err: -int32(c.Answer)}
	if c.Answer == Allow && !c.Lent {
		r.flags = unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE
	}
	_ = l.ioctl(unix.SECCOMP_IOCTL_NOTIF_SEND, unsafe.Pointer(&r))
}

// Close ends Serve and waits for that. Calls after it fail with ENOSYS.
func (l *Listener) Close() {
	l.closed.Store(true)
	for {
		select {
		case <-l.done:
			return
		case <-time.After(10 * time.Millisecond):
			if thread := l.thread.Load(); thread != 0 { // the runtime's own signal, which interrupts and does nothing
				unix.Tgkill(unix.Getpid(), int(thread), unix.SIGURG)
			}
		}
	}
}

func (l *Listener) ioctl(request uintptr, arg unsafe.Pointer) error {
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(l.fd), request, uintptr(arg))
	if errno != 0 {
		return errno
	}
	return nil
}
