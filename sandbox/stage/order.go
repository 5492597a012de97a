// Package stage is the program inside a sandbox that starts the command, and the
// sealed order that tells it what to do.
//
// The daemon writes an [Order] into a memfd, seals it against every further
// change, and lets the static helper cmd/sandboxd-launch inherit it. The
// helper checks the seals, decodes, waits for a second order on its socket where the first
// one says so, and then, each step final and none skipped:
//
//	close descriptors → no_new_privs → Landlock, layer by layer → seccomp →
//	vfork → session and terminal → limits → execve
//
// It stays as the first process of the pid namespace ([FirstArg]), reaps, and tells the
// command's end. Where there is no namespace it becomes the command, below a reaper
// ([ReapArg]).
//
// Where the sandbox is laid before its command is known, what does not depend on
// the command comes first: no_new_privs, Landlock and seccomp are in force while
// the stage waits (Order.Early).
//
// A step that fails is reported on the status socket and ends the process; the
// command never starts with less than the order asks for.
//
// The encoding is ours (length-prefixed, versioned) because the helper must
// start within a millisecond: no reflection, no JSON, no tables to build.
//
// # Limitations
//
// The order's layout is private to one build: daemon and helper are installed
// together, and a helper refuses an order of another [Version].
package stage

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// Version is the layout of an encoded Order. It changes with any change of
// the fields below.
const Version = 6

// Order is everything the stage needs to start one command.
type Order struct {
	// Argv is the command and its arguments; Argv[0] is what the program sees.
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
	// Seccomp is an array of struct sock_filter (linux/filter.h), empty for none.
	Seccomp []byte
	// Tells says that Seccomp has a listener (install.Listening), which the
	// daemon gets with the report that all is in force.
	Tells bool
	// Limits are set with setrlimit(2), soft and hard alike; the hard limit of
	// RLIMIT_CPU is a second later.
	Limits []Rlimit
	// Terminal says that descriptor 0 is a terminal which becomes the
	// controlling terminal of the command's new session.
	Terminal bool
	// Doors are TCP ports on 127.0.0.1 that the stage listens on before the
	// command starts, and Callers is how many unconnected TCP sockets it makes.
	// It hands all of them out on the status socket and keeps none, so that
	// somebody outside serves, and can reach, the command's network namespace.
	Doors   []uint16
	Callers int
	// Umask is the file mode creation mask of the command.
	Umask uint32
	// Await says that there is nothing to start yet: the order that counts, and
	// the command's standard descriptors, come on the status socket ([Pieces]).
	// Only Early and what it speaks of are used besides.
	Await bool
	// Early says, together with Await, that Landlock and Seccomp are put in force
	// before the wait; the report that the stage waits carries the listener. In the
	// order that comes then, which has neither, it says that they are in force. A stage
	// for which that is not so refuses it.
	Early bool
	// Hold makes the stage wait, once all is in force, until it is told that the
	// command may start ([Release]).
	Hold bool
	// Probe ends the stage with status 0 where it would execute the command:
	// everything was installed, nothing runs.
	Probe bool
}

// Rlimit is one setrlimit(2) call: Resource is a RLIMIT_ constant of this
// platform, Value both its soft and its hard limit.
type Rlimit struct {
	Resource uint32
	Value    uint64
}

// MaxDoors bounds Doors and Callers together: as many descriptors as one message
// can carry (SCM_MAX_FD, net/scm.h).
const MaxDoors = 253

const magic = "sbxorder"

// maxOrder bounds what Unmarshal accepts: argv and environment are limited by
// the kernel to 6 MiB (execve(2)), rulesets and filters stay far below 1 MiB.
const maxOrder = 16 << 20

