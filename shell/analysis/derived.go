package analysis

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Variable is a variable of the line: the line itself assigns every value that it can have. It is
// written with a prefix of our own, so that no variable of the environment or of bash is meant.
type Variable struct {
	Name string
	// Words are the words that assignments and loops give it.
	Words []Word
	// Reads are the calls whose output "read" assigns to it, for each read.
	Reads [][]*Call

	sites    int  // the number of its assignments in the text
	found    int  // of these, those whose values Words has
	unrolled bool // it is that of an unrolled loop, so nothing assigns to it
}

// Complete reports whether Words has all values that the text gives the variable.
func (v *Variable) Complete() bool { return v.found == v.sites }

// Part is a piece of a Derived word: literal text, or a value that the line itself produces.
type Part struct {
	Text string
	// Calls are the calls whose output is the value.
	Calls []*Call
	// Var is the variable whose value it is.
	Var *Variable
	// Quoted is true if bash does not split the value into words.
	Quoted bool
	// Process is true if the value is the name of a pipe from or to Calls.
	Process bool
}

// Parts returns the pieces of a Derived word.
func (w Word) Parts() []Part {
	out := make([]Part, len(w.pieces))
	for i, p := range w.pieces {
		out[i] = Part{Text: p.text, Calls: p.calls, Var: p.variable, Quoted: p.quoted, Process: p.process}
	}
	return out
}

// derives reports whether the value of a piece is known only when the line runs.
func (p piece) derives() bool { return p.variable != nil || p.subst != nil || p.calls != nil }

// ownPrefix is the prefix of the names under which the variables of a line are written.
const ownPrefix = "sbx_"

// shellNames lists the variables that bash itself reads or sets, or that say where programs are.
var shellNames = strings.Fields(`_ HOME PATH IFS PWD OLDPWD CDPATH ENV SHELL SHELLOPTS BASHOPTS PS0 PS1 PS2 PS3 PS4
	OPTARG OPTIND OPTERR REPLY RANDOM SECONDS LINENO EPOCHSECONDS EPOCHREALTIME FUNCNAME GROUPS DIRSTACK PIPESTATUS
	UID EUID PPID USER LOGNAME TERM LANG TZ TMPDIR TMOUT GLOBIGNORE FIGNORE HOSTNAME HOSTFILE EDITOR VISUAL PAGER
	BROWSER MAKEFLAGS MAKEFILES COLUMNS LINES`)

// nameFamilies lists the prefixes of variables that programs read.
var nameFamilies = strings.Fields(`BASH LD_ LC_ GIT_ GO PYTHON NODE_ NPM_ npm_ CARGO RUST PERL RUBY JAVA SBX_`)

// ownable reports whether a name may be that of a Variable: it is not one that bash or a family of programs reads.
func ownable(name string) bool {
	if !isName(name) || slices.Contains(shellNames, name) {
		return false
	}
	return !slices.ContainsFunc(nameFamilies, func(family string) bool { return strings.HasPrefix(name, family) })
}

// variables finds the variables of a text. A name is none if an assignment has a form that is
// not written back, or if it has capitals and the text does not use it: it is meant for a program then.
func variables(stmts []*syntax.Stmt) map[string]*Variable {
	out := map[string]*Variable{}
	other, used := map[string]bool{}, map[string]bool{}
	site := func(name string) {
		if !ownable(name) {
			return
		}
		if out[name] == nil {
			out[name] = &Variable{Name: name}
		}
		out[name].sites++
	}
	for _, s := range stmts {
		syntax.Walk(s, func(n syntax.Node) bool {
			switch x := n.(type) {
			case *syntax.ParamExp:
				if x.Param != nil {
					used[x.Param.Value] = true
				}
			case *syntax.Assign:
				if x.Name != nil && (x.Append || x.Naked || x.Index != nil || x.Array != nil) {
					other[x.Name.Value] = true
				}
			case *syntax.CallExpr:
				for _, a := range x.Assigns {
					if len(x.Args) > 0 && a.Name != nil {
						other[a.Name.Value] = true
					} else if a.Name != nil {
						site(a.Name.Value)
					}
				}
				if len(x.Args) > 1 && x.Args[0].Lit() == "read" {
					for _, w := range x.Args[1:] {
						site(w.Lit())
					}
				}
			case *syntax.DeclClause:
				for _, a := range x.Args {
					if a.Name != nil {
						other[a.Name.Value] = true
					}
				}
			case *syntax.WordIter:
				site(x.Name.Value)
			}
			return true
		})
	}
	for name := range out {
		if other[name] || strings.ToLower(name) != name && !used[name] {
			delete(out, name)
		}
	}
	return out
}

