// Package landlocktest puts a Landlock ruleset in force on a thread of a test. In a
// sandbox cmd/sandboxd-launch does it.
package landlocktest

import (
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"

	"sandboxd/landlock/lsm"
)

// rulesetAttr and those below are structures of include/uapi/linux/landlock.h. They are written out
// here because the kernel checks their size: a bigger one is accepted only
// while the fields beyond its own are zero.
type rulesetAttr struct{ fs, net, scoped uint64 }

type netPortAttr struct{ access, port uint64 }

const (
	rulePathBeneath = 1
	ruleNetPort     = 2
)

// Restrict applies r to the calling OS thread and to the processes that it will
// start, for good. The caller has locked the goroutine to its thread
// ([runtime.LockOSThread]) and has set no_new_privs, or Restrict fails with EPERM;
// other threads of the process are not bound.
//
// It is all or nothing: on an error the thread is as unrestricted as before.
func Restrict(r lsm.Ruleset) error {
	fd, err := create(r)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(fd), uintptr(r.Flags), 0); errno != 0 {
		return fmt.Errorf("landlock_restrict_self: %w", errno)
	}
	return nil
}

// create makes the ruleset in the kernel; the descriptor is the caller's to close.
func create(r lsm.Ruleset) (int, error) {
	attr := rulesetAttr{uint64(r.HandledFS), uint64(r.HandledNet), uint64(r.Scoped)}
	n, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET,
		uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr), 0)
	if errno != 0 {
		return -1, fmt.Errorf("landlock_create_ruleset: %w", errno)
	}
	fd := int(n)
	for _, rule := range r.Paths {
		if err := addPath(fd, rule); err != nil {
			unix.Close(fd)
			return -1, fmt.Errorf("landlock rule %q: %w", rule.Path, err)
		}
	}
	for _, rule := range r.Ports {
		attr := netPortAttr{uint64(rule.Access), uint64(rule.Port)}
		if err := addRule(fd, ruleNetPort, unsafe.Pointer(&attr)); err != nil {
			unix.Close(fd)
			return -1, fmt.Errorf("landlock rule for port %d: %w", rule.Port, err)
		}
	}
	return fd, nil
}

func addPath(ruleset int, rule lsm.PathRule) error {
	object, err := unix.Openat2(unix.AT_FDCWD, rule.Path, &unix.OpenHow{
		Flags:   unix.O_PATH | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS,
	})
	if rule.Optional && missing(err) {
		return nil
	}
	if err != nil {
		return err
	}
	defer unix.Close(object)
	access := rule.Access
	var stat unix.Stat_t
	if err := unix.Fstat(object, &stat); err != nil {
		return err
	}
	if stat.Mode&unix.S_IFMT != unix.S_IFDIR {
		access &= lsm.File
	}
	if access == 0 {
		return nil // the kernel answers ENOMSG to a rule that grants nothing
	}
	attr := unix.LandlockPathBeneathAttr{Allowed_access: uint64(access), Parent_fd: int32(object)}
	return addRule(ruleset, rulePathBeneath, unsafe.Pointer(&attr))
}

// missing reports an error that says "there is no such object here": nothing,
// a link on the way, or a directory that may not be searched.
func missing(err error) bool {
	for _, errno := range []unix.Errno{unix.ENOENT, unix.ENOTDIR, unix.ELOOP, unix.EACCES} {
		if errors.Is(err, errno) {
			return true
		}
	}
	return false
}

func addRule(ruleset, kind int, attr unsafe.Pointer) error {
	_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE,
		uintptr(ruleset), uintptr(kind), uintptr(attr), 0, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}
