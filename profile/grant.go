package profile

import (
	"fmt"
	"slices"
	"strings"

	"sandboxd/profile/abspath"
)

// Grant is one widening, as a person was shown it: exactly one of a path, a
// host or a socket.
type Grant struct {
	// Path and Access open one path of the host and everything below it.
	Path   string
	Access Access
	// Host opens one host.
	Host HostPort
	// Socket opens one Unix socket.
	Socket string
	// Origin is recorded with the rule, for people.
	Origin string
}

// String returns for example "write /srv/data".
func (g Grant) String() string {
	switch {
	case g.Path != "":
		return g.Access.String() + " " + g.Path
	case g.Host != HostPort{}:
		return "connect " + g.Host.String()
	}
	return "connect " + g.Socket
}

func (g Grant) validate() error {
	given := 0
	for _, is := range []bool{g.Path != "", g.Host != HostPort{}, g.Socket != ""} {
		given += bit(is)
	}
	switch {
	case given != 1:
		return fmt.Errorf("grant %q: name exactly one path, host or socket", g)
	case g.Path == "" && g.Access != 0:
		return fmt.Errorf("grant %q: access belongs to a path", g)
	case g.Path != "" && (g.Access == 0 || g.Access&^fullAccess != 0):
		return fmt.Errorf("grant %q: name read, write or exec", g)
	}
	for _, p := range []string{g.Path, g.Socket} {
		if p == "" {
			continue
		}
		if err := validatePath(p); err != nil {
			return fmt.Errorf("grant %q: %w", g, err)
		}
	}
	if g.Host != (HostPort{}) {
		if err := g.Host.validate(); err != nil {
			return fmt.Errorf("grant %q: %w", g, err)
		}
	}
	return nil
}

// With returns the profile widened by exactly g.
//
// A path gets the access in addition to its own; a private one shows the host's content from then
// on, with the access of the grant only. The same applies below it as far as the path's own state
// reached: rules for paths further down stay, and so does everything that is hidden or protected by
// name, or by a guard, unless it is the very path of the grant. A host turns mode none or loopback
// into an allowlist of one. The error names the fault of the grant.
//
// With widens: intersect with the operator's profile afterwards, not before.
func (p Profile) With(g Grant) (Profile, error) {
	if err := g.validate(); err != nil {
		return Profile{}, err
	}
	b := p.get()
	d := b.draft()
	switch {
	case g.Host != HostPort{}:
		if d.network.Mode < NetAllowlist {
			d.network.Mode = NetAllowlist
		}
		if d.network.Mode == NetAllowlist {
			d.network.Hosts = append(slices.Clone(d.network.Hosts), g.Host)
		}
	case g.Socket != "":
		d.sockets = append(slices.Clone(d.sockets), g.Socket)
	default:
		if err := b.open(&d, g); err != nil {
			return Profile{}, err
		}
	}
	return Profile{assemble(d)}, nil
}

// draft returns the draft that b is the normal form of.
func (b *body) draft() draft {
	d := draft{
		names: b.tree.names, guards: b.guards, network: b.network, sockets: b.sockets, env: b.env,
		limits: b.limits, syscalls: b.syscalls, processes: b.processes,
	}
	for _, r := range b.turns {
		d.points = append(d.points, b.fixed(r.Path))
	}
	return d
}

// fixed returns the point that preserves the state of b at p.
func (b *body) fixed(p string) point {
	c := b.tree.at(p)
	_, _, r := c.Effective()
	return point{p, func(Cursor) turn { return turn{c.state, r} }}
}

// open adds the grant of a path to d.
func (b *body) open(d *draft, g Grant) error {
	before := b.tree.at(g.Path)
	after := state{access: g.Access}
	if !before.state.private {
		after.access |= before.state.access
		after.protected = before.state.protected && after.access&Write == 0
	}
	if err := after.access.validate(); err != nil {
		return fmt.Errorf("grant %q: %w", g, err)
	}
	if !before.state.private && after.access == before.state.access {
		return nil
	}
	origin := g.Origin
	if origin == "" {
		origin = "granted"
	}
	rule := Rule{Kind: after.kind(), Access: after.access, Path: g.Path, Origin: origin}
	d.points = slices.DeleteFunc(d.points, func(pt point) bool { return pt.path == g.Path })
	d.points = append(d.points, point{g.Path, func(Cursor) turn { return turn{after, rule} }})
	d.guards = slices.DeleteFunc(slices.Clone(d.guards), func(r Rule) bool { return r.Name == "" && r.Path == g.Path })
	d.enforce(g.Path)
	return nil
}

// enforce makes the guards hold strictly below dir. Where a path has a rule
// of its own, that rule has its say already.
func (d *draft) enforce(dir string) {
	own := map[string]bool{}
	for _, pt := range d.points {
		own[pt.path] = true
	}
	held := map[string][]Rule{}
	for _, guard := range d.guards {
		for _, r := range guard.inside(dir) {
			if n, err := newNamed(r); err == nil && r.Name != "" {
				d.names = append(slices.Clone(d.names), n)
			} else if !own[r.Path] {
				held[r.Path] = append(held[r.Path], r)
			}
		}
	}
	for p, rules := range held {
		d.points = append(d.points, point{p, func(inherited Cursor) turn {
			if inherited.state.private {
				rules = nil // still the sandbox's own, nothing to hold back
			}
			return combine(rules, inherited)
		}})
	}
}

// inside returns the meaning of guard r strictly below dir.
func (r Rule) inside(dir string) []Rule {
	if r.Name == "" {
		if r.Path != dir && abspath.Contains(dir, r.Path) {
			return []Rule{r}
		}
		return nil
	}
	if abspath.Contains(dir, r.Path) {
		return []Rule{r}
	}
	if !abspath.Contains(r.Path, dir) {
		return nil
	}
	below := r
	below.Path = dir
	return append(r.straddling(dir), below)
}

// straddling returns the rest, to be matched below dir, of a name whose first elements may have
// matched the end of dir.
func (r Rule) straddling(dir string) []Rule {
	n, err := newNamed(r)
	if err != nil {
		return nil
	}
	var out []Rule
	above := abspath.Elements(dir)[len(abspath.Elements(r.Path)):]
	for k := 1; k < len(n.patterns) && k <= len(above); k++ {
		matched := true
		for i, element := range above[len(above)-k:] {
			matched = matched && n.patterns[i].Match(element)
		}
		if !matched {
			continue
		}
		rest := r
		rest.Path, rest.Name = dir, ""
		var texts, literals []string
		exact := true
		for _, p := range n.patterns[k:] {
			literal, ok := p.Literal()
			exact = exact && ok
			texts, literals = append(texts, p.String()), append(literals, literal)
		}
		if rest.Name = strings.Join(texts, "/"); exact {
			rest.Path, rest.Name = abspath.Join(dir, strings.Join(literals, "/")), ""
		}
		out = append(out, rest)
	}
	return out
}
