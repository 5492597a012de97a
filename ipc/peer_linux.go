package ipc

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"sandboxd/process"
)

// maxAncestors bounds the walk to the first process.
const maxAncestors = 64

// credentials reads unix(7) SO_PEERCRED, and SO_PEERPIDFD (Linux 6.5), both of which describe the
// process that called connect(2). With the pidfd, later reads from /proc are known to be of that
// process: it was still alive afterwards, so its number had not been used again.
func credentials(fd int) (Peer, error) {
	cred, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return Peer{}, os.NewSyscallError("getsockopt SO_PEERCRED", err)
	}
	p := Peer{UID: int(cred.Uid), GID: int(cred.Gid), PID: int(cred.Pid)}
	if p.PID <= 0 { // in a pid namespace that is not below ours
		p.PID = 0
		return p, nil
	}
	if pidfd, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_PEERPIDFD); err == nil {
		unix.CloseOnExec(pidfd)
		p.handle = os.NewFile(uintptr(pidfd), "peer pidfd")
	} else if errors.Is(err, unix.ESRCH) || errors.Is(err, unix.EINVAL) {
		return Peer{}, fmt.Errorf("%w: process %d has ended", errNoPeer, p.PID)
	}
	if err := describe(&p); err != nil {
		p.close()
		return Peer{}, err
	}
	if exited(p) {
		p.close()
		return Peer{}, fmt.Errorf("%w: process %d has ended", errNoPeer, p.PID)
	}
	return p, nil
}

// describe fills in the facts of proc(5) about p.PID.
func describe(p *Peer) error {
	dir := "/proc/" + strconv.Itoa(p.PID)
	st, err := process.ReadStat(p.PID)
	if err != nil {
		return fmt.Errorf("%w: %w", errNoPeer, err)
	}
	p.Start, p.SID, p.TTY = st.Start, st.Session, st.TTY
	p.Exe, _ = os.Readlink(dir + "/exe") // needs PTRACE_MODE_READ, as the next does
	p.PIDNamespace = namespaceInode(dir + "/ns/pid")
	if p.Nested, err = nested(dir + "/status"); err != nil {
		return fmt.Errorf("%w: %w", errNoPeer, err)
	}
	p.Cgroup = cgroup(dir + "/cgroup")
	if b, err := process.ReadFile(dir + "/sessionid"); err == nil {
		// 4294967295 is "not set".
		if n, err := strconv.ParseUint(strings.TrimSpace(string(b)), 10, 32); err == nil && n != 1<<32-1 {
			p.AuditSession = uint32(n)
		}
	}
	for parent := st.Parent; parent > 0 && len(p.Ancestors) < maxAncestors; {
		st, err := process.ReadStat(parent)
		if err != nil {
			break
		}
		p.Ancestors = append(p.Ancestors, Process{PID: parent, Start: st.Start})
		parent = st.Parent
	}
	return nil
}

// nested counts the numbers after the first in the line "NSpid:", which
// everybody may read: one per pid namespace below that of our /proc.
func nested(path string) (int, error) {
	b, err := process.ReadFile(path)
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(line, "NSpid:"); ok {
			return len(strings.Fields(rest)) - 1, nil
		}
	}
	return 0, fmt.Errorf("read %q: no NSpid line (a kernel without pid namespaces)", path)
}

// cgroup is the path in the unified hierarchy ("0::"), else in the first.
func cgroup(path string) string {
	b, err := process.ReadFile(path)
	if err != nil {
		return ""
	}
	first := ""
	for line := range strings.Lines(string(b)) {
		f := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(f) != 3 {
			continue
		}
		if f[0] == "0" {
			return f[2]
		}
		if first == "" {
			first = f[2]
		}
	}
	return first
}

// namespaceInode is the inode of a namespace file, 0 where it may not be read.
func namespaceInode(path string) uint64 {
	fi, err := os.Stat(path)
	if err != nil {
		return 0
	}
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		return st.Ino
	}
	return 0
}

// ownPIDNamespace does not change while we live.
var ownPIDNamespace = sync.OnceValue(func() uint64 { return namespaceInode("/proc/self/ns/pid") })

// exited polls the pidfd, which is readable once the process has ended
// (pidfd_open(2)); without one, or when it was closed with its connection, it
// looks whether the number still belongs to the same process.
func exited(p Peer) bool {
	if p.PID <= 0 {
		return false // never seen: unknown
	}
	if ended, known := ended(p.handle); known {
		return ended
	}
	st, err := process.ReadStat(p.PID)
	return err != nil || st.Start != p.Start
}

func ended(pidfd *os.File) (ended, known bool) {
	if pidfd == nil {
		return false, false
	}
	raw, err := pidfd.SyscallConn()
	if err != nil {
		return false, false
	}
	err = raw.Control(func(fd uintptr) {
		fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		n, err := unix.Poll(fds, 0)
		ended, known = err == nil && n > 0, err == nil
	})
	return ended, known && err == nil
}

// close gives the pidfd back.
func (p Peer) close() {
	if p.handle != nil {
		p.handle.Close()
	}
}

// peerUID returns the user of the listener at the other end: for a socket that was connected,
// SO_PEERCRED holds the credentials of listen(2)'s caller.
func peerUID(fd int) (int, error) {
	cred, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return 0, os.NewSyscallError("getsockopt SO_PEERCRED", err)
	}
	return int(cred.Uid), nil
}
