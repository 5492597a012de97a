package profile

import (
	"slices"
	"strings"

	"sandboxd/profile/abspath"
)

// node is a path that some rule mentions, or an ancestor of one.
type node struct {
	children map[string]*node
	turn     *turn    // the state set at this path, nil: as above it
	active   *nameSet // names whose base is this path or an ancestor
	visible  bool     // something strictly below is granted
}

// turn is a path at which the state changes to something that neither the
// directory above nor a name explains.
type turn struct {
	state state
	rule  Rule
}

// nameSet is the names that may begin to match at the next element.
type nameSet struct {
	list    []named
	first   map[string][]int // by their first element, when it is literal
	pattern []int            // the others
}

func newNameSet(list []named) *nameSet {
	s := &nameSet{list: list, first: map[string][]int{}}
	for i, n := range list {
		if first, ok := n.patterns[0].Literal(); ok {
			s.first[first] = append(s.first[first], i)
		} else {
			s.pattern = append(s.pattern, i)
		}
	}
	return s
}

// partial is a name of which the first elements have matched.
type partial struct {
	name *named
	next int
}

// Cursor walks down a tree of files one element at a time and knows the state at its position. It
// is a value: a copy walks on its own. Visiting n entries of a tree costs n steps, for any number
// of rules.
type Cursor struct {
	node    *node
	active  *nameSet
	partial []partial
	state   state
	rule    *Rule
	turned  bool
}

// Child returns the cursor at the entry called element.
func (c Cursor) Child(element string) Cursor {
	next := Cursor{active: c.active, state: c.state, rule: c.rule}
	var hit *named
	advance := func(n *named, i int) {
		switch {
		case !n.patterns[i].Match(element):
		case i+1 < len(n.patterns):
			next.partial = append(next.partial, partial{n, i + 1})
		case hit == nil || n.rule.Kind > hit.rule.Kind:
			hit = n
		}
	}
	for _, p := range c.partial {
		advance(p.name, p.next)
	}
	if c.active != nil {
		for _, i := range c.active.first[element] {
			advance(&c.active.list[i], 0)
		}
		for _, i := range c.active.pattern {
			advance(&c.active.list[i], 0)
		}
	}
	if c.node != nil {
		next.node = c.node.children[element]
	}
	if next.node != nil {
		next.active = next.node.active
	}
	switch {
	case next.node != nil && next.node.turn != nil:
		next.state, next.rule = next.node.turn.state, &next.node.turn.rule
	case hit != nil:
		if s := next.state.restrict(hit.rule.Kind); s != next.state {
			next.state, next.rule = s, &hit.rule
		}
	}
	next.turned = next.state != c.state
	return next
}

// Effective returns the state here; see [Profile.Effective].
func (c Cursor) Effective() (Kind, Access, Rule) {
	var r Rule
	if c.rule != nil {
		r = *c.rule
	}
	return c.state.kind(), c.state.access, r
}

// Turned reports whether something else holds here than in the directory
// above: where mechanisms that mount put a mount.
func (c Cursor) Turned() bool { return c.turned }

// Settled reports whether the state is the same for everything below, under any name: a walk can
// stop.
func (c Cursor) Settled() bool {
	if c.node != nil && len(c.node.children) > 0 {
		return false
	}
	return c.state.access == 0 || len(c.partial) == 0 && (c.active == nil || len(c.active.list) == 0)
}

// tree holds the path rules and names of a profile.
type tree struct {
	root  *node
	names []named
}

func newTree(names []named) *tree {
	t := &tree{root: &node{}, names: names}
	for _, n := range names {
		t.insert(n.rule.Path)
	}
	t.index(t.root, "/", nil)
	return t
}

func (t *tree) index(n *node, at string, inherited *nameSet) {
	n.active = inherited
	var own []named
	for _, name := range t.names {
		if name.rule.Path == at {
			own = append(own, name)
		}
	}
	if own != nil {
		if inherited != nil {
			own = append(slices.Clone(inherited.list), own...)
		}
		n.active = newNameSet(own)
	}
	for element, child := range n.children {
		t.index(child, abspath.Join(at, element), n.active)
	}
}

// insert returns the node of p, made if need be.
func (t *tree) insert(p string) *node {
	n := t.root
	for _, element := range abspath.Elements(p) {
		child := n.children[element]
		if child == nil {
			child = &node{active: n.active}
			if n.children == nil {
				n.children = map[string]*node{}
			}
			n.children[element] = child
		}
		n = child
	}
	return n
}

// set makes p a turn. Paths come in the order of comparePaths.
func (t *tree) set(p string, s state, r Rule) {
	t.insert(p).turn = &turn{s, r}
	if s.access != 0 {
		t.see(p)
	}
}

// see marks the ancestors of a granted path.
func (t *tree) see(p string) {
	n := t.root
	for _, element := range abspath.Elements(p) {
		n.visible = true
		n = n.children[element]
	}
}

func (t *tree) cursor() Cursor {
	c := Cursor{node: t.root, active: t.root.active}
	if t.root.turn != nil {
		c.state, c.rule, c.turned = t.root.turn.state, &t.root.turn.rule, true
	}
	return c
}

// at walks to p.
func (t *tree) at(p string) Cursor {
	c := t.cursor()
	for rest := strings.TrimPrefix(p, "/"); rest != ""; {
		element, tail, _ := strings.Cut(rest, "/")
		c, rest = c.Child(element), tail
	}
	return c
}

// inherited returns the state at p without a turn there.
func (t *tree) inherited(p string) Cursor {
	if p == "/" {
		return Cursor{}
	}
	c := t.at(abspath.Parent(p))
	c.node = nil
	return c.Child(p[strings.LastIndexByte(p, '/')+1:])
}
