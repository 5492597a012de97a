// Package stage is the wire between the daemon and cmd/sandboxd-launch, the first
// process of every sandbox: the order with its steps, and the reports.
//
// The daemon sends an [Order] over a socket that the program inherits. The program decodes it,
// waits for a second one where the first one says so, and then, each step final and none skipped:
//
//	close descriptors → no_new_privs → Landlock, layer by layer → seccomp →
//	vfork → session and terminal → limits → execve
//
// It stays as the first process of the pid namespace ([FirstArg]), reaps, and reports the
// command's end. Where there is no namespace a process of it becomes the command, below a
// reaper ([ReapArg]).
//
// Where the sandbox waits before its command is known, the steps that do not depend on
// the command come first: no_new_privs, Landlock and seccomp are in force while
// the program waits (Order.Early).
//
// A step that fails is reported on the status socket and ends the process; the
// command never starts with less than the order asks for.
//
// # Limitations
//
// The order's layout is private to one build: daemon and program are installed
// together, and the program refuses an order of another [Version].
package stage

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"
)

// Version is the layout of an encoded Order, which cmd/sandboxd-launch/order.h describes. It
// changes with any change of the fields below.
const Version = 13

// Order is everything that starts one command.
type Order struct {
	// Argv is the command and its arguments; Argv[0] is the name that the program sees.
	Argv []string
	// Path is the absolute file to execute inside the sandbox. Empty: Argv[0]
	// is looked up along PATH of Env, as execvp(3) does.
	Path string
	// Env is the whole environment, "NAME=value" each.
	Env []string
	// Dir is the absolute working directory inside the sandbox.
	Dir string
	// Landlock holds encoded landlock rulesets, outermost layer first.
	Landlock [][]byte
	// Operations make the mounts of a sandbox that has none yet ([ServeArg]). Await says
	// that the command comes later.
	Operations []Operation
	// Seccomp is an array of struct sock_filter (linux/filter.h), empty for none.
	Seccomp []byte
	// Seccomp has a listener, which the daemon gets with the report
	// that all is in force.
	Tells bool
	// Limits are set with setrlimit(2), soft and hard alike; the hard limit of
	// RLIMIT_CPU is a second later.
	Limits []Rlimit
	// Terminal says that descriptor 0 is a terminal which becomes the
	// controlling terminal of the command's new session.
	Terminal bool
	// Listen are TCP ports on 127.0.0.1 that the program listens on before the
	// command starts, and Dialers is how many unconnected TCP sockets it makes.
	// It hands all of them out on the status socket and keeps none, so that
	// the daemon serves, and can reach, the command's network namespace.
	Listen  []uint16
	Dialers int
	// Umask is the file mode creation mask of the command.
	Umask uint32
	// Await says that there is nothing to start yet: the order that counts, and
	// the command's standard descriptors, come on the status socket ([Order.Pieces]).
	// Only Operations, Early, Landlock, Seccomp and its listener can be set besides.
	Await bool
	// Early says, together with Await, that Landlock and Seccomp are put in force
	// before the wait; the report of the wait carries the listener. In the order that
	// comes then, which has neither, it says that they are in force; a program
	// for which that is not so refuses it.
	Early bool
	// Hold makes the program wait, once all is in force, until the daemon sends that
	// the command may start ([Release]).
	Hold bool
	// Probe ends the program with status 0 where it would execute the command:
	// everything was installed, nothing runs.
	Probe bool
}

// Rlimit is one setrlimit(2) call: Resource is a RLIMIT_ constant of this
// platform, Value both its soft and its hard limit.
type Rlimit struct {
	Resource uint32
	Value    uint64
}

// Operation is one step by which a sandbox's mounts are made. The first makes the root.
type Operation struct {
	Kind  OperationKind
	Flags uint8
	Mode  uint32
	Size  uint64 // of OpTmpfs in bytes, 0: the kernel's default
	Path  string // absolute and clean
	// Text is the target of OpLink, the content of OpFile, the host's path for OpBind where that is another one,
	// and for OpOverlay, with NULs between, its upper and its work directory, unless it is read-only, and the lower ones,
	// the topmost first.
	Text string
}

// Launch is a message to the launch server ([ServeArg]). With it go the sandbox's end of a status socket, Groups files
// of control groups of version 1 by which a thread moves itself, the directory of a group of version 2 where Born says
// so, and the program to execute where Program says so (SCM_RIGHTS).
type Launch struct {
	Groups        int
	Born, Program bool
}

// Encode is the message.
func (l Launch) Encode() []byte {
	b := binary.LittleEndian.AppendUint32([]byte("sbxlaunc"), Version)
	b = binary.LittleEndian.AppendUint32(b, uint32(l.Groups))
	for _, comes := range []bool{l.Born, l.Program} {
		n := uint32(0)
		if comes {
			n = 1
		}
		b = binary.LittleEndian.AppendUint32(b, n)
	}
	return b
}

