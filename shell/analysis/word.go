package analysis

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Kind says how much of a word is known before the line runs.
type Kind uint8

// The kinds of words. The zero value is Unknown.
const (
	// Unknown: part of the word is known only when the line runs. Text has the known prefix.
	Unknown Kind = iota
	// Derived: part of the word is the output of commands of the line, or a variable that the line
	// itself assigns. Text has the prefix before the first of them. See [Word.Parts].
	Derived
	// Shown: literal except for variables that are only printed ($?, $USER, …). Text has the
	// prefix before the first of them.
	Shown
	// Computed: the value is known, but only by an expansion (~, $HOME, braces, $'…'). It can be
	// matched, but does not run unasked.
	Computed
	// Glob: literal except for unquoted *, ? and [. Text is the pattern; backslashes escape its
	// quoted characters.
	Glob
	// Literal: exactly Text.
	Literal
)

// Word is one word of a command after quote removal.
type Word struct {
	Kind   Kind
	Text   string
	Source string // as written
	Offset int
	End    int
	// Bound is true for a Computed word that is a single word and whose value depends on the place
	// alone (~, $HOME, $PWD). It can be written back as a literal.
	Bound bool

	pieces []piece // of a Glob, a Shown or a Derived word
}

// piece is a part of a Glob or a Shown word.
type piece struct {
	text string
	glob bool // text is unquoted glob syntax
	show bool // text is an expansion that may be printed
	// class is true if text is one character class within a bracket expression, [:upper:].
	class bool

	// Of a Derived word: the variable, or the substitution and its calls.
	variable *Variable
	subst    node
	calls    []*Call
	process  bool // the substitution is that of a pipe
	quoted   bool // bash does not split the value
}

// Fixed reports whether the value is known and can be written back as a literal.
func (w Word) Fixed() bool { return w.Kind == Literal || w.Kind == Computed && w.Bound }

// Sample returns the text of a Shown or Derived word with each value replaced by a digit. status is true
// if all values are exit statuses.
func (w Word) Sample() (text string, status bool) {
	status = w.Kind == Shown
	var b strings.Builder
	for _, p := range w.pieces {
		if !p.show && !p.derives() {
			b.WriteString(p.text)
			continue
		}
		b.WriteByte('0')
		status = status && p.text == "$?"
	}
	return b.String(), status
}

// Known reports whether the value is known and a single word.
func (w Word) Known() bool { return w.Kind == Literal || w.Kind == Computed }

func (w Word) is(s string) bool { return w.Known() && w.Text == s }

// literalWord returns a word with the value s.
func literalWord(s string) Word { return Word{Kind: Literal, Text: s, Source: s} }

// wordReader builds one Word.
type wordReader struct {
	p      *reader
	dirs   Dirs
	text   strings.Builder
	pieces []piece
	kind   Kind
	cut    bool // text ends at the first unknown part
	loose  bool // bash may split or expand the known value
	assign bool // the word is the value of an assignment: no globs, no braces
	quotes bool // inside double quotes
	brace  bool // the word has an unquoted {
	closed bool // the word has an unquoted ]
}

func (p *reader) word(w *syntax.Word, dirs Dirs) Word {
	return p.readWord(w, dirs, false)
}

func (p *reader) value(w *syntax.Word, dirs Dirs) Word {
	if w == nil {
		return Word{Kind: Literal}
	}
	return p.readWord(w, dirs, true)
}

