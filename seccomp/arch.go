package seccomp

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
)

// Arch is a machine architecture that a filter is made for.
type Arch uint8

const (
	AMD64 Arch = iota + 1 // x86-64; the i386 and x32 ways in are killed
	ARM64                 // AArch64; the 32-bit way in is killed
)

// Native is the architecture this program was built for; 0, which Compile refuses, where there is no table for it.
func Native() Arch {
	switch runtime.GOARCH {
	case "amd64":
		return AMD64
	case "arm64":
		return ARM64
	}
	return 0
}

// String is the name Go has for the architecture.
func (a Arch) String() string {
	switch a {
	case AMD64:
		return "amd64"
	case ARM64:
		return "arm64"
	}
	if a == 0 {
		return runtime.GOARCH
	}
	return fmt.Sprintf("architecture %d", uint8(a))
}

// number gives the call's number on a, and whether it has one there.
func (a Arch) number(c call) (int, bool) {
	n := c.amd64
	if a == ARM64 {
		n = c.arm64
	}
	return int(n), n >= 0
}

// find gives the table's row of a call.
func find(name string) (call, bool) {
	i, ok := slices.BinarySearchFunc(calls[:], name,
		func(c call, name string) int { return strings.Compare(c.name, name) })
	if !ok {
		return call{}, false
	}
	return calls[i], true
}

// token is AUDIT_ARCH_* of include/uapi/linux/audit.h: the arch of struct seccomp_data.
func (a Arch) token() uint32 {
	if a == ARM64 {
		return 0xC00000B7
	}
	return 0xC000003E
}

// syscalls names every system call that a's table knows, sorted.
func syscalls(a Arch) []string {
	var names []string
	for _, c := range calls {
		if _, ok := a.number(c); ok {
			names = append(names, c.name)
		}
	}
	return names
}

// names gives the name of every call number of a.
func (a Arch) names() map[int32]string {
	list := map[int32]string{}
	for _, c := range calls {
		if n, ok := a.number(c); ok {
			list[int32(n)] = c.name
		}
	}
	return list
}
