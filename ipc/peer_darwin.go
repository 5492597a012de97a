package ipc

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// solLocal is SOL_LOCAL of <sys/un.h>.
const solLocal = 0

// credentials reads unix(4) LOCAL_PEERCRED and LOCAL_PEERPID.
func credentials(fd int) (Peer, error) {
	cred, err := unix.GetsockoptXucred(fd, solLocal, unix.LOCAL_PEERCRED)
	if err != nil {
		return Peer{}, os.NewSyscallError("getsockopt LOCAL_PEERCRED", err)
	}
	pid, err := unix.GetsockoptInt(fd, solLocal, unix.LOCAL_PEERPID)
	if err != nil {
		return Peer{}, os.NewSyscallError("getsockopt LOCAL_PEERPID", err)
	}
	p := Peer{UID: int(cred.Uid), PID: pid}
	if cred.Ngroups > 0 {
		p.GID = int(cred.Groups[0])
	}
	info, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil {
		return Peer{}, fmt.Errorf("%w: process %d: %w", errNoPeer, pid, err)
	}
	p.Start = startOf(info)
	if tty := info.Eproc.Tdev; tty != -1 { // NODEV
		p.TTY = uint64(uint32(tty))
	}
	if sid, err := unix.Getsid(pid); err == nil {
		p.SID = sid
	}
	for parent := int(info.Eproc.Ppid); parent > 0 && len(p.Ancestors) < 64; {
		info, err := unix.SysctlKinfoProc("kern.proc.pid", parent)
		if err != nil {
			break
		}
		p.Ancestors = append(p.Ancestors, Process{PID: parent, Start: startOf(info)})
		parent = int(info.Eproc.Ppid)
	}
	return p, nil
}

// startOf is the start of a process in microseconds since 1970.
func startOf(info *unix.KinfoProc) uint64 {
	return uint64(info.Proc.P_starttime.Sec)*1e6 + uint64(info.Proc.P_starttime.Usec)
}

// ownPIDNamespace: there are none here.
func ownPIDNamespace() uint64 { return 0 }

// exited looks whether the number still belongs to the same process.
func exited(p Peer) bool {
	info, err := unix.SysctlKinfoProc("kern.proc.pid", p.PID)
	return err != nil || startOf(info) != p.Start
}

// close has nothing to give back here.
func (p Peer) close() {
	if p.handle != nil {
		p.handle.Close()
	}
}

// peerUID returns the user of the listener at the other end.
func peerUID(fd int) (int, error) {
	cred, err := unix.GetsockoptXucred(fd, solLocal, unix.LOCAL_PEERCRED)
	if err != nil {
		return 0, os.NewSyscallError("getsockopt LOCAL_PEERCRED", err)
	}
	return int(cred.Uid), nil
}
