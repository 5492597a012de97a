package analysis

import (
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// maxBraces is the maximum number of words that one word with braces is expanded to.
const maxBraces = 64

// words reads a word of a command: several words if it has braces around literal text.
func (p *reader) words(w *syntax.Word, dirs Dirs) []Word {
	if !braceLike(w) || !fewBraces(w) {
		return []Word{p.word(w, dirs)}
	}
	var out []Word
	split := &syntax.Word{Parts: slices.Clone(w.Parts)}
	syntax.SplitBraces(split)
	for expanded, err := range expand.BracesSeq(nil, split) {
		if err != nil || len(out) == maxBraces {
			p.doubt("brace expansion to more words than are read", w.Pos(), w.End())
			break
		}
		read := p.word(expanded, dirs)
		read.Offset, read.End, read.Source = p.at(w.Pos()), p.end(w.End()), p.source(w.Pos(), w.End())
		out = append(out, read)
	}
	return out
}

// fewBraces reports whether a word is literal text with braces of names, commas and short ranges of numbers.
func fewBraces(w *syntax.Word) bool {
	commas := 0
	for _, part := range w.Parts {
		lit, ok := part.(*syntax.Lit)
		if !ok || strings.ContainsAny(lit.Value, "\\~") {
			return false
		}
		commas += strings.Count(lit.Value, ",")
		for i := 0; i < len(lit.Value); {
			at := strings.Index(lit.Value[i:], "..")
			if at < 0 {
				break
			}
			i += at + 2
			open := strings.LastIndexByte(lit.Value[:i-2], '{')
			end := strings.IndexByte(lit.Value[i:], '}')
			if open < 0 || end < 0 {
				continue
			}
			from, err := strconv.Atoi(lit.Value[open+1 : i-2])
			to, failed := strconv.Atoi(lit.Value[i : i+end])
			if err != nil || failed != nil || max(from, to)-min(from, to) > maxBraces {
				return false
			}
			commas += max(from, to) - min(from, to)
		}
	}
	return commas <= maxBraces
}

// number reads arithmetic over numbers alone. bash computes it; it names no variable.
func (r *wordReader) number(text string) bool {
	inner, ok := strings.CutPrefix(text, "$((")
	if !ok || !strings.HasSuffix(inner, "))") || r.assign || strings.Trim(inner, "0123456789+-*/%() ") != "" ||
		strings.ContainsAny(inner, "\n") || strings.Contains(inner, "++") || strings.Contains(inner, "--") {
		return false
	}
	if r.kind != Unknown {
		r.lower(Shown)
		r.cut = true
		r.pieces = append(r.pieces, piece{text: text, show: true})
	}
	return true
}

// fileTests lists the operators of [[ ]] with one operand that have the same meaning in
// test(1).
const fileTests = " -e -f -d -r -w -x -s -L -h -p -S -b -c -n -z "

// plainTest reports whether a condition in [[ ]] consists of tests that test(1) has too.
func plainTest(x syntax.TestExpr) bool {
	switch x := x.(type) {
	case *syntax.UnaryTest:
		if x.Op == syntax.TsNot {
			return plainTest(x.X)
		}
		_, ok := x.X.(*syntax.Word)
		return ok && strings.Contains(fileTests, " "+x.Op.String()+" ")
	case *syntax.ParenTest:
		return plainTest(x.X)
	case *syntax.BinaryTest:
		switch x.Op {
		case syntax.AndTest, syntax.OrTest:
			return plainTest(x.X) && plainTest(x.Y)
		case syntax.TsMatchShort, syntax.TsMatch, syntax.TsNoMatch:
			_, ok := x.X.(*syntax.Word)
			w, right := x.Y.(*syntax.Word)
			return ok && right && !slices.ContainsFunc(w.Parts, func(p syntax.WordPart) bool {
				lit, ok := p.(*syntax.Lit) // an unquoted value or glob is a pattern there
				_, single := p.(*syntax.SglQuoted)
				_, double := p.(*syntax.DblQuoted)
				return ok && !plain(lit.Value) || !ok && !single && !double
			})
		}
	}
	return false
}

// test reads a plain test as calls of test(1).
func (p *reader) test(c *syntax.TestClause, x syntax.TestExpr, dirs Dirs) node {
	var args []Word
	switch x := x.(type) {
	case *syntax.ParenTest:
		return &groupNode{open: "{ ", shut: "; }", list: p.test(c, x.X, dirs)}
	case *syntax.UnaryTest:
		if x.Op == syntax.TsNot {
			return &notNode{p.test(c, x.X, dirs)}
		}
		args = []Word{literalWord("test"), literalWord(x.Op.String()), p.readWord(x.X.(*syntax.Word), dirs, true)}
	case *syntax.BinaryTest:
		switch x.Op {
		case syntax.AndTest:
			return &groupNode{open: "{ ", shut: "; }", list: &binaryNode{"&&", p.test(c, x.X, dirs), p.test(c, x.Y, dirs)}}
		case syntax.OrTest:
			return &groupNode{open: "{ ", shut: "; }", list: &binaryNode{"||", p.test(c, x.X, dirs), p.test(c, x.Y, dirs)}}
		}
		op := "="
		if x.Op == syntax.TsNoMatch {
			op = "!="
		}
		args = []Word{literalWord("test"), p.readWord(x.X.(*syntax.Word), dirs, true), literalWord(op),
			p.readWord(x.Y.(*syntax.Word), dirs, true)}
	}
	call := &Call{
		Dirs:   dirs,
		Via:    p.via,
		Subst:  p.subst > 0,
		Piped:  p.piped,
		Offset: p.at(c.Pos()),
		End:    p.end(c.End()),
		Args:   args,
	}
	p.record(call)
	return &callNode{call}
}
