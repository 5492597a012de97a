package analysis

import (
	"slices"
	"strings"
)

// Arg is one word in its written form. Text is in single quotes. A glob has its glob characters
// unquoted, and a Shown word has its expansions in double quotes.
type Arg struct {
	Text  string
	Glob  *Word  // write this glob instead of Text
	Pre   string // literal text before the glob: "./"
	Shown *Word  // write this Shown or Derived word instead of Text
}

// Writer returns the words to write for a call, including the program's file. ok is false if
// the call cannot be written.
type Writer func(c *Call) (args []Arg, ok bool)

// Write writes the analysed words as text for bash -c. Every word must be literal, or be
// returned by how as a glob or a Shown word. Otherwise ok is false. Write copies no part of the
// original text.
func (s *Script) Write(how Writer) (text string, ok bool) {
	if s.root == nil || len(s.Doubts) > 0 {
		return "", false
	}
	w := &writer{how: how}
	if !s.root.write(w) {
		return "", false
	}
	return w.b.String(), true
}

// Single returns the only call of the script if the script is one simple command that needs no
// shell: no redirection, no operator, no glob.
func (s *Script) Single() (*Call, bool) {
	if s.root == nil || len(s.Doubts) > 0 {
		return nil, false
	}
	n, ok := s.root.(*callNode)
	if !ok {
		return nil, false
	}
	c := n.call
	if len(c.Redirs) > 0 || len(c.Assigns) > 0 || len(c.Args) == 0 || !c.Literal() {
		return nil, false
	}
	if c.Script != nil {
		return c.Script.Single()
	}
	return c, true
}

type writer struct {
	b   strings.Builder
	how Writer
}

