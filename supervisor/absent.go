package supervisor

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sandboxd/profile"
	"sandboxd/shell"
	"sandboxd/shell/analysis"
)

// absent reports whether the command that a person would be asked about does not exist: a name
// without a slash that is in none of the directories of PATH, or a path in a directory, which the sandbox shows as
// the host has them. If the sandbox hides one of them, or the request sets
// PATH itself, absent looks nothing up and the question is put: the answer reveals no more than ls in
// the sandbox, which runs unasked.
func absent(r ExecRequest, v shell.Verdict, p profile.Profile, env []string) bool {
	name := startedAs(r)
	switch {
	case v.Decision != shell.Ask || r.callerRuns || name == "":
		return false
	case filepath.IsAbs(name):
		return lacks(p, filepath.Dir(name), filepath.Base(name))
	case strings.Contains(name, "/"):
		program := filepath.Join(r.Cwd, name)
		return lacks(p, filepath.Dir(program), filepath.Base(program))
	}
	if _, own := r.Env["PATH"]; own {
		return false
	}
	i := slices.IndexFunc(env, func(kv string) bool { return strings.HasPrefix(kv, "PATH=") })
	if i < 0 {
		return false
	}
	for _, dir := range filepath.SplitList(strings.TrimPrefix(env[i], "PATH=")) {
		if !lacks(p, dir, name) {
			return false
		}
	}
	return true
}

// startedAs returns the name of the program that a request starts: the first of its words, or of a line that is one
// simple command; "" for all others, where bash may do more before it finds out.
func startedAs(r ExecRequest) string {
	if len(r.Argv) > 0 {
		return r.Argv[0]
	}
	s := analysis.Line(r.Line, analysis.Place{Cwd: r.Cwd})
	if len(s.Calls) != 1 || len(s.Doubts)+len(s.Redirs)+len(s.Funcs) > 0 || s.Background {
		return ""
	}
	c := s.Calls[0]
	whole := strings.TrimSpace(r.Line) == strings.TrimSpace(r.Line[c.Offset:c.End])
	if !whole || !c.Literal() || len(c.Assigns) > 0 || slices.Contains(builtins, c.Name()) {
		return ""
	}
	return c.Name()
}

// builtins are the commands of bash itself (bash(1), SHELL BUILTIN COMMANDS).
var builtins = strings.Fields(`. : [ alias bg bind break builtin caller cd command compgen complete compopt continue
	declare dirs disown echo enable eval exec exit export false fc fg getopts hash help history jobs kill let local logout
	mapfile popd printf pushd pwd read readarray readonly return set shift shopt source suspend test times trap true
	type typeset ulimit umask unalias unset wait`)

// lacks reports whether a directory that the sandbox shows has no entry of that name. One that does not exist is as
// the lowest directory above it: the names in / are no secret.
func lacks(p profile.Profile, dir, name string) bool {
	if !filepath.IsAbs(dir) {
		return false
	}
	real, err := filepath.EvalSymlinks(dir)
	if os.IsNotExist(err) {
		if up := filepath.Dir(filepath.Clean(dir)); up != "/" {
			return lacks(p, up, filepath.Base(dir))
		}
		_, err = os.Lstat(dir)
		return os.IsNotExist(err)
	}
	if shown := p.Allows(profile.OpList, real); err != nil || !shown.Allowed || shown.Private {
		return false
	}
	_, err = os.Lstat(filepath.Join(real, name))
	return os.IsNotExist(err)
}

// notThere is the result of a command that is absent; shown lists the settings that would show it. Nothing was
// asked, and nothing ran.
func notThere(name string, shown []string) Result {
	text := strings.Join(append([]string{noCommand(name)}, shown...), "; ")
	return Result{Outcome: NotFound, Code: 127, Message: "Not run, and nobody was asked: " + text + "."}
}

func noCommand(name string) string {
	if strings.Contains(name, "/") {
		return "no such file: " + shell.Quote([]string{name})
	}
	return "command not found: " + shell.Quote([]string{name}) + " (sbx profile show says what PATH is inside the sandbox)"
}
