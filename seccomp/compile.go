package seccomp

import "sandboxd/profile"

// Compile makes the filter of p for arch, with the named walls missing around the sandbox: an array of struct
// sock_filter, as Load, bwrap --seccomp and seccomp(2) take it. The gaps say what p grants and the filter withholds.
//
// Errors: an unknown syscall group, an unknown architecture, and a program built without cgo or not for Linux, where
// libseccomp is not there to assemble the filter.
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
