//go:build linux

package lsm

import (
	"fmt"

	"golang.org/x/sys/unix"
)

const (
	versionFlag = 1 << 0
	errataFlag  = 1 << 1
)

func version() (int, error) {
	n, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, versionFlag)
	switch errno {
	case 0:
		return int(n), nil
	case unix.ENOSYS:
		return 0, fmt.Errorf("%w: this kernel was built without it, or is older than 5.13", ErrUnavailable)
	case unix.EOPNOTSUPP:
		return 0, fmt.Errorf("%w: it is switched off; add landlock to the kernel's lsm= parameter", ErrUnavailable)
	}
	return 0, fmt.Errorf("landlock_create_ruleset: %w", errno)
}

// errata: a kernel that does not know the flag (before 6.15) answers EINVAL, and so has reported no
// fix.
func errata() (Errata, error) {
	n, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, errataFlag)
	if errno == unix.EINVAL {
		return 0, nil
	}
	if errno != 0 {
		return 0, fmt.Errorf("landlock_create_ruleset: %w", errno)
	}
	return Errata(n), nil
}
