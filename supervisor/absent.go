package supervisor

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sandboxd/profile"
	"sandboxd/shell"
)

// absent reports whether the command that a person would be asked about does not exist: a name
// without a slash that is in none of the directories of PATH, or a path in a directory, which the sandbox shows as
// the host has them. If the sandbox hides one of them, or the request sets
// PATH itself, absent looks nothing up and the question is put: the answer reveals no more than ls in
// the sandbox, which runs unasked.
func absent(r ExecRequest, v shell.Verdict, p profile.Profile, env []string) bool {
	if v.Decision != shell.Ask || r.Line != "" || len(r.Argv) == 0 || r.callerRuns || r.Argv[0] == "" {
		return false
	}
	if program := programOf(r); program != "" {
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
		if !lacks(p, dir, r.Argv[0]) {
			return false
		}
	}
	return true
}

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
