package document

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"sandboxd/profile"
)

func (d *Document) spec(v Variables) (profile.Spec, error) {
	var spec profile.Spec
	switch d.Base {
	case "", "everything":
		all := profile.Everything()
		spec = profile.Spec{
			Rules: []profile.Rule{{Kind: profile.Allow, Access: profile.Read | profile.Write | profile.Exec, Path: "/",
				Origin: d.origin("base", d.Base)}},
			Network: all.Network(), Env: all.Environment(), Syscalls: all.Syscalls(), Processes: all.Processes(),
		}
	case "nothing":
	default:
		return spec, d.fail("base", "", fmt.Errorf("base %q: everything or nothing", d.Base))
	}
	rules, guards, err := d.rules(v)
	if err != nil {
		return spec, err
	}
	spec.Rules, spec.Guards = join(spec.Rules, rules), guards
	for _, s := range d.Paths.Devices {
		p, err := v.expand(s)
		if err != nil {
			return spec, d.fail("paths.devices", s, err)
		}
		if !strings.HasPrefix(p, "/dev/") {
			return spec, d.fail("paths.devices", s, fmt.Errorf("device %q is not in /dev", s))
		}
		spec.Devices = append(spec.Devices, p)
	}
	for _, s := range d.Paths.Sockets {
		p, err := v.expand(s)
		if err != nil {
			return spec, d.fail("paths.sockets", s, err)
		}
		spec.UnixSockets = append(spec.UnixSockets, v.both(p)...)
	}
	if err := d.network(&spec.Network); err != nil {
		return spec, err
	}
	if err := d.environment(&spec.Env); err != nil {
		return spec, err
	}
	spec.Limits = d.Limits.profile()
	if err := spec.Limits.Validate(); err != nil {
		return spec, d.fail("limits", "", err)
	}
	return spec, d.system(&spec)
}

// join adds the document's rules to the base's; a rule for "/" replaces it.
func join(base, rules []profile.Rule) []profile.Rule {
	root := func(r profile.Rule) bool { return r.Path == "/" && r.Name == "" && r.Kind < profile.Protect }
	if slices.ContainsFunc(rules, root) {
		return rules
	}
	return append(base, rules...)
}

// rules turns the lists of [paths] into rules: a path's rights in read, write and exec add up,
// every other entry is a rule of its own.
func (d *Document) rules(v Variables) (rules, guards []profile.Rule, err error) {
	access := map[string]profile.Rule{}
	give := func(key string, list []string, a profile.Access) error {
		for _, s := range list {
			p, err := v.expand(s)
			if err != nil {
				return d.fail(key, s, err)
			}
			at := []string{p}
			if real, loose := v.real(p); real != p && !loose {
				at = append(at, real)
			}
			for _, p := range at {
				r, ok := access[p]
				if !ok {
					r = profile.Rule{Kind: profile.Allow, Path: p, Origin: d.origin(key, s)}
				}
				r.Access |= a
				access[p] = r
			}
		}
		return nil
	}
	for _, list := range []struct {
		key     string
		entries []string
		access  profile.Access
	}{
		{"paths.read", d.Paths.Read, profile.Read},
		{"paths.write", d.Paths.Write, profile.Read | profile.Write},
		{"paths.exec", d.Paths.Exec, profile.Read | profile.Exec},
	} {
		if err := give(list.key, list.entries, list.access); err != nil {
			return nil, nil, err
		}
	}
	for _, r := range access {
		rules = append(rules, r)
	}
	for _, s := range d.Paths.Private {
		p, err := v.expand(s)
		if err != nil {
			return nil, nil, d.fail("paths.private", s, err)
		}
		for _, p := range v.both(p) {
			rules = append(rules, profile.Rule{Kind: profile.Private, Path: p, Origin: d.origin("paths.private", s)})
		}
	}
	for _, list := range []struct {
		key     string
		entries []string
		kind    profile.Kind
		into    *[]profile.Rule
	}{
		{"paths.protect", d.Paths.Protect, profile.Protect, &rules},
		{"paths.hide", d.Paths.Hide, profile.Hide, &rules},
		{"paths.guard_protect", d.Paths.GuardProtect, profile.Protect, &guards},
		{"paths.guard_hide", d.Paths.GuardHide, profile.Hide, &guards},
	} {
		for _, s := range list.entries {
			p, name, err := v.target(s)
			if err != nil {
				return nil, nil, d.fail(list.key, s, err)
			}
			for _, p := range v.both(p) {
				r := profile.Rule{Kind: list.kind, Path: p, Name: name, Origin: d.origin(list.key, s)}
				if err := r.Validate(); err != nil {
					return nil, nil, d.fail(list.key, s, err)
				}
				*list.into = append(*list.into, r)
			}
		}
	}
	return rules, guards, nil
}