// variable reads a variable of the line.
func (r *wordReader) variable(name string) bool {
	v := r.p.vars[name]
	if v == nil || v.unrolled {
		return false
	}
	r.derived(piece{variable: v, quoted: r.quotes || r.assign})
	return true
}

func (r *wordReader) derived(p piece) {
	if r.kind == Unknown {
		return
	}
	r.lower(Derived)
	r.cut = true
	r.pieces = append(r.pieces, p)
}

// output reads the substitution of a command, or of the name of a pipe from one.
func (r *wordReader) output(stmts []*syntax.Stmt, process bool) {
	p := r.p
	start, was, feed := len(p.script.Calls), p.piped, p.feed
	p.subst++
	p.piped, p.feed = false, nil
	n, _ := p.list(stmts, r.dirs)
	p.piped, p.feed = was, feed
	p.subst--
	if n == nil || len(p.script.Calls) == start {
		p.fixed = false
		r.unknown()
		return
	}
	r.derived(
		piece{
			subst:   n,
			calls:   slices.Clone(p.script.Calls[start:]),
			process: process,
			quoted:  r.quotes || r.assign || process,
		},
	)
}

// binds reports whether a statement only assigns to variables of the line, and notes the values.
func (p *reader) binds(c *Call) bool {
	for _, a := range c.Assigns {
		if v := a.Value; p.vars[a.Name] == nil || a.Odd || !v.Fixed() && v.Kind != Derived {
			return false
		}
	}
	if len(c.Assigns) == 0 || len(c.Redirs) > 0 {
		return false
	}
	for _, a := range c.Assigns {
		v := p.vars[a.Name]
		v.Words = append(v.Words, a.Value)
		v.found++
	}
	return true
}

// forLoop reads a loop over words, globs and values of the line that stays in its directory.
func (p *reader) forLoop(c *syntax.ForClause, items []Word, dirs Dirs) (node, outcome) {
	iter, ok := c.Loop.(*syntax.WordIter)
	fits := func(w Word) bool { return w.Fixed() || w.Kind == Glob || w.Kind == Derived }
	if !ok || c.Select || p.vars[iter.Name.Value] == nil || len(items) == 0 || !p.unbound(iter.Name.Value) ||
		slices.ContainsFunc(items, func(w Word) bool { return !fits(w) }) {
		return nil, p.loop(dirs, c, func(d Dirs) Dirs { return p.body(c.Do, d) })
	}
	v := p.vars[iter.Name.Value]
	v.Words = append(v.Words, items...)
	v.found++
	n, out := p.list(c.Do, dirs)
	if !out.either().equal(dirs) {
		p.doubt("a loop that changes its directory", c.Pos(), c.End())
		return nil, same(Dirs{Paths: dirs.Paths, Unknown: true})
	}
	return &forNode{v, items, n}, same(dirs)
}

func (p *reader) unbound(name string) bool {
	_, ok := p.bound[name]
	return !ok
}

func (p *reader) body(stmts []*syntax.Stmt, dirs Dirs) Dirs {
	_, out := p.list(stmts, dirs)
	return out.either()
}