func (p *reader) readWord(w *syntax.Word, dirs Dirs, assign bool) Word {
	if p.count.words++; p.count.words > maxWords {
		p.full()
		return Word{}
	}
	out := Word{Offset: p.at(w.Pos()), End: p.end(w.End())}
	out.Source = p.source(w.Pos(), w.End())
	if len(w.Parts) == 1 { // the common case, without a builder
		if lit, ok := w.Parts[0].(*syntax.Lit); ok && plain(lit.Value) {
			out.Kind, out.Text = Literal, lit.Value
			return out
		}
	}
	r := wordReader{p: p, dirs: dirs, kind: Literal, assign: assign, closed: hasLit(w, ']')}
	for i, part := range w.Parts {
		r.part(part, i)
	}
	out.Kind = r.kind
	out.Text = r.text.String()
	if r.brace && r.kind != Unknown {
		if brace := braceLike(w); brace {
			out.Kind = Unknown
			p.doubt("brace expansion makes several words of one", w.Pos(), w.End())
		}
	}
	globbed := slices.ContainsFunc(r.pieces, func(p piece) bool { return p.glob })
	switch {
	case out.Kind == Computed:
		out.Bound = !r.loose && !globbed
	case (out.Kind == Shown || out.Kind == Derived) && globbed:
		out.Kind = Unknown
	case out.Kind == Shown || out.Kind == Derived:
		out.pieces = r.pieces
	}
	if out.Kind == Glob {
		if r.p.count.globs++; r.p.count.globs > maxGlobs {
			out.Kind, out.Text = Unknown, ""
			return out
		}
		out.pieces = r.pieces
		out.Text = globText(r.pieces)
	}
	return out
}

// globText joins the pieces of a glob. It escapes quoted characters with a backslash if they
// would be syntax.
func globText(pieces []piece) string {
	var b strings.Builder
	open := false // within [ ]
	for _, p := range pieces {
		if p.glob {
			b.WriteString(p.text)
			if at := strings.LastIndexAny(p.text, "[]"); at >= 0 && !p.class {
				open = p.text[at] == '['
			}
			continue
		}
		for i := 0; i < len(p.text); i++ {
			if c := p.text[i]; strings.IndexByte(`*?[]\`, c) >= 0 || open && strings.IndexByte("!^-", c) >= 0 {
				b.WriteByte('\\')
			}
			b.WriteByte(p.text[i])
		}
	}
	return b.String()
}

func (r *wordReader) lower(k Kind) {
	if k < r.kind {
		r.kind = k
	}
}

func (r *wordReader) unknown() {
	r.kind, r.cut = Unknown, true
}

func (r *wordReader) add(s string, glob bool) {
	if r.kind == Unknown || s == "" {
		return
	}
	if !r.cut {
		r.text.WriteString(s)
	}
	if n := len(r.pieces); n > 0 && r.pieces[n-1].glob == glob && !r.pieces[n-1].show && !r.pieces[n-1].class &&
		!r.pieces[n-1].derives() {
		r.pieces[n-1].text += s
		return
	}
	r.pieces = append(r.pieces, piece{text: s, glob: glob})
}

func (r *wordReader) part(part syntax.WordPart, index int) {
	switch x := part.(type) {
	case *syntax.Lit:
		r.unquoted(x, index == 0)
	case *syntax.SglQuoted:
		if !x.Dollar {
			r.add(x.Value, false)
			return
		}
		s, simple, ok := ansiC(x.Value)
		if !ok {
			r.unknown()
			return
		}
		if !simple {
			r.lower(Computed)
			r.loose = true
		}
		r.add(s, false)
	case *syntax.DblQuoted:
		if x.Dollar {
			r.lower(Computed) // translated by the locale
			r.loose = true
		}
		r.quoted(x.Parts)
	default:
		r.expansion(part)
	}
}

func (r *wordReader) quoted(parts []syntax.WordPart) {
	r.quotes = true
	defer func() { r.quotes = false }()
	for _, part := range parts {
		lit, ok := part.(*syntax.Lit)
		if !ok {
			r.expansion(part)
			continue
		}
		var b strings.Builder
		for i := 0; i < len(lit.Value); i++ {
			c := lit.Value[i]
			if c == '\\' && i+1 < len(lit.Value) && strings.IndexByte("$`\"\\", lit.Value[i+1]) >= 0 {
				i++
				c = lit.Value[i]
			}
			b.WriteByte(c)
		}
		r.add(b.String(), false)
	}
}

