package shell

import (
	"strings"

	"sandboxd/shell/analysis"
	"sandboxd/shell/safelist"
)

// execution sets Verdict.Run. It returns false if the words cannot be written as literals.
func (j *judging) execution() bool {
	if c, ok := j.script.Single(); ok && !j.inShell(c) {
		args, ok := j.words(c)
		if !ok {
			return false
		}
		argv := make([]string, len(args))
		for i, a := range args {
			if a.Glob != nil || a.Shown != nil {
				return false
			}
			argv[i] = a.Text
		}
		j.verdict.Run.Argv = argv
		return true
	}
	script, ok := j.script.Write(j.words)
	j.verdict.Run.Script = script
	return ok
}

// inShell reports whether bash itself must run a call.
func (j *judging) inShell(c *analysis.Call) bool {
	state := j.calls[c]
	return state == nil || state.builtin
}

// words returns the words of one call to run: the program's file, the precautions for git, and
// globs in a form that cannot yield an option.
func (j *judging) words(c *analysis.Call) ([]analysis.Arg, bool) {
	state := j.calls[c]
	if state == nil || state.decision != Auto || len(c.Args) == 0 {
		return nil, false
	}
	if state.transparent {
		return j.wrapped(c, state)
	}
	name, ok := j.file(c, state)
	if !ok {
		return nil, false
	}
	args := []analysis.Arg{{Text: name}}
	extra := []string(nil)
	extraAt := -1
	if state.use != nil && !state.preset {
		if extra = gitQuiet(state.use); len(extra) > 0 {
			_, extraAt = safelist.GitSubcommand(c.Args)
		}
	}
	programs, ok := j.readers(c, state)
	if !ok {
		return nil, false
	}
	dashed := false
	for i := 1; i < len(c.Args); i++ {
		switch {
		case programs[i] != "":
			args = append(args, analysis.Arg{Text: programs[i]})
		case c.Args[i].Fixed():
			args = append(args, analysis.Arg{Text: c.Args[i].Text})
		case c.Args[i].Kind == analysis.Shown, c.Args[i].Kind == analysis.Derived:
			args = append(args, analysis.Arg{Shown: &c.Args[i]})
		case c.Args[i].Kind == analysis.Glob:
			arg := analysis.Arg{Glob: &c.Args[i]}
			how := globStart(state.use, &c.Args[i], i)
			j.guarded = j.guarded || how != ""
			switch {
			case how == "--" && !dashed:
				args, dashed = append(args, analysis.Arg{Text: "--"}), true
			case how == "./":
				arg.Pre = how
			}
			args = append(args, arg)
		default:
			return nil, false
		}
		if i == extraAt {
			for _, o := range extra {
				args = append(args, analysis.Arg{Text: o})
			}
		}
	}
	return j.withVariables(c, args), true
}

// readers returns the files of the programs that find -exec or xargs runs, by the index of their
// words.
func (j *judging) readers(c *analysis.Call, state *callState) (map[int]string, bool) {
	if state.preset || c.Name() != "xargs" && (state.use == nil || len(state.use.Runs) == 0) {
		return nil, true
	}
	out := map[int]string{}
	for _, in := range c.Wrapped {
		inner := j.calls[in]
		if inner == nil || inner.decision != Auto || inner.use == nil {
			return nil, false
		}
		name, ok := j.file(in, inner)
		if !ok {
			return nil, false
		}
		out[in.At] = name
	}
	return out, true
}

// globStart returns the prefix that keeps the matches of a glob from being read as options:
// "--" before it, "./" joined to it, or "" if it begins with a letter.
func globStart(use *safelist.Use, w *analysis.Word, i int) string {
	switch {
	case strings.IndexByte("*?[", w.Text[0]) < 0:
		return ""
	case use == nil || use.Entry.Raw || i <= use.LastOption:
		return "./"
	case use.EndsOptions >= 0 && i > use.EndsOptions:
		return ""
	}
	return "--"
}

// file returns the program of a call: its absolute path, or its name if bash runs it itself or
// no such file exists. It returns false if that is unknown.
func (j *judging) file(c *analysis.Call, state *callState) (string, bool) {
	name := c.Name()
	if name == "" {
		return "", false
	}
	if state.builtin || strings.Contains(name, "/") {
		return name, true
	}
	fact, ok := j.facts.Binaries[name]
	if !ok {
		return "", false
	}
	return orElse(fact.Path, name), true
}

// wrapped returns the words of a wrapper and of the command that it runs.
func (j *judging) wrapped(c *analysis.Call, state *callState) ([]analysis.Arg, bool) {
	if c.Script != nil {
		script, ok := c.Script.Write(j.words)
		if !ok || len(c.Assigns) > 0 {
			return nil, false
		}
		return literal("/bin/bash", "--noprofile", "--norc", "-c", script), true
	}
	if len(c.Wrapped) != 1 || c.WrappedAt <= 0 || c.WrappedAt >= len(c.Args) {
		return nil, false
	}
	name, ok := j.file(c, state)
	if !ok {
		return nil, false
	}
	args := literal(name)
	for _, a := range c.Args[1:c.WrappedAt] {
		if a.Kind != analysis.Literal {
			return nil, false
		}
		args = append(args, analysis.Arg{Text: a.Text})
	}
	rest, ok := j.words(c.Wrapped[0])
	if !ok {
		return nil, false
	}
	return append(args, rest...), true
}

func literal(words ...string) []analysis.Arg {
	out := make([]analysis.Arg, len(words))
	for i, w := range words {
		out[i] = analysis.Arg{Text: w}
	}
	return out
}

// quote joins words for display. It quotes only the words that need it.
func quote(argv []string) string {
	words := make([]string, len(argv))
	for i, a := range argv {
		words[i] = a
		if a == "" || strings.ContainsFunc(a, func(r rune) bool {
			return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' ||
				strings.ContainsRune("-_./=:,+@%^", r))
		}) {
			words[i] = analysis.Quote(a)
		}
	}
	return strings.Join(words, " ")
}
