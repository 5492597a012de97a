// Package seccomptest puts a compiled system call filter in force on a thread of a
// test. In a sandbox cmd/sandboxd-launch does it.
package seccomptest

// Filter puts the program, an array of struct sock_filter (linux/filter.h), on the calling thread,
// for good, and on everything it executes or forks. The caller holds runtime.LockOSThread and
// continues with execve; other threads of the process stay as they were.
//
// Errors: the program is not a whole number of instructions or too long; the thread has not set
// no_new_privs (which would also let a privileged thread install a filter that then misleads
// set-user-ID programs; here that is never wanted); the kernel refuses it (EINVAL: not a valid
// program); not on Linux.
func Filter(program []byte) error {
	_, err := install(program, 0)
	return err
}
