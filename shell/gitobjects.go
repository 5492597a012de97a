package shell

import (
	"path"
	"slices"
	"strings"

	"sandboxd/git"
	"sandboxd/shell/analysis"
	"sandboxd/shell/safelist"
)

// askForObjects makes a finding ask where a sub-command of git would print a file that one of its words names by the
// object's id or by a reference to it: the file's name, and so whether it holds secrets, is not known.
func (j *judging) askForObjects(dirs analysis.Dirs, sub string, use *safelist.Use, f *finding) {
	for _, dir := range dirs.Paths {
		for _, name := range printed(sub, use) {
			fact, ok := j.facts.Objects[objectName(dir, name)]
			switch {
			case !ok:
				j.need(FactObject, objectName(dir, name))
			case fact.Type == git.Blob:
				f.ask(RiskNormal, name+" names the contents of a file without the file's name, and it may hold secrets "+
					"(REVISION:PATH names both)")
				return
			case fact.Err != "":
				f.ask(RiskNormal, "whether "+name+" names the contents of a file could not be found out: "+fact.Err)
				return
			case fact.Type == git.NoObject && sub == "cat-file":
				f.ask(RiskNormal, "which object "+name+" names is not known")
				return
			}
		}
	}
}

// objectName is the name of a fact about a revision in a directory.
func objectName(dir, name string) string { return path.Clean(dir) + ":" + name }

// printed returns the names among a sub-command's words that can mean an object which it prints, without the marks
// of ranges and without what follows ^, ~, @{ or a colon.
func printed(sub string, use *safelist.Use) []string {
	var out []string
	switch sub {
	case "show", "diff", "grep":
	case "cat-file":
		if use.Has("-t", "-s", "-e") {
			return nil
		}
	default:
		return nil
	}
	for i, op := range use.Operands {
		switch {
		case sub == "cat-file" && i == 0 && len(use.Operands) > 1:
			continue // the type
		case sub == "grep" && op.Class == safelist.ClassText:
			continue // the expression
		case (sub == "show" || sub == "diff") && use.EndsOptions >= 0 && op.Index > use.EndsOptions:
			continue // a pathspec
		}
		for name := range strings.SplitSeq(op.Text, "..") {
			name = strings.TrimLeft(name, ".^")
			if at := strings.IndexAny(name, "^~:"); at >= 0 {
				name = name[:at]
			}
			name, _, _ = strings.Cut(name, "@{")
			if name != "" && !strings.ContainsAny(name, " *?[\\") && name[0] != '/' && !slices.Contains(out, name) {
				out = append(out, name)
			}
		}
	}
	return out
}
