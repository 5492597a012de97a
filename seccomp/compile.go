package seccomp

import "sandboxd/profile"

// Compile makes the filter of p for arch, with the named walls missing around the sandbox: an array
// of struct sock_filter, the form of Load, bwrap --seccomp and seccomp(2). The gaps are grants of p
// that the filter withholds.
//
// Errors: an unknown syscall group, an unknown architecture, and a program built without cgo or not
// for Linux, which lacks libseccomp to assemble the filter.
func Compile(p profile.Profile, arch Arch, missing ...Wall) (program []byte, gaps []profile.Gap, err error) {
	policy, gaps, err := For(p, arch, missing...)
	if err != nil {
		return nil, nil, err
	}
	program, left, err := policy.Program()
	if err != nil {
		return nil, nil, err
	}
	return program, append(gaps, left...), nil
}

// Program makes the filter that the policy describes. The gaps name calls that this libseccomp does not know.
func (p Policy) Program() (program []byte, gaps []profile.Gap, err error) { return assemble(p) }
