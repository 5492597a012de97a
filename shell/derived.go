package shell

import (
	"path"
	"slices"
	"strings"

	"sandboxd/shell/analysis"
	"sandboxd/shell/safelist"
)

// maxDerived is the maximum number of variables through which a value is followed.
const maxDerived = 4

// derivedPath judges a word that a command reads files by and whose value the line itself
// produces: a loop's variable, the output of a command, what find or xargs adds. Each value that
// is known is judged as if it were written there. The others must be names that were found in
// places that are judged themselves; the sandbox holds what they lead to.
func (j *judging) derivedPath(state *callState, dirs analysis.Dirs, w *analysis.Word, f *finding) {
	if j.verdict.Sandboxed = true; f.decision == Auto && !j.derivedFrom(state, dirs, *w, false, 0, f) {
		f.ask(RiskNormal, "which files "+orElse(w.Source, "it")+" means is not known before it runs")
	}
}

// derivedFrom judges the values of a word. It returns false where one may be any text. split is
// true if bash splits the value into words.
func (j *judging) derivedFrom(
	state *callState,
	dirs analysis.Dirs,
	w analysis.Word,
	split bool,
	depth int,
	f *finding,
) bool {
	parts := w.Parts()
	if len(parts) == 0 || depth > maxDerived {
		return false
	}
	for _, p := range parts {
		if strings.Contains(p.Text, "..") || split && strings.ContainsAny(p.Text, " \t\n*?[") {
			return false
		}
		switch {
		case p.Var != nil:
			if !j.variable(state, dirs, p.Var, split || !p.Quoted, depth, f) {
				return false
			}
		case p.Process && !j.readsFiles(p.Calls):
			return false
		case len(p.Calls) > 0 && !p.Process && !j.namesOnly(p.Calls):
			return false
		}
	}
	if len(parts) == 1 {
		return true
	}
	texts, ok := values(w, depth)
	for _, text := range texts {
		j.readPath(state, dirs, pathArg(text), f)
	}
	return ok
}

// maxValues is the maximum number of values of one word that are judged.
const maxValues = 64

// values returns the values that a word of several parts can have, with a digit for what is not
// known. ok is false if there are too many, or if text is joined to the front of a part that is
// not known, which may make another name of both.
func values(w analysis.Word, depth int) (texts []string, ok bool) {
	if depth > maxDerived {
		return nil, false
	}
	texts = []string{""}
	for i, p := range w.Parts() {
		var options []string
		unknown := p.Var == nil && p.Text == ""
		if p.Var != nil {
			unknown = len(p.Var.Reads) > 0
			for _, word := range p.Var.Words {
				switch {
				case word.Fixed():
					options = append(options, word.Text)
				case word.Kind == analysis.Derived:
					more, ok := values(word, depth+1)
					if !ok {
						return nil, false
					}
					options = append(options, more...)
				default:
					unknown = true
				}
			}
		} else if p.Text != "" {
			options = append(options, p.Text)
		}
		if unknown {
			if i > 0 &&
				slices.ContainsFunc(texts, func(t string) bool { return t != "" && !strings.HasSuffix(t, "/") }) {
				return nil, false
			}
			options = append(options, "0")
		}
		if len(options)*len(texts) > maxValues {
			return nil, false
		}
		var next []string
		for _, t := range texts {
			for _, o := range options {
				next = append(next, t+o)
			}
		}
		texts = next
	}
	return texts, true
}

// variable judges the values of a variable as paths.
func (j *judging) variable(
	state *callState,
	dirs analysis.Dirs,
	v *analysis.Variable,
	split bool,
	depth int,
	f *finding,
) bool {
	if len(v.Words) == 0 && len(v.Reads) == 0 {
		return false
	}
	for _, calls := range v.Reads {
		if !j.namesOnly(calls) {
			return false
		}
	}
	for _, w := range v.Words {
		switch {
		case w.Kind == analysis.Derived:
			if !j.derivedFrom(state, dirs, w, split, depth+1, f) {
				return false
			}
		case w.Kind == analysis.Glob:
			j.readPath(state, dirs, safelist.PathArg{Text: w.Text, Glob: true}, f)
		case !w.Fixed(), strings.Contains(w.Text, "..") && w.Text != "..", split && strings.ContainsAny(w.Text, "*?["):
			return false
		case split:
			for field := range strings.FieldsSeq(w.Text) {
				j.readPath(state, dirs, pathArg(field), f)
			}
		default:
			j.readPath(state, dirs, pathArg(w.Text), f)
		}
	}
	return true
}

// namesOnly reports whether the output of calls is names of files below the places that the
// calls themselves are judged by, or lines of such names.
func (j *judging) namesOnly(calls []*analysis.Call) bool {
	found := false
	for _, c := range calls {
		state := j.calls[c]
		if state == nil || state.decision != Auto || len(c.Redirs) > 0 && !quiet(c.Redirs) {
			return false
		}
		if state.use == nil {
			if c.Name() != "xargs" {
				return false
			}
			continue
		}
		switch named := j.printsNames(c, state.use); {
		case named:
			found = true
		case !found || !j.passesLines(state.use):
			return false
		}
	}
	return found
}