// MarshalBinary encodes o.
func (o *Order) MarshalBinary() ([]byte, error) {
	b := append([]byte(magic), Version)
	b = appendStrings(b, o.Argv)
	b = appendBytes(b, o.Path)
	b = appendStrings(b, o.Env)
	b = appendBytes(b, o.Dir)
	b = appendStrings(b, o.Landlock)
	b = appendBytes(b, o.Seccomp)
	b = binary.AppendUvarint(b, bit(o.Tells))
	b = binary.AppendUvarint(b, uint64(len(o.Limits)))
	for _, l := range o.Limits {
		b = binary.AppendUvarint(b, uint64(l.Resource))
		b = binary.AppendUvarint(b, l.Value)
	}
	b = binary.AppendUvarint(b, bit(o.Terminal))
	b = binary.AppendUvarint(b, uint64(len(o.Doors)))
	for _, port := range o.Doors {
		b = binary.AppendUvarint(b, uint64(port))
	}
	b = binary.AppendUvarint(b, uint64(o.Callers))
	b = binary.AppendUvarint(b, uint64(o.Umask))
	b = binary.AppendUvarint(b, bit(o.Await))
	b = binary.AppendUvarint(b, bit(o.Early))
	b = binary.AppendUvarint(b, bit(o.Hold))
	b = binary.AppendUvarint(b, bit(o.Probe))
	if len(b) > maxOrder {
		return nil, fmt.Errorf("encode order: %d bytes, more than the %d that a command line and its environment may have", len(b), maxOrder)
	}
	return b, nil
}

// UnmarshalBinary decodes data. It accepts exactly what MarshalBinary writes:
// trailing bytes, another version and a short text are errors.
func (o *Order) UnmarshalBinary(data []byte) error {
	if len(data) > maxOrder {
		return fmt.Errorf("decode order: %d bytes is too long", len(data))
	}
	if len(data) < len(magic)+1 || string(data[:len(magic)]) != magic {
		return errors.New("decode order: not an order")
	}
	if v := data[len(magic)]; v != Version {
		return fmt.Errorf("decode order: version %d, this helper knows %d; install daemon and helper together", v, Version)
	}
	d := decoder{rest: data[len(magic)+1:]}
	*o = Order{
		Argv:     decodeStrings[string](&d),
		Path:     string(d.bytes()),
		Env:      decodeStrings[string](&d),
		Dir:      string(d.bytes()),
		Landlock: decodeStrings[[]byte](&d),
		Seccomp:  d.bytes(),
	}
	o.Tells = d.upTo(1) == 1
	for n := d.count(2); n > 0; n-- {
		o.Limits = append(o.Limits, Rlimit{Resource: uint32(d.upTo(math.MaxUint32)), Value: d.uvarint()})
	}
	o.Terminal = d.upTo(1) == 1
	for n := d.count(1); n > 0; n-- {
		o.Doors = append(o.Doors, uint16(d.upTo(math.MaxUint16)))
	}
	o.Callers = int(d.upTo(MaxDoors))
	o.Umask = uint32(d.upTo(0o777))
	o.Await = d.upTo(1) == 1
	o.Early = d.upTo(1) == 1
	o.Hold = d.upTo(1) == 1
	o.Probe = d.upTo(1) == 1
	if d.bad {
		return errors.New("decode order: malformed")
	}
	if len(d.rest) != 0 {
		return fmt.Errorf("decode order: %d bytes after its end", len(d.rest))
	}
	return nil
}

func bit(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

func appendBytes[T string | []byte](b []byte, s T) []byte {
	b = binary.AppendUvarint(b, uint64(len(s)))
	return append(b, s...)
}

func appendStrings[T string | []byte](b []byte, list []T) []byte {
	b = binary.AppendUvarint(b, uint64(len(list)))
	for _, s := range list {
		b = appendBytes(b, s)
	}
	return b
}

// decoder reads from rest; after a fault bad is set and every read is zero.
type decoder struct {
	rest []byte
	bad  bool
}

func (d *decoder) uvarint() uint64 {
	v, n := binary.Uvarint(d.rest)
	if n <= 0 {
		d.bad, d.rest = true, nil
		return 0
	}
	d.rest = d.rest[n:]
	return v
}

func (d *decoder) upTo(most uint64) uint64 {
	v := d.uvarint()
	if v > most {
		d.bad = true
		return 0
	}
	return v
}

// count reads a number of items that take at least size bytes each, so that a
// hostile count can't make us allocate.
func (d *decoder) count(size int) int {
	return int(d.upTo(uint64(len(d.rest) / size)))
}

func (d *decoder) bytes() []byte {
	n := d.upTo(uint64(len(d.rest)))
	if d.bad || n > uint64(len(d.rest)) {
		d.bad = true
		return nil
	}
	b := d.rest[:n:n]
	d.rest = d.rest[n:]
	return b
}

func decodeStrings[T string | []byte](d *decoder) []T {
	n := d.count(1)
	if n == 0 {
		return nil
	}
	list := make([]T, 0, n)
	for range n {
		list = append(list, T(d.bytes()))
	}
	return list
}
