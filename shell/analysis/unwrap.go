package analysis

import (
	"path"
	"slices"
	"strings"
)

func (p *reader) replaced(o options) bool {
	return o.has("-I") || o.has("-i") || o.has("--replace")
}

// replaceBraces marks the words that xargs -I rewrites as derived from its input.
func (p *reader) replaceBraces(args []Word, o options) []Word {
	mark := "{}"
	if v, ok := o.value("-I", "--replace"); ok && v.Text != "" {
		mark = v.Text
	}
	out := append([]Word(nil), args...)
	for i := range out {
		if out[i].Known() && strings.Contains(out[i].Text, mark) {
			out[i].filled(mark, p.feed)
		}
	}
	return out
}

// envSplit reads env -S, which splits a word by its own rules.
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
		w := literalWord(strings.Trim(f, `"'`))
		w.Kind, w.Offset, w.End = Computed, c.Offset, c.End
		switch {
		case len(args) == 0 && strings.HasPrefix(w.Text, "-"): // env's own options
			args = append(args, literalWord("env"))
		case len(args) == 0 && strings.Contains(w.Text, "="):
			continue
		}
		args = append(args, w)
	}
	if args = append(args, rest...); len(args) > 0 {
		p.add(c, "env", args, nil, c.Dirs)
	}
}

