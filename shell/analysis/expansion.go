package analysis

import "mvdan.cc/sh/v3/syntax"

func (p *reader) param(x *syntax.ParamExp, dirs Dirs) {
	p.fixed = false
	if x.Index != nil {
		p.arithm(x.Index, dirs)
	}
	if x.Slice != nil {
		for _, e := range []syntax.ArithmExpr{x.Slice.Offset, x.Slice.Length} {
			if e != nil {
				p.arithm(e, dirs)
			}
		}
	}
	if x.Repl != nil {
		for _, w := range []*syntax.Word{x.Repl.Orig, x.Repl.With} {
			if w != nil {
				p.value(w, dirs)
			}
		}
	}
	if x.Exp != nil && x.Exp.Word != nil {
		p.value(x.Exp.Word, dirs)
	}
	if x.NestedParam != nil {
		p.doubt("an expansion of another shell", x.Pos(), x.End())
		p.anything(x.NestedParam, dirs)
	}
	switch {
	case x.Excl || x.Names != 0:
		p.doubt("an indirect expansion", x.Pos(), x.End())
	case x.Exp != nil && x.Exp.Op == syntax.OtherParamOps:
		p.doubt("an expansion that may run what the variable holds", x.Pos(), x.End())
	case x.Index != nil || x.Slice != nil:
		p.doubt("an expansion that computes", x.Pos(), x.End())
	}
}

func (p *reader) substitution(stmts []*syntax.Stmt, dirs Dirs) {
	p.fixed = false
	p.subst++
	was := p.piped
	p.piped = false
	p.list(stmts, dirs)
	p.piped = was
	p.subst--
}

func (p *reader) arithm(x syntax.ArithmExpr, dirs Dirs) {
	p.fixed = false
	if x == nil {
		return
	}
	p.doubt("arithmetic, which may run what a variable holds", x.Pos(), x.End())
	p.anything(x, dirs)
}

// anything records the commands in the substitutions of a node that has no walk of its own.
func (p *reader) anything(n syntax.Node, dirs Dirs) {
	p.fixed = false
	syntax.Walk(n, func(n syntax.Node) bool {
		switch x := n.(type) {
		case *syntax.Stmt:
			p.stmt(x, dirs)
			return false
		case *syntax.CmdSubst:
			p.substitution(x.Stmts, dirs)
			return false
		case *syntax.ProcSubst:
			p.substitution(x.Stmts, dirs)
			return false
		}
		return true
	})
}
