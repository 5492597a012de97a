package seccomp

// Option changes how Load installs a filter.
type Option uint8

const (
	// Logged has the kernel log every refusal (SECCOMP_FILTER_FLAG_LOG), as far as its sysctl
	// kernel.seccomp.actions_logged lists the action. Reading that log takes privileges.
	Logged Option = iota + 1
)

// Load puts the filter on the calling thread, for good, and on everything it executes or forks. The caller holds
// runtime.LockOSThread and goes on to execve; other threads of the process stay as they were.
//
// Errors: the program is not a whole number of instructions or too long; the thread has not set no_new_privs (which
// would also let a privileged thread install a filter that then misleads set-user-ID programs; here that is never
// wanted); the kernel refuses it (EINVAL: not a valid program); not on Linux.
func Load(program []byte, options ...Option) error { return load(program, options) }
