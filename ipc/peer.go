package ipc

import (
	"errors"
	"fmt"
	"net"
	"os"
)

// Peer is the process at the other end of a connection, as the kernel described it when the
// connection was accepted. Nothing in it comes from the peer's own bytes.
//
// Fields that the kernel did not reveal are zero: Exe and PIDNamespace of a process that is not
// dumpable, most of them on macOS.
type Peer struct {
	UID int
	GID int // primary group
	PID int // in our pid namespace; 0: the peer cannot be seen from it
	// Start is when the process started, in the kernel's own unit (Linux:
	// clock ticks since boot; macOS: microseconds since 1970). PID and Start
	// together name one process for as long as the host is up.
	Start uint64
	Exe   string // path of the executable, " (deleted)" included where the kernel says so
	SID   int    // session id
	TTY   uint64 // device number of the controlling terminal; 0: none
	// PIDNamespace is the inode of the peer's pid namespace; 0: unknown.
	PIDNamespace uint64
	// Nested counts the pid namespaces between ours and the peer's; 0: the same one.
	Nested int
	Cgroup string // of the unified hierarchy, else of the first one listed
	// AuditSession is the login that the process descends from; 0: none.
	AuditSession uint32
	// Ancestors are the parents, nearest first, as far as they can be seen.
	Ancestors []Process

	handle *os.File // a pidfd; closed with the connection
}

// Process names one process for as long as the host is up.
type Process struct {
	PID   int
	Start uint64
}

// Process is the peer itself.
func (p Peer) Process() Process { return Process{PID: p.PID, Start: p.Start} }

// Inside reports whether the peer runs in another pid namespace than ours, or
// one that cannot be seen: it may be inside a sandbox.
func (p Peer) Inside() bool {
	return p.PID <= 0 || p.Nested > 0 || (p.PIDNamespace != 0 && p.PIDNamespace != ownPIDNamespace())
}

// Exited reports whether the process has ended since. It may be asked at any
// time, also when the connection is closed.
func (p Peer) Exited() bool { return exited(p) }

// String returns the text for a log: no text that the peer chose, except its path.
func (p Peer) String() string {
	return fmt.Sprintf("uid %d pid %d (%q)", p.UID, p.PID, p.Exe)
}

// errNoPeer is in the error where a connection's peer cannot be identified.
var errNoPeer = errors.New("the kernel does not say who is at the other end")

// peerOf asks the kernel for the process at the other end of c. The caller closes the answer's
// handle.
func peerOf(c net.Conn) (Peer, error) {
	u, ok := c.(*net.UnixConn)
	if !ok {
		return Peer{}, fmt.Errorf("identify peer of %q: %w: not a Unix socket", c.LocalAddr(), errNoPeer)
	}
	raw, err := u.SyscallConn()
	if err != nil {
		return Peer{}, fmt.Errorf("identify peer: %w", err)
	}
	var p Peer
	var perr error
	if err := raw.Control(func(fd uintptr) { p, perr = credentials(int(fd)) }); err != nil {
		return Peer{}, fmt.Errorf("identify peer: %w", err)
	}
	if perr != nil {
		return Peer{}, fmt.Errorf("identify peer: %w", perr)
	}
	return p, nil
}
