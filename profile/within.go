package profile

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"sandboxd/profile/abspath"
)

// Excess is something that one profile allows and another does not.
type Excess struct {
	// What is "path", "network", "socket", "environment", "limits", "syscalls" or "processes".
	What string
	// Object is, for a path, one at which they differ; else the setting of
	// the profile that allows more.
	Object string
}

// String returns for example "path /srv".
func (e Excess) String() string { return e.What + " " + e.Object }

// Within reports whether p allows nothing that q does not: no path, host, socket, variable, system
// call or amount. Guards do not count; they restrict later grants.
//
// It is decided, not sampled: two profiles are two automata over the elements of a path, and the
// product of the two is finite.
func (p Profile) Within(q Profile) bool { return p.Exceeds(q) == nil }

// Exceeds returns accesses that p allows and q does not, at most one of each sort and a path first;
// nil if p is within q.
func (p Profile) Exceeds(q Profile) []Excess {
	a, b := p.get(), q.get()
	var out []Excess
	add := func(more bool, what string, object any) {
		if more {
			out = append(out, Excess{what, fmt.Sprint(object)})
		}
	}
	path, more := a.exceeds(b)
	add(more, "path", path)
	add(!a.network.Within(b.network), "network", a.network)
	socket := slices.IndexFunc(a.sockets, func(s string) bool { return !q.Allows(OpConnect, s).Allowed })
	if socket >= 0 {
		add(true, "socket", a.sockets[socket])
	}
	add(!a.env.Within(b.env), "environment", a.env)
	add(!a.limits.Within(b.limits), "limits", a.limits)
	group := slices.IndexFunc(a.syscalls, func(g SyscallGroup) bool { return !slices.Contains(b.syscalls, g) })
	if group >= 0 {
		add(true, "syscalls", a.syscalls[group])
	}
	add(a.processes > b.processes, "processes", a.processes)
	return out
}

// pair is a place in the product of two automata.
type pair struct {
	a, b Cursor
	path string
}

// exceeds searches for a path at which a allows more than b.
func (a *body) exceeds(b *body) (witness string, found bool) {
	names := newAlphabet(a.tree, b.tree)
	queue := []pair{{a.tree.cursor(), b.tree.cursor(), "/"}}
	seen := map[place]bool{queue[0].place(): true}
	for ; len(queue) > 0; queue = queue[1:] {
		at := queue[0]
		if !at.a.state.within(at.b.state) {
			return at.path, true
		}
		visit := func(element string) {
			next := pair{a: at.a.Child(element), b: at.b.Child(element)}
			if p := next.place(); !seen[p] {
				seen[p] = true
				next.path = abspath.Join(at.path, element)
				queue = append(queue, next)
			}
		}
		for _, element := range names {
			visit(element)
		}
		for _, element := range children(at.a.node, at.b.node) {
			visit(element)
		}
	}
	return "", false
}

func children(nodes ...*node) []string {
	var out []string
	for _, n := range nodes {
		if n != nil {
			out = slices.AppendSeq(out, maps.Keys(n.children))
		}
	}
	return sortedSet(out)
}

// place identifies a pair: pairs with the same place have the same future.
type place struct{ a, b spot }

type spot struct {
	node    *node
	active  *nameSet
	state   state
	partial string
}

func (p pair) place() place { return place{p.a.spot(), p.b.spot()} }

func (c Cursor) spot() spot {
	s := spot{node: c.node, active: c.active, state: c.state}
	if len(c.partial) > 0 {
		var b strings.Builder
		for _, p := range c.partial {
			fmt.Fprintf(&b, "%p+%d ", p.name, p.next)
		}
		s.partial = b.String()
	}
	return s
}
