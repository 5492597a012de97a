package analysis

import (
	"errors"
	"strings"
	"sync"

	"mvdan.cc/sh/v3/syntax"
)

// reader walks one parsed text. A script held in a word (bash -c) has a reader of its own that
// shares the outer Script.
type reader struct {
	text   string
	place  Place
	script *Script
	nested int
	// base and span are the position of the word that holds a nested text; all findings of that
	// text get it. If span < 0, offsets of this text are offsets of the line.
	base, span int
	via        []string
	subst      int
	piped      bool
	needHome   bool
	fixed      bool // the text so far can be written back
	declaring  []string
	bound      map[string]Word // the values of the variables of enclosing loops
	vars       map[string]*Variable
	feed       []*Call // the calls whose output is the input here
	moves      int
	count      *counts
	wordsOnly  bool // do not unwrap wrappers
}

// counts are shared by a reader and the readers of nested scripts.
type counts struct{ calls, words, scripts, globs, unrolled int }

var parsers = sync.Pool{New: func() any {
	return syntax.NewParser(syntax.Variant(syntax.LangBash))
}}

// Line parses a command line.
func Line(text string, place Place) *Script {
	s := &Script{Text: text}
	dirs := Dirs{Unknown: place.Cwd == ""}
	if place.Cwd != "" {
		dirs.Paths = []string{place.Cwd}
	}
	p := &reader{text: text, place: place, script: s, span: -1, fixed: true, count: &counts{}}
	p.read(text, dirs)
	return s
}

// Command returns the script of an argv that is started without a shell: every word is literal.
func Command(argv []string, place Place) *Script {
	s := &Script{Text: strings.Join(argv, " ")}
	if len(argv) == 0 || argv[0] == "" {
		s.Doubts = append(s.Doubts, Doubt{Why: "there is no command"})
		return s
	}
	dirs := Dirs{Unknown: place.Cwd == ""}
	if place.Cwd != "" {
		dirs.Paths = []string{place.Cwd}
	}
	p := &reader{text: s.Text, place: place, script: s, span: -1, fixed: true, count: &counts{}}
	call := &Call{Dirs: dirs, End: len(s.Text)}
	at := 0
	for _, a := range argv {
		w := literalWord(a)
		w.Offset, w.End = at, at+len(a)
		at = w.End + 1
		call.Args = append(call.Args, w)
		doubts, _ := characterDoubts(a)
		for _, d := range doubts {
			d.Offset, d.End = d.Offset+w.Offset, d.End+w.Offset
			s.Doubts = append(s.Doubts, d)
		}
	}
	p.record(call)
	p.unwrap(call)
	if p.fixed {
		s.root = &callNode{call}
	}
	return s
}

// Words parses the words of one simple command, for patterns. It does not unwrap wrappers. It
// returns an error if the text is more than one simple command.
func Words(text string) ([]Word, error) {
	s := &Script{Text: text}
	p := &reader{text: text, script: s, span: -1, count: &counts{}, wordsOnly: true}
	p.read(text, Dirs{Unknown: true})
	switch {
	case len(s.Doubts) > 0:
		return nil, errors.New(s.Doubts[0].Why)
	case len(s.Calls) != 1 || len(s.Redirs) > 0 || len(s.Calls[0].Assigns) > 0:
		return nil, errors.New("it is more than the words of one command")
	}
	return s.Calls[0].Args, nil
}

// read parses text and walks it, filling p.script.
func (p *reader) read(text string, dirs Dirs) {
	doubts, fatal := textDoubts(text)
	for _, d := range doubts {
		p.script.Doubts = append(p.script.Doubts, p.placed(d))
	}
	if !fatal && tooDeep(text) {
		p.doubtAt("more brackets or commands within each other than are read", 0, len(text))
		fatal = true
	}
	if fatal {
		p.fixed = false
		return
	}
	stmts, more, err := parse(text)
	if err != nil {
		at := 0
		why := err.Error()
		if pe, ok := err.(syntax.ParseError); ok {
			at, why = int(pe.Pos.Offset()), pe.Text
		}
		p.doubtAt("it is not shell that can be read: "+why, at, len(text))
		p.script.Doubts[len(p.script.Doubts)-1].Unread = true
		p.fixed = false
		p.fragments(text, Dirs{Unknown: true})
		return
	}
	p.vars = variables(stmts)
	root, _ := p.list(stmts, dirs)
	if more {
		p.cut()
	}
	if p.fixed {
		p.script.root = root
	}
}

