package seccomp

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"sandboxd/profile"
)

// Answer is the result of a system call: 0 lets it through to the kernel, a positive number is the
// errno it fails with, Kill ends the process with SIGSYS.
type Answer int16

const (
	Allow Answer = 0
	Kill  Answer = -1

	EPERM           Answer = 1
	ENOSYS          Answer = 38
	EPROTONOSUPPORT Answer = 93
	EAFNOSUPPORT    Answer = 97
)

// String is "allow", "kill" or the name of the errno.
func (a Answer) String() string {
	switch a {
	case Allow:
		return "allow"
	case Kill:
		return "kill"
	case EPERM:
		return "EPERM"
	case ENOSYS:
		return "ENOSYS"
	case EPROTONOSUPPORT:
		return "EPROTONOSUPPORT"
	case EAFNOSUPPORT:
		return "EAFNOSUPPORT"
	}
	return fmt.Sprintf("errno %d", int16(a))
}

// A test holds when the masked argument has the value: args[Arg] & Mask == Value. Arguments that
// the kernel reads as int are tested with a mask of 32 bits, because the kernel ignores the higher
// ones (CVE-2019-7303: a filter that compared all 64 bits of the ioctl number let TIOCSTI through
// with a high bit set).
type test struct {
	Arg   uint8
	Mask  uint64
	Value uint64
}

func (t test) holds(args [6]uint64) bool { return args[t.Arg]&t.Mask == t.Value }

func (t test) String() string {
	if t.Mask == low32 {
		return fmt.Sprintf("arg%d = %#x", t.Arg, t.Value)
	}
	return fmt.Sprintf("arg%d & %#x = %#x", t.Arg, t.Mask, t.Value)
}

const low32 = 0xffffffff

// is tests an int argument for one value.
func is(arg uint8, value uint64) test { return test{arg, low32, value} }

// A rule answers some calls, when all its tests hold; no tests means always. A profile that grants the group Unless
// does not have it. Usual says that the kernel answers so without a sandbox, too, so that nobody is told. Lent
// says that the owner of a listener may make the call in the place of its caller (Call.Lent).
type rule struct {
	Calls  []string
	Answer Answer
	When   []test
	Why    string
	Unless profile.SyscallGroup
	Lent   bool
	Usual  bool
}

func (r rule) holds(args [6]uint64) bool {
	for _, t := range r.When {
		if !t.holds(args) {
			return false
		}
	}
	return true
}

// A Policy is the whole filter as a value: the answer to every call of one architecture. The first
// of these decides:
//
//  1. a refusal with tests that hold,
//  2. an allow without tests, or with tests that hold,
//  3. a refusal without tests,
//  4. ENOSYS, for every unlisted call.
//
// Calls by another architecture's entry are killed before any of them.
type Policy struct {
	arch  Arch
	rules []rule
	// Refusals and watched calls go to a listener (see Telling).
	tells bool
}

// A Wall is a namespace that other mechanisms put around the sandbox, and that the filter relies
// on. Where one is missing the filter refuses calls that would reach through the hole.
type Wall uint8

const (
	IPC Wall = iota + 1 // System V IPC and POSIX message queues are the host's
	Net                 // sockets are the host's
	PID                 // processes outside can be seen
)

// For makes the policy of p on arch, with the named walls missing. Error: a syscall group that does
// not exist, an architecture without a table. The gaps are grants of p that the policy withholds.
func For(p profile.Profile, arch Arch, missing ...Wall) (Policy, []profile.Gap, error) {
	if arch != AMD64 && arch != ARM64 {
		return Policy{}, nil, fmt.Errorf("seccomp %q: no system call table for this architecture", arch)
	}
	group, gaps, err := granted(p.Syscalls(), shares(missing, PID) || p.Processes() != profile.ProcessesOwn)
	if err != nil {
		return Policy{}, nil, err
	}
	net, gap := network(p.Network().Mode, shares(missing, Net))
	rules := slices.Concat(base, group, net, ipc(shares(missing, IPC)))
	rules = slices.DeleteFunc(rules, func(r rule) bool {
		return r.Unless != "" && slices.Contains(p.Syscalls(), r.Unless)
	})
	return Policy{arch: arch, rules: rules}, append(gaps, gap...), nil
}

// Owned returns p for a user namespace that has one user and one group. For an id that a namespace does not have the
// kernel answers chown(2) with EINVAL, where outside it is EPERM, which programs expect: fakeroot passes over that
// alone.
func (p Policy) Owned(uid, gid uint32) Policy {
	p.rules = slices.Clone(p.rules)
	owns := func(name string) bool { return owners[name] > 0 }
	for i, r := range p.rules {
		if r.Answer == Allow && len(r.When) == 0 {
			p.rules[i].Calls = slices.DeleteFunc(slices.Clone(r.Calls), owns)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(owners)) {
		at := owners[name]
		for _, user := range []uint64{uint64(uid), low32} {
			for _, group := range []uint64{uint64(gid), low32} { // -1 keeps what is
				p.rules = append(p.rules, rule{Calls: []string{name}, When: []test{is(at, user), is(at+1, group)},
					Why: "its own ids"})
			}
		}
		p.rules = append(p.rules, rule{Calls: []string{name}, Answer: EPERM, Why: "another owner", Usual: true})
	}
	return p
}

// owners are the calls that give a file to somebody, and the argument that is the user; the next one is the group.
var owners = map[string]uint8{"chown": 1, "lchown": 1, "fchown": 1, "fchownat": 2}

// Answer returns the answer to the named call with these arguments. A name that the architecture
// does not have gets ENOSYS.
func (p Policy) Answer(name string, args ...uint64) Answer {
	var a [6]uint64
	copy(a[:], args)
	return p.decides(name, a).Answer
}

// decides returns the rule that answers; one without a reason answers ENOSYS to unlisted calls.
func (p Policy) decides(name string, args [6]uint64) rule {
	for _, stage := range stages {
		for _, r := range p.rules {
			if stage.holds(r) && slices.Contains(r.Calls, name) && r.holds(args) {
				return r
			}
		}
	}
	return rule{Answer: ENOSYS}
}

// A stage is one part of the order in which the rules are asked, and one part of the program.
type stage struct {
	name  string
	holds func(rule) bool
}

var stages = []stage{
	{"refuse when", func(r rule) bool { return r.Answer != Allow && len(r.When) > 0 }},
	{"allow", func(r rule) bool { return r.Answer == Allow }},
	{"refuse", func(r rule) bool { return r.Answer != Allow && len(r.When) == 0 }},
}

// String lists the policy, one call a line, in the order of the names: the answer, the tests, the reason.
func (p Policy) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "architecture %v; any other: kill\n", p.arch)
	for _, name := range syscalls(p.arch) {
		mentioned := false
		for _, stage := range stages {
			for _, r := range p.rules {
				if stage.holds(r) && slices.Contains(r.Calls, name) {
					mentioned = true
					line(&b, name, r)
				}
			}
		}
		if !mentioned {
			line(&b, name, rule{Answer: ENOSYS})
		}
	}
	fmt.Fprintf(&b, "anything else: %v\n", ENOSYS)
	return b.String()
}

func line(b *strings.Builder, name string, r rule) {
	tests := make([]string, len(r.When))
	for i, t := range r.When {
		tests[i] = t.String()
	}
	fmt.Fprintf(b, "%s: %v", name, r.Answer)
	if len(tests) > 0 {
		fmt.Fprintf(b, " when %s", strings.Join(tests, " and "))
	}
	if r.Why != "" {
		fmt.Fprintf(b, " (%s)", r.Why)
	}
	b.WriteByte('\n')
}
