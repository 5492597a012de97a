package seccomp_test

import (
	"fmt"

	"sandboxd/profile"
	"sandboxd/seccomp"
)

// The policy is a value that can be asked: here for a sandbox with a loopback of its own.
func ExampleFor() {
	p, err := profile.New(profile.Spec{Network: profile.Network{Mode: profile.NetLoopback}})
	if err != nil {
		panic(err)
	}
	policy, _, err := seccomp.For(p, seccomp.AMD64)
	if err != nil {
		panic(err)
	}
	const inet, stream, raw, multipath, tiocsti = 2, 1, 3, 262, 0x5412
	fmt.Println("openat:", policy.Answer("openat"))
	fmt.Println("TCP:", policy.Answer("socket", inet, stream, 0))
	fmt.Println("multipath TCP:", policy.Answer("socket", inet, stream, multipath))
	fmt.Println("raw:", policy.Answer("socket", inet, raw, 1))
	fmt.Println("TIOCSTI:", policy.Answer("ioctl", 0, 1<<32|tiocsti))
	fmt.Println("clone3:", policy.Answer("clone3"))
	// Output:
	// openat: allow
	// TCP: allow
	// multipath TCP: EPROTONOSUPPORT
	// raw: EPERM
	// TIOCSTI: EPERM
	// clone3: ENOSYS
}
