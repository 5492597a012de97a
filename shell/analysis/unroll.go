package analysis

import "mvdan.cc/sh/v3/syntax"

// unrolls reports whether a loop over known words is read as its body, once for each word. The
// loop variable must be in lower case: variables of the shell and of programs are in capitals.
func (p *reader) unrolls(c *syntax.ForClause, items int) bool {
	name := c.Loop.(*syntax.WordIter).Name.Value
	for i := 0; i < len(name); i++ {
		if !(name[i] >= 'a' && name[i] <= 'z' || i > 0 && (name[i] == '_' || name[i] >= '0' && name[i] <= '9')) {
			return false
		}
	}
	if v := p.vars[name]; !p.unbound(name) || v == nil || v.sites > 1 {
		return false // after the inner loop the variable has that loop's last word
	}
	calls := 0
	for _, s := range c.Do {
		syntax.Walk(s, func(n syntax.Node) bool {
			if _, ok := n.(*syntax.CallExpr); ok {
				calls++
			}
			return true
		})
	}
	if p.count.unrolled+calls*items > maxUnroll {
		return false
	}
	p.count.unrolled += calls * items
	return true
}

// unroll walks the body of a loop once for each word, with the variable bound to it.
// Nothing else assigns to the variable; after the loop its value is not known.
func (p *reader) unroll(c *syntax.ForClause, items []Word, dirs Dirs) (node, outcome) {
	p.script.Unrolled = true
	outer := p.bound
	defer func() { p.bound = outer }()
	p.vars[c.Loop.(*syntax.WordIter).Name.Value].unrolled = true
	l := &listNode{}
	out := same(dirs)
	for _, item := range items {
		p.bound = map[string]Word{c.Loop.(*syntax.WordIter).Name.Value: item}
		for name, w := range outer {
			if _, ok := p.bound[name]; !ok {
				p.bound[name] = w
			}
		}
		var n node
		n, out = p.list(c.Do, out.either())
		l.items = append(l.items, n)
	}
	return &groupNode{open: "{ ", shut: "; }", list: l}, out
}
