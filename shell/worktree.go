package shell

import (
	"path"
	"slices"
	"strings"

	"sandboxd/shell/analysis"
	"sandboxd/shell/safelist"
)

// worktrees returns the places of the worktrees that the line adds or moves to, as far as its words
// show. git records each of them in the repository, so that a place that is not kept leaves the
// record of a worktree without its files.
func (j *judging) worktrees() (list []string) {
	for _, c := range j.script.Calls {
		sub, at := safelist.GitSubcommand(c.Args)
		if base(c.Name()) != "git" || sub != "worktree" || at+2 >= len(c.Args) {
			continue
		}
		operands := worktreeOperands(c.Args[at+2:])
		i := 0
		switch c.Args[at+1].Text {
		case "add":
		case "move":
			i = 1
		default:
			continue
		}
		if i >= len(operands) || !operands[i].Known() {
			continue
		}
		place := operands[i].Text
		if n := slices.IndexFunc(c.Args[:at], func(w analysis.Word) bool { return w.Text == "-C" }); n > 0 {
			place = under(c.Args[n+1].Text, place)
		}
		paths, _ := c.Dirs.Resolve(place)
		for _, p := range paths {
			list = append(list, path.Clean(p))
		}
	}
	return list
}

// worktreeOperands returns the words that are neither options nor values of them.
func worktreeOperands(words []analysis.Word) (list []analysis.Word) {
	for i := 0; i < len(words); i++ {
		switch t := words[i].Text; {
		case t == "--":
			return append(list, words[i+1:]...)
		case t == "-b" || t == "-B" || t == "--reason":
			i++
		case !strings.HasPrefix(t, "-"):
			list = append(list, words[i])
		}
	}
	return list
}

// under returns p as it is called from the directory that dir is left for.
func under(dir, p string) string {
	if strings.HasPrefix(p, "/") {
		return p
	}
	return dir + "/" + p
}
