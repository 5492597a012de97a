// Package seccomp is the system call filter of a sandbox.
//
// The promise: a call that the policy does not allow by name never reaches the kernel's own code,
// and ordinary programs run. No foreign entry (i386, x32, 32-bit ARM) is left open, no io_uring, no
// ptrace, no new namespaces or mounts, no keyrings, no devices, no typing into another terminal, no
// socket beyond those of the profile's network.
//
// [Compile] turns a profile into a program for the kernel; it needs libseccomp, so cgo and Linux.
// cmd/sandboxd-launch installs such a program in the sandbox:
//
//	program, gaps, err := seccomp.Compile(p, seccomp.Native())
//
// The policy between the two is a value, [Policy], made by [For] on every system. It is a table
// (base.go) of rules: a refusal whose tests of arguments hold decides first, then an allow, then a
// refusal without tests; the rest gets ENOSYS. "go test ./seccomp -update" writes it out under
// testdata.
//
// Namespaces do part of the work: a socket of an own network namespace harms nobody. Where a
// sandbox has to do without them, name the missing [Wall]s to Compile and the filter refuses calls
// that would reach the host.
//
// # Errors that programs see
//
// EPERM for calls that need privileges or are dangerous, as the kernel would answer an ordinary
// user. ENOSYS for calls that programs can do without and probe for. EAFNOSUPPORT for unavailable
// families of sockets, EPROTONOSUPPORT for multipath TCP. A call by a foreign architecture ends the
// process with SIGSYS, since it is never an accident. A listener outside can receive refusals and
// return them itself ([Policy.Telling], [Listener]), or make some of these calls on an object that it
// has opened: set-group-ID, which only a directory gets.
//
// # Limitations
//
// A filter sees numbers, not the target of pointers: mounts, Landlock and the network namespace
// limit paths, addresses and ports. For the same reason clone3, which hides its flags in memory, is
// refused whole, and openat2, which does too, is allowed because its flags only narrow; by its mode,
// changed after the listener's look, an empty file can have a set-ID bit until its first byte. Unix
// sockets cannot be distinguished here. A process may add filters of its own, which can only
// narrow. ptrace needs the group "debug": debuggers and strace need it, and so does the leak check
// of -fsanitize=address (or ASAN_OPTIONS=detect_leaks=0). Only amd64 and arm64 have a table.
package seccomp
