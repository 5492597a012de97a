package seccomp

import (
	"fmt"
	"slices"

	"sandboxd/profile"
)

// groups maps the syscall groups of a profile to their rules. Calls that could bypass the filter
// itself (io_uring, bpf, keyrings, mounts, namespaces, devices) are in none of them.
var groups = map[profile.SyscallGroup]rule{
	profile.SyscallsDebug: {Why: "debug",
		Calls: names(`ptrace process_vm_readv process_vm_writev kcmp pidfd_getfd`)},
	// Priorities, affinity, mlock and memory policy of one's own are in base: the kernel limits them.
	profile.SyscallsScheduling: {Why: "scheduling", Calls: names(`move_pages migrate_pages`)},
}

// granted gives the rules of the wanted groups. Without a process namespace they would reach processes outside: they
// are withheld, and a gap says so.
func granted(wanted []profile.SyscallGroup, shared bool) ([]rule, []profile.Gap, error) {
	var rules []rule
	var gaps []profile.Gap
	for _, name := range wanted {
		r, ok := groups[name]
		switch {
		case name == profile.SyscallsLeases: // it takes a refusal out of base
		case !ok:
			return nil, nil, fmt.Errorf("seccomp %q: no such group of system calls; there are %q", name, profile.SyscallGroups())
		case shared:
			gaps = append(gaps, profile.Gap{Mechanism: "seccomp", Protection: "syscalls", Object: string(name),
				Why:    "without a process namespace it would reach processes outside; it is withheld",
				Remedy: "allow unprivileged user namespaces, and let the profile see its own processes only"})
		default:
			rules = append(rules, r)
		}
	}
	return rules, gaps, nil
}

// shares reports whether the sandbox would share the wall's namespace with the host.
func shares(missing []Wall, w Wall) bool { return slices.Contains(missing, w) }
