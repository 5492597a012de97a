package profile

import (
	"fmt"
	"slices"
)

// Intersect returns the profile that allows exactly the accesses that both p and q allow, at every
// path and in every other respect. It is commutative, associative and idempotent.
//
// At a path where one is private and the other is not, the result is private: neither grants the
// host's content. A Protect or Hide of either holds.
func (p Profile) Intersect(q Profile) Profile {
	a, b := p.get(), q.get()
	d := draft{
		names:     slices.Concat(a.tree.names, b.tree.names),
		guards:    slices.Concat(a.guards, b.guards),
		network:   a.network.Intersect(b.network),
		env:       a.env.Intersect(b.env),
		limits:    a.limits.Intersect(b.limits),
		processes: min(a.processes, b.processes),
	}
	for _, s := range a.sockets {
		if q.Allows(OpConnect, s).Allowed {
			d.sockets = append(d.sockets, s)
		}
	}
	for _, s := range b.sockets {
		if p.Allows(OpConnect, s).Allowed {
			d.sockets = append(d.sockets, s)
		}
	}
	for _, g := range a.syscalls {
		if slices.Contains(b.syscalls, g) {
			d.syscalls = append(d.syscalls, g)
		}
	}
	seen := map[string]bool{}
	for _, r := range slices.Concat(a.turns, b.turns) {
		if !seen[r.Path] {
			seen[r.Path] = true
			d.points = append(d.points, point{r.Path, func(Cursor) turn { return meetAt(a.tree.at(r.Path), b.tree.at(r.Path)) }})
		}
	}
	return Profile{assemble(d)}
}

// meetAt returns the meet of the states at one path, with the rule that narrowed.
func meetAt(a, b Cursor) turn {
	t := turn{state: a.state.meet(b.state)}
	_, _, ra := a.Effective()
	_, _, rb := b.Effective()
	switch {
	case t.state == a.state && (t.state != b.state || ra.Origin == rb.Origin):
		t.rule = ra
	case t.state == b.state && t.state != a.state:
		t.rule = rb
	default:
		t.rule = ra
		if rb.Origin != "" && rb.Origin != ra.Origin {
			t.rule.Origin = fmt.Sprintf("%s and %s", ra.Origin, rb.Origin)
		}
		t.rule.Kind, t.rule.Access = t.state.kind(), t.state.access
	}
	return t
}