func (d *Document) network(n *profile.Network) error {
	if d.Network.Mode != "" {
		mode, err := profile.ParseNetMode(d.Network.Mode)
		if err != nil {
			return d.fail("network.mode", "", err)
		}
		n.Mode = mode
	}
	for _, s := range d.Network.Hosts {
		h, err := profile.ParseHostPort(s)
		if err == nil && n.Mode != profile.NetAllowlist {
			err = fmt.Errorf("hosts are for mode %q, and this is %q", profile.NetAllowlist, n.Mode)
		}
		if err != nil {
			return d.fail("network.hosts", s, err)
		}
		n.Hosts = append(n.Hosts, h)
	}
	if d.Network.Listen != nil {
		n.Listen, n.ListenAny = d.Network.Listen, false
	}
	n.ListenAny = n.ListenAny || d.Network.ListenAny
	return nil
}

func (d *Document) environment(e *profile.Environment) error {
	if d.Environment.Pass != nil {
		e.Pass, e.PassSecrets = d.Environment.Pass, false
	}
	e.PassSecrets = e.PassSecrets || d.Environment.Secrets
	e.Block, e.Set = d.Environment.Block, d.Environment.Set
	if err := e.Validate(); err != nil {
		return d.fail("environment", "", err)
	}
	return nil
}

func (d *Document) system(spec *profile.Spec) error {
	if d.System.Syscalls != nil {
		spec.Syscalls = nil
		for _, s := range d.System.Syscalls {
			g := profile.SyscallGroup(s)
			if !slices.Contains(profile.SyscallGroups(), g) {
				return d.fail("system.syscalls", s, fmt.Errorf("unknown group %q, there are %q", s, profile.SyscallGroups()))
			}
			spec.Syscalls = append(spec.Syscalls, g)
		}
	}
	switch d.System.Processes {
	case "":
	case "own":
		spec.Processes = profile.ProcessesOwn
	case "host":
		spec.Processes = profile.ProcessesHost
	default:
		return d.fail("system.processes", "", fmt.Errorf("processes %q: own or host", d.System.Processes))
	}
	return nil
}

func (l Limits) profile() profile.Limits {
	return profile.Limits{
		Wall: time.Duration(l.Wall), CPU: time.Duration(l.CPU), Memory: int64(l.Memory), FileSize: int64(l.FileSize),
		TmpSize: int64(l.TmpSize), LayerSize: int64(l.LayerSize), Output: int64(l.Output), Processes: l.Processes,
		OpenFiles: l.OpenFiles,
	}
}

func limitsOf(l profile.Limits) Limits {
	return Limits{
		Wall: Duration(l.Wall), CPU: Duration(l.CPU), Memory: Size(l.Memory), FileSize: Size(l.FileSize),
		TmpSize: Size(l.TmpSize), LayerSize: Size(l.LayerSize), Output: Size(l.Output), Processes: l.Processes,
		OpenFiles: l.OpenFiles,
	}
}
