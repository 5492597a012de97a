package shell

import (
	"path"
	"slices"
	"strings"

	"sandboxd/shell/analysis"
	"sandboxd/shell/safelist"
)

// editInPlace returns what the safe list says of "sed -i …" and "sort -o …" without the option that has them write,
// or nil: which files they open is then known, and that they run no program.
func editInPlace(args []analysis.Word) *safelist.Use {
	if len(args) < 3 || args[0].Kind != analysis.Literal || args[1].Kind != analysis.Literal {
		return nil
	}
	switch args[0].Text + " " + args[1].Text {
	case "sed -i":
		args = slices.Delete(slices.Clone(args), 1, 2)
	case "sort -o": // whose value is an operand like the others then
		args = slices.Delete(slices.Clone(args), 1, 2)
	default:
		return nil
	}
	use, _ := safelist.Match(args)
	return use
}

// editsOrdinary asks where one of the files that a call of the preset "edits" names, or would create in a directory
// that it names, is not an ordinary file of the project.
func (j *judging) editsOrdinary(c *analysis.Call, f *finding) {
	name := base(c.Name())
	operands := j.operands(c)
	if sub, _ := safelist.GitSubcommand(c.Args); name == "git" && sub == "mv" {
		name, operands = "mv", slices.DeleteFunc(operands, func(op operand) bool { return op.text == sub })
	}
	if (name == "sed" || name == "sort") && editInPlace(c.Args) == nil {
		f.decision, f.why = Ask, "its words may do more than edit the files that they name"
		return
	}
	texts := make([]string, 0, 2*len(operands))
	for _, op := range operands {
		if op.glob || op.home {
			f.decision, f.why = Ask, "which files it writes is not known before it runs"
			return
		}
		texts = append(texts, op.text)
	}
	if n := len(operands); n > 1 && (name == "cp" || name == "mv") {
		for _, op := range operands[:n-1] { // the last may be a directory
			texts = append(texts, path.Join(operands[n-1].text, path.Base(op.text)))
		}
	}
	for _, text := range texts {
		paths, ok := c.Dirs.Resolve(text)
		odd := slices.IndexFunc(paths, func(p string) bool {
			return !j.ordinary(p) && !j.intoProject(name, p)
		})
		switch {
		case !ok:
			f.decision, f.why = Ask, "in which directory it writes is not known"
		case odd >= 0:
			f.decision, f.why = Ask, j.cmd.show(paths[odd])+" is not an ordinary file of the project"
		}
	}
}

// ordinary reports whether a path names, and leads to, an ordinary file of the project.
func (j *judging) ordinary(abs string) bool {
	fact, ok := j.facts.Paths[abs]
	if !ok {
		j.need(FactPath, abs)
		fact.Real = path.Clean(abs)
	}
	return fact.Err == "" && j.tool.places.ordinary(j.at(abs, false), j.cmd) &&
		(fact.Real == path.Clean(abs) || j.tool.places.ordinary(j.tool.places.at(fact.Real, false, j.cmd), j.cmd))
}

// writesProtected returns the protected place that an option of a call has it write, or "".
func (j *judging) writesProtected(c *analysis.Call) string {
	for i, w := range c.Args {
		option, name, joined := strings.Cut(w.Text, "=")
		switch {
		case joined && written.MatchString(option):
		case written.MatchString(w.Text) && i+1 < len(c.Args):
			name = c.Args[i+1].Text
		case strings.HasPrefix(w.Text, "-o") && len(w.Text) > 2:
			name = w.Text[2:]
		default:
			continue
		}
		paths, _ := c.Dirs.Resolve(name)
		for _, p := range paths {
			if at := j.at(p, false); at.inside && !j.ordinary(p) && p != j.cmd.project() {
				return p
			}
		}
	}
	return ""
}

// intoProject reports whether a path is the project's own directory, into which cp copies and mv moves.
func (j *judging) intoProject(name, p string) bool {
	return (name == "cp" || name == "mv") && strings.TrimSuffix(path.Clean(p), "/") == j.cmd.project()
}
