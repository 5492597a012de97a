package profile

import (
	"fmt"
	"slices"
)

// SyscallGroup names system calls that a profile may grant besides those that ordinary programs
// need. Calls that no profile can grant (mounts, new user namespaces, bpf, io_uring, keyctl, …)
// have no group.
type SyscallGroup string

const (
	// SyscallsDebug is ptrace(2) and process_vm_readv(2), for debuggers, on
	// the sandbox's own processes.
	SyscallsDebug SyscallGroup = "debug"
	// SyscallsScheduling is real-time policies, NUMA placement and locked
	// memory, for media and numerical programs.
	SyscallsScheduling SyscallGroup = "scheduling"
	// SyscallsLeases is fcntl(2) with F_SETLEASE, which has other programs wait before they open a file. It is for
	// workers of the daemon: no document grants it, and a profile that grants everything lacks it.
	SyscallsLeases SyscallGroup = "leases"
)

// SyscallGroups returns every group that a document can grant, sorted.
func SyscallGroups() []SyscallGroup { return []SyscallGroup{SyscallsDebug, SyscallsScheduling} }

// WithLeases returns the profile with [SyscallsLeases]. The profile keeps the result.
func (p Profile) WithLeases() Profile {
	b := p.get()
	if made := b.leasing.Load(); made != nil {
		return Profile{made}
	}
	d := b.draft()
	d.syscalls = append(slices.Clone(d.syscalls), SyscallsLeases)
	made := assemble(d)
	b.leasing.Store(made)
	return Profile{made}
}

// Visibility says whose processes a program sees and can signal.
type Visibility uint8

const (
	// ProcessesOwn is the sandbox's own processes only.
	ProcessesOwn Visibility = iota
	// ProcessesHost is the host's too, as far as the kernel lets that user.
	ProcessesHost
)

// String returns "own" or "host".
func (v Visibility) String() string {
	switch v {
	case ProcessesOwn:
		return "own"
	case ProcessesHost:
		return "host"
	}
	return fmt.Sprintf("Visibility(%d)", uint8(v))
}

// Gap is something that a mechanism cannot enforce on this host, or only by
// granting less.
type Gap struct {
	// Mechanism is "bwrap", "landlock", "seccomp" or "seatbelt", or "profile" for a limit that
	// profiles have no words for.
	Mechanism string
	// Protection is the missing protection, in the words of the mechanism's table.
	Protection string
	// Object is the rule, path or call concerned; empty for all.
	Object string
	// Why is the cause.
	Why string
	// Remedy is the way to close the gap.
	Remedy string
}

// String returns the gap on one line.
func (g Gap) String() string {
	s := g.Mechanism + ": " + g.Protection
	if g.Object != "" {
		s += fmt.Sprintf(" %q", g.Object)
	}
	if g.Why != "" {
		s += ": " + g.Why
	}
	if g.Remedy != "" {
		s += " (" + g.Remedy + ")"
	}
	return s
}