// Quote returns s as one single-quoted word.
func Quote(s string) string {
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

func (n *callNode) write(w *writer) bool {
	c := n.call
	if c.Script != nil { // bash -c: the script, in a subshell of its own
		if c.Script.root == nil || len(c.Script.Doubts) > 0 || len(c.Assigns) > 0 || !w.group("( ", " )", c.Script.root) {
			return false
		}
		return w.redirs(c.Redirs)
	}
	for _, a := range c.Assigns {
		if a.Odd || a.Value.Kind != Literal {
			return false
		}
		w.b.WriteString(a.Name)
		w.b.WriteByte('=')
		w.b.WriteString(Quote(a.Value.Text))
		w.b.WriteByte(' ')
	}
	args, ok := w.how(c)
	if !ok || len(args) == 0 {
		return false
	}
	for i, a := range args {
		if i > 0 {
			w.b.WriteByte(' ')
		}
		switch {
		case a.Glob != nil:
			ok = w.glob(a)
		case a.Shown != nil:
			ok = w.shown(a.Shown)
		default:
			w.b.WriteString(Quote(a.Text))
		}
		if !ok {
			return false
		}
	}
	return w.redirs(c.Redirs)
}

func (w *writer) glob(a Arg) bool {
	if a.Glob.Kind != Glob || len(a.Glob.pieces) == 0 {
		return false
	}
	if a.Pre != "" {
		w.b.WriteString(Quote(a.Pre))
	}
	for _, p := range a.Glob.pieces {
		if !p.glob {
			w.b.WriteString(Quote(p.text))
			continue
		}
		for i := 0; i < len(p.text) && !p.class; i++ {
			if strings.IndexByte("*?[]!-^", p.text[i]) < 0 {
				return false
			}
		}
		w.b.WriteString(p.text)
	}
	return true
}

func (w *writer) shown(s *Word) bool {
	if s.Kind != Shown && s.Kind != Derived || len(s.pieces) == 0 {
		return false
	}
	for _, p := range s.pieces {
		switch {
		case p.glob:
			return false
		case p.derives():
			if !w.derive(p) {
				return false
			}
		case p.show:
			w.b.WriteString(`"` + p.text + `"`)
		default:
			w.b.WriteString(Quote(p.text))
		}
	}
	return true
}

func (w *writer) redirs(redirs []*Redir) bool {
	for _, r := range redirs {
		if !slices.Contains([]string{"", "0", "1", "2"}, r.FD) {
			return false
		}
		w.b.WriteByte(' ')
		switch r.Kind {
		case RedirNull:
			if !slices.Contains([]string{">", ">>", ">|", "<", "&>", "&>>", ">&"}, r.Op) || r.Target.Kind != Literal {
				return false
			}
			op := r.Op
			if op == ">&" {
				op = "&>"
			}
			if op[0] == '&' && r.FD != "" {
				return false
			}
			w.b.WriteString(r.FD + op + "/dev/null")
		case RedirDup:
			if r.Target.Kind != Literal || r.Op != ">&" && r.Op != "<&" || !descriptor(r.Target.Text) {
				return false
			}
			w.b.WriteString(r.FD + r.Op + r.Target.Text)
		case RedirRead:
			w.b.WriteString(r.FD + "< ")
			if r.Op != "<" || r.Target.Kind != Literal && r.Target.Kind != Derived || !w.word(&r.Target) {
				return false
			}
		case RedirText:
			if !w.text(r) {
				return false
			}
		case RedirWrite:
			if !w.output(r) {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// output writes a redirection to a file of a known name.
func (w *writer) output(r *Redir) bool {
	if r.Target.Kind != Literal || r.Target.Text == "" {
		return false
	}
	switch r.Op {
	case ">", ">>", ">|":
		w.b.WriteString(r.FD + r.Op + " " + Quote(r.Target.Text))
		return true
	case "&>", "&>>":
		w.b.WriteString(r.Op + " " + Quote(r.Target.Text))
		return r.FD == ""
	}
	return false // >&3 is a descriptor
}

// text writes a here-string or here-document as a here-string, which adds the final newline of
// the document.
func (w *writer) text(r *Redir) bool {
	if r.Target.Kind != Literal {
		return false
	}
	body := r.Target.Text
	if r.Op != "<<<" {
		if body == "" {
			w.b.WriteString(r.FD + "</dev/null")
			return true
		}
		if r.Op != "<<" || !strings.HasSuffix(body, "\n") {
			return false
		}
		body = strings.TrimSuffix(body, "\n")
	}
	w.b.WriteString(r.FD + "<<< " + Quote(body))
	return true
}

func (w *writer) group(open, shut string, n node) bool {
	if n == nil {
		return false
	}
	w.b.WriteString(open)
	ok := n.write(w)
	w.b.WriteString(shut)
	return ok
}

func (n *listNode) write(w *writer) bool {
	for i, item := range n.items {
		if i > 0 {
			w.b.WriteString("; ")
		}
		if item == nil || !item.write(w) {
			return false
		}
	}
	return len(n.items) > 0
}

func (n *binaryNode) write(w *writer) bool {
	if !w.side(n.op, n.x, false) {
		return false
	}
	w.b.WriteString(" " + n.op + " ")
	return w.side(n.op, n.y, true)
}

func pipe(op string) bool { return op == "|" || op == "|&" }

// side writes one side of an operator. It adds braces if the precedence requires them.
func (w *writer) side(op string, n node, right bool) bool {
	bare := true
	switch n := n.(type) {
	case nil:
		return false
	case *binaryNode:
		// | binds tighter than && and ||, which are equal and group to the left.
		bare = pipe(n.op) || !right && !pipe(op)
	case *notNode, *timeNode:
		bare = !pipe(op)
	case *listNode:
		bare = false
	}
	if !bare {
		return w.group("{ ", "; }", n)
	}
	return n.write(w)
}

func (n *groupNode) write(w *writer) bool { return w.group(n.open, n.shut, n.list) }

func (n *redirNode) write(w *writer) bool {
	return n.of != nil && n.of.write(w) && w.redirs(n.redirs)
}

func (n *notNode) write(w *writer) bool {
	w.b.WriteString("! ")
	return w.pipeline(n.of)
}

func (n *timeNode) write(w *writer) bool {
	w.b.WriteString("time ")
	if n.posix {
		w.b.WriteString("-p ")
	}
	return w.pipeline(n.of)
}

// pipeline writes the operand of ! or time.
func (w *writer) pipeline(n node) bool {
	switch n := n.(type) {
	case nil:
		return false
	case *callNode, *groupNode:
		return n.write(w)
	case *binaryNode:
		if pipe(n.op) {
			return n.write(w)
		}
	}
	return w.group("{ ", "; }", n)
}

func (n *ifNode) write(w *writer) bool {
	for i := range n.conds {
		word := "if "
		if i > 0 {
			word = "; elif "
		}
		if !w.group(word, "; then ", n.conds[i]) || n.thens[i] == nil || !n.thens[i].write(w) {
			return false
		}
	}
	if n.orElse != nil {
		w.b.WriteString("; else ")
		if !n.orElse.write(w) {
			return false
		}
	}
	w.b.WriteString("; fi")
	return len(n.conds) > 0
}