// scriptWord reads a word that holds a script. It returns nil if the script is not known.
func (p *reader) scriptWord(c *Call, w Word, name string) *Script {
	via := append(append([]string(nil), c.Via...), name)
	if !w.Known() {
		p.doubtAt(name+" runs a script that is not known before", c.Offset, c.End)
		if _, _, err := parse(w.Text); err == nil && strings.TrimSpace(w.Text) != "" { // the known prefix is a script
			if s := p.nestedText(w, c.Dirs, via); s != nil {
				c.Wrapped = append(c.Wrapped, s.Calls...)
			}
		}
		return nil
	}
	p.fixed = false // another shell would parse the text itself
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

// candidates records every word after an unknown option at which a command may begin. Denials
// and dangers are found there; a wrong candidate only adds a reason to ask.
func (p *reader) candidates(c *Call, name string, at int) {
	found := 0
	for ; at < len(c.Args) && found < maxCandidates; at++ {
		if w := c.Args[at]; w.Known() &&
			(w.Text == "" || w.Text[0] == '-' || strings.Contains(w.Text, "=") ||
				strings.Trim(w.Text, "0123456789.smhd") == "") {
			continue // an option, an assignment, a number
		}
		found++
		p.add(c, name, c.Args[at:], nil, c.Dirs)
	}
}

// fragments records the words of a text that the parser cannot read, at every point where a
// command may begin. bash may be able to read it, so denials and dangers apply there too.
func (p *reader) fragments(text string, dirs Dirs) {
	for part := range strings.FieldsFuncSeq(text, func(r rune) bool { return strings.ContainsRune(";&|()<>{}`\n", r) }) {
		c := &Call{Dirs: dirs, Via: p.via, Subst: p.subst > 0, Piped: p.piped, Offset: p.base, End: p.base + max(p.span, 0)}
		for f := range strings.FieldsSeq(part) {
			if len(c.Args) == maxFragment {
				p.cut()
				break
			}
			if w := literalWord(strings.NewReplacer(`"`, "", `'`, "", `\`, "").Replace(f)); w.Text != "" && w.Text != "$" &&
				!(len(c.Args) == 0 && strings.Contains(w.Text, "=")) {
				w.Kind, w.Offset, w.End = Computed, c.Offset, c.End
				c.Args = append(c.Args, w)
			}
		}
		if len(c.Args) == 0 {
			continue
		}
		if !p.record(c) {
			return
		}
		p.unwrap(c)
	}
}

// maxCandidates is the maximum number of points at which a command may begin. maxFragment is
// the maximum number of words of a fragment.
const (
	maxCandidates = 4
	maxFragment   = 200
)

// scriptOption finds the option that holds a script among the words of a wrapper, before or
// after operands.
func scriptOption(words []Word, options ...string) (Word, bool) {
	for i, w := range words {
		name, value, joined := strings.Cut(w.Text, "=")
		switch {
		case !w.Known() || !slices.Contains(options, name):
		case joined:
			w.Text = value
			return w, true
		case i+1 < len(words):
			return words[i+1], true
		}
	}
	return Word{}, false
}

// unwrapTrap reads trap [--] SCRIPT SIGNAL….
func (p *reader) unwrapTrap(c *Call) {
	args := c.Args[1:]
	if args[0].is("--") {
		args = args[1:]
	} else if args[0].Known() && strings.HasPrefix(args[0].Text, "-") {
		return // shows or resets
	}
	if len(args) > 0 && !args[0].is("-") {
		p.scriptWord(c, args[0], "trap")
	}
}

// inputScript reads a here-document or here-string that a shell executes, including a shell
// behind wrappers. Other input is unknown here.
func (p *reader) inputScript(c *Call) {
	if p.wordsOnly || len(c.Redirs) == 0 {
		return
	}
	r := c.Redirs[len(c.Redirs)-1]
	if r.Kind != RedirText || r.Target.Kind != Literal || r.FD != "" && r.FD != "0" {
		return
	}
	for in := c; ; in = in.Wrapped[len(in.Wrapped)-1] {
		name := path.Base(in.Name())
		if shells[name] && readsInput(in.Args[1:]) ||
			(name == "source" || name == ".") && len(in.Args) > 1 && path.Clean(in.Args[1].Text) == "/dev/stdin" {
			if w := r.Target; strings.TrimSpace(w.Text) != "" {
				w.Offset, w.End = r.Offset, r.End
				p.scriptWord(in, w, name)
			}
			return
		}
		if len(in.Wrapped) == 0 {
			return
		}
	}
}

// readsInput reports whether a shell with these words executes its input: it has only options
// and no -c, or it has -s.
func readsInput(words []Word) bool {
	for i := 0; i < len(words); i++ {
		t := words[i].Text
		switch {
		case !words[i].Known():
			return false
		case t == "-" || t == "--":
			return i+1 == len(words)
		case t == "/dev/stdin":
			return true
		case len(t) < 2 || t[0] != '-' && t[0] != '+':
			return false
		case t == "-o" || t == "+o" || t == "-O" || t == "+O" || t == "--rcfile" || t == "--init-file":
			i++
		case t[1] != '-' && strings.Contains(t, "c"):
			return false
		case t[0] == '-' && t[1] != '-' && strings.Contains(t, "s"):
			return true
		}
	}
	return true
}

// unwrapShell reads bash -c SCRIPT [NAME ARG…].
func (p *reader) unwrapShell(c *Call, name string) {
	if len(c.Args) == 3 && c.Args[1].is("-n") && c.Args[2].Known() && !strings.HasPrefix(c.Args[2].Text, "-") {
		return // reads a script and runs nothing of it
	}
	cluster := false
	at := 1
	for ; at < len(c.Args); at++ {
		a := c.Args[at]
		if !a.Known() && cluster {
			break // the script
		}
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
			if a.Text[0] == '-' && a.Text[1] != '-' && strings.Trim(strings.TrimSuffix(a.Text[1:], "o"), "cleiux") == "" {
				if strings.Contains(a.Text, "c") {
					cluster = true
				}
				if strings.ContainsAny(a.Text, "eiuxo") {
					p.fixed = false // changes how the script runs
				}
				if strings.HasSuffix(a.Text, "o") {
					at++ // the value of o
				}
				continue
			}
			p.doubtAt(name+" with an option that is not known", c.Offset, c.End)
			p.lateScript(c, at, name)
			return
		}
		break
	}
	if !cluster || at >= len(c.Args) {
		return // reads a file or its input; the call itself is judged
	}
	fixed := p.fixed
	s := p.scriptWord(c, c.Args[at], name)
	if s == nil || at+1 < len(c.Args) || len(c.Assigns) > 0 || c.Args[at].Kind != Literal ||
		name != "bash" && name != "sh" {
		return
	}
	if s.root != nil && fixed && c.Literal() {
		c.Script, p.fixed = s, true
	}
}

// lateScript reads the script of a shell after unknown options. The script follows the first
// word from at on that has a c among its letters.
func (p *reader) lateScript(c *Call, at int, name string) {
	if w, ok := scriptOption(c.Args[at:], "--command"); ok {
		p.scriptWord(c, w, name)
		return
	}
	for ; at+1 < len(c.Args); at++ {
		if t := c.Args[at].Text; c.Args[at].Known() && len(t) > 1 && t[0] == '-' && t[1] != '-' && strings.Contains(t, "c") {
			p.scriptWord(c, c.Args[at+1], name)
			return
		}
	}
}

func (p *reader) unwrapFind(c *Call, name string) {
	for i := 1; i < len(c.Args); i++ {
		joined := false
		switch t := c.Args[i].Text; {
		case !c.Args[i].Known():
			continue
		case t == "-exec", t == "-execdir", t == "-ok", t == "-okdir",
			name != "find" && (t == "-x" || t == "-X" || t == "--exec" || t == "--exec-batch"):
		case name != "find" && (strings.HasPrefix(t, "--exec=") || strings.HasPrefix(t, "--exec-batch=")):
			joined = true
		default:
			continue
		}
		var args []Word
		if joined {
			w := c.Args[i]
			_, w.Text, _ = strings.Cut(w.Text, "=")
			args = append(args, w)
		}
		j := i + 1
		for ; j < len(c.Args) && !c.Args[j].is(";") && !(c.Args[j].is("+") && c.Args[j-1].is("{}")); j++ {
			w := c.Args[j]
			if w.Known() && strings.Contains(w.Text, "{}") {
				w.filled("{}", []*Call{c})
			}
			args = append(args, w)
		}
		if len(args) > 0 {
			dirs := c.Dirs
			if t := c.Args[i].Text; t != "-exec" {
				dirs.Unknown = true
			}
			in := p.add(c, name, args, nil, dirs)
			in.At = i + 1
		}
		i = j
	}
}

// unwrapGit reads the git commands that run a command line of their own.
func (p *reader) unwrapGit(c *Call) {
	aliases := map[string]Word{}
	for i := 1; i < len(c.Args); i++ {
		a := c.Args[i]
		if !a.Known() {
			return
		}
		switch {
		case a.Text == "-c" && i+1 < len(c.Args):
			i++
			key, val, _ := strings.Cut(c.Args[i].Text, "=")
			name, ok := strings.CutPrefix(strings.ToLower(key), "alias.")
			w := c.Args[i]
			if w.Text = val; ok && strings.HasPrefix(val, "!") {
				w.Text = val[1:]
				p.scriptWord(c, w, "git")
			} else if ok && w.Known() {
				aliases[name] = w
			}
		case a.Text == "-C" || a.Text == "--git-dir" || a.Text == "--work-tree":
			i++
		case strings.HasPrefix(a.Text, "-"):
		default:
			rest := c.Args[i+1:]
			if w, ok := aliases[strings.ToLower(a.Text)]; ok && len(c.Via) == 0 {
				args := []Word{c.Args[0]}
				for f := range strings.FieldsSeq(w.Text) {
					word := w
					word.Text, word.Kind = f, Computed
					args = append(args, word)
				}
				p.add(c, "git", append(args, rest...), nil, c.Dirs)
				return
			}
			switch {
			case a.Text == "bisect" && len(rest) > 1 && rest[0].is("run"):
				p.add(c, "git", rest[1:], nil, c.Dirs)
			case a.Text == "submodule" && len(rest) > 1 && rest[0].is("foreach"):
				for rest = rest[1:]; len(rest) > 1 && strings.HasPrefix(rest[0].Text, "-"); {
					rest = rest[1:]
				}
				p.scriptWord(c, joined(rest), "git")
			case a.Text == "rebase":
				for j := range rest {
					if w, ok := scriptOption(rest[j:j+1:j+1], "--exec"); ok {
						p.scriptWord(c, w, "git")
					} else if w := rest[j]; (w.is("-x") || w.is("--exec")) && j+1 < len(rest) {
						p.scriptWord(c, rest[j+1], "git")
					}
				}
			}
			return
		}
	}
}

// unwrapSub reads "uv run pytest" and similar: the first operand after the sub-command starts a
// command. The options with values are unknown, so after an option each of the next words may
// be that operand.
func (p *reader) unwrapSub(c *Call, name string) {
	at := 2
	for at < len(c.Args) && c.Args[at].Known() && strings.HasPrefix(c.Args[at].Text, "-") {
		at++
		if c.Args[at-1].is("--") {
			break
		}
	}
	if at > 2 && !c.Args[at-1].is("--") {
		p.candidates(c, name, at)
		return
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
