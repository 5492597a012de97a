package lsm

import "errors"

// ErrUnavailable is in the error of [ABI] where the kernel has no Landlock.
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
	DisconnectedHandled                    // ABI 1: a rename below an open bind mount does not widen rights
)

func (e Errata) String() string {
	return set(uint64(e), []string{"tcp_identified", "signals_within", "disconnected_handled"})
}

// FixedErrata asks the kernel for its [Errata].
func FixedErrata() (Errata, error) { return errata() }
