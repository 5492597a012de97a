package analysis

import (
	"slices"

	"mvdan.cc/sh/v3/syntax"
)

// list walks statements in order.
func (p *reader) list(stmts []*syntax.Stmt, dirs Dirs) (node, outcome) {
	l := &listNode{}
	out := same(dirs)
	for _, s := range stmts {
		if p.full() {
			break
		}
		var n node
		n, out = p.stmt(s, out.either())
		l.items = append(l.items, n)
		if s.Background {
			p.script.Background = true
			p.doubtAt("a job in the background, which outlives the line", int(s.Pos().Offset()), int(s.End().Offset()))
		}
	}
	if len(l.items) == 1 {
		return l.items[0], out
	}
	return l, out
}

// inner walks statements whose directory changes have no effect outside.
func (p *reader) inner(stmts []*syntax.Stmt, dirs Dirs) node {
	n, _ := p.list(stmts, dirs)
	return n
}

func (p *reader) stmt(s *syntax.Stmt, dirs Dirs) (node, outcome) {
	if p.full() {
		return nil, same(Dirs{Unknown: true})
	}
	var redirs []*Redir
	if len(s.Redirs) > 0 {
		redirs = make([]*Redir, 0, min(len(s.Redirs), maxWords))
	}
	for _, r := range s.Redirs {
		if redirs = append(redirs, p.redir(r, dirs)); p.script.Cut {
			break
		}
	}
	p.script.Redirs = append(p.script.Redirs, redirs...)
	if s.Coprocess || s.Disown {
		p.doubt("a construct of another shell", s.Pos(), s.End())
	}
	var n node
	out := same(dirs)
	switch cmd := s.Cmd.(type) {
	case nil:
		call := &Call{Redirs: redirs, Dirs: dirs, Via: p.via, Subst: p.subst > 0, Piped: p.piped, Offset: p.at(s.Pos()),
			End: p.end(s.End())}
		p.record(call)
		n = &callNode{call}
		p.doubt("a redirection without a command", s.Pos(), s.End())
	case *syntax.CallExpr:
		var call *Call
		call, n = p.call(cmd, redirs, dirs, s)
		out = p.changeDir(call)
	default:
		n, out = p.command(s.Cmd, dirs, s)
		if len(redirs) > 0 {
			n = &redirNode{n, redirs}
		}
	}
	if s.Background {
		out = same(dirs)
	}
	if s.Negated {
		n = &notNode{n}
		out.ok, out.fail = out.fail, out.ok
	}
	return n, out
}

func (p *reader) call(c *syntax.CallExpr, redirs []*Redir, dirs Dirs, s *syntax.Stmt) (*Call, node) {
	call := &Call{
		Redirs: redirs,
		Dirs:   dirs,
		Via:    p.via,
		Subst:  p.subst > 0,
		Piped:  p.piped,
		Offset: p.at(c.Pos()),
		End:    p.end(s.End()),
	}
	if s.Semicolon.IsValid() && p.span < 0 {
		call.End = p.at(s.Semicolon)
	}
	if len(c.Assigns) > 0 {
		call.Assigns = make([]Assign, 0, min(len(c.Assigns), maxWords))
	}
	for _, a := range c.Assigns {
		if call.Assigns = append(call.Assigns, p.assign(a, dirs)); p.script.Cut {
			break
		}
	}
	call.Args = make([]Word, 0, min(len(c.Args), maxWords))
	for _, w := range c.Args {
		if call.Args = append(call.Args, p.words(w, dirs)...); p.script.Cut {
			break
		}
	}
	p.record(call)
	if len(call.Args) == 0 && p.binds(call) {
		call.Binds = true
		return call, &assignNode{call}
	}
	if len(call.Args) == 0 {
		p.doubt("an assignment that changes the shell's state", c.Pos(), c.End())
		return call, &callNode{call}
	}
	if slices.Contains(p.declaring, call.Name()) {
		p.bomb(call.Name(), s)
	}
	p.unwrap(call)
	p.inputScript(call)
	return call, &callNode{call}
}

// bomb records a function that starts itself in the background or in a pipe.
func (p *reader) bomb(name string, s *syntax.Stmt) {
	if (s.Background || p.piped || p.subst > 0) && !slices.Contains(p.script.Bombs, name) {
		p.script.Bombs = append(p.script.Bombs, name)
	}
}

func (p *reader) assign(a *syntax.Assign, dirs Dirs) Assign {
	out := Assign{Odd: a.Append || a.Naked || a.Index != nil || a.Array != nil}
	if a.Name != nil {
		out.Name = a.Name.Value
	}
	if a.Index != nil {
		p.arithm(a.Index, dirs)
	}
	if a.Array != nil {
		for _, e := range a.Array.Elems {
			if e.Index != nil {
				p.arithm(e.Index, dirs)
			}
			if e.Value != nil {
				p.word(e.Value, dirs)
			}
		}
	}
	out.Value = p.value(a.Value, dirs)
	return out
}