// readsFiles reports whether each of the calls reads files that it names, the repository, or its input.
func (j *judging) readsFiles(calls []*analysis.Call) bool {
	return !slices.ContainsFunc(calls, func(c *analysis.Call) bool {
		u := j.calls[c].use
		return u == nil ||
			len(u.Paths) == 0 && !c.Piped && !strings.HasPrefix(u.Entry.Name, "git ") && !j.printsNames(c, u)
	})
}

// quiet reports whether redirections only silence messages.
func quiet(redirs []*analysis.Redir) bool {
	return !slices.ContainsFunc(
		redirs,
		func(r *analysis.Redir) bool { return r.Kind != analysis.RedirNull || r.FD != "2" },
	)
}

// passesLines reports whether a command prints some of the lines of its input, and does not pick names of credentials.
func (j *judging) passesLines(u *safelist.Use) bool {
	if len(u.Paths) > 0 {
		return false
	}
	switch u.Entry.Name {
	case "sort", "uniq", "head", "tail", "tac", "wc":
		return true
	case "grep", "egrep", "fgrep":
		return !u.Has("-o", "--only-matching") && (u.Has("-v", "--invert-match") ||
			!slices.ContainsFunc(grepPatterns(u), j.picksSecret))
	}
	return false
}

// grepPatterns returns the expressions of grep's words.
func grepPatterns(u *safelist.Use) (list []string) {
	for _, o := range u.Options {
		if o.Name == "-e" || o.Name == "--regexp" {
			list = append(list, strings.Split(o.Value, "\n")...)
		}
	}
	if len(list) == 0 && len(u.Operands) > 0 {
		list = strings.Split(u.Operands[0].Text, "\n")
	}
	return list
}

// printsNames reports whether a command prints nothing but the names of files that it finds.
func (j *judging) printsNames(c *analysis.Call, u *safelist.Use) bool {
	switch u.Entry.Name {
	case "find":
		return !slices.ContainsFunc(c.Args[1:], func(w analysis.Word) bool {
			return w.Text == "-printf" || w.Text == "-ls" || j.namesSecret(w.Text)
		}) && !j.findsSecret(c.Args)
	case "ls":
		return !slices.ContainsFunc(c.Args[1:], func(w analysis.Word) bool {
			return strings.HasPrefix(w.Text, "--") ||
				strings.HasPrefix(w.Text, "-") && strings.Trim(w.Text, "-1aAtrSdpFRU") != ""
		})
	case "git ls-files":
		return !u.Has("-s", "--stage", "--format", "--debug", "-u", "--unmerged", "-i", "--ignored")
	case "git diff":
		return u.Has("--name-only")
	case "git grep":
		return u.Has("-l", "--files-with-matches", "--name-only")
	case "rg":
		return u.Has("-l", "--files-with-matches", "--files")
	case "grep", "egrep", "fgrep":
		return u.Has("-l", "--files-with-matches", "-L", "--files-without-match")
	case "seq":
		return true
	}
	return false
}

// findsSecret reports whether find chooses files by a pattern that credentials match.
func (j *judging) findsSecret(words []analysis.Word) bool {
	for i, w := range words {
		excluded := i > 1 && (words[i-2].Text == "!" || words[i-2].Text == "-not") ||
			i+1 < len(words) && words[i+1].Text == "-prune"
		if i > 0 && strings.HasSuffix(words[i-1].Text, "name") && !excluded && j.secretLike(w.Text) != "" {
			return true
		}
	}
	return false
}

// namesSecret reports whether a pattern of names is that of credentials: it still is one without its wildcards.
func (j *judging) namesSecret(pattern string) bool {
	name := strings.NewReplacer("*", "", "?", "", "[", "", "]", "").Replace(path.Base(pattern))
	if name == "" {
		return false
	}
	at := j.tool.places.at(path.Join(j.cmd.project(), name), false, j.cmd)
	return at.hidden != "" || at.sensitive != ""
}

// runsReaders judges find -exec and xargs: what they run must be commands that only read,
// whatever their words turn out to be. Those are judged by themselves too.
func (j *judging) runsReaders(c *analysis.Call) bool {
	if !c.Literal() || len(c.Assigns) > 0 || len(c.Wrapped) == 0 {
		return false
	}
	for _, in := range c.Wrapped {
		use, _ := safelist.Match(in.Args)
		if use == nil || !use.Entry.Open || len(in.Assigns) > 0 || in.At <= 0 || in.At >= len(c.Args) {
			return false
		}
	}
	return true
}

// xargs judges a call of xargs that runs a command which only reads.
func (j *judging) xargs(c *analysis.Call, state *callState, f *finding) bool {
	if c.Name() != "xargs" || !j.tool.autoSafe || !j.runsReaders(c) {
		return false
	}
	for _, a := range c.Args[1:c.Wrapped[0].At] {
		if t := a.Text; strings.HasPrefix(t, "-") && !strings.HasPrefix(t, "-d") &&
			strings.Trim(t, "-0rtnPLI{}123456789x") != "" &&
			!slices.Contains([]string{"--null", "--no-run-if-empty", "--verbose"}, t) {
			return false
		}
	}
	f.decision, f.risk = Auto, RiskLow
	f.by, f.rule, f.why = BySafeList, "safe list: xargs", "it runs only a command that reads"
	j.program(c, state, f)
	state.reader = f.decision == Auto
	return true
}
