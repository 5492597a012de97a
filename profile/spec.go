package profile

import (
	"fmt"
	"slices"

	"sandboxd/profile/abspath"
)

// Spec is a profile as a program writes it, for [New].
type Spec struct {
	// Rules in any order: the most specific one holds, at the same path the stricter one (Hide,
	// Protect, Private, Allow; Allow with Allow grants the common access). A grant (Allow or
	// Private) at exactly the path where a name begins to match beats the name.
	Rules []Rule
	// Guards are Hide and Protect rules without an effect of their own: they come into force inside
	// later grants of [Profile.With]. Every Hide and Protect of Rules is one too.
	Guards []Rule
	// Network; the zero value is none, not even a loopback.
	Network Network
	// UnixSockets are sockets of the host that may be connected to. Sockets in writable paths may
	// be, too.
	UnixSockets []string
	// Devices are short for Allow read+write rules on paths in /dev.
	Devices []string
	// Env selects environment variables.
	Env Environment
	// Limits; zero is unlimited, see [DefaultLimits].
	Limits Limits
	// Syscalls are groups granted besides the ordinary ones.
	Syscalls []SyscallGroup
	// Processes says whose processes are seen.
	Processes Visibility
}

// New makes the profile that spec describes. It fails on the first rule or
// field that makes no sense, naming it.
func New(spec Spec) (Profile, error) {
	d := draft{
		network:   spec.Network,
		env:       spec.Env,
		limits:    spec.Limits,
		syscalls:  spec.Syscalls,
		processes: spec.Processes,
		sockets:   spec.UnixSockets,
	}
	rules := slices.Clone(spec.Rules)
	for _, device := range spec.Devices {
		if !abspath.Contains("/dev", device) {
			return Profile{}, fmt.Errorf("profile device %q: not in /dev", device)
		}
		rules = append(rules, Rule{Kind: Allow, Access: Read | Write, Path: device, Origin: "device"})
	}
	at := map[string][]Rule{}
	for _, r := range rules {
		if err := r.Validate(); err != nil {
			return Profile{}, ruleError(r, err)
		}
		if r.Kind >= Protect {
			d.guards = append(d.guards, withoutAccess(r))
		}
		if r.Name == "" {
			at[r.Path] = append(at[r.Path], r)
			continue
		}
		n, err := newNamed(r)
		if err != nil {
			return Profile{}, ruleError(r, err)
		}
		d.names = append(d.names, n)
	}
	for _, r := range spec.Guards {
		if r.Kind < Protect {
			return Profile{}, ruleError(r, fmt.Errorf("a guard hides or protects"))
		}
		if err := r.Validate(); err != nil {
			return Profile{}, ruleError(r, err)
		}
		d.guards = append(d.guards, withoutAccess(r))
	}
	if err := d.validate(); err != nil {
		return Profile{}, err
	}
	for p, rules := range at {
		d.points = append(d.points, point{p, func(inherited Cursor) turn { return combine(rules, inherited) }})
	}
	return Profile{assemble(d)}, nil
}

func withoutAccess(r Rule) Rule {
	r.Access = 0
	return r
}

func ruleError(r Rule, err error) error {
	if r.Origin != "" {
		return fmt.Errorf("profile rule %q (%s): %w", r.Kind.String()+" "+r.Target(), r.Origin, err)
	}
	return fmt.Errorf("profile rule %q: %w", r.Kind.String()+" "+r.Target(), err)
}

// combine returns the result of the rules of one path.
func combine(rules []Rule, inherited Cursor) turn {
	out := turn{state: inherited.state}
	if inherited.rule != nil {
		out.rule = *inherited.rule
	}
	granted := false
	for _, r := range rules {
		given := state{access: r.Access, private: r.Kind == Private, protected: r.Kind == Protect}
		switch {
		case r.Kind == Hide || r.Kind == Protect && r.Access == 0:
			continue
		case r.Kind == Private && r.Access == 0:
			given.access = fullAccess
		}
		if !granted || given.meet(out.state) != out.state {
			out.rule = r
		}
		if granted {
			given = given.meet(out.state)
		}
		out.state, granted = given, true
	}
	for _, r := range rules {
		if r.Kind < Protect {
			continue
		}
		if s := out.state.restrict(r.Kind); s != out.state {
			out.state, out.rule = s, r
		}
	}
	return out
}
