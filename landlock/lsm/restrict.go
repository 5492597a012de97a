package lsm

import "errors"

// ErrUnavailable is in the error of [ABI] and [Ruleset.Restrict] where the
// kernel has no Landlock.
var ErrUnavailable = errors.New("landlock is not available")

// ABI asks the kernel for the Landlock version it offers, 1 or more.
// The error wraps [ErrUnavailable] where it offers none.
func ABI() (int, error) { return version() }

// Errata is the set of Landlock bugs that the running kernel says it has fixed
// (LANDLOCK_CREATE_RULESET_ERRATA, Linux 6.15 and backports). A missing bit
// means "not known to be fixed".
type Errata uint32

// The errata that the kernel documents.
const (
	TCPIdentified       Errata = 1 << iota // ABI 4: TCP rights no longer bind SMC, MPTCP and SCTP sockets
	SignalsWithin                          // ABI 6: threads of one process may signal each other across domains
	DisconnectedHandled                    // ABI 1: a rename while a directory is open through a bind mount does not widen rights
)

func (e Errata) String() string {
	return set(uint64(e), []string{"tcp_identified", "signals_within", "disconnected_handled"})
}

// FixedErrata asks the kernel for its [Errata].
func FixedErrata() (Errata, error) { return errata() }

// Restrict applies r to the calling OS thread and to what that thread will
// start, for good. The caller has locked the goroutine to its thread
// ([runtime.LockOSThread]), has set no_new_privs (or Restrict fails with EPERM)
// and goes on to execve(2); other threads of the process are not bound.
//
// It is all or nothing: on an error the thread is as unrestricted as before,
// and must not go on.
func (r Ruleset) Restrict() error { return r.restrict() }
