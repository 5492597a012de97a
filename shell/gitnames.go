package shell

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"sandboxd/shell/analysis"
	"sandboxd/shell/pattern"
	"sandboxd/shell/safelist"
)

// tops returns the directories that a path of git's can be relative to: those
// of the call, and the top of the work tree of each.
func (j *judging) tops(dirs analysis.Dirs) analysis.Dirs {
	for _, dir := range dirs.Paths {
		if top := j.facts.Git[dir].Worktree; top != "" && top != dir {
			dirs.Paths = append(dirs.Paths[:len(dirs.Paths):len(dirs.Paths)], top)
		}
	}
	return dirs
}

// pathspec makes a finding ask where a pathspec with wildcards can name a file
// that holds secrets. One that names everything below a directory, or every file
// of a kind, does not.
func (j *judging) pathspec(p safelist.PathArg, f *finding) {
	for _, name := range j.tool.places.examples {
		if specNames(strings.ToLower(p.Text), strings.ToLower(name)) {
			j.verdict.Hidden = true
			f.stop(RiskHigh, "the pathspec "+p.Text+" names files like "+name+", which hold secrets")
			return
		}
	}
}

// set is a bracket expression of a pathspec.
var set = regexp.MustCompile(`\[[!^]?\]?(\[:[a-z]+:\]|\\.|[^\]])*\]`)

// specNames reports whether a pathspec can match a file of that name in some
// directory (gitglossary(7), pathspec): its wildcards match "/", too.
func specNames(spec, name string) bool {
	spec = set.ReplaceAllString(spec, "?")
	for i := range len(spec) {
		if i > 0 && !strings.ContainsRune("/*?", rune(spec[i-1])) && spec[i] != '*' {
			continue
		}
		rest := spec[i:]
		if kind := strings.TrimLeft(rest, "*"); kind == "" || kind == ".json" && kind != rest {
			continue
		}
		if pattern.Wild(rest, name) {
			return true
		}
	}
	return false
}

// examples returns a name for each pattern of secrets that stands for a name,
// and for each that the configuration hides.
func examples(hidden []string) []string {
	var out []string
	add := func(p string) {
		name := path.Base(strings.TrimRight(p, "/*"))
		if strings.HasSuffix(p, "*") && !strings.HasSuffix(p, "/*") && !strings.HasSuffix(p, "/**") {
			name += "x"
		}
		if name = strings.ReplaceAll(name, "*", "x"); name != "." && name != "/" {
			out = append(out, name)
		}
	}
	for _, p := range slices.Concat(DefaultHidden, DefaultSensitive) {
		if !strings.Contains(p, "/") {
			add(p)
		}
	}
	for _, p := range hidden {
		add(p)
	}
	return out
}
