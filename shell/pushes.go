package shell

import (
	"slices"
	"strings"

	"sandboxd/git"
	"sandboxd/shell/analysis"
	"sandboxd/shell/safelist"
)

// withAddress adds to the description of a git push where it leads, before the command's own words.
func (j *judging) withAddress(c *analysis.Call, description string) string {
	what, words, _ := strings.Cut(description, ": ")
	if to := j.pushesTo(c); to != "" && words != "" {
		return what + to + ": " + words
	} else if to != "" {
		return what + to
	}
	return description
}

// pushesTo returns the words by which a description shows where a git push leads: the address that the repository's
// configuration has now for the remote that the call names. "": the call shows it itself, is none, or chooses
// another configuration.
func (j *judging) pushesTo(c *analysis.Call) string {
	sub, at := safelist.GitSubcommand(c.Args)
	if base(c.Name()) != "git" || sub != "push" || len(c.Assigns) > 0 {
		return ""
	}
	dirs := c.Dirs
	for i := 1; i < at; i++ {
		switch c.Args[i].Text {
		case "-C":
			i++
			paths, known := dirs.Resolve(c.Args[i].Text)
			dirs = analysis.Dirs{Paths: paths, Unknown: !known}
		case "--no-pager", "-P":
		default:
			return ""
		}
	}
	if dirs.Unknown {
		return ""
	}
	remote := pushed(c.Args[at+1:])
	var list []string
	for _, dir := range dirs.Paths {
		fact, ok := j.facts.Git[dir]
		if !ok {
			j.needForPayload(FactGit, dir)
			continue
		}
		for _, address := range fact.Routes.To(remote, fact.Branch) {
			if address = git.Shown(address); address != git.Shown(remote) && !slices.Contains(list, address) {
				list = append(list, address)
			}
		}
	}
	if len(list) == 0 {
		return ""
	}
	return " (now " + strings.Join(list, ", ") + ")"
}

// pushed returns the remote that the words of a push name, or "".
func pushed(words []analysis.Word) (remote string) {
	for i := 0; i < len(words); i++ {
		t := words[i].Text
		switch {
		case t == "-o" || t == "--push-option" || t == "--receive-pack" || t == "--exec":
			i++
		case t == "--repo" && i+1 < len(words):
			i++
			remote = words[i].Text
		case strings.HasPrefix(t, "--repo="):
			remote = strings.TrimPrefix(t, "--repo=")
		case t == "--" || strings.HasPrefix(t, "-") && t != "-":
		default:
			return t
		}
	}
	return remote
}
