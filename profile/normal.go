package profile

import (
	"fmt"
	"slices"
)

// point is a path whose state may differ from the inherited one.
type point struct {
	path  string
	state func(inherited Cursor) turn
}

// draft is a profile before it is brought into its one normal form.
type draft struct {
	points    []point
	names     []named
	guards    []Rule
	network   Network
	sockets   []string
	env       Environment
	limits    Limits
	syscalls  []SyscallGroup
	processes Visibility
}

func (d draft) validate() error {
	if err := d.network.validate(); err != nil {
		return fmt.Errorf("profile network: %w", err)
	}
	if err := d.env.Validate(); err != nil {
		return fmt.Errorf("profile environment: %w", err)
	}
	if err := d.limits.Validate(); err != nil {
		return fmt.Errorf("profile limits: %w", err)
	}
	for _, s := range d.sockets {
		if err := validatePath(s); err != nil {
			return fmt.Errorf("profile socket: %w", err)
		}
	}
	for _, g := range d.syscalls {
		if g != SyscallsLeases && !slices.Contains(SyscallGroups(), g) {
			return fmt.Errorf("profile syscalls %q: unknown group, there are %q", g, SyscallGroups())
		}
	}
	if d.processes > ProcessesHost {
		return fmt.Errorf("profile processes: unknown visibility %d", d.processes)
	}
	return nil
}

// assemble brings a draft into normal form. Of the points it keeps those that
// say something that the directory above and the names do not; so profiles
// with the same names that mean the same at every path become the same.
func assemble(d draft) *body {
	b := &body{
		tree:      newTree(reduceNames(d.names)),
		network:   d.network.normal(),
		env:       d.env.normal(),
		limits:    d.limits,
		processes: d.processes,
		syscalls:  sortedSet(d.syscalls),
	}
	slices.SortFunc(d.points, func(p, q point) int { return comparePaths(p.path, q.path) })
	for _, pt := range d.points {
		inherited := b.tree.inherited(pt.path)
		t := pt.state(inherited)
		if t.state == inherited.state {
			continue
		}
		b.tree.set(pt.path, t.state, t.rule)
		b.turns = append(b.turns, t.state.asRule(pt.path, t.rule.Origin))
	}
	b.guards = reduceGuards(d.guards)
	for _, s := range sortedSet(d.sockets) {
		if !b.tree.at(s).state.access.Has(Write) {
			b.sockets = append(b.sockets, s)
		}
	}
	b.digest = b.sum()
	return b
}

func (s state) asRule(p, origin string) Rule {
	return Rule{Kind: s.kind(), Access: s.access, Path: p, Origin: origin}
}

// reduceGuards sorts guards and drops those that others cover.
func reduceGuards(guards []Rule) []Rule {
	var names []named
	paths := map[string]Rule{}
	for _, g := range guards {
		if g.Name != "" {
			n, err := newNamed(g)
			if err != nil {
				continue // validated before; a guard that parses is never lost here
			}
			names = append(names, n)
		} else if have, ok := paths[g.Path]; !ok || have.Kind < g.Kind {
			paths[g.Path] = g
		}
	}
	names = reduceNames(names)
	var out []Rule
	for _, n := range names {
		out = append(out, n.rule)
	}
	for p, g := range paths {
		if !slices.ContainsFunc(names, func(n named) bool { return n.rule.Kind >= g.Kind && n.anchors(p) }) {
			out = append(out, g)
		}
	}
	slices.SortFunc(out, compareRules)
	return out
}

func sortedSet[T ~string](in []T) []T {
	out := slices.Clone(in)
	slices.Sort(out)
	return slices.Compact(out)
}
