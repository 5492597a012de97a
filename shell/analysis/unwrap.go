package analysis

import "strings"

func (p *reader) replaced(o options) bool {
	return o.has("-I") || o.has("-i") || o.has("--replace")
}

// replaceBraces makes the words unknown that xargs -I rewrites.
func replaceBraces(args []Word, o options) []Word {
	mark := "{}"
	if v, ok := o.value("-I", "--replace"); ok && v.Text != "" {
		mark = v.Text
	}
	out := append([]Word(nil), args...)
	for i := range out {
		if out[i].Known() && strings.Contains(out[i].Text, mark) {
			out[i].Text, _, _ = strings.Cut(out[i].Text, mark)
			out[i].Kind = Unknown
		}
	}
	return out
}

// envSplit reads env -S, which splits a word by rules of its own.
func (p *reader) envSplit(c *Call, o options) {
	p.doubtAt("env -S, which makes several words of one", c.Offset, c.End)
	word := strings.TrimPrefix(strings.TrimPrefix(o.unknown, "--split-string"), "-S")
	word = strings.TrimPrefix(word, "=")
	rest := c.Args[o.at+1:]
	if word == "" && len(rest) > 0 {
		word, rest = rest[0].Text, rest[1:]
	}
	var args []Word
	for f := range strings.FieldsSeq(word) {
		w := LiteralWord(strings.Trim(f, `"'`))
		w.Kind, w.Offset, w.End = Computed, c.Offset, c.End
		if len(args) == 0 && strings.Contains(w.Text, "=") {
			continue
		}
		args = append(args, w)
	}
	if args = append(args, rest...); len(args) > 0 {
		p.add(c, "env", args, nil, c.Dirs)
	}
}

// scriptWord reads a word that holds a script.
func (p *reader) scriptWord(c *Call, w Word, name string) *Script {
	via := append(append([]string(nil), c.Via...), name)
	if !w.Known() {
		p.doubtAt(name+" runs a script that is not known before", c.Offset, c.End)
		return nil
	}
	p.fixed = false // another shell would read the text itself
	s := p.nestedText(w, c.Dirs, via)
	if s != nil {
		c.Wrapped = append(c.Wrapped, s.Calls...)
	}
	return s
}

func joined(words []Word) Word {
	out := words[0]
	texts := make([]string, len(words))
	for i, w := range words {
		if !w.Known() {
			out.Kind = Unknown
		} else if out.Kind == Literal && w.Kind == Computed {
			out.Kind = Computed
		}
		texts[i] = w.Text
	}
	out.Text, out.Bound = strings.Join(texts, " "), false
	out.End = words[len(words)-1].End
	return out
}

func (p *reader) unwrapEval(c *Call) {
	args := c.Args[1:]
	if len(args) > 0 && args[0].is("--") {
		args = args[1:]
	}
	if len(args) > 0 {
		p.scriptWord(c, joined(args), "eval")
	}
}

// unwrapShell reads bash -c SCRIPT [NAME ARG…].
func (p *reader) unwrapShell(c *Call, name string) {
	cluster := false
	at := 1
	for ; at < len(c.Args); at++ {
		a := c.Args[at]
		if !a.Known() {
			p.doubtAt(name+" with a word that is not known", c.Offset, c.End)
			return
		}
		if len(a.Text) < 2 || (a.Text[0] != '-' && a.Text[0] != '+') {
			break
		}
		switch a.Text {
		case "--":
			at++
		case "--version", "--help":
			return
		case "--norc", "--noprofile", "--login", "--posix", "--noediting", "--verbose", "--restricted":
			continue
		case "-o", "+o", "-O", "+O":
			at++
			cluster = false
			p.fixed = false
			continue
		default:
			if a.Text[0] == '-' && a.Text[1] != '-' && strings.Trim(a.Text[1:], "cleiux") == "" {
				if strings.Contains(a.Text, "c") {
					cluster = true
				}
				if strings.ContainsAny(a.Text, "eiux") {
					p.fixed = false // changes how the script runs
				}
				continue
			}
			p.doubtAt(name+" with an option that is not known", c.Offset, c.End)
			return
		}
		break
	}
	if !cluster || at >= len(c.Args) {
		return // reads a file or its input; the call itself is judged
	}
	fixed := p.fixed
	s := p.scriptWord(c, c.Args[at], name)
	if s == nil || at+1 < len(c.Args) || len(c.Assigns) > 0 || c.Args[at].Kind != Literal || name != "bash" && name != "sh" {
		return
	}
	if s.root != nil && fixed && c.Literal() {
		c.Script, p.fixed = s, true
	}
}