// readLoop reads "while read NAME…; do …; done". It returns false for every other loop.
func (p *reader) readLoop(c *syntax.WhileClause, dirs Dirs) (node, bool) {
	if c.Until || len(c.Cond) != 1 || len(c.Cond[0].Redirs) > 0 || c.Cond[0].Negated || c.Cond[0].Background {
		return nil, false
	}
	call, ok := c.Cond[0].Cmd.(*syntax.CallExpr)
	if !ok || len(call.Args) < 2 || call.Args[0].Lit() != "read" || len(call.Assigns) > 1 {
		return nil, false
	}
	n := &readNode{}
	for _, a := range call.Assigns {
		value := p.value(a.Value, dirs)
		if a.Name == nil || a.Name.Value != "IFS" || a.Append || a.Naked || a.Index != nil || a.Array != nil ||
			value.Kind != Literal {
			return nil, false
		}
		n.ifs, n.split = value.Text, true
	}
	for i := 1; i < len(call.Args); i++ {
		w := p.value(call.Args[i], dirs)
		switch {
		case w.Kind != Literal:
			return nil, false
		case w.Text == "-r" && len(n.vars) == 0:
			n.options = append(n.options, w.Text)
		case w.Text == "-d" && len(n.vars) == 0 && i+1 < len(call.Args):
			i++
			if w = p.value(call.Args[i], dirs); w.Kind != Literal || w.Text != "" {
				return nil, false
			}
			n.options = append(n.options, "-d", "")
		case p.vars[w.Text] != nil && p.unbound(w.Text):
			n.vars = append(n.vars, p.vars[w.Text])
		default:
			return nil, false
		}
	}
	if len(n.vars) == 0 {
		return nil, false
	}
	for _, v := range n.vars {
		v.Reads = append(v.Reads, p.feed)
	}
	body, out := p.list(c.Do, dirs)
	if n.body = body; !out.either().equal(dirs) {
		p.doubt("a loop that changes its directory", c.Pos(), c.End())
	}
	return n, true
}

// assignNode assigns to variables of the line.
type assignNode struct{ call *Call }

func (n *assignNode) write(w *writer) bool {
	for i, a := range n.call.Assigns {
		if i > 0 {
			w.b.WriteByte(' ')
		}
		w.b.WriteString(ownPrefix + a.Name + "=")
		if !w.word(&a.Value) {
			return false
		}
	}
	return len(n.call.Assigns) > 0
}

// forNode is a loop over words.
type forNode struct {
	variable *Variable
	items    []Word
	body     node
}

func (n *forNode) write(w *writer) bool {
	w.b.WriteString("for " + ownPrefix + n.variable.Name + " in")
	for i := range n.items {
		w.b.WriteByte(' ')
		if !w.word(&n.items[i]) {
			return false
		}
	}
	return w.group("; do ", "; done", n.body)
}

// readNode is a loop over the lines of its input.
type readNode struct {
	ifs     string
	split   bool // ifs is set
	options []string
	vars    []*Variable
	body    node
}

func (n *readNode) write(w *writer) bool {
	w.b.WriteString("while ")
	if n.split {
		w.b.WriteString("IFS=" + Quote(n.ifs) + " ")
	}
	w.b.WriteString("read")
	for _, o := range n.options {
		w.b.WriteString(" " + Quote(o))
	}
	for _, v := range n.vars {
		w.b.WriteString(" " + ownPrefix + v.Name)
	}
	return w.group("; do ", "; done", n.body)
}

// word writes one word of an assignment or a loop.
func (w *writer) word(word *Word) bool {
	switch {
	case word.Fixed():
		w.b.WriteString(Quote(word.Text))
		return true
	case word.Kind == Glob:
		return w.glob(Arg{Glob: word})
	}
	return w.shown(word)
}

// derive writes a piece of a Derived word.
func (w *writer) derive(p piece) bool {
	quote := ""
	if p.quoted && !p.process {
		quote = `"`
	}
	switch {
	case p.variable != nil:
		w.b.WriteString(quote + "$" + ownPrefix + p.variable.Name + quote)
		return true
	case p.subst != nil && p.process:
		return w.group("<( ", " )", p.subst)
	case p.subst != nil:
		return w.group(quote+"$( ", " )"+quote, p.subst)
	}
	return false
}

// filled makes a word in which a program replaces a mark by the output of calls.
func (w *Word) filled(mark string, calls []*Call) {
	texts := strings.Split(w.Text, mark)
	w.Kind, w.Text, w.pieces = Unknown, texts[0], nil
	if len(calls) == 0 {
		return
	}
	w.Kind = Derived
	for i, text := range texts {
		if i > 0 {
			w.pieces = append(w.pieces, piece{calls: calls, quoted: true})
		}
		if text != "" {
			w.pieces = append(w.pieces, piece{text: text})
		}
	}
}
