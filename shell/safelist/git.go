package safelist

import (
	"path"
	"slices"
	"strings"

	"sandboxd/git"
	"sandboxd/pattern"
	"sandboxd/shell/analysis"
)

// gitGlobal lists git's own options, before the sub-command, that change only the output
// format.
var gitGlobal = []string{
	"--no-pager", "-P", "--no-optional-locks", "--literal-pathspecs", "--glob-pathspecs", "--icase-pathspecs",
	"--no-replace-objects",
}

// gitConfig maps the configuration keys that may be set on the command line to their permitted
// values.
var gitConfig = map[string][]string{
	"core.quotepath": {"true", "false", "on", "off", "0", "1"},
	"color.ui":       {"true", "false", "always", "never", "auto"},
	"core.pager":     {"cat", ""},
	"log.decorate":   {"short", "full", "auto", "no"},
}

// matchGit judges git's own options, then applies the sub-command's entry.
func matchGit(args []analysis.Word) (*Use, *Refusal) {
	refuse := func(why string) (*Use, *Refusal) {
		return nil, &Refusal{Why: "git: " + why, Known: true, Name: "git"}
	}
	dir, fold := "", false
	i := 1
	for ; i < len(args); i++ {
		if !args[i].Fixed() {
			return refuse("a word that is not literal: " + args[i].Source)
		}
		t := args[i].Text
		if !strings.HasPrefix(t, "-") {
			break
		}
		switch {
		case slices.Contains(gitGlobal, t):
			fold = fold || t == "--icase-pathspecs"
		case t == "-C" && i+1 < len(args) && args[i+1].Fixed():
			i++
			switch to := args[i].Text; {
			case strings.HasPrefix(to, "/") || dir == "":
				dir = to
			default:
				dir += "/" + to
			}
			if dir == "" {
				return refuse("-C without a directory")
			}
		case t == "-c" && i+1 < len(args) && args[i+1].Kind == analysis.Literal:
			i++
			key, value, _ := strings.Cut(args[i].Text, "=")
			if !slices.Contains(gitConfig[strings.ToLower(key)], value) {
				return refuse("-c sets the configuration " + key + ", which may name a program")
			}
		case t == "--version" && i+1 == len(args):
			return (index()["git version"]).match(args, i+1)
		default:
			return refuse("the option " + t + " may change which repository or programs it uses")
		}
	}
	if i >= len(args) {
		return refuse("no sub-command")
	}
	e, ok := index()["git "+args[i].Text]
	if !ok {
		return refuse("the sub-command " + args[i].Text + " is not one that only reads")
	}
	u, refusal := e.match(args, i+1)
	if u == nil {
		return nil, refusal
	}
	u.Dir = dir
	if fold {
		for _, p := range u.Paths {
			u.spelled(p.Text, p.Index, true)
		}
	}
	return u, refusal
}

// GitSubcommand returns the sub-command of a git command line and its index, after git's own
// options. It returns "" if that is unknown.
func GitSubcommand(args []analysis.Word) (name string, at int) {
	for i := 1; i < len(args); i++ {
		if !args[i].Known() {
			return "", 0
		}
		switch t := args[i].Text; {
		case t == "-C" || t == "-c" || t == "--git-dir" || t == "--work-tree" || t == "--namespace" || t == "--exec-path" ||
			t == "--super-prefix" || t == "--config-env" || t == "--attr-source":
			i++
		case strings.HasPrefix(t, "-"):
		default:
			return t, i
		}
	}
	return "", 0
}

// Undashed returns git-push, the program in git's own directory, as git push. It returns false
// for other commands.
func Undashed(args []analysis.Word) ([]analysis.Word, bool) {
	if len(args) == 0 || !args[0].Known() {
		return nil, false
	}
	sub, ok := strings.CutPrefix(path.Base(args[0].Text), "git-")
	if !ok {
		return nil, false
	}
	git, word := args[0], args[0]
	git.Text, word.Text = "git", sub
	return append([]analysis.Word{git, word}, args[1:]...), true
}

