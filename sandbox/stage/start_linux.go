package stage

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// Arguments of the program. With [FirstArg] it is the first process of a pid namespace, and
// stays that: the kernel ends every other process of the sandbox with it
// (pid_namespaces(7)). With [ReapArg] it stays outside of a sandbox that has no
// namespaces, as the command's parent, and ends the processes that the command leaves. With [PidsArg] it
// only writes the number that follows into the pid_max of the pid namespace that it was
// started in.
const (
	FirstArg = "first"
	ReapArg  = "reap"
	PidsArg  = "pids"
	// ServeArg is the launch server, which makes first processes by [Launch] messages on FDStatus.
	// Each gets its order, without a memfd, over the socket that came with the message, and makes
	// the namespaces and mounts itself.
	ServeArg = "serve"
)

// Numbers of the descriptors that the program inherits. 0 and 1 are
// the command's own; 2 carries the diagnostics of the program's parent
// until the command's standard error is put there.
const (
	FDArgs   = 3 // bwrap's --args, closed by bwrap
	FDStage  = 4 // sealed memfd with the program itself
	FDStatus = 5 // seqpacket socket to the daemon
	FDStderr = 6 // the command's standard error
	FDFree   = 7 // first number that is not assigned
)

// Seals of the program's memfd (memfd_create(2), fcntl(2)).
const Seals = unix.F_SEAL_SEAL | unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_WRITE

// Release lets a program continue that holds (Order.Hold) at the other end of a status
// socket.
func Release(status int) error {
	if err := unix.Sendmsg(status, []byte{1}, nil, nil, unix.MSG_NOSIGNAL); err != nil {
		return fmt.Errorf("release the command: %w", err)
	}
	return nil
}
