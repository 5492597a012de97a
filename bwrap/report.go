package bwrap

import (
	"fmt"
	"maps"
	"slices"

	"sandboxd/profile"
	"sandboxd/profile/abspath"
)

// network is the mode that all profiles permit.
func network(all []profile.Profile) profile.Network {
	n := all[0].Network()
	for _, p := range all[1:] {
		n = n.Intersect(p.Network())
	}
	return n
}

// tmpSize is the smallest size that any profile gives a private directory.
func tmpSize(all []profile.Profile) int64 {
	var limits profile.Limits
	for _, p := range all {
		limits = limits.Intersect(p.Limits())
	}
	return limits.TmpSize
}

// report adds the gaps that no single mount is to blame for.
func (p *plan) report(all []profile.Profile, h Host) {
	p.reportExec()
	p.reportNames(all)
	if n := len(p.vacant); n > 0 {
		p.gap("vacant", "", fmt.Sprintf("%d granted paths in private directories do not exist on the host (%s, …): the "+
			"command may make its own there", n, p.vacant[0]), "")
	}
	if p.lays(ReadOnly) {
		p.gap("unix sockets", "", "a socket made later in a readable tree, or in one that was not looked through, can be "+
			"connected to", "Landlock from ABI 9")
	}
	switch n := network(all); {
	case n.Mode == profile.NetNone:
		p.gap("loopback", "", "bwrap brings up the loopback of the new network namespace",
			"the system call filter refuses sockets")
	case !n.ListenAny:
		p.gap("listen", "", "a network namespace does not tell ports apart", "Landlock from ABI 4")
	}
	if h.Version.Less(sizeSince) && tmpSize(all) > 0 && p.lays(Private) {
		p.gap("tmp size", "", "bwrap before "+sizeSince.String()+" cannot bound a private directory", "install a newer bwrap")
	}
	if !slices.ContainsFunc(all, func(q profile.Profile) bool { return q.Processes() != profile.ProcessesHost }) {
		p.narrowed("/proc", "the processes are always the sandbox's own, so that all of them can be ended", "")
	}
}

func (p *plan) lays(form Form) bool {
	for _, m := range p.mounts {
		if m.Form == form {
			return true
		}
	}
	return false
}

// reportExec says that execution is not held where it is not granted: bwrap
// has no option for noexec.
func (p *plan) reportExec() {
	var without []string
	for _, m := range p.ordered() {
		switch m.Form {
		case ReadOnly, Writable, Private:
			if !m.view.access.Has(profile.Exec) {
				without = append(without, m.Path)
			}
		case Device:
			if !m.view.access.Has(profile.Write) {
				p.gap("device write", m.Path, "a read-only mount does not keep a device from being written", "Landlock")
			}
		}
	}
	for path := range p.exact {
		if v := p.root.at(path).view(); p.mounts[path] == nil && v.access != 0 && !v.access.Has(profile.Exec) {
			without = append(without, path)
		}
	}
	if len(without) > 0 {
		p.gap("exec", "", fmt.Sprintf("bwrap cannot mount without execution, which %d paths do not grant", len(without)),
			"Landlock")
	}
}

// reportNames names the places where rules by name hold and something may be
// written: a path that does not exist yet has no mount.
func (p *plan) reportNames(all []profile.Profile) {
	var writable []string
	for _, m := range p.mounts {
		if ground := m.Form.ground(); ground == hostWrite || ground == own {
			writable = append(writable, m.Path)
		}
	}
	bases := map[string]map[string]bool{}
	for _, each := range all {
		for _, r := range each.NameRules() {
			reaches := func(path string) bool { return abspath.Contains(r.Path, path) || abspath.Contains(path, r.Path) }
			if slices.ContainsFunc(writable, reaches) {
				if bases[r.Path] == nil {
					bases[r.Path] = map[string]bool{}
				}
				bases[r.Path][r.Name] = true
			}
		}
	}
	for _, base := range slices.Sorted(maps.Keys(bases)) {
		p.gap("later names", base, fmt.Sprintf("%d protected or hidden names are not held where they appear during the run",
			len(bases[base])), CheckedAfter)
	}
}

// CheckedAfter is the remedy for a path that no mount can hold: the program that runs
// the sandbox has to check it afterwards.
const CheckedAfter = "what changes there is checked after the run"

func sortedPaths(set map[string]bool) []string {
	out := make([]string, 0, len(set))
	for path := range set {
		out = append(out, path)
	}
	slices.SortFunc(out, outerFirst)
	return out
}