func (p *reader) unwrapFind(c *Call, name string) {
	for i := 1; i < len(c.Args); i++ {
		switch t := c.Args[i].Text; {
		case !c.Args[i].Known():
			continue
		case t == "-exec", t == "-execdir", t == "-ok", t == "-okdir",
			name != "find" && (t == "-x" || t == "-X" || t == "--exec" || t == "--exec-batch"):
		default:
			continue
		}
		var args []Word
		j := i + 1
		for ; j < len(c.Args) && !c.Args[j].is(";") && !(c.Args[j].is("+") && c.Args[j-1].is("{}")); j++ {
			w := c.Args[j]
			if w.Known() && strings.Contains(w.Text, "{}") {
				w.Text, _, _ = strings.Cut(w.Text, "{}")
				w.Kind = Unknown
			}
			args = append(args, w)
		}
		if len(args) > 0 {
			p.add(c, name, args, nil, Dirs{Paths: c.Dirs.Paths, Unknown: true})
		}
		i = j
	}
}

// unwrapGit reads the git commands that run a command line of their own.
func (p *reader) unwrapGit(c *Call) {
	for i := 1; i < len(c.Args); i++ {
		a := c.Args[i]
		if !a.Known() {
			return
		}
		switch {
		case a.Text == "-c" && i+1 < len(c.Args):
			i++
			if key, val, ok := strings.Cut(c.Args[i].Text, "="); ok && strings.HasPrefix(key, "alias.") && strings.HasPrefix(val, "!") {
				w := c.Args[i]
				w.Text = val[1:]
				p.scriptWord(c, w, "git")
			}
		case a.Text == "-C" || a.Text == "--git-dir" || a.Text == "--work-tree":
			i++
		case strings.HasPrefix(a.Text, "-"):
		default:
			rest := c.Args[i+1:]
			switch {
			case a.Text == "bisect" && len(rest) > 1 && rest[0].is("run"):
				p.add(c, "git", rest[1:], nil, c.Dirs)
			case a.Text == "submodule" && len(rest) > 1 && rest[0].is("foreach"):
				p.scriptWord(c, joined(rest[1:]), "git")
			case a.Text == "rebase":
				for j, w := range rest {
					if (w.is("-x") || w.is("--exec")) && j+1 < len(rest) {
						p.scriptWord(c, rest[j+1], "git")
					}
				}
			}
			return
		}
	}
}

// unwrapSub reads "uv run pytest" and its like: the first word after the
// sub-command that is no option starts a command. Options with values of their
// own are not known, so what is found may begin too early; it is one more
// thing to judge, never one less.
func (p *reader) unwrapSub(c *Call, name string) {
	at := 2
	for at < len(c.Args) && c.Args[at].Known() && strings.HasPrefix(c.Args[at].Text, "-") {
		at++
		if c.Args[at-1].is("--") {
			break
		}
	}
	if name == "direnv" || name == "docker" || name == "podman" {
		at++
	}
	if at < len(c.Args) {
		p.add(c, name, c.Args[at:], nil, c.Dirs)
	}
}

func isName(s string) bool {
	if s == "" || s[0] >= '0' && s[0] <= '9' {
		return false
	}
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c != '_' && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') {
			return false
		}
	}
	return true
}