// Spellings returns a command as patterns that forbid match it: as it is, with the index of git's
// sub-command, and git-push also as git push.
func Spellings(args []analysis.Word) []pattern.Command {
	c := pattern.Command{Words: analysis.Plain(args)}
	if len(args) > 0 && args[0].Known() && strings.EqualFold(path.Base(args[0].Text), "git") {
		_, c.Sub = GitSubcommand(args)
	}
	if plain, ok := Undashed(args); ok {
		return append(Spellings(plain), c)
	}
	return []pattern.Command{c}
}

// gitRevisions judges words that are revisions or paths.
func gitRevisions(u *Use) string {
	if why := gitNames(u); why != "" {
		return why
	}
	return gitFormats(u)
}

// gitStat requires an option by which git apply counts what a patch would change, and changes nothing.
func gitStat(u *Use) string {
	if !u.Has("--stat", "--numstat", "--summary") {
		return "it changes files"
	}
	return ""
}

// gitPatches requires the option by which git format-patch prints, and writes no files.
func gitPatches(u *Use) string {
	if !u.Has("--stdout") {
		return "it writes a file for each commit"
	}
	return gitRevisions(u)
}

// gitShow refuses options by which git shows the object of each reference, of whatever type.
func gitShow(u *Use) string {
	for _, o := range u.Options {
		switch o.Name {
		case "--all", "--tags", "--branches", "--remotes", "--glob", "--reflog":
			return o.Name + " shows the objects of all references, which can be any file"
		}
	}
	return gitRevisions(u)
}

// gitMerges lists the formats of a merge for which git does not merge again.
var gitMerges = []string{
	"off", "none", "on", "m", "first-parent", "1", "separate", "combined", "c", "dense-combined", "cc",
}

// gitFormats refuses formats that make git run programs.
func gitFormats(u *Use) string {
	for _, o := range u.Options {
		if git.Verifies(o.Value) {
			return "a format that runs gpg"
		}
		if strings.Contains(o.Value, "(raw)") || strings.Contains(o.Value, "(*raw)") {
			return "a format that prints whatever a reference leads to"
		}
		if o.Name == "--diff-merges" && !slices.Contains(gitMerges, o.Value) {
			return "it would merge again, with the programs that the repository names for that"
		}
	}
	return ""
}

// gitLists is for branch and tag. Their operands create a ref unless one of the options lists
// is given.
func gitLists(lists ...string) func(*Use) string {
	return func(u *Use) string {
		if len(u.Operands) > 0 && !u.Has(lists...) {
			return "an operand that makes a new one: " + u.Operands[0].Text
		}
		return gitFormats(u)
	}
}

// gitFirst is for sub-commands with sub-commands of their own.
func gitFirst(allowed ...string) func(*Use) string {
	return func(u *Use) string {
		if len(u.Operands) == 0 {
			return "it changes the repository"
		}
		first := u.Operands[0]
		if !slices.Contains(allowed, first.Text) {
			return "the sub-command " + first.Text + " is not one that only reads"
		}
		return gitRevisions(u)
	}
}

// gitConfigKeys lists the sections of the configuration that may be read. They hold no
// credentials.
var gitConfigKeys = []string{
	"user.", "core.", "init.", "branch.", "pull.", "push.", "color.", "diff.", "merge.", "rebase.", "commit.",
	"log.", "status.",
}

func checkGitConfig(u *Use) string {
	if len(u.Operands) != 1 {
		return "only reading one key is on the safe list"
	}
	// One word with a dot in it is a key, which is read; without a dot it may be a sub-command of
	// newer versions ("git config edit").
	key := strings.ToLower(u.Operands[0].Text)
	if !strings.Contains(key, ".") {
		return "the key " + key + " is in no section"
	}
	for _, p := range gitConfigKeys {
		if strings.HasPrefix(key, p) {
			return ""
		}
	}
	if strings.HasPrefix(key, "remote.") && strings.HasSuffix(key, ".url") {
		return ""
	}
	return "the key " + key + " may hold a credential"
}

func checkSymbolicRef(u *Use) string {
	if len(u.Operands) != 1 {
		return "it sets a reference"
	}
	return ""
}