func (p *reader) command(cmd syntax.Command, dirs Dirs, s *syntax.Stmt) (node, outcome) {
	switch c := cmd.(type) {
	case *syntax.BinaryCmd:
		return p.binary(c, dirs)
	case *syntax.Subshell:
		return &groupNode{open: "( ", shut: " )", list: p.inner(c.Stmts, dirs)}, same(dirs)
	case *syntax.Block:
		n, out := p.list(c.Stmts, dirs)
		return &groupNode{open: "{ ", shut: "; }", list: n}, out
	case *syntax.IfClause:
		return p.ifClause(c, dirs)
	case *syntax.TimeClause:
		if c.Stmt == nil {
			p.doubt("time without a command", c.Pos(), c.End())
			return nil, same(dirs)
		}
		n, out := p.stmt(c.Stmt, dirs)
		return &timeNode{n, c.PosixFormat}, out
	case *syntax.WhileClause:
		if n, ok := p.readLoop(c, dirs); ok {
			return n, same(dirs)
		}
		return nil, p.loop(dirs, c, func(d Dirs) Dirs {
			_, out := p.list(c.Cond, d)
			_, out = p.list(c.Do, out.either())
			return out.either()
		})
	case *syntax.ForClause:
		items, fixed := p.forHead(c, dirs)
		if fixed && p.unrolls(c, len(items)) {
			return p.unroll(c, items, dirs)
		}
		return p.forLoop(c, items, dirs)
	case *syntax.CaseClause:
		return nil, p.caseClause(c, dirs)
	case *syntax.FuncDecl:
		return nil, p.function(c, dirs)
	case *syntax.TestClause:
		return p.testClause(c, dirs)
	case *syntax.DeclClause:
		p.declClause(c, dirs, s)
		return nil, same(dirs)
	case *syntax.CoprocClause:
		p.doubt("a coprocess", c.Pos(), c.End())
		p.stmt(c.Stmt, dirs)
		return nil, same(dirs)
	case *syntax.ArithmCmd:
		p.doubt("arithmetic, which may run what a variable holds", c.Pos(), c.End())
		p.arithm(c.X, dirs)
		return nil, same(dirs)
	case *syntax.LetClause:
		p.doubt("arithmetic, which may run what a variable holds", c.Pos(), c.End())
		for _, x := range c.Exprs {
			p.arithm(x, dirs)
		}
		return nil, same(dirs)
	}
	p.doubt("a construct that is not understood", cmd.Pos(), cmd.End())
	p.anything(cmd, dirs)
	return nil, same(Dirs{Unknown: true})
}

// binary walks a chain of operators from its left end. The parser nests chains to the left, to
// the depth of their length.
func (p *reader) binary(c *syntax.BinaryCmd, dirs Dirs) (node, outcome) {
	chain := []*syntax.BinaryCmd{c}
	for {
		in, ok := c.X.Cmd.(*syntax.BinaryCmd)
		if !ok || c.X.Negated || c.X.Background || c.X.Coprocess || c.X.Disown || len(c.X.Redirs) > 0 ||
			isPipe(in.Op) != isPipe(c.Op) {
			break
		}
		chain = append(chain, in)
		c = in
	}
	if isPipe(c.Op) {
		return p.pipeline(chain, dirs), same(dirs)
	}
	n, out := p.stmt(c.X, dirs)
	for i := len(chain) - 1; i >= 0 && !p.full(); i-- {
		var y node
		var yo outcome
		switch op := chain[i].Op; op {
		case syntax.AndStmt:
			y, yo = p.stmt(chain[i].Y, out.ok)
			n, out = &binaryNode{"&&", n, y}, outcome{yo.ok, out.fail.union(yo.fail)}
		case syntax.OrStmt:
			y, yo = p.stmt(chain[i].Y, out.fail)
			n, out = &binaryNode{"||", n, y}, outcome{out.ok.union(yo.ok), yo.fail}
		default:
			p.doubt("an operator that is not understood", chain[i].Pos(), chain[i].End())
			p.anything(chain[i].Y, dirs)
			return nil, same(Dirs{Unknown: true})
		}
	}
	return n, out
}

func isPipe(op syntax.BinCmdOperator) bool { return op == syntax.Pipe || op == syntax.PipeAll }

// pipeline walks the parts of a pipe, each of which is a subshell.
func (p *reader) pipeline(chain []*syntax.BinaryCmd, dirs Dirs) node {
	start := len(p.script.Calls)
	n, _ := p.pipePart(chain[len(chain)-1].X, dirs)
	was, feed := p.piped, p.feed
	p.piped = true
	for i := len(chain) - 1; i >= 0 && !p.full(); i-- {
		p.feed = slices.Clone(p.script.Calls[start:])
		y, _ := p.pipePart(chain[i].Y, dirs)
		op := "|"
		if chain[i].Op == syntax.PipeAll {
			op = "|&"
		}
		n = &binaryNode{op, n, y}
	}
	p.piped, p.feed = was, feed
	return n
}

