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
			return !j.tool.places.ordinary(j.at(p, false), j.cmd) && !j.intoProject(name, p)
		})
		switch {
		case !ok:
			f.decision, f.why = Ask, "in which directory it writes is not known"
		case odd >= 0:
			f.decision, f.why = Ask, j.cmd.show(paths[odd])+" is not an ordinary file of the project"
		}
	}
}

// intoProject reports whether a path is the project's own directory, into which cp copies and mv moves.
func (j *judging) intoProject(name, p string) bool {
	return (name == "cp" || name == "mv") && strings.TrimSuffix(path.Clean(p), "/") == j.cmd.project()
}