// assigns reports whether the text may assign to a variable.
func (p *reader) assigns(name string) bool {
	return strings.Contains(p.text, name+"=") || strings.Contains(p.text, " "+name+" ")
}

// parse returns the first maxCalls statements of a text. more is true if others follow; these
// are not checked, not even for syntax.
func parse(text string) (stmts []*syntax.Stmt, more bool, err error) {
	parser := parsers.Get().(*syntax.Parser)
	defer parsers.Put(parser)
	// Called, not ranged over: after a stop the parser may still yield an error.
	parser.StmtsSeq(strings.NewReader(text))(func(s *syntax.Stmt, failed error) bool {
		switch {
		case more:
		case failed != nil:
			err = failed
		case len(stmts) == maxCalls:
			more = true
		default:
			stmts = append(stmts, s)
		}
		return !more && err == nil
	})
	if err != nil {
		return nil, false, err
	}
	return stmts, more, nil
}

func (p *reader) at(pos syntax.Pos) int {
	if p.span >= 0 {
		return p.base
	}
	return int(pos.Offset())
}

func (p *reader) end(pos syntax.Pos) int {
	if p.span >= 0 {
		return p.base + p.span
	}
	return int(pos.Offset())
}

func (p *reader) source(from, to syntax.Pos) string {
	a, b := int(from.Offset()), int(to.Offset())
	if a < 0 || b > len(p.text) || a >= b {
		return ""
	}
	return p.text[a:b]
}

func (p *reader) placed(d Doubt) Doubt {
	if p.span >= 0 {
		d.Offset, d.End = p.base, p.base+p.span
	}
	return d
}

func (p *reader) doubtAt(why string, offset, end int) {
	p.fixed = false
	p.script.Doubts = append(p.script.Doubts, p.placed(Doubt{Why: why, Offset: offset, End: end}))
}

func (p *reader) doubt(why string, from, to syntax.Pos) {
	p.doubtAt(why, int(from.Offset()), int(to.Offset()))
}

// record adds a call. It returns false if there are too many; the caller then must not read the
// call further.
func (p *reader) record(c *Call) bool {
	if p.full() {
		return false
	}
	p.count.calls++
	p.script.Calls = append(p.script.Calls, c)
	return true
}

func (p *reader) full() bool {
	if p.count.calls < maxCalls && p.count.words < maxWords {
		return false
	}
	p.cut()
	return true
}

// cut records that the rest of the text was not read.
func (p *reader) cut() {
	if !p.script.Cut {
		p.script.Cut = true
		p.doubtAt("more commands or words than are read; those behind them were not looked at", 0, len(p.text))
	}
	p.fixed = false
}

// nestedText reads a script that a word holds. It returns the script with its own root; its
// calls, redirections and doubts are added to the outer script. It returns nil if there are too
// many scripts.
func (p *reader) nestedText(w Word, dirs Dirs, via []string) *Script {
	inner := &Script{Text: w.Text}
	if p.count.scripts++; p.nested+1 > maxNested || p.count.scripts > maxScripts {
		p.doubtAt("scripts within scripts, more than are read", w.Offset, w.End)
		return nil
	}
	q := &reader{text: w.Text, place: p.place, script: inner, nested: p.nested + 1,
		base: w.Offset, span: w.End - w.Offset, via: via, subst: p.subst, piped: p.piped, fixed: true, count: p.count}
	q.read(w.Text, dirs)
	p.script.Calls = append(p.script.Calls, inner.Calls...)
	p.script.Redirs = append(p.script.Redirs, inner.Redirs...)
	p.script.Doubts = append(p.script.Doubts, inner.Doubts...)
	p.script.Funcs = append(p.script.Funcs, inner.Funcs...)
	p.script.Bombs = append(p.script.Bombs, inner.Bombs...)
	p.script.Cut = p.script.Cut || inner.Cut
	p.script.Unrolled = p.script.Unrolled || inner.Unrolled
	return inner
}