// OperationKind selects the action of an Operation.
type OperationKind uint8

// The kinds, as cmd/sandboxd-launch/order.h describes them.
const (
	OpDirectory OperationKind = iota
	OpLink
	OpBind
	OpDevice
	OpTmpfs
	OpFile
	OpProc
	OpSeal
	OpMode
	OpNetwork // joins the order's network namespace, or makes one
	OpDevpts
	OpOverlay
	OpUser
)

// Flags of an Operation.
const (
	OpReadOnly = 1 << iota // of OpBind and OpOverlay
	OpCreates              // the mount point may be made
	OpInner                // of OpBind: the sandbox's own entry at the path, not the host's
)

// MaxOverlay bounds the paths of an OpOverlay.
const MaxOverlay = 35

// MaxSockets bounds Listen and Dialers together: as many descriptors as one message
// can carry (SCM_MAX_FD, net/scm.h).
const MaxSockets = 253

const (
	magic    = "sbxorder"
	headSize = 64
	// maxOrder bounds an order: argv and environment are limited by
	// the kernel to 6 MiB (execve(2)), rulesets and filters stay far below 1 MiB.
	maxOrder = 16 << 20
	// maxPiece bounds the bytes of an order in one message: with the kernel's overhead it stays
	// below the send buffer of a socket (net.core.wmem_default, 208 KiB).
	maxPiece = 64 << 10
)

// Flags of an encoded order.
const (
	flagTells = 1 << iota
	flagTerminal
	flagAwait
	flagEarly
	flagHold
	flagProbe
)

// Carried says which descriptors go with the first message of an order (SCM_RIGHTS).
type Carried uint32

// Descriptors of an order: none, the command's standard input, output and error, or the network namespace that
// OpNetwork joins.
const (
	CarriesNothing  Carried = 0
	CarriesStandard Carried = 1<<0 | 1<<1 | 1<<2
	CarriesNetwork  Carried = 1 << 3
)

// MarshalBinary encodes o without descriptors. The error is about strings that execve(2) can't
// take and an order that is too long.
func (o *Order) MarshalBinary() ([]byte, error) { return o.encode(CarriesNothing) }

// Pieces are the messages by which o goes to a program that waits at the other end of a
// status socket. The errors are those of MarshalBinary.
func (o *Order) Pieces(carried Carried) (pieces [][]byte, err error) {
	b, err := o.encode(carried)
	for err == nil && len(b) > 0 {
		n := min(len(b), maxPiece)
		pieces, b = append(pieces, b[:n]), b[n:]
	}
	return pieces, err
}

func (o *Order) encode(carried Carried) ([]byte, error) {
	le := binary.LittleEndian
	b := append(make([]byte, 0, 16<<10), magic...)
	for _, n := range []int{Version, 0, int(o.flags()), int(carried), int(o.Umask), len(o.Limits), len(o.Seccomp) / 8,
		len(o.Listen), o.Dialers, len(o.Landlock), len(o.Argv), len(o.Env), len(o.Operations)} {
		b = le.AppendUint32(b, uint32(n))
	}
	for _, l := range o.Limits {
		b = le.AppendUint32(b, l.Resource)
		b = le.AppendUint32(b, 0)
		b = le.AppendUint64(b, l.Value)
	}
	b = append(b, o.Seccomp...)
	for _, port := range o.Listen {
		b = le.AppendUint16(b, port)
	}
	for _, layer := range o.Landlock {
		b = le.AppendUint32(b, uint32(len(layer)))
		b = append(b, layer...)
	}
	for _, op := range o.Operations {
		b = append(b, byte(op.Kind), op.Flags, 0, 0)
		b = le.AppendUint32(b, op.Mode)
		b = le.AppendUint64(b, op.Size)
		for _, s := range []string{op.Path, op.Text} {
			b = le.AppendUint32(b, uint32(len(s)))
			b = append(append(b, s...), 0)
		}
	}
	for _, list := range [][]string{{o.Path, o.Dir}, o.Argv, o.Env} {
		for _, s := range list {
			if strings.IndexByte(s, 0) >= 0 {
				return nil, fmt.Errorf("encode order: %q has a NUL byte, which no program can be given", s)
			}
			b = le.AppendUint32(b, uint32(min(len(s), math.MaxUint32)))
			b = append(append(b, s...), 0)
		}
	}
	if len(b) > maxOrder {
		return nil, fmt.Errorf("encode order: %d bytes, more than the %d that a command line and its environment may have",
			len(b), maxOrder)
	}
	le.PutUint32(b[len(magic)+4:], uint32(len(b)))
	return b, nil
}

func (o *Order) flags() (flags uint32) {
	for flag, set := range map[uint32]bool{flagTells: o.Tells, flagTerminal: o.Terminal, flagAwait: o.Await,
		flagEarly: o.Early, flagHold: o.Hold, flagProbe: o.Probe} {
		if set {
			flags |= flag
		}
	}
	return flags
}
