package analysis

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

func (p *reader) redir(r *syntax.Redirect, dirs Dirs) *Redir {
	out := &Redir{Op: r.Op.String(), Dirs: dirs, Offset: p.at(r.Pos()), End: p.end(r.End())}
	if r.N != nil {
		out.FD = r.N.Value
	}
	switch r.Op {
	case syntax.Hdoc, syntax.DashHdoc:
		out.Kind, out.Target = RedirText, p.heredoc(r, dirs)
		return out
	}
	if r.Word == nil {
		p.doubt("a redirection that is not understood", r.Pos(), r.End())
		return out
	}
	if r.Op == syntax.WordHdoc {
		out.Kind, out.Target = RedirText, p.value(r.Word, dirs)
		return out
	}
	out.Target = p.word(r.Word, dirs)
	target, known := out.Target.Text, out.Target.Known()
	switch r.Op {
	case syntax.DplOut, syntax.DplIn:
		if known && descriptor(target) {
			out.Kind = RedirDup
			return out
		}
	case syntax.RdrIn:
		out.Kind = RedirRead
	}
	switch {
	case known && target == "/dev/null":
		out.Kind = RedirNull
	case strings.HasPrefix(target, "/dev/tcp/"), strings.HasPrefix(target, "/dev/udp/"):
		out.Kind = RedirSocket
	}
	return out
}

// descriptor reports whether the word after >& or <& is one of 0, 1, 2 or "-".
func descriptor(s string) bool {
	switch s {
	case "0", "1", "2", "-":
		return true
	}
	return false
}

// heredoc reads the body of a here-document. It is literal if its delimiter is quoted or
// nothing in it expands.
func (p *reader) heredoc(r *syntax.Redirect, dirs Dirs) Word {
	out := Word{Offset: p.at(r.Pos()), End: p.end(r.End()), Source: "<<"}
	if r.Hdoc == nil {
		out.Kind = Literal
		return out
	}
	if len(r.Hdoc.Parts) == 0 {
		out.Kind = Literal
		return out
	}
	quoted := false
	for _, part := range r.Word.Parts {
		switch x := part.(type) {
		case *syntax.SglQuoted, *syntax.DblQuoted:
			quoted = true
		case *syntax.Lit:
			quoted = quoted || strings.Contains(x.Value, `\`)
		}
	}
	w := wordReader{p: p, dirs: dirs, kind: Literal, assign: true}
	for _, part := range r.Hdoc.Parts {
		lit, ok := part.(*syntax.Lit)
		switch {
		case ok && quoted:
			w.add(lit.Value, false)
		case ok && !strings.ContainsAny(lit.Value, "\\$`"):
			w.add(lit.Value, false)
		case ok:
			w.unknown()
		default:
			w.expansion(part)
		}
	}
	out.Kind, out.Text = w.kind, w.text.String()
	return out
}

// catText reads $(cat <<'EOF' … EOF), a common form of long texts in one word. The value is
// known because cat prints its here-document unchanged.
func (p *reader) catText(x *syntax.CmdSubst, dirs Dirs) (string, bool) {
	if len(x.Stmts) != 1 || x.Backquotes || x.TempFile || x.ReplyVar {
		return "", false
	}
	s := x.Stmts[0]
	if s.Negated || s.Background || s.Coprocess || s.Disown || len(s.Redirs) != 1 || s.Semicolon.IsValid() {
		return "", false
	}
	c, ok := s.Cmd.(*syntax.CallExpr)
	if !ok || len(c.Assigns) != 0 || len(c.Args) != 1 || c.Args[0].Lit() != "cat" {
		return "", false
	}
	r := s.Redirs[0]
	if r.Op != syntax.Hdoc || r.N != nil || r.Word == nil || r.Hdoc == nil || len(r.Word.Parts) != 1 {
		return "", false
	}
	if _, ok := r.Word.Parts[0].(*syntax.SglQuoted); !ok {
		return "", false
	}
	if len(r.Hdoc.Parts) != 1 {
		return "", false
	}
	lit, ok := r.Hdoc.Parts[0].(*syntax.Lit)
	if !ok {
		return "", false
	}
	call := &Call{
		Args:   []Word{p.word(c.Args[0], dirs)},
		Dirs:   dirs,
		Via:    p.via,
		Subst:  true,
		Offset: p.at(x.Pos()),
		End:    p.end(x.End()),
	}
	p.record(call)
	return strings.TrimRight(lit.Value, "\n"), true
}