// expansion reads a part that expands: dollar signs, backquotes and similar.
func (r *wordReader) expansion(part syntax.WordPart) {
	switch x := part.(type) {
	case *syntax.ParamExp:
		if r.bound(x) || r.home(x) || r.shown(x) {
			return
		}
		r.p.param(x, r.dirs)
	case *syntax.CmdSubst:
		if body, ok := r.p.catText(x, r.dirs); ok && r.quotes {
			r.add(body, false)
			return
		}
		if !x.TempFile && !x.ReplyVar {
			r.output(x.Stmts, false)
			return
		}
		r.p.substitution(x.Stmts, r.dirs)
	case *syntax.ProcSubst:
		if x.Op == syntax.CmdIn && !r.assign && !r.quotes {
			r.output(x.Stmts, true)
			return
		}
		r.p.substitution(x.Stmts, r.dirs)
	case *syntax.ArithmExp:
		if text := r.p.source(x.Pos(), x.End()); r.number(text) {
			return
		}
		r.p.arithm(x.X, r.dirs)
	case *syntax.ExtGlob:
		r.p.doubt("an extended glob", x.Pos(), x.End())
	default:
		r.p.doubt("an expansion that is not understood", part.Pos(), part.End())
	}
	r.unknown()
}

// bound reads the variable of an unrolled loop.
func (r *wordReader) bound(x *syntax.ParamExp) bool {
	if !bare(x) || x.Index != nil {
		return false
	}
	item, ok := r.p.bound[x.Param.Value]
	if !ok {
		return r.variable(x.Param.Value)
	}
	if !r.quotes && !r.assign && (item.Text == "" || !plain(item.Text)) {
		return false
	}
	r.lower(item.Kind)
	r.add(item.Text, false)
	return true
}

// home reads $HOME and $PWD, whose values are known.
func (r *wordReader) home(x *syntax.ParamExp) bool {
	if !bare(x) || x.Index != nil {
		return false
	}
	var value string
	switch x.Param.Value {
	case "HOME":
		value = r.p.place.Home
	case "PWD":
		if len(r.dirs.Paths) == 1 && !r.dirs.Unknown {
			value = r.dirs.Paths[0]
		}
	}
	if value == "" || r.p.assigns(x.Param.Value) {
		return false
	}
	r.lower(Computed)
	r.loose = r.loose || !r.quotes && !plain(value)
	r.add(value, false)
	return true
}

// bare reports whether an expansion is only a parameter's value, with at most an index.
func bare(x *syntax.ParamExp) bool {
	return x.Param != nil && !x.Excl && !x.Length && !x.Width && !x.IsSet && x.Slice == nil &&
		x.Repl == nil && x.Names == 0 && x.Exp == nil && x.Flags == nil && x.NestedParam == nil && len(x.Modifiers) == 0
}

// printed lists variables that the sandbox or bash itself sets. None of them is a secret.
var printed = []string{
	"?", "USER", "LOGNAME", "SHELL", "PATH", "TERM", "LANG", "TMPDIR", "HOSTNAME", "UID", "EUID", "BASH_VERSION",
	"SECONDS",
}

// shown reads $? and other variables that may be printed.
func (r *wordReader) shown(x *syntax.ParamExp) bool {
	if !bare(x) || r.assign {
		return false
	}
	name := x.Param.Value
	text := "$" + name
	switch {
	case x.Index == nil && slices.Contains(printed, name) && !r.p.assigns(name):
	case name == "PIPESTATUS" && digit(x.Index):
		text = "${PIPESTATUS[" + x.Index.(*syntax.Word).Lit() + "]}"
	default:
		return false
	}
	if r.kind == Unknown {
		return true
	}
	r.lower(Shown)
	r.cut = true
	r.pieces = append(r.pieces, piece{text: text, show: true})
	return true
}

// digit reports whether an index is one literal digit.
func digit(x syntax.ArithmExpr) bool {
	w, ok := x.(*syntax.Word)
	return ok && len(w.Lit()) == 1 && w.Lit()[0] >= '0' && w.Lit()[0] <= '9'
}