// pipePart walks one side of a pipe. A function that calls itself there is a bomb.
func (p *reader) pipePart(s *syntax.Stmt, dirs Dirs) (node, outcome) {
	if c, ok := s.Cmd.(*syntax.CallExpr); ok && len(c.Args) > 0 && slices.Contains(p.declaring, c.Args[0].Lit()) {
		if name := c.Args[0].Lit(); !slices.Contains(p.script.Bombs, name) {
			p.script.Bombs = append(p.script.Bombs, name)
		}
	}
	return p.stmt(s, dirs)
}

func (p *reader) ifClause(c *syntax.IfClause, dirs Dirs) (node, outcome) {
	n := &ifNode{}
	var end Dirs
	first := true
	merge := func(d Dirs) {
		if first {
			end, first = d, false
			return
		}
		end = end.union(d)
	}
	at := dirs
	for ; c != nil; c = c.Else {
		if len(c.Cond) == 0 { // else
			body, out := p.list(c.Then, at)
			n.orElse = body
			merge(out.either())
			return n, same(end)
		}
		cond, out := p.list(c.Cond, at)
		body, done := p.list(c.Then, out.ok)
		n.conds, n.thens = append(n.conds, cond), append(n.thens, body)
		merge(done.either())
		at = out.fail
	}
	merge(at)
	return n, same(end)
}

// loop walks a body that may run again in the directory in which it ended.
func (p *reader) loop(dirs Dirs, c syntax.Command, body func(Dirs) Dirs) outcome {
	p.doubt("a loop", c.Pos(), c.End())
	after := body(dirs)
	if !after.equal(dirs) {
		// The directory may change repeatedly.
		after = after.union(dirs)
		after.Unknown = true
	}
	return same(after)
}

// forHead reads the words of a for loop. fixed is true if all are known.
func (p *reader) forHead(c *syntax.ForClause, dirs Dirs) (items []Word, fixed bool) {
	switch l := c.Loop.(type) {
	case *syntax.WordIter:
		fixed = len(l.Items) > 0 && !c.Select
		for _, w := range l.Items {
			for _, item := range p.words(w, dirs) {
				items, fixed = append(items, item), fixed && item.Fixed()
			}
		}
	case *syntax.CStyleLoop:
		for _, x := range []syntax.ArithmExpr{l.Init, l.Cond, l.Post} {
			if x != nil {
				p.arithm(x, dirs)
			}
		}
	}
	return items, fixed
}

func (p *reader) caseClause(c *syntax.CaseClause, dirs Dirs) outcome {
	p.doubt("a case statement", c.Pos(), c.End())
	p.word(c.Word, dirs)
	end := dirs
	for _, item := range c.Items {
		for _, w := range item.Patterns {
			p.value(w, dirs)
		}
		_, out := p.list(item.Stmts, end)
		end = end.union(out.either())
	}
	return same(end)
}

func (p *reader) function(c *syntax.FuncDecl, dirs Dirs) outcome {
	p.doubt("a function, whose name hides a command of that name", c.Pos(), c.End())
	name := ""
	if c.Name != nil {
		name = c.Name.Value
		p.script.Funcs = append(p.script.Funcs, name)
	}
	p.declaring = append(p.declaring, name)
	// The function runs in the directory of its caller.
	p.stmt(c.Body, Dirs{Paths: dirs.Paths, Unknown: true})
	p.declaring = p.declaring[:len(p.declaring)-1]
	return same(Dirs{Paths: dirs.Paths, Unknown: true})
}

func (p *reader) testClause(c *syntax.TestClause, dirs Dirs) (node, outcome) {
	if plainTest(c.X) {
		return p.test(c, c.X, dirs), same(dirs)
	}
	p.doubt("a condition in [[ ]], which may compute", c.Pos(), c.End())
	p.anything(c, dirs)
	return nil, same(dirs)
}

// declClause records declare, export, local, readonly and similar as a call.
func (p *reader) declClause(c *syntax.DeclClause, dirs Dirs, s *syntax.Stmt) {
	call := &Call{Dirs: dirs, Via: p.via, Subst: p.subst > 0, Piped: p.piped, Offset: p.at(c.Pos()), End: p.end(s.End())}
	call.Args = append(call.Args, literalWord(c.Variant.Value))
	for _, a := range c.Args {
		assign := p.assign(a, dirs)
		w := assign.Value
		if assign.Name != "" {
			w.Text = assign.Name + "=" + w.Text
			if a.Naked {
				w.Text = assign.Name
			}
		}
		w.Source = p.source(a.Pos(), a.End())
		call.Args = append(call.Args, w)
	}
	p.record(call)
	p.doubt("a declaration that changes the shell's state", c.Pos(), c.End())
}
