package shell

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"sandboxd/pattern"
	"sandboxd/shell/analysis"
	"sandboxd/shell/safelist"
)

// gitBases returns the directories that a git path can be relative to: those of the call, and
// the top of the work tree of each.
func (j *judging) gitBases(dirs analysis.Dirs) analysis.Dirs {
	for _, dir := range dirs.Paths {
		if top := j.facts.Git[dir].Worktree; top != "" && top != dir {
			dirs.Paths = append(dirs.Paths[:len(dirs.Paths):len(dirs.Paths)], top)
		}
	}
	return dirs
}

// pathspec makes a finding ask if a pattern of names, such as a pathspec with wildcards, can match a file with secrets.
// One that matches everything below a directory, or every file of a type, does not count.
func (j *judging) pathspec(p safelist.PathArg, f *finding) {
	if name := j.secretLike(p.Text); name != "" {
		j.verdict.Hidden = true
		f.ask(RiskHigh, "the pattern "+p.Text+" names files like "+name+", which hold secrets")
	}
}

// secretLike returns the name of a file with secrets that a pattern of names can match, or "".
func (j *judging) secretLike(spec string) string {
	for _, name := range j.tool.places.examples {
		if specNames(strings.ToLower(spec), strings.ToLower(name)) {
			return name
		}
	}
	return ""
}

// namePatterns returns the patterns by whose names a command chooses files whose content it prints.
func namePatterns(u *safelist.Use) (list []string) {
	for _, o := range u.Options {
		switch o.Name {
		case "--include", "-g", "--glob", "--iglob":
			if !strings.HasPrefix(o.Value, "!") {
				list = append(list, alternatives(o.Value)...)
			}
		}
	}
	return list
}

// braces matches a part of a glob with alternatives, the innermost of several.
var braces = regexp.MustCompile(`\{[^{}]*\}`)

// alternatives returns the patterns of which a glob with braces has each. Of more than three it has none.
func alternatives(glob string) (list []string) {
	if strings.Count(glob, "{") > 3 || len(glob) > 200 {
		return []string{braces.ReplaceAllString(glob, "*")}
	}
	at := braces.FindStringIndex(glob)
	if at == nil {
		return []string{glob}
	}
	begin, end := at[0], at[1]-1
	for one := range strings.SplitSeq(glob[begin+1:end], ",") {
		list = append(list, alternatives(glob[:begin]+one+glob[end+1:])...)
	}
	return list
}

// ordinaryNames are names of all kinds that hold no credentials.
var ordinaryNames = strings.Fields("x0.y main.go index.ts README.md Makefile package.json test_app.py .gitignore")

// picksSecret reports whether a regular expression picks the names of credentials, or their ends, and not others.
func (j *judging) picksSecret(expression string) bool {
	plain := strings.NewReplacer(`\|`, "|", `\(`, "(", `\)`, ")").Replace(expression)
	re, err := regexp.Compile("(?i)(?:" + plain + ")$")
	name := strings.NewReplacer("^", "", "$", "", `\`, "").Replace(expression)
	return j.namesSecret(name) || err == nil && !slices.ContainsFunc(ordinaryNames, re.MatchString) &&
		slices.ContainsFunc(j.tool.places.examples, re.MatchString)
}

// set matches a bracket expression of a pathspec.
var set = regexp.MustCompile(`\[[!^]?\]?(\[:[a-z]+:\]|\\.|[^\]])*\]`)

// specNames reports whether a pathspec can match a file named name in some directory. The
// wildcards of a pathspec match "/" too (gitglossary(7), pathspec).
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

// examples returns one matching file name for each built-in pattern of secrets that is a name,
// and for each pattern that the configuration hides.
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
	for _, p := range slices.Concat(defaultHidden, defaultSensitive) {
		if !strings.Contains(p, "/") {
			add(p)
		}
	}
	for _, p := range hidden {
		add(p)
	}
	return out
}

// askForCommitted makes a finding ask if the configuration hides files and git would print
// contents from its objects. These may include hidden files.
func (j *judging) askForCommitted(sub string, use *safelist.Use, f *finding) {
	if f.decision != Auto || len(j.tool.config.Hidden) == 0 || !printsContents(sub, use) {
		return
	}
	j.verdict.Hidden = true
	f.ask(RiskHigh, "it shows committed contents, perhaps of files that the configuration hides ("+
		strings.Join(j.tool.config.Hidden[:min(3, len(j.tool.config.Hidden))], ", ")+")")
}

// printsContents reports whether a git sub-command prints contents of files that its words do
// not name, or reveals by its result whether they contain a text.
func printsContents(sub string, use *safelist.Use) bool {
	patch := use.Has("-p", "-u", "--patch", "-U", "--unified", "--patch-with-raw", "--patch-with-stat", "--word-diff",
		"--word-diff-regex", "--color-words", "-W", "--function-context", "--binary", "-c", "--cc", "--check", "-L",
		"-S", "-G")
	short := use.Has("--stat", "--shortstat", "--numstat", "--name-only", "--name-status", "--summary", "--dirstat",
		"-X",
		"--raw", "-s", "--no-patch", "--quiet", "--compact-summary", "--cumulative")
	switch sub {
	case "diff", "diff-tree", "diff-index", "diff-files", "log", "whatchanged", "reflog", "rev-list":
		return patch || sub == "diff" && !short
	case "show":
		named := len(use.Operands) > 0
		for _, op := range use.Operands {
			named = named && strings.Contains(op.Text, ":")
		}
		return patch || !short && !named
	case "stash":
		return len(use.Operands) > 0 && use.Operands[0].Text == "show"
	}
	return sub == "range-diff" || sub == "grep" || sub == "format-patch"
}
